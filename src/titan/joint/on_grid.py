"""A column of numbers as a study knows it: whole multiples of a unit, of a known size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.moments.cells import Cells
from titan.moments.model import Readings
from titan.release import Dictionary
from titan.release.sizes import Size, size_of

Integers = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


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
        readings = Readings(len(there), rows, {}, lambda row: cells.place(int(there[row])))
        found = self.known.place(readings)
        placed = found.numbers[self.name]
        whole = placed.numbers // int(self.size.unit / placed.unit)
        return whole, gaps, found.rounded.get(self.name, 0)
