"""The average as a question of a study: one row of named numbers of every party, on its grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from titan.errors import DataError, InputError
from titan.joint.average import Averaging
from titan.joint.explanations import Explanation, Item
from titan.joint.kinds import TEXTS, Asked, Setting, kind
from titan.joint.on_grid import OnGrid
from titan.listing import listing
from titan.moments import Source
from titan.moments.cells import Cells
from titan.moments.reading import Reading, read
from titan.moments.sources import Block
from titan.release import Category, Dictionary, Number
from titan.ring import Residues, Ring

Row = tuple[int, ...]


@dataclass(frozen=True)
class OnlyRow(Reading[list[Row], Row]):
    """The numbers of a source's only row, in units of its columns."""

    asked: tuple[OnGrid, ...]

    @property
    def columns(self) -> Sequence[str]:
        return [column.name for column in self.asked]

    def block(self, rows: Block) -> list[Row]:
        if rows.rows > 1:  # of which the numbers are not even looked at
            return [()] * rows.rows
        return [tuple(_only(column, rows.cells[column.name]) for column in self.asked)]

    def finish(self, whole: list[Row], label: str) -> Row:
        if len(whole) > 1:
            raise DataError(
                f"{label} has {len(whole)} rows, where an average takes one of every party",
                hint="to average over rows, ask describe instead",
            )
        return whole[0]


def _only(column: OnGrid, cells: Cells) -> int:
    values, missing, _ = column.read(cells)
    if missing[0]:
        raise cells.error(0, "no number", hint="an average needs all of them")
    return int(values[0])


@dataclass(frozen=True)
class AveragingRows(Averaging):
    """The average of named numbers. Nothing is lost: all are whole multiples of their units."""

    asked: tuple[OnGrid, ...] = ()
    stages = (2,)
    one_row = True
    """Of every party."""

    @property
    def reading(self) -> OnlyRow:
        return OnlyRow(self.asked)

    def part(self, found: Row, source: Source) -> Residues:
        return self.ring.from_ints(found)

    def prepare(self, rows: Any) -> Residues:
        return self.part(read(rows, self.reading), rows)

    def opened_bits(self, rows: int) -> int:
        return sum(column.size.bits(rows) for column in self.asked)

    @property
    def explanation(self) -> Explanation:
        said = f"for each of {listing(self.names)}, the sum of all parties' numbers"
        return Explanation((Item("sum", len(self.names), said),), self.names)


def _settle(asked: Asked, columns: Dictionary) -> Asked:
    """All columns of numbers, where none is named."""
    names = tuple(asked.get("columns") or (n for n, c in columns.items() if isinstance(c, Number)))
    if not names:
        raise InputError(
            "an average that names no column",
            hint="--range income=0:1000 --step income=0.01 states one",
        )
    if len(set(names)) < len(names):
        raise InputError("a column of an average is named twice", hint="name every column once")
    for name in names:
        _column(name, columns)
    return {"columns": names}


def _column(name: str, columns: Dictionary) -> OnGrid:
    if name not in columns or isinstance(columns[name], Category):
        found = "is a category" if name in columns else "is not"
        raise InputError(
            f"an average of {name!r}, which {found} in the data dictionary",
            hint=f"a number has a range and a step: --range {name}=0:120 --step {name}=1",
        )
    return OnGrid.of(name, columns)


@kind("average", options={"columns": TEXTS}, first="columns", settle=_settle)
def average(asked: Asked, setting: Setting) -> AveragingRows:
    """The average over the parties of one row of numbers each."""
    names, parties = tuple(asked["columns"]), setting.parties
    columns = tuple(_column(name, setting.columns) for name in names)
    most = len(parties) * max(column.size.most for column in columns)
    units = tuple(column.size.unit for column in columns)
    ring, none = Ring(most.bit_length() + 1), Fraction(0)
    return AveragingRows(ring, units, none, (len(names),), parties, names, columns)
