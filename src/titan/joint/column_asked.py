"""One column of a Table 1: what is counted of it, and what the counts and sums make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from titan.decimals import decimal_text
from titan.errors import InputError
from titan.joint.description import ColumnSummary
from titan.joint.on_grid import Bins, OnGrid
from titan.moments.cells import Cells
from titan.moments.terms import Level
from titan.release import Category, Column, Dictionary, Flag
from titan.release.cells import Digits, rows_off
from titan.release.model_cells import cut_of_number, digits_of


@dataclass(frozen=True)
class ColumnAsked:
    """What is counted of a column: its levels; or of numbers their sums, and perhaps their bins."""

    name: str
    column: Column
    levels: tuple[Level, ...] = ()
    numbers: OnGrid | None = None
    bins: Bins | None = None
    values: tuple[Fraction, ...] = ()
    """Of a number that takes few: the rows of each are counted, since its sums tell them."""
    digits: tuple[Digits, ...] = ()
    """Of a number: the coarser grids off which rows and parties are counted."""
    held: bool = False
    """Of a number: whether the parties that have some are counted, last of all."""

    @classmethod
    def of(cls, name: str, known: Dictionary, bins: Bins | None) -> ColumnAsked:
        """InputError where the dictionary does not say enough."""
        if name not in known:
            raise InputError(
                f"the data dictionary does not say what {name!r} is",
                hint=f"a number: --range {name}=0:120 --step {name}=1; "
                f"a category: --levels {name}=a,b",
            )
        column = known[name]
        if isinstance(column, Flag):
            return cls(name, column, tuple(Level(Fraction(n), str(n)) for n in (0, 1)))
        if isinstance(column, Category):
            return cls(name, column, tuple(Level(text, text) for text in column.levels))
        return cls(name, column, numbers=OnGrid.of(name, known), bins=bins)

    def checked(self, known: Dictionary) -> ColumnAsked:
        """The same, where no small count and no digits of one party's must be told."""
        if self.numbers is None:
            return self
        cut = cut_of_number(self.name, known)
        values = () if cut is None or self.bins is not None else cut.values
        return replace(self, values=values, digits=(*digits_of(self.name, known),), held=True)

    @property
    def cells(self) -> int:
        """How many levels or cells of a histogram are counted."""
        return len(self.levels) or len(self.bins or ())

    @property
    def entries(self) -> int:
        """How many counts there are."""
        return 1 + self.cells + len(self.values) + 2 * len(self.digits) + self.held

    def off(self, counts: Sequence[int]) -> list[tuple[str, int, int]]:
        """What lies off each coarser grid: its name, the rows and the parties."""
        at = range(1 + self.cells + len(self.values), self.entries - self.held, 2)
        return [(d.label, counts[n], counts[n + 1]) for d, n in zip(self.digits, at, strict=True)]

    def of_party(self, counts: Sequence[int], rows: int) -> list[int]:
        """The same counts, and of the party itself where it has rows off a grid, or any."""
        off = [n for _, n_off, _ in self.off(counts) for n in (n_off, int(n_off > 0))]
        there = [int(rows > counts[0])] * self.held
        return [*counts[: 1 + self.cells + len(self.values)], *off, *there]

    def few(self, counts: Sequence[int]) -> list[tuple[str, int]]:
        """Of a number that takes few values: each, and its rows."""
        names = [f"{self.name} = {decimal_text(value)}" for value in self.values]
        return list(zip(names, counts[1 + self.cells :], strict=False))

    def read(self, cells: Cells) -> tuple[list[int], list[int], int]:
        """Missing values, then the rows of each cell and off each grid; Σx and Σx²; how many values
        were rounded."""
        if self.numbers is None:
            codes, gaps = cells.codes(self.levels)
            counts = np.bincount(codes[~gaps], minlength=len(self.levels))
            return [int(gaps.sum()), *counts.tolist()], [], 0
        values, gaps, rounded = self.numbers.read(cells)
        binned = [] if self.bins is None else self.bins.count(values, self.numbers.size.unit)
        unit = self.numbers.size.unit
        few = [int(np.count_nonzero(values == int(value / unit))) for value in self.values]
        off = [n for rows in rows_off(self.digits, values, unit) for n in (rows, 0)]
        if self.numbers.size.most**2 * max(len(values), 1) >= 2**63:
            values = values.astype(object)
        totals = [int(values.sum()), int((values * values).sum())]
        return [int(gaps.sum()), *binned, *few, *off, *[0] * self.held], totals, rounded

    def summary(self, rows: int, counts: Sequence[int], totals: Sequence[int]) -> ColumnSummary:
        missing, *cells = counts[: 1 + self.cells]
        unit = getattr(self.column, "unit", "")
        found = ColumnSummary(self.name, self.column.kind, missing, rows - missing, unit)
        if self.levels:
            texts = [level.text for level in self.levels]
            found = replace(found, levels=tuple(zip(texts, cells, strict=True)))
        if self.bins is not None:
            found = replace(found, edges=self.bins.edges, histogram=tuple(cells))
        if self.numbers is not None and totals:
            one = self.numbers.size.unit
            found = replace(found, total=totals[0] * one, squares=totals[1] * one**2)
        return found


def columns_asked(
    names: Sequence[str], bins: Mapping[str, Bins], known: Dictionary
) -> tuple[ColumnAsked, ...]:
    twice = [name for name in names if list(names).count(name) > 1]
    if twice or not names:
        found = f"the column {twice[0]!r} stands twice" if twice else "no column is named"
        raise InputError(found, hint="name every column once")
    asked = tuple(ColumnAsked.of(name, known, bins.get(name)) for name in names)
    unused = [name for name in bins if not any(e.name == name and e.bins for e in asked)]
    if unused:
        raise InputError(
            f"bins of {unused[0]!r}, which is not a column of numbers here",
            hint="name it among the columns; levels and flags are counted without bins",
        )
    return asked
