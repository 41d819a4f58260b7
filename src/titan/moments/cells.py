"""The cells of one column of some rows, as their source holds them.

A model decides whether it wants them as numbers or as levels of a category; here they are turned
into either, exactly or not at all. What is missing is told apart from what is wrong: a null, a NaN
and the texts of `decimal_text.MISSING` are missing, an infinity or a word among numbers is wrong.
"""

# Rule 1: an error names place and column, never the cell.
# Rule 2: the same numbers give the same columns, from whatever kind of source (but see `decimal`).

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.moments import arithmetic, decimal_text
from titan.moments.arrow import kinds, pa, pc
from titan.moments.columns import WORDS, Column, WideColumn
from titan.moments.known_texts import Texts
from titan.moments.once import once
from titan.moments.terms import Level

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Cells(ABC):
    """One column of some rows; `place` says in words where a row comes from."""

    name: str
    values: Any = field(repr=False)
    place: Callable[[int], str] = field(repr=False)
    decimal: bool = False
    """Whether a float stands for its shortest decimal instead of the binary number it is."""
    decimal_comma: bool = False
    """Whether text has numbers such as 1,5."""

    def numbers(self) -> tuple[Column, Mask]:
        """The cells as numbers, and which are missing (some number stands in their place).

        They are read once, however many ask: nobody may write into these arrays.
        """
        return self._numbers

    @property
    @abstractmethod
    def _numbers(self) -> tuple[Column, Mask]: ...

    @abstractmethod
    def wrong_numbers(self) -> list[DataError]:
        """What `numbers` stops at, of every cell; none where it is the column's type."""

    @abstractmethod
    def text(self, hint: str = "") -> Any:
        """The cells as Arrow strings, without spaces around; `hint` is for floats, which have none.

        (The text of a float is a matter of taste: 1, 1.0 or 1e0.)
        """

    @abstractmethod
    def take(self, rows: Rows) -> Cells:
        """The cells of these rows."""

    def codes(self, levels: Sequence[Level]) -> tuple[Codes, Mask]:
        """The number of its level for every cell, and which are missing (0 in their place)."""
        codes, missing = self.codes_or_none(levels)
        unknown = (codes < 0) & ~missing
        if unknown.any():
            raise self.unknown_level(int(unknown.argmax()))
        return np.where(missing, 0, codes), missing

    def unknown_level(self, row: int) -> DataError:
        hint = "correct it, leave the row out, or state this level too"
        return self.error(row, "none of the stated levels", hint=hint)

    def codes_or_none(self, levels: Sequence[Level]) -> tuple[Codes, Mask]:
        """The same with -1 for a cell of none of these levels."""
        if isinstance(levels[0].value, str):
            text = self.text("state the levels as numbers, without quotes")
            stated = pa.array([level.text for level in levels], pa.string())
            found = pc.fill_null(pc.index_in(text, value_set=stated), -1)
            codes, missing = np.asarray(found).astype(np.int64), decimal_text.is_missing(text)
            missing &= codes < 0  # a level may be called none
        else:
            column, missing = self.numbers()
            column, codes = arithmetic.as_integers(column), np.full(len(column), -1, np.int64)
            for code, level in enumerate(levels):
                codes[arithmetic.equals(column, Fraction(level.value))] = code
        return codes, missing

    def error(self, row: int, found: str, hint: str = "") -> DataError:
        wrong = DataError(f'{self.place(row)}, column "{self.name}": {found}', hint=hint)
        wrong.column, wrong.row, wrong.found = self.name, row, found
        return wrong


class Written(Protocol):
    """How cells are written that are all numbers or empty, without blanks around."""

    def texts(self) -> Texts:
        """Where the text of each cell is."""

    def characters(self) -> int | None:
        """Of all cells together; None unless each has a digit, and one before its point."""


