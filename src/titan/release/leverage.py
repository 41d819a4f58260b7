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
from math import prod

import numpy as np
import numpy.typing as npt

from titan.errors import ReleaseError
from titan.leastsquares.pooled import PooledMoments, exact
from titan.leastsquares.whitening import Whitening, whiten
from titan.listing import listing
from titan.moments import Moments, Source
from titan.moments.collecting import CollectMoments
from titan.moments.columns import Column
from titan.moments.expressions import Name, quoted
from titan.moments.gram import gram, weighted
from titan.moments.model import Model, Readings
from titan.moments.reading import Reading, read, read_all
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block
from titan.moments.terms import Category, DesignColumn, Polynomial
from titan.release.cells import CellCounts, Table

Floats = npt.NDArray[np.float64]

FEW, MANY = 3, 10
"""Own rows for each column. With few or less, leverage in all columns at once says nothing."""
OWN_OF_FEW, OWN_OF_MANY = Fraction(19, 20), Fraction(4, 5)
"""The largest leverage of a row among the own ones. (Measured, with models whose pooled leverage is
allowed: up to 0.89 of 20 rows with 4 columns, up to 0.53 of 100 and more.)"""
_TOLERANCE = 2.0**-20
"""A cell of exactly k rows is allowed, whatever the rounding."""
_NAMED = 5
_DONORS = 32


Counted = tuple[CellCounts, Sequence[int], Sequence[int]]
"""Cells, how many own rows are in them, and how many of all parties: these were checked before, so
that where there are own rows others have enough."""


def joint_model(models: Sequence[Model]) -> Model:
    """One whose regressors are all columns of these models, the responses too.

    What is summed for one question can be taken from what is summed for another: I(age + spike) in
    one, age in the other. And of a response that is a spike, Aᵀb is that row of A.
    """
    terms = [":".join(map(str, term)) for model in models for term in model.terms if term]
    terms += [str(model.response) for model in models]
    constant = "1" if any(() in model.terms for model in models) else "0"
    apart = f"I(0 + {quoted(models[0].number_columns[0])})"  # a response that is none of them
    return Model(
        f"{apart} ~ {' + '.join([constant, *dict.fromkeys(terms)])}", weights=_common(models)
    )


def _common(models: Sequence[Model]) -> str | None:
    """Rows weigh as in these models if that is the same in all, else alike."""
    weights = {model.weights for model in models}
    return weights.pop() if len(weights) == 1 else None


def own_leverage(rows: ModelRows, source: Source, counted: Sequence[Counted] = ()) -> None:
    """ReleaseError where a row is all but alone among the own.

    `rows` are those of the `joint_model` of all that is asked of them.
    """
    moments, donors = read_all(source, [CollectMoments(rows), _Donors(rows)])
    whole = [moments.moments]
    if any(cells.tables for cells, _, _ in counted):
        whole = [moments.moments + _others(rows.model, each, counted) for each in donors]
    groups = list(_groups(rows.model, moments.moments.rows))
    projections = tuple(
        _projection(each, group, moments.moments.rows)
        for each in map(exact, whole)
        for group in groups
    )
    found = read(source, Leverage(rows, projections))
    hint = "leave that row out, or agree on a model without what singles it out"
    found.refuse("of all own rows, these stand alone in the model's columns", hint)


def pooled_leverage(rows: ModelRows, source: Source, whitening: Whitening, k: int) -> None:
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
    whitening: Whitening
    limit: Fraction

    def above(self, batch: Batch) -> npt.NDArray[np.intp]:
        """The rows whose leverage is above the limit."""
        found, doubt = self.leverages(batch)
        most = float(self.limit) * (1 + _TOLERANCE)
        rows = np.flatnonzero(~(found + doubt <= most))
        sure = [r for r in rows if found[r] - doubt[r] > most or self._exactly(batch, r) > most]
        return np.array(sure, np.intp)

    def leverages(self, batch: Batch) -> tuple[Floats, Floats]:
        """That of every row, by float64, and how far from it the truth may be."""
        w = (self.whitening.matrix / (1 << self.whitening.digits)).astype(np.float64)
        scaled = zip(self.at, self.whitening.scales, strict=True)
        a = np.stack([_floats(batch.columns[j], s) for j, s in scaled])
        weights = np.ones(batch.rows) if batch.weights is None else _floats(batch.weights, 0)
        image = w @ a
        slack = (np.abs(w) @ np.abs(a)) * ((len(a) + 8) * 2.0**-52)
        doubt = slack * (2 * np.abs(image) + slack)
        return weights * (image**2).sum(axis=0), weights * doubt.sum(axis=0)

    def _exactly(self, batch: Batch, row: np.intp) -> Fraction:
        at = np.array([row])
        scaled = zip(self.at, self.whitening.scales, strict=True)
        vector = [batch.columns[j].take(at).fractions()[0] / Fraction(2) ** s for j, s in scaled]
        length = sum((value**2 for value in self.whitening.image(vector)), Fraction(0))
        return length if batch.weights is None else length * batch.weights.take(at).fractions()[0]


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
class Leverage(Reading[Found, Found]):
    """The rows whose leverage in one of these is above the limit."""

    rows: ModelRows
    projections: tuple[Projection, ...]

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def block(self, rows: Block) -> Found:
        batch, _ = self.rows.batch(rows)
        if batch is None or not batch.rows:
            return Found()
        above = np.unique(np.concatenate([each.above(batch) for each in self.projections]))
        places = tuple(batch.readings.place(int(row)) for row in above[:_NAMED])
        return Found(len(above), places)


# -- what others have in the own cells ----------------------------------------------------------


@dataclass(frozen=True)
class _Donors(Reading[tuple[Readings, ...], tuple[Readings, ...]]):
    """Two sets of own rows, none in both: a row in one of them is judged by the other."""

    rows: ModelRows

    @property
    def columns(self) -> Sequence[str]:
        return self.rows.model.columns_needed

    def block(self, rows: Block) -> tuple[Readings, ...]:
        batch, _ = self.rows.batch(rows)
        if batch is None or batch.rows < 2:
            return ()
        plain = replace(batch.readings, place="row {}".format)
        spread = np.linspace(0, batch.rows - 1, min(2 * _DONORS, batch.rows)).astype(np.intp)
        return plain.take(spread[::2]), plain.take(spread[1::2])

    def merge(self, one: tuple[Readings, ...], other: tuple[Readings, ...]) -> tuple[Readings, ...]:
        return one or other


def _others(model: Model, donors: Readings, counted: Sequence[Counted]) -> Moments:
    """The moments of rows that are the donors' but for their cell: as many as others have there."""
    total = Moments.zero(model.names)
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
        columns, weights = model.evaluate(readings), model.evaluate_weights(readings)
        made = gram(model.names, columns)
        total += made if weights is None else weighted(model.names, columns, weights)
    return replace(total, weights=model.weights)


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
    return Projection(at, whiten(chosen, full_rank=False), limit)


def _groups(model: Model, rows: int) -> Iterator[tuple[int, ...]]:
    """The columns looked at together: all, where rows are enough; and those made of common data."""
    design = model.design
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
