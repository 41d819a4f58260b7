"""How much the steps of a GLM, or of Cox's model, tell of tables of its numbers.

Each step opens Σ v(η) a aᵀ and Σ (y − μ(η)) a at another estimate: sums of further functions of the
same columns, as a ladder of made columns would. From the usual four to six steps of a model of one
number, at the usual 24 bits, lattice reduction found the rows at each of its values. So they are
counted as made columns are (`budget`), and opened to as many bits as their share allows.

At which estimates they will be is not known beforehand. Counted are six, which come nearer to a
steep one by halves: four with the digits of early steps, two with those of late ones. Rows are
taken to lie in the middle half of every range. An entry within cells (of sex, of sex and treatment)
counts in a table of its own, with the rows of the smallest. How well that fits, and what was not
found with it, is in docs/decisions/0018-what-steps-tell.md.

Of Cox's model a step opens Σ W (a − E)(a − E)ᵀ and Σ W (a − E), where W is exp(aᵀβ) times what the
baseline hazard has come to until a row leaves, and E a mean of the rows at risk. Whoever knew these
of every risk set would have sums over one table: of the rows at each value of the numbers, and at
each time with the event or without. They are counted as if that were so. Of times there are as many
as the grid has intervals, or as a party has events; with one alone, that is the table of the
numbers, and everybody in it is in the same risk set (docs/decisions/0026-what-hazards-tell.md).
"""

# Rule 1: all of this is public: it follows from the study and the counts that its first sum opens.
# Rule 2: the same everywhere: floats are added, multiplied, divided and rounded one by one; sums of
#         many are rounded once (fsum).

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import fsum, prod, sqrt
from typing import Literal, NamedTuple

import numpy as np

from titan.generalised.elementary import Floats, exp, log1p, logistic
from titan.generalised.families import Likelihood
from titan.generalised.steps import EARLY, MIDDLE, early_bits
from titan.moments import expressions
from titan.moments.floats import floats
from titan.moments.model import Model
from titan.release.budget import Share
from titan.release.dictionary import Column, Number, points
from titan.release.made import Rounding
from titan.release.opened import POINTS, at_points, points_of, single_levels
from titan.release.sizes import products

Digits = Literal["first", "early", "late", "count"]
"""Those of the step at 0, of one far from the maximum, and of one near it; or whole numbers."""
STEPS: tuple[tuple[Digits, float], ...] = (
    ("early", 1 / 2), ("early", 3 / 4), ("early", 7 / 8), ("early", 15 / 16),
    ("late", 31 / 32), ("late", 63 / 64),
)  # fmt: skip
"""Those that are counted, and how far on the way to the steepest they are."""
_STEEPEST: dict[Likelihood, float] = {"binomial": 1.5, "poisson": 0.5, "cox": 1.0}
"""In standard deviations of the linear predictor, for rows in the middle half."""
_MOST_ETA = 40.0
_DEPENDENT = 2.0**-20
_POINTS = 256  # of smooth functions so many are enough
_FINER = 16  # bits of functions below what their sums are rounded to
_TIMES = 64  # at which functions of the time are looked at
Names = frozenset[str]


class Made(NamedTuple):
    """A column of the model at points of the middle half of all ranges, and of the whole."""

    near: Floats
    wide: Floats
    names: Names
    cells: Names
    """The categories and flags within one of whose cells it is."""

    def less(self, times: float, other: Made) -> Made:
        near, wide = self.near - times * other.near, self.wide - times * other.wide
        return self._replace(near=near, wide=wide)

    def over(self, size: float) -> Made:
        return self._replace(near=self.near / size, wide=self.wide / size)


class Curve(NamedTuple):
    """One entry of one step, as a function of the numbers."""

    values: Floats
    digits: Digits
    over: tuple[Names, ...]
    """It is divided by the root of the rows in the cells of each of these."""