class ArrowCells(Cells):
    """Cells that Arrow holds: text, numbers, truth values, or a dictionary of such."""

    @property
    def written(self) -> Written | None:
        """Where the text need not be fetched from Arrow."""
        return self.__dict__.get("_written")

    @once
    def array(self) -> Any:
        """One Arrow array, without chunks and dictionary."""
        return _decoded(self.values)

    def known_as(self, numbers: tuple[Column, Mask], written: Written) -> ArrowCells:
        """These cells, of which somebody knows already what numbers they are and where written."""
        self.__dict__.update(_numbers=numbers, _written=written)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The cells alone: a slice of Arrow's would take the whole table along."""
        own = {name: getattr(self, name) for name in _FIELDS}
        array = self.array
        return own | {"values": array.take(pa.array(np.arange(len(array))))}

    def take(self, rows: Rows) -> ArrowCells:
        return replace(self, values=self.array.take(rows), place=PlaceAmong(self.place, rows))

    @once
    def _numbers(self) -> tuple[Column, Mask]:
        array = self.array
        kind = array.type
        if kinds.is_null(kind):
            return Column(np.zeros(len(array), np.int64)), np.ones(len(array), bool)
        if _is_text(kind) or (self.decimal and kinds.is_floating(kind)):
            return self._from_text(array)
        if kinds.is_floating(kind):
            return self._from_floats(array)
        missing = np.asarray(array.is_null())
        if kinds.is_boolean(kind) or kinds.is_integer(kind):
            return _from_integers(array), missing
        if kinds.is_decimal(kind):
            return _from_decimals(array), missing
        raise DataError(
            f'column "{self.name}" holds {kind}, where numbers were expected',
            hint="make it a number in the data, such as the days since the first",
        )

    def text(self, hint: str = "") -> Any:
        array = self.array
        if kinds.is_floating(array.type):
            raise DataError(
                f'column "{self.name}" holds binary numbers, where text was expected',
                hint=hint,
            )
        if kinds.is_boolean(array.type):
            return pc.if_else(array, "True", "False")
        try:
            return pc.utf8_trim_whitespace(array.cast(pa.string()))
        except pa.ArrowNotImplementedError:
            raise DataError(
                f'column "{self.name}" holds {array.type}, where text was expected'
            ) from None

    def _from_text(self, array: Any) -> tuple[Column, Mask]:
        try:
            return decimal_text.parse(
                _shortest(array) if array.type == pa.float16() else self._pointed(array)
            )
        except decimal_text.BadNumberError as error:
            raise self._not_a_number(error.row, error.found) from None

    def _pointed(self, array: Any) -> Any:
        """Text with points in numbers, where the file has commas; a point there is not a number."""
        text = array.cast(pa.string())
        if not self.decimal_comma or not _is_text(array.type):
            return text
        # What had a point before gets two letters, so that it is text, not another number.
        return pc.replace_substring(pc.replace_substring(text, ".", "p,"), ",", ".")

    def _not_a_number(self, row: int, found: str) -> DataError:
        hints = {
            decimal_text.TEXT: f"if {self.name} is a category, write C({self.name}, "
            'levels=["…", "…"]) in the formula; otherwise correct this cell',
            decimal_text.COMMA: "write 1.5 instead of 1,5, and 1234 instead of 1,234; "
            'csv={"delimiter": ";", "decimal_comma": True} for a CSV with semicolons whose numbers '
            "all have commas",
        }
        if self.decimal_comma and found == decimal_text.TEXT:
            hints[found] += "; with decimal commas 1.5 is not a number, nor is 1.234,5"
        return self.error(row, found, hints.get(found, ""))

    def wrong_numbers(self) -> list[DataError]:
        array = self.array
        if _is_text(array.type):
            text = self._pointed(array)
            return [self._not_a_number(each.row, each.found) for each in decimal_text.wrong(text)]
        if kinds.is_floating(array.type):
            infinite = np.isinf(np.asarray(array.cast(pa.float64()).fill_null(math.nan)))
            return [
                self._not_a_number(int(at), decimal_text.INFINITE) for at in infinite.nonzero()[0]
            ]
        return []

    def _from_floats(self, array: Any) -> tuple[Column, Mask]:
        floats = np.asarray(array.cast(pa.float64()).fill_null(math.nan))
        finite = np.isfinite(floats)
        if finite.all():
            return Column(floats), ~finite
        infinite = np.isinf(floats)
        if infinite.any():
            raise self.error(int(infinite.argmax()), decimal_text.INFINITE)
        return Column(np.where(finite, floats, 0.0)), ~finite


