"""Rows that stand alone in a model, as each party sees it in its own.

The leverage of a row is h = aᵀG⁻¹a, from 0 to 1: the largest share that one row can have in any
combination of the columns, max_c (aᵀc)² / cᵀGc. A row of leverage h is as exposed as one in a cell
of 1/h rows, whatever the formula has dressed it up as: Σ (aᵀc) b over all rows is mostly its own b.

Before an outcome leaves, leverage is that in the pooled G, at most 1/k (`pooled_leverage`). Before
G itself leaves, nobody knows it; then it is that among the own rows (`own_leverage`), which is an
upper bound, and refused where it is next to 1: then G's own entries are that row's values.

Among own rows two things would be refused for no reason. A row alone in a cell, where the counts
have told that others have rows: so as many are added to every such cell, which are like other own
rows but for the cell. (A penalty on the column of the cell would do that too, and hide the column
`I(sex + spike)` beside `sex`.) And all rows, where there are hardly more than columns: nobody can
aim with columns as they are, so there only what a formula makes is looked at, group by group:
columns that a formula makes of common data, with all that is made of these data alone.
"""

# Rule 1: what is found is told to the owner of the rows alone.
# Rule 2: a doubt that float64 leaves is settled exactly.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from titan.errors import ReleaseError
from titan.leastsquares.pooled import PooledMoments, exact
from titan.leastsquares.whitening import Whitening
from titan.listing import listing
from titan.moments import Moments, Source
from titan.moments.columns import Column
from titan.moments.expressions import Name
from titan.moments.gram import gram, weighted
from titan.moments.model import Readings
from titan.moments.reading import Part, Reading, Result, read, read_all
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block
from titan.moments.terms import Category, DesignColumn, Polynomial
from titan.release.cells import CellCounts, Table
from titan.release.joint_rows import JointRows
from titan.release.orthonormal import Approximate, orthonormal

Floats = npt.NDArray[np.float64]

FEW, MANY = 3, 10
"""Own rows for each column. With few or less, leverage in all columns at once says nothing."""
OWN_OF_FEW, OWN_OF_MANY = Fraction(19, 20), Fraction(4, 5)
"""The largest leverage of a row among the own ones. (Measured, with models whose pooled leverage is
allowed: up to 0.89 of 20 rows with 4 columns, up to 0.53 of 100 and more.)"""
_TOLERANCE = 2.0**-20
"""A cell of exactly k rows is allowed, whatever the rounding."""
_OF_MANY_COLUMNS = 2.0**-10
_ROWS_OF_SEVERAL = 10
"""Own rows for each of several that are looked at together: fewer always have large shares."""
_NAMED = 5
_DONORS = 32


Counted = tuple[CellCounts, Sequence[int], Sequence[int]]
"""Cells, how many own rows are in them, and how many of all parties: these were checked before, so
that where there are own rows others have enough."""