@dataclass(frozen=True)
class StepTable:
    """What steps tell of rows, or of the sum of `linear`, at each value of `raw` within cells."""

    raw: tuple[str, ...]
    linear: str | None
    within: tuple[str, ...]
    cells: int
    points: tuple[int, ...]
    variance: Fraction
    curves: tuple[Curve, ...] = field(repr=False)
    family: Likelihood = "binomial"
    time: str | None = None
    """One of `raw`, of Cox's model."""

    def share(self, bits: int, rows: Mapping[Names, int], part: Fraction, times: int = 1) -> Share:
        """Where late steps have so many bits, cells so many rows, and there are so many times."""
        found = []
        early = early_bits(bits)
        first = {"binomial": EARLY, "poisson": MIDDLE, "cox": early}[self.family]
        of_step = {"first": first, "early": early, "late": bits, "count": 0}
        for curve in self.curves:
            size = sqrt(prod(rows[cells] for cells in curve.over))
            scale = 2.0 ** (of_step[curve.digits] + _FINER) / size
            found.append(tuple(map(int, np.rint(curve.values[:_POINTS] * scale).tolist())))
        pairs = zip(self.raw, self.points, strict=True)
        # with the event or without at every time; where all leave at one that makes no difference
        points = tuple(2 * times - 1 if name == self.time else n for name, n in pairs)
        mine = self.raw, self.linear, self.within, self.cells, points, self.variance
        return Share(*mine, tuple(found), Fraction(1 << _FINER), part)


def step_tables(
    model: Model,
    rounding: Rounding,
    columns: Mapping[str, Column],
    family: Likelihood,
    time: str | None = None,
) -> tuple[StepTable, ...]:
    """All tables of the numbers of one model; none where it has only categories and flags. Those of
    Cox's model are by time too."""
    made, levels = _columns(model, rounding, columns)
    offset = _offset(model, columns)
    weights = {model.weights} if model.weights and points(columns[model.weights]) > 2 else set()
    raw = frozenset().union(*(each.names for each in made), offset.names) | weights
    raw |= {time} if time else set()
    if not raw:
        return ()
    by_cells: dict[Names, list[Curve]] = {}
    curves_of = (
        _hazard_curves(made, time) if time else _curves(made, offset, family, _mean(model, columns))
    )
    for curve, cells in curves_of:
        by_cells.setdefault(cells, []).append(curve)
    found = []
    for cells, curves in by_cells.items():
        count = prod(levels[name] for name in cells)
        grids = tuple(points(columns[name]) for name in sorted(raw))
        of = tuple(sorted(cells)), count
        if not weights:
            table = tuple(sorted(raw)), None, *of, grids, Fraction(1), tuple(curves)
            found.append(StepTable(*table, time=time))
        else:
            found += weighted_tables(sorted(raw), str(model.weights), of, columns, curves)
    if time:
        found += _first_tables(made, time, raw, columns, levels)
    return tuple(replace(table, family=family) for table in found)


def _first_tables(
    made: Sequence[Made], time: str, raw: Names, columns: Mapping[str, Column],
    levels: Mapping[str, int],
) -> Iterator[StepTable]:  # fmt: skip
    """At 0 all hazards are alike. What is told of a column there is told of it alone, whatever else
    the model has: the numbers of a flag at risk, if all leave at one time."""
    kept = [each for each in made if each.names or each.cells]
    pairs = [
        (one, other) for one, other in combinations_with_replacement(kept, 2)
        if one.names == other.names or not (one.names and other.names)
    ]  # fmt: skip
    tables = {(one.cells | other.cells, one.names | other.names) for one, other in pairs}
    for cells, names in sorted(tables, key=lambda each: (sorted(each[0]), sorted(each[1]))):
        own = names | {time}
        if own != raw:
            curves = [
                curve for curve, within in _hazard_curves(
                    [each for each in made if each.names <= names], time, only_first=True
                ) if within == cells
            ]  # fmt: skip
            grids = tuple(points(columns[name]) for name in sorted(own))
            of = tuple(sorted(cells)), prod(levels[name] for name in cells)
            yield StepTable(
                tuple(sorted(own)), None, *of, grids, Fraction(1), tuple(curves), time=time
            )


