"""Rows that stand alone in a model, as each party sees it in its own.

The leverage of a row is h = aᵀG⁻¹a, from 0 to 1: the largest share that one row can have in any
combination of the columns, max_c (aᵀc)² / cᵀGc. A row of leverage h is as exposed as one in a cell
of 1/h rows, whatever the formula has dressed it up as: Σ (aᵀc) b over all rows is mostly its own b.

Before an outcome leaves, leverage is that in the pooled G, at most 1/k (`pooled_leverage`). Before
G itself leaves, nobody knows it; then it is that among the own rows (`own_leverage`), which is an
upper bound, and refused where it is next to 1: then G's own entries are that row's values. So it is
with fewer than k rows that have such a share together.

Among own rows two things would be refused for no reason. A row alone in a cell, where the counts
have told that others have rows: so as many are added to every such cell, which are like other own
rows but for the cell; but not to that of a comparison (see `_tables`). (A penalty on the column of
the cell would do that too, and hide the column `I(sex + spike)` beside `sex`.) And all rows, where
there are hardly more than columns: nobody can aim with columns as they are, so there only what a
formula makes is looked at, group by group: columns that a formula makes of common data, with all
that is made of these data alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from titan.leastsquares.pooled import PooledMoments, exact
from titan.leastsquares.whitening import Whitening
from titan.moments import Moments, Source
from titan.moments.columns import Column
from titan.moments.expressions import Name
from titan.moments.model import Readings
from titan.moments.rows import ModelRows
from titan.moments.terms import Category, Condition, DesignColumn, Polynomial
from titan.release.cells import CellCounts, Table
from titan.release.joint_rows import JointRows
from titan.release.kept_rows import Donors, OwnMoments, ask, moments_of
from titan.release.orthonormal import Approximate, orthonormal
from titan.release.projection import Images, Leverage, Projection, Shares

FEW, MANY = 3, 10
"""Own rows for each column. With few or less, leverage in all columns at once says nothing."""
OWN_OF_FEW, OWN_OF_MANY = Fraction(19, 20), Fraction(4, 5)
"""The largest leverage of a row among the own ones. (Measured, with models whose pooled leverage is
allowed: up to 0.89 of 20 rows with 4 columns, up to 0.53 of 100 and more.)"""
_ROWS_OF_SEVERAL = 10
"""Own rows for each of several that are looked at together: fewer always have large shares."""


Counted = tuple[CellCounts, Sequence[int], Sequence[int]]
"""Cells, how many own rows are in them, and how many of all parties: these were checked before, so
that where there are own rows others have enough."""


def own_leverage(
    rows: JointRows, source: Source, counted: Sequence[Counted] = (), k: int = 2
) -> None:
    """ReleaseError where fewer than k rows are all but alone among the own."""
    moments, donors = ask(source, rows, [OwnMoments(rows), Donors(rows)])
    whole = [moments]
    if donors and any(cells.tables for cells, _, _ in counted):
        whole = [moments + _others(rows, each, counted) for each in donors]
    groups = list(_groups(rows.design, moments.rows))
    projections = tuple(
        _projection(each, group, moments.rows) for each in map(exact, whole) for group in groups
    )
    hint = "leave that row out, or agree on a model without what singles it out"
    few = max(1, min(k - 1, moments.rows // _ROWS_OF_SEVERAL))
    found, *images = ask(
        source,
        rows,
        [Leverage(rows, projections), *(Images(rows, each, few) for each in projections)],
    )
    found.refuse("of all own rows, these stand alone in the model's columns", hint)
    shares = [
        Shares(rows, projection, image, few)
        for projection, image in zip(projections, images, strict=True)
        if len(image) and few > 1
    ]
    for together in ask(source, rows, shares):
        together.refuse("of all own rows, these few stand alone in the model's columns", hint)


def pooled_leverage(
    rows: ModelRows, source: Source, whitening: Whitening | Approximate, k: int
) -> None:
    """ReleaseError where the leverage of an own row in the pooled Gram matrix is above 1/k."""
    if k:
        every = tuple(range(len(whitening.scales)))
        whole = Projection(every, whitening, Fraction(1, k))
        (found,) = ask(source, rows, [Leverage(rows, (whole,))])
        hint = "leave such rows out, or agree on a model without such outliers"
        found.refuse(f"these rows weigh more than one of {k} in the model", hint)


# -- what others have in the own cells ----------------------------------------------------------


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
        total += moments_of(rows.names, rows.evaluate(readings), weights)
    return total


def _tables(counted: Sequence[Counted]) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """Every table, and how many rows others have where there are own ones.

    Of a comparison no such rows can be made: what its numbers are at others is not known, and a
    row where they do not fit would hide what is made of these numbers beside it. So rows are
    added by the other cuts of a table alone.
    """
    for cells, own, pooled in counted:
        for (table, mine), (_, total) in zip(
            cells.grids(own, 1), cells.grids(pooled, 1), strict=True
        ):
            plain = tuple(cut for cut in table.cuts if not isinstance(cut.category, Condition))
            if plain:
                n, every = (table.margin(grid, plain).ravel() for grid in (mine, total))
                others = tuple(int(t - m) if m else 0 for m, t in zip(n, every, strict=True))
                yield Table(plain), others


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
    if any(isinstance(piece.factor, Condition) for piece in column):
        return True
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
