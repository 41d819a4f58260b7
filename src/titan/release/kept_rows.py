"""What looks at own rows need of them, kept for when the rows themselves lie elsewhere.

Of a party's own rows the leverages h = aᵀG⁻¹a add up to at most the number of columns p: no more
than p/ε of them have one of ε or more, however many rows there are. And no row's leverage grows
when rows of others are added to G, nor when columns are left out. So whichever rows can stand out
in a sum that is yet to come are among those few, and they are known beforehand:

    moments        G, of all own rows
    high_leverage  the rows whose leverage among the own is not proven to be below `least`
    donors         two sets of a few rows: what others' rows are made like (`release.leverage`)

All that is decided by these is decided as it would be by all rows. (But for rows that have a share
together: of one that is not kept, `least` is taken. It is small, and errs on the side of refusing.)
"""

# Rule 1: rows that are not here must not seem to be looked at: whatever else wants to read them is
#         refused.
# Rule 2: that others' rows add to G is not taken on trust: see `check_others`.

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from titan.errors import DataError, ReleaseError, TitanError
from titan.leastsquares.pooled import PooledMoments, exact, integers
from titan.leastsquares.whitening import whiten
from titan.moments import Moments, Source
from titan.moments.cells import PlaceAmong
from titan.moments.columns import Column
from titan.moments.gram import gram, weighted
from titan.moments.model import Readings
from titan.moments.reading import read_all
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import BATCH_ROWS, Block
from titan.release.joint_rows import JointRows
from titan.release.orthonormal import MOST_EXACT, orthonormal
from titan.release.projection import OfRows, Projection

MOST_STANDING = 1 << 15
"""Rows; where more might stand out, none are kept."""
_DONORS = 32
_MARGIN = 1 - Fraction(1, 1 << 8)
"""For what roundings leave open."""


def least_leverage(k: int) -> Fraction:
    """Below that no look of cells of k rows cares."""
    return Fraction(1, 8 * max(k, 32))


@dataclass(frozen=True)
class Look:
    """At the own rows in the columns of one or more questions."""

    moments: Moments
    donors: tuple[Readings, ...] = field(repr=False)
    high_leverage: Batch = field(repr=False)
    least: Fraction

    @property
    def every(self) -> bool:
        """Whether all rows are kept."""
        return self.high_leverage.rows == self.moments.rows


@dataclass(frozen=True, eq=False)
class KeptRows(Source):
    """A source of which only looks at its rows are kept."""

    label: str
    column_names: tuple[str, ...]
    find: Callable[[JointRows | ModelRows], Look | None] = field(repr=False)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        self.refuse()

    def map_blocks(self, f: Any, merge: Any, *, columns: Any, size: int = BATCH_ROWS) -> Any:
        self.refuse()

    def each_block(
        self, f: Callable[[Block], Any], *, columns: Sequence[str], size: int = BATCH_ROWS
    ) -> Iterator[Any]:
        self.refuse()

    def look(self, rows: JointRows | ModelRows) -> Look:
        found = self.find(rows)
        return self.refuse() if found is None else found

    def refuse(self) -> NoReturn:
        raise DataError(
            f"{self.label} was prepared, and what was kept of its rows is not enough here",
            hint="join with the rows as well: --data",
        )


def named(rows: JointRows | ModelRows) -> str:
    """Which look it is; within one study rows are checked and rounded in one way."""
    if isinstance(rows, ModelRows):
        return f"all parties: {_words(rows)}"
    return "own rows: " + "; ".join(map(_words, rows.groups))


def _words(rows: ModelRows) -> str:
    weights = "" if rows.model.weights is None else f" weighted by {rows.model.weights!r}"
    return f"{rows.model}{weights}, {rows.missing}"


def ask(
    source: Source, rows: JointRows | ModelRows, readings: Sequence[OfRows[Any, Any]]
) -> tuple[Any, ...]:
    """What these make of the rows, or of what was kept of them."""
    if not isinstance(source, KeptRows):
        return read_all(source, readings)
    look = source.look(rows)
    return tuple(each.of_look(look) for each in readings)


def check_others(pooled: PooledMoments, own: Moments) -> None:
    """ReleaseError unless what others have added to the own AᵀA can be that of rows.

    Then, and only then, no own row's leverage has grown.
    """
    mine, n = exact(own), range(len(pooled.names))
    theirs = [[_entry(pooled, j, k) - _entry(mine, j, k) for k in n] for j in n]
    common = math.lcm(*(x.denominator for row in theirs for x in row))
    matrix = integers([[int(x * common) for x in row] for row in theirs])
    ones = [Fraction(1)] * len(theirs)
    added = PooledMoments.of_integers(pooled.names, matrix, [0] * len(theirs), ones, rows=0)
    try:
        whiten(added, full_rank=False)  # which proves that no combination has a square below zero
    except TitanError:
        raise ReleaseError(
            "what the other parties added to the sums is not what rows add",
            hint="some party entered other numbers than its rows'; with the rows themselves, "
            "--data, this party can look whether one stands out",
            rule="leverage",
        ) from None


def _entry(moments: PooledMoments, j: int, k: int) -> Fraction:
    """Of the unscaled AᵀA."""
    power = Fraction(2) ** (moments.scales[j] + moments.scales[k])
    return Fraction(int(moments.gram[j, k]), moments.denominator) * power