def weighted_tables(
    raw: Sequence[str], name: str, of: tuple[tuple[str, ...], int],
    columns: Mapping[str, Column], curves: Sequence[Curve],
) -> Iterator[StepTable]:  # fmt: skip
    """Weights are one more number; and their sums at each value of the others are a table too."""
    grid = [points(columns[each]) for each in raw]
    w = floats(points_of(name, columns[name]))
    mean = fsum(w) / POINTS
    heavy = tuple(curve._replace(values=curve.values * (w / mean)) for curve in curves)
    yield StepTable(tuple(raw), None, *of, tuple(grid), Fraction(1), heavy)
    rest, weights = [each for each in raw if each != name], columns[name]
    if rest and isinstance(weights, Number) and weights.step is not None:
        steps = mean / float(weights.step)
        light = tuple(curve._replace(values=curve.values / steps) for curve in curves)
        others = tuple(points(columns[each]) for each in rest)
        variance = Fraction(max(points(weights) ** 2 - 1, 3), 12)
        yield StepTable(tuple(rest), name, *of, others, variance, light)


# -- columns ------------------------------------------------------------------------------------


def _columns(
    model: Model, rounding: Rounding, columns: Mapping[str, Column]
) -> tuple[list[Made], dict[str, int]]:
    """Orthonormal to those before within the same cells; and how many levels a category has."""
    found, levels = list[Made](), dict[str, int]()
    middle = {name: _middle(column) for name, column in columns.items()}
    seen = set[tuple[Names, bytes]]()
    for design, two in zip(products(model)[:-1], rounding.twos, strict=False):
        for chosen in single_levels(design):
            near, wide = (at_points(chosen, two, known) for known in (middle, columns))
            levels |= wide.within[1]
            values = floats(near.column), floats(wide.column)
            each = Made(*values, wide.names, frozenset(wide.within[0]))
            told = each.cells, each.wide.tobytes()
            if told not in seen:  # levels of one category tell alike, each of its own cell
                seen.add(told)
                found += _beside(each, [other for other in found if other.cells == each.cells])
    return found, levels


def _beside(column: Made, before: Sequence[Made]) -> Iterator[Made]:
    """Without what those before it say already; none if that is all."""
    size = sqrt(_dot(column.near, column.near)) or 1.0
    rest = column.over(size)
    for other in before:
        rest = rest.less(_dot(rest.near, other.near), other)
    left = sqrt(_dot(rest.near, rest.near))
    if left > _DEPENDENT:
        yield rest.over(left)


def _dot(one: Floats, other: Floats) -> float:
    return fsum((one * other).tolist()) / POINTS


