"""A column of numbers as a study knows it: whole multiples of a unit, of a known size.

`Bins` are the cells of a histogram of such numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text, read_decimal
from titan.errors import InputError
from titan.moments.cells import Cells, PlaceAmong
from titan.moments.model import Readings
from titan.release import Dictionary
from titan.release.sizes import Size, size_of

Integers = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
BinsGiven = Mapping[str, str] | Sequence[str]
_MOST_CELLS = 10_000
_HOW = 'such as "age=0:120:10": from 0 to 120 in cells 10 wide'


@dataclass(frozen=True)
class OnGrid:
    """One column, a number or a flag."""

    name: str
    known: Dictionary
    size: Size

    @classmethod
    def of(cls, name: str, known: Dictionary) -> OnGrid:
        size = size_of(name, known)
        if size is None:
            raise InputError(
                f"the data dictionary does not say the step of {name!r}", hint=f"--step {name}=1"
            )
        return cls(name, Dictionary.of({name: known[name]}), size)

    def read(self, cells: Cells) -> tuple[Integers, Mask, int]:
        """The values that are there, in units; which are missing; how many had to be rounded."""
        column, gaps = cells.numbers()
        there = np.flatnonzero(~gaps)
        rows = {self.name: column.take(there)}
        readings = Readings(len(there), rows, {}, PlaceAmong(cells.place, there))
        found = self.known.place(readings)
        placed = found.numbers[self.name]
        whole = placed.numbers // int(self.size.unit / placed.unit)
        return whole, gaps, found.rounded.get(self.name, 0)


@dataclass(frozen=True)
class Bins:
    """The cells of a histogram: from `low` to `high`, each `width` wide; `high` is in the last."""

    low: Fraction
    high: Fraction
    width: Fraction

    def __post_init__(self) -> None:
        if self.low >= self.high or self.width <= 0 or (self.high - self.low) % self.width:
            raise InputError(f"the bins {self} are not a whole number of cells", hint=_HOW)
        if (self.high - self.low) > _MOST_CELLS * self.width:
            raise InputError(f"the bins {self} are too many", hint=f"at most {_MOST_CELLS}")

    @classmethod
    def by_column(cls, given: BinsGiven) -> dict[str, Bins]:
        """From {"age": "0:120:10"} or ["age=0:120:10"]."""
        if isinstance(given, Mapping):
            given = [f"{name}={text}" for name, text in given.items()]
        found: dict[str, Bins] = {}
        for text in given:
            name, _, ends = text.rpartition("=")
            if not name or name in found:
                raise InputError(f"the bins {text!r} are not those of one column", hint=_HOW)
            try:
                low, high, width = map(read_decimal, ends.split(":"))
            except ValueError:  # also where there are not three
                raise InputError(f"the bins {text!r} cannot be read", hint=_HOW) from None
            found[name] = cls(low, high, width)
        return found

    def __str__(self) -> str:
        return ":".join(decimal_text(x) for x in (self.low, self.high, self.width))

    def __len__(self) -> int:
        return int((self.high - self.low) / self.width)

    @property
    def edges(self) -> tuple[Fraction, ...]:
        return tuple(self.low + at * self.width for at in range(len(self) + 1))

    def count(self, values: Integers, unit: Fraction) -> list[int]:
        """How many values, whole multiples of the unit, each cell holds."""
        first = [-(-edge // unit) for edge in self.edges[:-1]]  # the least multiple of each cell
        starts = [*first, self.high // unit + 1]
        if max(map(abs, starts)) >= 2**63:
            values = values.astype(object)
        below = np.searchsorted(np.sort(values), np.array(starts, values.dtype))
        return [int(n) for n in np.diff(below)]