def own_leverage(
    rows: JointRows, source: Source, counted: Sequence[Counted] = (), k: int = 2
) -> None:
    """ReleaseError where fewer than k rows are all but alone among the own."""
    moments, donors = read_all(source, [_OwnMoments(rows), _Donors(rows)])
    whole = [moments]
    if donors and any(cells.tables for cells, _, _ in counted):
        whole = [moments + _others(rows, each, counted) for each in donors]
    groups = list(_groups(rows.design, moments.rows))
    projections = tuple(
        _projection(each, group, moments.rows) for each in map(exact, whole) for group in groups
    )
    hint = "leave that row out, or agree on a model without what singles it out"
    found = read(source, Leverage(rows, projections))
    found.refuse("of all own rows, these stand alone in the model's columns", hint)
    few = min(k - 1, moments.rows // _ROWS_OF_SEVERAL)
    for each in projections if few > 1 else ():
        together(rows, source, each, few).refuse(
            "of all own rows, these few stand alone in the model's columns", hint
        )


def pooled_leverage(
    rows: ModelRows, source: Source, whitening: Whitening | Approximate, k: int
) -> None:
    """ReleaseError where the leverage of an own row in the pooled Gram matrix is above 1/k."""
    if k:
        every = tuple(range(len(whitening.scales)))
        whole = Projection(every, whitening, Fraction(1, k))
        found = read(source, Leverage(rows, (whole,)))
        hint = f"leave that row out, or agree on a model without such outliers: at most 1/{k}"
        found.refuse(f"these rows weigh more than one of {k} in the model", hint)


# -- the rows -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Projection:
    """Some columns of A, and what makes them orthonormal."""

    at: tuple[int, ...]
    whitening: Whitening | Approximate
    limit: Fraction

    def above(self, batch: Batch) -> npt.NDArray[np.intp]:
        """The rows whose leverage is above the limit."""
        found, doubt = self.leverages(batch)
        if isinstance(self.whitening, Approximate):
            return np.flatnonzero(~(found + doubt <= float(self.limit) * (1 + _OF_MANY_COLUMNS)))
        most = float(self.limit) * (1 + _TOLERANCE)
        rows = np.flatnonzero(~(found + doubt <= most))
        sure = [r for r in rows if found[r] - doubt[r] > most or self._exactly(batch, r) > most]
        return np.array(sure, np.intp)

    def leverages(self, batch: Batch) -> tuple[Floats, Floats]:
        """That of every row, by float64, and how far from it the truth may be."""
        image, doubt, weights = self._images(batch)
        return weights * (image**2).sum(axis=0), weights * doubt.sum(axis=0)

    def _images(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        w = self._matrix
        scaled = zip(self.at, self.whitening.scales, strict=True)
        a = np.stack([_floats(batch.columns[j], s) for j, s in scaled])
        weights = np.ones(batch.rows) if batch.weights is None else _floats(batch.weights, 0)
        image = w @ a
        slack = (np.abs(w) @ np.abs(a)) * ((len(a) + 8) * 2.0**-52)
        return image, slack * (2 * np.abs(image) + slack), weights

    @cached_property
    def _matrix(self) -> Floats:
        if isinstance(self.whitening, Approximate):
            return self.whitening.floats
        return (self.whitening.matrix / (1 << self.whitening.digits)).astype(np.float64)

    def images(self, batch: Batch) -> Floats:
        """W a of every row, times the root of its weight; its squared length is the leverage."""
        image, doubt, weights = self._images(batch)
        doubtful = np.flatnonzero(~(doubt.sum(axis=0) <= _TOLERANCE))
        for row in () if isinstance(self.whitening, Approximate) else doubtful:
            image[:, row] = [float(value) for value in self._image(batch, row)]
        return np.asarray(np.sqrt(weights) * image)

    def _exactly(self, batch: Batch, row: np.intp) -> Fraction:
        length = sum((value**2 for value in self._image(batch, row)), Fraction(0))
        weights = batch.weights
        return length if weights is None else length * weights.take(np.array([row])).fractions()[0]

    def _image(self, batch: Batch, row: np.intp) -> list[Fraction]:
        at = np.array([row])
        scaled = zip(self.at, self.whitening.scales, strict=True)
        vector = [batch.columns[j].take(at).fractions()[0] / Fraction(2) ** s for j, s in scaled]
        assert isinstance(self.whitening, Whitening)  # noqa: S101 - an exact one is asked
        return self.whitening.image(vector)


def _floats(column: Column, scale: int) -> Floats:
    """The numbers over 2^scale, each within two roundings."""
    factor = column.unit / Fraction(2) ** scale
    if column.numbers.dtype == object or not 2.0**-500 < factor < 2.0**500:
        return np.array([float(value / Fraction(2) ** scale) for value in column.fractions()])
    return column.numbers.astype(np.float64) * float(factor)


@dataclass(frozen=True)
class Found:
    """How many rows are above the limit, and where the first of them are."""

    count: int = 0
    places: tuple[str, ...] = field(default=(), repr=False)

    def __add__(self, other: Found) -> Found:
        places = (*self.places, *other.places)[:_NAMED]
        return Found(self.count + other.count, places)

    def refuse(self, what: str, hint: str) -> None:
        if self.count:
            where = listing(self.places)
            if self.count > len(self.places):
                where += f" and {self.count - len(self.places)} more"
            raise ReleaseError(f"{what}: {where}", hint=hint, rule="leverage")


@dataclass(frozen=True)
class _OfRows(Reading[Part, Result]):
    """What is read of the rows of one model, or of several."""

    rows: ModelRows | JointRows

    @property
    def columns(self) -> Sequence[str]:
        rows = self.rows
        return rows.columns_needed if isinstance(rows, JointRows) else rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def batch(self, block: Block) -> Batch | None:
        rows = self.rows
        found = rows.batch(block) if isinstance(rows, JointRows) else rows.batch(block)[0]
        return found if found is not None and found.rows else None


@dataclass(frozen=True)
class Leverage(_OfRows[Found, Found]):
    """The rows whose leverage in one of these is above the limit."""

    projections: tuple[Projection, ...]

    def block(self, rows: Block) -> Found:
        batch = self.batch(rows)
        if batch is None:
            return Found()
        above = np.unique(np.concatenate([each.above(batch) for each in self.projections]))
        places = tuple(batch.readings.place(int(row)) for row in above[:_NAMED])
        return Found(len(above), places)


# -- several rows together ----------------------------------------------------------------------


def together(
    rows: ModelRows | JointRows, source: Source, projection: Projection, few: int
) -> Found:
    """So many rows that are all but alone in some combination of the columns.

    The combination in which row i has its largest share h_i gives row j the share h_ij² / h_i. Of
    rows that stand alone together, one has at least an equal part of the limit.
    """
    images = read(source, _Images(rows, projection, float(projection.limit) / few))
    found = read(source, _Shares(rows, projection, images, few))
    if not found:
        return Found()
    limit = float(projection.limit) * (1 + _TOLERANCE)
    worst = sorted(max(found, key=lambda each: sum(share for share, _ in each)), reverse=True)
    if sum(share for share, _ in worst) <= limit:
        return Found()
    return Found(len(worst), tuple(place for _, place in worst[:_NAMED]))


@dataclass(frozen=True)
class _Images(_OfRows[Floats, Floats]):
    """Those of rows whose leverage is above a limit, one in a line."""

    projection: Projection
    limit: float

    def block(self, rows: Block) -> Floats:
        batch = self.batch(rows)
        if batch is None:
            return np.empty((0, len(self.projection._matrix)))
        image = self.projection.images(batch)
        return np.ascontiguousarray(image[:, (image**2).sum(axis=0) > self.limit].T)

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.concatenate([one, other])


_Top = tuple[tuple[float, str], ...]
"""The largest shares in one combination, and whose they are."""


@dataclass(frozen=True)
class _Shares(_OfRows[tuple[_Top, ...], tuple[_Top, ...]]):
    """The largest shares of rows in the combinations that single out each of some rows."""

    projection: Projection
    images: Floats = field(repr=False)
    few: int

    def block(self, rows: Block) -> tuple[_Top, ...]:
        batch = self.batch(rows)
        if batch is None or not len(self.images):
            return ((),) * len(self.images)
        shares = (self.images @ self.projection.images(batch)) ** 2
        shares /= (self.images**2).sum(axis=1)[:, None]
        few = min(self.few, batch.rows)
        tops = np.argpartition(-shares, few - 1, axis=1)[:, :few]
        place = batch.readings.place
        return tuple(
            tuple((float(each[r]), place(int(r))) for r in top)
            for each, top in zip(shares, tops, strict=True)
        )

    def merge(self, one: tuple[_Top, ...], other: tuple[_Top, ...]) -> tuple[_Top, ...]:
        pairs = zip(one, other, strict=True)
        return tuple(tuple(sorted(a + b, reverse=True)[: self.few]) for a, b in pairs)


# -- what others have in the own cells ----------------------------------------------------------


@dataclass(frozen=True)
class _OwnMoments(_OfRows[Moments, Moments]):
    """Of all rows that any question uses."""

    rows: JointRows

    def block(self, rows: Block) -> Moments:
        batch, names = self.batch(rows), self.rows.names
        if batch is None:
            return Moments.zero(names)
        return _moments(names, batch.columns, batch.weights)


def _moments(names: Sequence[str], columns: Sequence[Column], weights: Column | None) -> Moments:
    return gram(names, columns) if weights is None else weighted(names, columns, weights)


@dataclass(frozen=True)
class _Donors(_OfRows[tuple[Readings, ...], tuple[Readings, ...]]):
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


def _others(rows: JointRows, donors: Readings, counted: Sequence[Counted]) -> Moments:
    """The moments of rows that are the donors' but for their cell: as many as others have there."""
    total = Moments.zero(rows.names)
    for table, others in dict(_tables(counted)).items():
        there = np.array(others).reshape(table.shape)
        cell, times = np.argwhere(there > 0), np.minimum(there[there > 0], donors.rows)
        chosen = [np.linspace(0, donors.rows - 1, n).astype(np.intp) for n in times]
        if not chosen:
            continue
        copies = donors.take(np.concatenate(chosen))
        numbers, codes = dict(copies.numbers), dict(copies.codes)
        for cut, levels in zip(table.cuts, np.repeat(cell, times, axis=0).T, strict=True):
            if cut.category is not None:
                codes[cut.category] = levels
            else:
                values = [cut.values[level] for level in levels]
                numbers[cut.column] = Column.of_fractions(values)[0]
        readings = replace(copies, numbers=numbers, codes=codes)
        weights = None if rows.weights is None else numbers[rows.weights]
        total += _moments(rows.names, rows.evaluate(readings), weights)
    return total


def _tables(counted: Sequence[Counted]) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """Every table, and how many rows others have where there are own ones."""
    for cells, own, pooled in counted:
        others = tuple(total - n if n else 0 for total, n in zip(pooled, own, strict=True))
        start = 1
        for table in cells.tables:
            stop = start + prod(table.shape)
            yield table, others[start:stop]
            start = stop


# -- the columns --------------------------------------------------------------------------------


def _projection(moments: PooledMoments, at: tuple[int, ...], rows: int) -> Projection:
    chosen = moments.subset([moments.names[j] for j in at])
    limit = OWN_OF_MANY if rows >= MANY * len(at) else OWN_OF_FEW
    return Projection(at, orthonormal(chosen), limit)


def _groups(design: Sequence[DesignColumn], rows: int) -> Iterator[tuple[int, ...]]:
    """The columns looked at together: all, where rows are enough; and those made of common data."""
    needs = [_needs(column) for column in design]
    if rows >= FEW * len(design):
        yield tuple(range(len(design)))
        return
    made = [set(needs[j]) for j, column in enumerate(design) if _is_made(column)]
    joined: list[set[str]] = []
    for data in made:
        apart = [other for other in joined if not other & data]
        joined = [*apart, data.union(*(other for other in joined if other & data))]
    single = [set(each) for each in needs if each and not any(each <= group for group in joined)]
    for data in [*joined, *single]:
        yield tuple(j for j, each in enumerate(needs) if each <= data)


def _needs(column: DesignColumn) -> frozenset[str]:
    return frozenset(name for piece in column for name in piece.factor.columns_needed())


def _is_made(column: DesignColumn) -> bool:
    """Whether a formula made it of numbers: by more than a product with levels."""
    numbers = [piece for piece in column if not isinstance(piece.factor, Category)]
    if len(numbers) > 1:
        return True
    for piece in numbers:
        if isinstance(piece.factor, Polynomial) and piece.index > 0:
            return True
        assert not isinstance(piece.factor, Category)  # noqa: S101 - left out above
        if not isinstance(piece.factor.expression, Name):
            return True
    return False
