"""The data dictionary of a study: for every column, what it is.

    [columns.age]  kind = "number"    range = ["0", "120"]  step = "1"  unit = "years"
    [columns.sex]  kind = "category"  levels = ["f", "m"]
    [columns.died] kind = "flag"                              # 0 or 1
    [columns.days] kind = "time"      range = ["0", "3650"]  step = "1"  unit = "days"

It is public, and the same at all parties. A number's values are low, low + step, …, high: each
party puts its own on this grid before anything is computed of them, and refuses what lies outside.
"""

# Rule 1: a dictionary that exists is sound: ranges are not empty, steps divide them, levels differ.
# Rule 2: every content has one form, so that equal dictionaries have equal digests.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from titan.decimals import decimal_text, read_decimal
from titan.errors import FormulaError, InputError, ReleaseError
from titan.listing import listing
from titan.moments import arithmetic, columns
from titan.moments.model import Model, Readings
from titan.release.grid import Grid, Mask, outside

Numbers = columns.Column
_MOST_LEVELS = 10_000
_MOST_TEXT = 200


@dataclass(frozen=True)
class Number:
    """A number between two ends, both included; without a step, any number between them."""

    low: Fraction
    high: Fraction
    step: Fraction | None = None
    unit: str = ""
    kind = "number"

    @classmethod
    def read(cls, low: Any, high: Any, step: Any = None, unit: str = "") -> Self:
        """Numbers as decimal text, or as whole numbers and decimals."""
        first, last = (_decimal("its range has an end that is", end) for end in (low, high))
        by = None if step is None else _decimal("its step is", step)
        return cls(first, last, by, unit)

    def __contains__(self, value: Fraction | int) -> bool:
        """Whether it lies between the ends; not whether it lies on the grid."""
        return self.low <= value <= self.high

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            _decimal("its range has an end that is", end)
        if self.unit:
            check_text("its unit", self.unit)
        if self.low > self.high:
            raise InputError("its range is empty: the lower end is above the upper one")
        if self.step is None:
            return
        if _decimal("its step is", self.step) <= 0:
            raise InputError("its step is not above zero", hint='such as "1" or "0.1"')
        if (self.high - self.low) % self.step:
            raise InputError(
                "its step does not divide its range",
                hint="the upper end is the lower one and a whole number of steps",
            )


@dataclass(frozen=True)
class Time(Number):
    """A time on a public grid: days, months."""

    kind = "time"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step is None:
            raise InputError("a time needs a step", hint='its grid, such as step = "1"')


@dataclass(frozen=True)
class Category:
    """One of the levels, which are text."""

    levels: tuple[str, ...]
    kind = "category"

    def __post_init__(self) -> None:
        texts = isinstance(self.levels, Sequence) and not isinstance(self.levels, str)
        if not texts or not all(isinstance(level, str) for level in self.levels):
            raise InputError("its levels are not a list of texts", hint=_LEVELS)
        object.__setattr__(self, "levels", tuple(self.levels))
        if not 1 <= len(self.levels) <= _MOST_LEVELS:
            raise InputError(f"it has {len(self.levels)} levels", hint=f"1 to {_MOST_LEVELS}")
        for level, times in Counter(map(_as_number, self.levels)).items():
            if times > 1:
                raise InputError(f"two of its levels are {level!a}", hint=_LEVELS)
        for level in self.levels:
            check_text(f"its level {level!a}", level)


@dataclass(frozen=True)
class Flag:
    """0 or 1."""

    kind = "flag"


Column = Number | Category | Flag
KINDS: dict[str, type[Column]] = {c.kind: c for c in (Number, Category, Flag, Time)}
_LEVELS = "levels are different texts, and different numbers, without blanks around them"


def _as_number(level: str) -> str:
    """1, 1.0 and 01 are one level."""
    try:
        return decimal_text(read_decimal(level.strip()))
    except InputError:
        return level.strip()


def check_text(what: str, text: str, *, most: int = _MOST_TEXT) -> None:
    """Refuse what could not be shown in a line."""
    shown = isinstance(text, str) and text.isprintable() and text == text.strip()
    if not shown or not 0 < len(text) <= most:
        raise InputError(
            f"{what} is not one line of visible text without blanks around it",
            hint=f"of at most {most} characters",
        )


def _decimal(what: str, given: Any) -> Fraction:
    try:
        return read_decimal(given)
    except InputError as error:
        raise InputError(f"{what} {error.message}", hint=error.hint) from None