class ObjectCells(Cells):
    """Cells that are Python objects: Fraction, Decimal, int, float, or text."""

    def take(self, rows: Rows) -> ObjectCells:
        kept = [self.values[int(row)] for row in rows]
        return replace(self, values=kept, place=PlaceAmong(self.place, rows))

    @once
    def _numbers(self) -> tuple[Column, Mask]:
        values = [self._number(row, value) for row, value in enumerate(self.values)]
        missing = np.array([value is None for value in values], bool)
        column, divisor = Column.of_fractions([value or Fraction(0) for value in values])
        if divisor != 1:
            raise DataError(
                f'column "{self.name}" holds fractions that are not finite decimals',
                hint="a model takes decimals and binary fractions",
            )
        return column, missing

    def wrong_numbers(self) -> list[DataError]:
        found = []
        for row, value in enumerate(self.values):
            try:
                self._number(row, value)
            except DataError as error:
                error.row = row
                found.append(error)
        return found

    def text(self, hint: str = "") -> Any:
        text = [None if _is_missing(value) else str(value) for value in self.values]
        return pc.utf8_trim_whitespace(pa.array(text, pa.string()))

    def _number(self, row: int, value: Any) -> Fraction | None:
        if _is_missing(value):
            return None
        if isinstance(value, str):
            return self._text_number(row, value)
        if isinstance(value, np.bool_):
            return Fraction(bool(value))
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        if not isinstance(value, Decimal | float | np.floating):
            raise self.error(row, f"{type(value).__name__} where a number was expected")
        if not math.isfinite(value):
            raise self.error(row, "an infinite number")
        if self.decimal and not isinstance(value, Decimal):
            return Fraction(np.format_float_scientific(value, unique=True))
        return Fraction(*value.as_integer_ratio())

    def _text_number(self, row: int, value: str) -> Fraction | None:
        cell = ArrowCells(self.name, pa.array([value]), lambda _: self.place(row))
        column, missing = cell.numbers()
        return None if missing[0] else column.fractions()[0]


_FIELDS = tuple(each.name for each in fields(Cells))


@dataclass(frozen=True)
class PlaceAmong:
    """Where the nth of these rows comes from. (A part may keep it, and come from elsewhere.)"""

    place: Callable[[int], str]
    rows: Rows = field(repr=False)

    def __call__(self, row: int) -> str:
        return self.place(int(self.rows[row]))


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or is_pandas_gap(value)


def is_pandas_gap(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType")


def _is_text(kind: Any) -> bool:
    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _shortest(array: Any) -> Any:
    """The shortest decimals of float16 numbers; Arrow writes those of the float64 they are too."""
    distinct, at = np.unique(np.asarray(array.fill_null(np.float16("nan"))), return_inverse=True)
    texts = [np.format_float_scientific(number, unique=True) for number in distinct]
    return pa.array(texts, pa.string()).take(pa.array(at))


@dataclass(frozen=True)
class Later:
    """An Arrow array for cells that is made when somebody asks for it."""

    made: Callable[[], Any] = field(repr=False)


def _decoded(array: Any) -> Any:
    """The array without chunks, dictionary and extension.

    Text comes as plain strings: few kernels know others.
    """
    if isinstance(array, Later):
        array = array.made()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if kinds.is_dictionary(array.type):
        return _decoded(array.dictionary).take(array.indices)
    if isinstance(array, pa.ExtensionArray):  # such as PostgreSQL's numeric, which is text
        return _decoded(array.storage)
    return array.cast(pa.string()) if _is_text(array.type) else array


def _from_integers(array: Any) -> Column:
    """Zero where null; Python integers where -2^63 or more than int64 occurs."""
    wide = array.type == pa.uint64()
    numbers = np.asarray((array if wide else array.cast(pa.int64())).fill_null(0))
    if (numbers.max(initial=0) >= 2**63) if wide else (numbers.min(initial=0) == -(2**63)):
        return Column(numbers.astype(object))
    return Column(numbers.astype(np.int64, copy=False))


def _from_decimals(array: Any) -> Column:
    """Arrow's decimals are integers of 64-bit words over a power of ten; zero where null."""
    width = array.type.byte_width // 8
    if width < 2:
        array, width = array.cast(pa.decimal128(18, array.type.scale)), 2
    array = pc.fill_null(array, pa.scalar(Decimal(0), array.type))
    words, power = decimal_text.words(array, width), -array.type.scale
    if width == 2 and not decimal_text.fit_int64(words):
        return WideColumn(np.ascontiguousarray(words).view(WORDS).ravel(), power, power)
    return Column(decimal_text.from_words(words), power, power)
