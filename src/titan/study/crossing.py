"""Questions that divide one column in ways that cross: what lies between would be counted.

Curves in steps of 6 and of 4 months both tell how many have left by their edges, so together also
who left between 4 and 6. Groups by arm in one and by ward in the other leave a patient of the one
and not the other. None of these cells was looked at by anybody. So of two questions one must divide
rows as the other does, and further: then every difference is a cell that was checked.

Proportional hazards open no count of any interval, so none is checked: on another grid, with other
ties, or where events count from another number at risk on, the same rows differ in the risk sets of
a few, and so do the scores. Two such questions about one time must be alike in all three.

In two studies the time must be put on the same steps, too: what lies between them is rounded to one
side in one study, to the other in the other.
"""

# Rule: what a ledger compares is kept as it was asked, not read from words: names may have anything
#       in them.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Self

from titan.decimals import decimal
from titan.errors import InputError
from titan.joint.kinds import Question
from titan.joint.on_grid import Bins
from titan.release import Column, Number

KINDS = ("survival", "cox")
_ONE = "ask for one: the difference of two would count the rows in between"


@dataclass(frozen=True)
class Divided:
    """How a question divides the rows by a number: a time, or that of a histogram."""

    time: str
    by: frozenset[str]
    grid: Fraction
    until: Fraction | None = None
    ties: str = ""
    """Of proportional hazards, which divide the rows of each party alone."""
    least: int | None = None
    """The same: how many at risk an event needs to count."""
    bins: str = ""
    """Of a histogram."""
    placed: tuple[Fraction, Fraction] | None = None
    """The steps that the dictionary puts the number on: how wide, and where one of them is."""

    @classmethod
    def of(cls, question: Question) -> Self:
        options: dict[str, Any] = question.options
        until = Fraction(options["until"]) if "until" in options else None
        by, ties = frozenset(options.get("by", ())), options.get("ties", "efron")
        ties = ties if question.kind == "cox" else ""
        return cls(options["time"], by, Fraction(options["grid"]), until, ties)

    @property
    def state(self) -> list[Any]:
        """For JSON."""
        exact = [None if x is None else str(x) for x in (self.grid, self.until)]
        placed = None if self.placed is None else list(map(str, self.placed))
        return [self.time, sorted(self.by), *exact, self.ties, self.least, self.bins, placed]

    @classmethod
    def from_state(cls, state: Sequence[Any]) -> Self:
        """ValueError or TypeError for what `state` never is."""
        time, by, grid, until, ties, least, bins, placed = state
        steps = None
        if placed is not None:
            width, place = map(Fraction, placed)
            steps = width, place
        end = None if until is None else Fraction(until)
        return cls(str(time), frozenset(by), Fraction(grid), end, ties, least, bins, steps)

    def under(self, names: Mapping[str, str]) -> Self:
        """With the names that columns have now."""
        by = frozenset(names.get(name, name) for name in self.by)
        return replace(self, time=names.get(self.time, self.time), by=by)

    def fits(self, other: Divided) -> bool:
        """Whether one of the two divides rows as the other does, and further."""
        if bool(self.ties) != bool(other.ties):
            return True
        if not _alike(self.placed, other.placed):
            return False
        if self.ties:
            same = (self.ties, self.grid) == (other.ties, other.grid)
            return same and _alike(self.least, other.least)
        if self.bins or other.bins:  # [0, 6) and (0, 6] differ by those at 0 and at 6
            return self.bins == other.bins
        return self._refines(other) or other._refines(self)

    def _refines(self, coarse: Divided) -> bool:
        """Every interval of the coarse one is made of whole ones here, or begins after the last."""
        if not coarse.by <= self.by or coarse.grid % self.grid:
            return False
        within = coarse.until is not None and self.until is not None and coarse.until <= self.until
        return self.until is None or within or self.until % coarse.grid == 0


def _alike(one: object, other: object) -> bool:
    """As far as both are known: earlier ledgers have words alone."""
    return one is None or other is None or one == other


def divisions(question: Question, columns: Mapping[str, Column], least: int) -> tuple[Divided, ...]:
    """All that one question divides rows by, as a ledger keeps it; `least` is the study's k."""
    found = [replace(each, placed=_placed(columns.get(each.time))) for each in _divided(question)]
    return tuple(replace(each, least=max(least, 1)) if each.ties else each for each in found)


def _divided(question: Question) -> Iterator[Divided]:
    if question.kind in KINDS:
        yield Divided.of(question)
    given: Any = question.options.get("bins", ())
    for name, bins in Bins.by_column(given if question.kind == "describe" else ()).items():
        yield Divided(name, frozenset(), bins.width, bins=str(bins))


def _placed(column: Column | None) -> tuple[Fraction, Fraction] | None:
    if not isinstance(column, Number) or column.step is None:
        return None
    return column.step, column.low % column.step


def read_divided(words: str, columns: Sequence[str]) -> tuple[Divided, ...]:
    """From a question as earlier ledgers have it, and its columns; none of any other kind."""
    kind, _, rest = words.partition(": ")
    if kind not in KINDS:
        return ()
    first, *options = rest.split("; ")
    said = dict(option.split(" ", 1) for option in options if " " in option)
    if kind == "cox":
        time, by, ties = said.get("time", ""), frozenset[str](), said.get("ties", "efron")
    else:
        time, ties = next((name for name in columns if first.startswith(f"{name}, ")), ""), ""
        apart = time, first.removeprefix(f"{time}, ")
        by = frozenset(name for name in columns if name not in apart)
    try:
        until = decimal(said["until"]) if "until" in said else None
        return (Divided(time, by, decimal(said["grid"]), until, ties),)
    except (KeyError, ValueError):  # a name with a semicolon: nothing is known to fit with it
        return (Divided(time, frozenset([words]), Fraction(1), None, ties and words),)


def check_crossing(questions: Iterable[Question]) -> None:
    """InputError where two questions of a study cross."""
    every = list(questions)
    bins = _histograms(every)
    asked = [(q.name, Divided.of(q)) for q in every if q.kind in KINDS]
    for name, divided in asked:
        if divided.time in bins and not divided.ties:
            raise InputError(
                f"questions: a histogram of {divided.time!r}, whose cells begin where intervals of "
                f"{name!r} end",
                hint=_ONE,
            )
    for (one, first), (other, second) in combinations(asked, 2):
        if first.time == second.time and not first.fits(second):
            raise InputError(
                f"questions: {one!r} and {other!r} divide {first.time!r} in ways that cross",
                hint=_finer(first, second),
            )


def _finer(one: Divided, other: Divided) -> str:
    if one.ties:
        return "let both have the same grid and the same ties"
    by = ",".join(sorted(one.by | other.by))
    groups = "" if one.by == other.by else f", and ask for by={by} on the finer"
    return (
        f"let the grid of one be a multiple of the other's{groups}; in Python, margin of an answer "
        "gives its curves by fewer columns"
    )


def _histograms(questions: Iterable[Question]) -> dict[str, str]:
    """Cells of two histograms of one column overlap: what lies between their edges is counted."""
    bins: dict[str, str] = {}
    for question in questions:
        given: Any = question.options.get("bins", ())
        for text in given if question.kind == "describe" else ():
            name = text.rpartition("=")[0]
            if bins.setdefault(name, text) != text:
                raise InputError(
                    f"questions: two histograms of {name!r} with different cells", hint=_ONE
                )
    return bins