# -- what is read of the rows -------------------------------------------------------------------


@dataclass(frozen=True)
class OwnMoments(OfRows[Moments, Moments]):
    """Of all rows that any question uses."""

    rows: JointRows

    def block(self, rows: Block) -> Moments:
        batch, names = self.batch(rows), self.rows.names
        if batch is None:
            return Moments.zero(names)
        return moments_of(names, batch.columns, batch.weights)

    def of_look(self, look: Look) -> Moments:
        return look.moments


def moments_of(names: Sequence[str], columns: Sequence[Column], weights: Column | None) -> Moments:
    return gram(names, columns) if weights is None else weighted(names, columns, weights)


@dataclass(frozen=True)
class Donors(OfRows[tuple[Readings, ...], tuple[Readings, ...]]):
    """Two sets of own rows, none in both: a row in one of them is judged by the other."""

    rows: JointRows

    def block(self, rows: Block) -> tuple[Readings, ...]:
        batch = self.rows.batch(rows, complete=True)
        if batch is None or batch.rows < 2:
            return ()
        plain = replace(batch.readings, place="row {}".format)
        spread = np.linspace(0, batch.rows - 1, min(2 * _DONORS, batch.rows)).astype(np.intp)
        return plain.take(spread[::2]), plain.take(spread[1::2])

    def merge(self, one: tuple[Readings, ...], other: tuple[Readings, ...]) -> tuple[Readings, ...]:
        return one or other

    def of_look(self, look: Look) -> tuple[Readings, ...]:
        return look.donors


_Row = tuple[str, tuple[Fraction, ...]]
"""Where it is, and its numbers: those of the columns, and its weight at last."""


@dataclass(frozen=True)
class HighLeverage(OfRows[tuple[_Row, ...] | None, Batch | None]):
    """The rows whose leverage in all columns may be `least` or more; None if these are too many."""

    projection: Projection
    least: Fraction

    def block(self, rows: Block) -> tuple[_Row, ...] | None:
        batch = self.batch(rows)
        if batch is None:
            return ()
        found, doubt = self.projection.leverages(batch)
        at = np.flatnonzero(~(found + doubt < float(self.least * _MARGIN)))
        if len(at) > MOST_STANDING:
            return None
        columns = [column.take(at) for column in batch.columns]
        weights = None if batch.weights is None else batch.weights.take(at)
        readings = Readings(len(at), {}, {}, PlaceAmong(batch.readings.place, at))
        return tuple(rows_of(Batch(columns, len(at), readings, weights)))

    def merge(
        self, one: tuple[_Row, ...] | None, other: tuple[_Row, ...] | None
    ) -> tuple[_Row, ...] | None:
        if one is None or other is None or len(one) + len(other) > MOST_STANDING:
            return None
        return one + other

    def finish(self, whole: tuple[_Row, ...] | None, label: str) -> Batch | None:
        names = self.rows.model.names if isinstance(self.rows, ModelRows) else self.rows.names
        return None if whole is None else batch_of(whole, len(names))


def batch_of(rows: Sequence[_Row], width: int) -> Batch:
    """Rows by themselves, of so many columns; each has a weight, if only 1."""
    places = [place for place, _ in rows]
    numbers = zip(*(numbers for _, numbers in rows), strict=True) if rows else [()] * (width + 1)
    *columns, weights = (Column.of_fractions(each)[0] for each in numbers)
    return Batch(columns, len(rows), Readings(len(rows), {}, {}, places.__getitem__), weights)


def rows_of(batch: Batch) -> list[_Row]:
    """The inverse."""
    weights = batch.weights or Column(np.ones(batch.rows, np.int64))
    numbers = [column.fractions() for column in (*batch.columns, weights)]
    places = map(batch.readings.place, range(batch.rows))
    return list(zip(places, zip(*numbers, strict=True), strict=True))


def looks_at(
    source: Source,
    own: Sequence[JointRows],
    pooled: Sequence[tuple[ModelRows, Moments]],
    k: int,
) -> dict[str, Look]:
    """Those at the own rows in the columns of some questions together, and those at a model whose
    own moments are known. In two passes; one that cannot be kept is not there."""
    readings = [each for rows in own for each in (OwnMoments(rows), Donors(rows))]
    found = read_all(source, readings)
    known: list[tuple[JointRows | ModelRows, Moments, tuple[Readings, ...]]] = [
        *zip(own, found[::2], found[1::2], strict=True),
        *((rows, moments, ()) for rows, moments in pooled),
    ]
    least = least_leverage(k)
    high_leverage = {}
    for rows, moments, donors in known:
        if (projection := _all_columns(moments)) is not None:
            high_leverage[named(rows)] = HighLeverage(rows, projection, least), moments, donors
    batches = read_all(source, [reading for reading, _, _ in high_leverage.values()])
    return {
        name: Look(moments, donors, batch, least)
        for (name, (_, moments, donors)), batch in zip(high_leverage.items(), batches, strict=True)
        if batch is not None
    }


def _all_columns(moments: Moments) -> Projection | None:
    """None where that cannot be made, or what it is compared with later cannot be exact."""
    whole = exact(moments)
    if len(whole.names) > MOST_EXACT:
        return None
    return Projection(tuple(range(len(whole.names))), orthonormal(whole), Fraction(1))