@dataclass(frozen=True)
class Dictionary(Mapping[str, Column]):
    """Column → what it is, in the order of their names."""

    columns: tuple[tuple[str, Column], ...] = ()
    _found: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(sorted(self.columns, key=lambda c: c[0])))
        object.__setattr__(self, "_found", dict(self.columns))
        for name, times in Counter(name for name, _ in self.columns).items():
            check_text(f"columns: the name {name!a}", name)
            if times > 1:
                raise InputError(f"columns: {name!r} is described twice")

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> Dictionary:
        for name in columns:
            if not isinstance(name, str):
                raise InputError(f"a column is called {name!r}, which is not text")
        return cls(tuple(columns.items()))

    def __getitem__(self, name: str) -> Column:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __hash__(self) -> int:
        return hash(self.columns)

    def levels(self) -> dict[str, tuple[str, ...]]:
        """Those of every category."""
        return {name: c.levels for name, c in self.items() if isinstance(c, Category)}

    # -- models and rows ------------------------------------------------------------------------

    def model(
        self,
        formula: str,
        *,
        weights: str | None = None,
        offset: str | None = None,
        time: str | None = None,
        pooled: bool = False,
    ) -> Model:
        """The model of a formula, with the levels of the categories here; see `Model.pooled`."""
        if pooled:
            model = Model.pooled(formula, weights=weights, levels=self.levels())
        else:
            model = Model(formula, weights=weights, offset=offset, time=time, levels=self.levels())
        for category in model.categories:
            known = self.get(category.column)
            text = isinstance(category.levels[0].value, str)
            if text and isinstance(known, Number | Flag):
                raise FormulaError(
                    f"levels of {category.column!r}, which is a {known.kind} in the dictionary",
                    hint="write numbers as levels, or describe it as a category",
                )
        return model

    def check_described(self, names: Sequence[str]) -> None:
        """Refuse numbers of which a range and a step are not stated."""
        for name in names:
            column = self.get(name)
            if column is None:
                raise InputError(
                    f"the data dictionary does not say what {name!r} is",
                    hint=f"a number: --range {name}=0:120 --step {name}=1; 0 or 1: --flag {name}; "
                    f"a category: --levels {name}=a,b",
                )
            if isinstance(column, Number) and column.step is None:
                raise InputError(
                    f"the data dictionary does not say the step of {name!r}",
                    hint=f"--step {name}=1, or 0.1: to which its values are rounded",
                )

    def check_numbers(self, names: Sequence[str]) -> None:
        """Refuse to read categories as numbers."""
        text = [name for name in names if isinstance(self.get(name), Category)]
        if text:
            raise InputError(
                f"{listing(map(repr, text))}: a category in the dictionary, where a number is read"
            )

    def place(self, readings: Readings) -> Readings:
        """A party's own rows on the grid: a check for `collect`.

        What lies outside its range is refused, and the error does not show it. What lies between
        grid points is rounded to the nearest, and counted.
        """
        numbers, rounded = dict(readings.numbers), Counter[str]()
        for name, column in readings.numbers.items():
            kind = self.get(name)
            wrong = self.outside(name, column)
            if wrong is not None and wrong.any():
                raise self.refusal(name, readings.place(int(wrong.argmax())))
            if isinstance(kind, Flag):
                ones = arithmetic.equals(column, Fraction(1))
                numbers[name] = columns.Column(ones.astype(np.int64))
            elif isinstance(kind, Number) and kind.step is not None:
                grid = Grid.between(kind.low, kind.high, kind.step)
                numbers[name], rounded[name] = grid.place(column)
        return replace(readings, numbers=numbers, rounded=+rounded)

    def outside(self, name: str, column: Numbers) -> Mask | None:
        """Which of a column's numbers must not be there; None where any may."""
        kind = self.get(name)
        if isinstance(kind, Flag):
            zeros, ones = (arithmetic.equals(column, Fraction(n)) for n in (0, 1))
            return ~(zeros | ones)
        if isinstance(kind, Number):
            return outside(column, kind.low, kind.high, decimal=kind.step is not None)
        return None

    def refusal(self, name: str, first: str, count: int = 0) -> ReleaseError:
        """Of values outside, which it does not show: of the first, or of as many as there are."""
        kind, hint = self[name], "correct it, or leave the row out"
        what = "neither 0 nor 1, where the study has a flag"
        if isinstance(kind, Number):
            ends = f"{decimal_text(kind.low)} to {decimal_text(kind.high)}"
            what = f"a value outside the study's range, {ends}"
        message = f'{first}, column "{name}": {what}'
        if count > 1:
            several = what.replace("a value", "values").replace("neither", "values neither")
            message = f'column "{name}": {count} {several} (the first: {first})'
            hint = "correct them, or leave these rows out"
        return ReleaseError(message, hint=hint, rule="range", cell=name)

    def rounding_notes(self, rounded: Mapping[str, int]) -> list[str]:
        """For the owner of the rows: what was done to them."""
        notes = []
        for name, count in sorted(rounded.items()):
            step = decimal_text(getattr(self[name], "step", None) or Fraction(1))
            which = f"1 value of {name} was" if count == 1 else f"{count} values of {name} were"
            notes.append(f"{which} rounded to the study's steps of {step}")
        return notes

    # -- in its one form ------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """For JSON and TOML."""
        return {name: content(column) for name, column in self.items()}


def points(column: Column) -> int:
    """How many values it can have; without a step, as many as there are between whole numbers."""
    if isinstance(column, Category):
        return len(column.levels)
    if isinstance(column, Flag):
        return 2
    return int((column.high - column.low) / (column.step or 1)) + 1


def in_words(name: str, content: Mapping[str, Any]) -> str:
    """age from 0 to 120 by 1 (years); sex one of f, m; died 0 or 1."""
    if content["kind"] == "flag":
        return f"{name} 0 or 1"
    if content["kind"] == "category":
        return f"{name} one of {listing(content['levels'], 12)}"
    low, high = content["range"]
    step = f" by {content['step']}" if "step" in content else ""
    unit = f" ({content['unit']})" if "unit" in content else ""
    return f"{name} from {low} to {high}{step}{unit}"


def content(column: Column) -> dict[str, Any]:
    if isinstance(column, Category):
        return {"kind": column.kind, "levels": list(column.levels)}
    if isinstance(column, Flag):
        return {"kind": column.kind}
    ends = [decimal_text(column.low), decimal_text(column.high)]
    step = {} if column.step is None else {"step": decimal_text(column.step)}
    unit = {"unit": column.unit} if column.unit else {}
    return {"kind": column.kind, "range": ends, **step, **unit}