def _middle(column: Column) -> Column:
    if not isinstance(column, Number) or column.step is None:
        return column
    quarter = (points(column) // 4) * column.step
    return replace(column, low=column.low + quarter, high=column.high - quarter)


def _offset(model: Model, columns: Mapping[str, Column]) -> Made:
    """Less its mean, which the constant takes up."""
    found = offset_at_points(model, columns)
    mean = fsum(found.near.tolist()) / POINTS
    return found._replace(near=found.near - mean, wide=found.wide - mean)


def offset_at_points(model: Model, columns: Mapping[str, Column]) -> Made:
    if model.offset_factor is None:
        return Made(np.zeros(POINTS), np.zeros(POINTS), frozenset(), frozenset())
    expression = model.offset_factor.expression
    needed = frozenset(expressions.names(expression))
    near, wide = (
        floats(expressions.evaluate(
            expression, {name: points_of(name, change(columns[name])) for name in needed}, POINTS
        ))
        for change in (_middle, lambda column: column)
    )  # fmt: skip
    return Made(near, wide, needed, frozenset())


def _mean(model: Model, columns: Mapping[str, Column]) -> float:
    """Of a count: a quarter of the largest, or 1."""
    names = list(expressions.names(model.response.expression))
    column = columns.get(names[0]) if len(names) == 1 else None
    return max(float(column.high) / 4, 1.0) if isinstance(column, Number) else 1.0


# -- steps --------------------------------------------------------------------------------------


def _curves(
    made: Sequence[Made], offset: Made, family: Likelihood, mean: float
) -> Iterator[tuple[Curve, Names]]:
    """Entry by entry, since the steps of one tell most alike; with the cells each is within."""
    everywhere = frozenset[str]()
    steps = [(digits, *at_step(made, offset, family, slope)) for digits, slope in STEPS]
    if offset.names:  # else all μ are alike at 0
        steps.insert(0, ("first", *at_step(made, offset, family, 0.0)))
    for one, other in combinations_with_replacement(made, 2):
        both, pair = one.wide * other.wide, (one.cells, other.cells)
        for digits, v, _ in steps:
            yield Curve(v * both, digits, pair), one.cells | other.cells
    for one, (digits, _, mu) in product(made, steps):
        late = digits == "late"
        finer = sqrt(mean) / 2 if late and family == "poisson" else 1.0
        over = [one.cells] if late else [one.cells, everywhere]
        yield Curve(mu * one.wide * finer, digits, tuple(over)), one.cells
    for values in statistics_of(made, offset, family):
        yield Curve(values / 4, "late", (everywhere, everywhere)), everywhere


def _hazard_curves(
    made: Sequence[Made], time: str, *, only_first: bool = False
) -> Iterator[tuple[Curve, Names]]:
    """The same of Cox's model: no constant, and means are taken off but for what is within cells
    (of which they are a part). What the hazard has come to rises evenly with the time."""
    reached = floats(points_of(time, Number(Fraction(0), Fraction(_TIMES - 1), Fraction(1))))
    reached = (2 * reached + 1) / _TIMES
    everywhere, columns = frozenset[str](), [each for each in made if each.names or each.cells]
    offset = Made(np.zeros(POINTS), np.zeros(POINTS), everywhere, everywhere)
    steps: list[tuple[Digits, Floats, list[Floats]]] = [("first", *_hazards(columns, offset, 0.0))]
    if not only_first:
        steps += [(digits, *_hazards(columns, offset, slope)) for digits, slope in STEPS]
    for (at, one), (by, other) in combinations_with_replacement(enumerate(columns), 2):
        pair = one.cells, other.cells
        for digits, v, less in steps:
            both = v * reached * less[at] * less[by]
            yield Curve(both, digits, pair), one.cells | other.cells
    if only_first:
        _, v, less = steps[0]
        for at, one in enumerate(columns):
            yield Curve(v * reached * less[at], "early", (one.cells, everywhere)), one.cells
        return
    for (at, one), (digits, v, less) in product(enumerate(columns), steps[1:]):
        late = digits == "late"
        over = [one.cells] if late else [one.cells, everywhere]
        finer = 0.5 if late else 1.0
        yield Curve(v * reached * less[at] * finer, digits, tuple(over)), one.cells
    _, v, _ = steps[-1]
    yield Curve(v * reached / 4, "late", (everywhere, everywhere)), everywhere


def _hazards(columns: Sequence[Made], offset: Made, slope: float) -> tuple[Floats, list[Floats]]:
    """exp(η) at the points, and the columns less their means."""
    near, wide = (exp(eta) for eta in _eta(columns, offset, "cox", slope))
    size = fsum(near.tolist())
    means = [0.0 if each.cells else fsum((near * each.near).tolist()) / size for each in columns]
    less = [each.wide - mean for each, mean in zip(columns, means, strict=True)]
    return wide / (size / POINTS), less


def _eta(
    made: Sequence[Made], offset: Made, family: Likelihood, slope: float
) -> tuple[Floats, Floats]:
    """In the middle half, and everywhere: all numbers have an equal part in it."""
    plain = [each for each in made if each.names and not each.cells]
    plain = plain or [each for each in made if each.names]
    part = _STEEPEST[family] * slope / sqrt(len(plain) or 1)
    near, wide = offset.near, offset.wide
    for each in plain:
        near, wide = near + part * each.near, wide + part * each.wide
    return np.clip(near, -_MOST_ETA, _MOST_ETA), np.clip(wide, -_MOST_ETA, _MOST_ETA)


def at_step(
    made: Sequence[Made], offset: Made, family: Likelihood, slope: float
) -> tuple[Floats, Floats]:
    """v and μ at the points, as large as the range that entries are rounded in."""
    near, wide = _eta(made, offset, family, slope)
    if family == "poisson":
        mu = exp(wide) / (fsum(exp(near).tolist()) / POINTS)
        return mu, mu
    _, less, more = logistic(wide)
    return 4 * less * more, np.where(wide >= 0, more, less)


def statistics_of(made: Sequence[Made], offset: Made, family: Likelihood) -> Iterator[Floats]:
    """The log-likelihood, and Pearson's χ² of rows without an event."""
    _, eta = _eta(made, offset, family, 1.0)
    if family == "binomial":
        small, _, _ = logistic(eta)
        yield log1p(small) + np.maximum(eta, 0.0)
    yield exp(eta if family == "binomial" else -eta)
