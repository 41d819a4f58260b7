"""How much is told of the numbers of an offset alone, however many others a model has.

The model of a constant alone, with which a fit is compared, needs Σ v and Σ (y − μ) in every step.
These are functions of the offset's numbers and of nothing else. So are the entries of the constant
in the first step of the model itself, at β = 0. Of an offset with 15 values the first, and of one
with 8 the second, gave away how many rows have each (docs/decisions/0018-what-steps-tell.md).
"""

# Rule 1: as in `steps_told`: public, and the same everywhere.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import fsum

import numpy as np

from titan.generalised.families import Likelihood
from titan.moments.model import Model
from titan.release.dictionary import Column, Number, points
from titan.release.model_cells import COARSER
from titan.release.opened import POINTS, points_of
from titan.release.steps_told import (
    STEPS,
    Curve,
    Made,
    StepTable,
    at_step,
    offset_at_points,
    statistics_of,
    weighted_tables,
)


def null_tables(
    model: Model, columns: Mapping[str, Column], family: Likelihood
) -> tuple[StepTable, ...]:
    """Of the numbers of an offset: what sums of the model of a constant alone tell."""
    offset = offset_at_points(model, columns)
    if not offset.names:
        return ()
    weights = {model.weights} if model.weights and points(columns[model.weights]) > 2 else set()
    curves = tuple(_null_curves(offset, family))
    raw = sorted(offset.names | weights)
    if weights:
        found = list(weighted_tables(raw, str(model.weights), ((), 1), columns, curves))
    else:
        grids = tuple(points(columns[name]) for name in raw)
        found = [StepTable(tuple(raw), None, (), 1, grids, Fraction(1), curves)]
    return tuple(replace(table, family=family) for table in found)


def _null_curves(offset: Made, family: Likelihood) -> Iterator[Curve]:
    """By halves from the constant 0 to one that takes up the offset's mean, or to 1."""
    everywhere = frozenset[str]()
    mean, pair = fsum(offset.near.tolist()) / POINTS, (everywhere, everywhere)
    far = -mean if abs(mean) >= 1 else 1.0
    for digits, way in (("first", 0.0), *STEPS):
        by = way * far
        moved = offset._replace(near=offset.near + by, wide=offset.wide + by)
        for values in at_step((), moved, family, 0.0):
            yield Curve(values, digits, pair)
    for values in statistics_of((), moved, family):
        yield Curve(values / 4, "late", pair)


def grid_counts(names: Sequence[str], columns: Mapping[str, Column]) -> Iterator[Curve]:
    """The rows off coarser grids of numbers, which the counts tell."""
    for name in names:
        column = columns[name]
        low, step = (column.low, column.step or 1) if isinstance(column, Number) else (0, 1)
        at = [int((x - low) / step) for x in points_of(name, column).fractions()]
        for coarser in COARSER:
            if coarser < points(column):
                off = np.array([float(x % coarser != 0) for x in at])
                yield Curve(off, "count", ())
