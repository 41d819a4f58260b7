"""The average as a question of a study: one row of named numbers of every party, on its grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.decimals import decimal_text
from titan.errors import DataError, InputError
from titan.joint.average import Averaging
from titan.joint.averaged import Average
from titan.joint.explanations import Explanation, Item
from titan.joint.kinds import TEXTS, Asked, Setting, kind
from titan.listing import listing
from titan.moments import Source
from titan.moments.reading import Reading, read
from titan.moments.sources import Block
from titan.release import Dictionary, Flag, Number
from titan.release.sizes import Size, size_of
from titan.ring import Residues, Ring, Where
from titan.ring.fixed_point import exact_number

Row = list[Fraction | float]


# -- one row, on the grid ---------------------------------------------------------------------


@dataclass(frozen=True)
class OnlyRow(Reading[list[Row], Row]):
    """The numbers of a source's only row."""

    names: tuple[str, ...]

    @property
    def columns(self) -> Sequence[str]:
        return self.names

    def block(self, rows: Block) -> list[Row]:
        if rows.rows > 1:  # of which the numbers are not even looked at
            return [[]] * rows.rows
        return [[self._number(rows, name) for name in self.names]]

    def _number(self, rows: Block, name: str) -> Fraction | float:
        column, gaps = rows.cells[name].numbers()
        if gaps[0]:
            raise rows.cells[name].error(0, "no number", hint="an average needs all of them")
        double = column.numbers.dtype == np.float64
        return float(column.numbers[0]) if double else column.fractions()[0]

    def finish(self, whole: list[Row], label: str) -> Row:
        if len(whole) > 1:
            raise DataError(
                f"{label} has {len(whole)} rows, where an average takes one of every party",
                hint="to average over rows, ask describe instead",
            )
        return whole[0]


@dataclass(frozen=True)
class OnGrid:
    """A scale for numbers with range and step: whole multiples of units, so that sums are exact."""

    columns: tuple[Number, ...]
    sizes: tuple[Size, ...]
    parties: int
    rounding = Fraction(0)

    @cached_property
    def units(self) -> tuple[Fraction, ...]:
        return tuple(size.unit for size in self.sizes)

    @cached_property
    def ring(self) -> Ring:
        most = self.parties * max(size.most for size in self.sizes)
        return Ring(most.bit_length() + 1)

    def encode(self, flat: npt.NDArray[Any], where: Where) -> Residues:
        """Every number at the grid point nearest to it, the even one of two."""
        codes = []
        for at, (given, column, unit) in enumerate(
            zip(flat, self.columns, self.units, strict=True)
        ):
            number = _decimal(given, where(at))
            if not column.low <= number <= column.high:
                ends = f"{decimal_text(column.low)} to {decimal_text(column.high)}"
                raise DataError(f"{where(at)} is outside the study's range, {ends}")
            assert column.step is not None  # noqa: S101 - or it would have no size
            steps = round((number - column.low) / column.step)
            codes.append(int((column.low + steps * column.step) / unit))
        return self.ring.from_ints(codes)


def _decimal(given: object, where: str) -> Fraction:
    """A float stands for the decimal that was written, as on the grid of any column."""
    exact = exact_number(given, where)
    if isinstance(given, float | np.floating):
        return Fraction(np.format_float_scientific(given, unique=True))
    return Fraction(exact)


@dataclass(frozen=True)
class AveragingRows(Averaging):
    """The average of named numbers: one row of a source, a mapping, or an array in this order."""

    names: tuple[str, ...] = ()

    @property
    def reading(self) -> OnlyRow:
        return OnlyRow(self.names)

    def part(self, found: Row, source: Source | None = None) -> Residues:
        numbers = np.empty(len(found), object)
        numbers[:] = found
        return super().prepare(numbers)

    def prepare(self, rows: Any) -> Residues:
        if isinstance(rows, Source):
            return self.part(read(rows, self.reading), rows)
        if not isinstance(rows, Mapping):
            return super().prepare(rows)
        missing = [name for name in self.names if name not in rows]
        if missing:
            raise DataError(f"there is no number for {listing(map(repr, missing))}")
        return self.part([rows[name] for name in self.names])

    def _called(self, entry: int) -> str:
        return self.names[entry]

    def learn(self, n: int, known: None, total: Residues) -> Average:
        return replace(super().learn(n, known, total), names=self.names)

    @property
    def explanation(self) -> Explanation:
        said = f"for each of {listing(self.names)}, the sum of all parties' numbers"
        return Explanation((Item("sum", len(self.names), said),), self.names)


# -- the question -----------------------------------------------------------------------------


def _settle(asked: Asked, columns: Dictionary) -> Asked:
    """All columns of numbers, where none is named."""
    names = tuple(asked.get("columns") or (n for n, c in columns.items() if isinstance(c, Number)))
    if not names:
        raise InputError(
            "an average of no column", hint="--range income=0:1000 --step income=0.01 states one"
        )
    if len(set(names)) < len(names):
        raise InputError("a column of an average stands twice", hint="name every column once")
    for name in names:
        _number(name, columns)
    return {"columns": names}


def _number(name: str, columns: Dictionary) -> tuple[Number, Size]:
    column, size = columns.get(name), size_of(name, columns)
    if isinstance(column, Flag):
        column = Number(Fraction(0), Fraction(1), Fraction(1))
    if not isinstance(column, Number):
        found = "is a category" if column else "is not"
        raise InputError(
            f"an average of {name!r}, which {found} in the data dictionary",
            hint=f"a number has a range and a step: --range {name}=0:120 --step {name}=1",
        )
    if size is None:
        raise InputError(
            f"the data dictionary does not say the step of {name!r}", hint=f"--step {name}=1"
        )
    return column, size


@kind("average", options={"columns": TEXTS}, first="columns", settle=_settle)
def average(asked: Asked, setting: Setting) -> AveragingRows:
    """The average over the parties of one row of numbers each."""
    names = tuple(asked["columns"])
    columns, sizes = zip(*(_number(name, setting.columns) for name in names), strict=True)
    scale = OnGrid(columns, sizes, len(setting.parties))
    return AveragingRows(scale, (len(names),), setting.parties, names)
