"""What the steps of Cox's model opened, as somebody sees it who knows far more than a party does.

A step is a sum over risk sets. Whoever knows of each of them Σ w and Σ w a, by party and time and
at every estimate, has sums over one table: of rows by number and by the risk sets they are in. Here
that is given to the attacker, and with it all rows of two of three parties. Lattice reduction looks
for the table of the third. What it does not find, nobody does who knows less. Where all events come
at one time, and one honest party has few rows, nothing has to be given: there Σ w a / Σ w is what
the score tells, and the few rows can be tried one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from titan.generalised.steps import Opened
from titan.joint.kinds import Question
from titan.release import Dictionary, Flag, Number, Time

from .steps_opened import Floats, Sums, found_in, in_coordinates


def cox(formula: str, grid: int, name: str = "q1", **options: Any) -> Question:
    said = {"formula": formula, "time": "months", "event": "died", "grid": grid, **options}
    return Question("cox", name, tuple((key, str(value)) for key, value in said.items()))


@dataclass(frozen=True)
class Risk:
    """A party's risk sets at one estimate, by Breslow's method."""

    reached: Floats
    """Σ d/Z up to each number of event times."""
    square: Floats
    """Σ d E Eᵀ."""

    @classmethod
    def of(cls, a: Floats, until: Any, events: Sequence[int], beta: Floats) -> Risk:
        w = np.exp(a @ beta)
        rates, square = [0.0], np.zeros((a.shape[1],) * 2)
        for at, d in enumerate(events, 1):
            there = until >= at
            z = float(w[there].sum())
            mean = (w[there, None] * a[there]).sum(axis=0) / z
            rates.append(d / z)
            square += d * np.outer(mean, mean)
        return cls(np.cumsum(rates), square)

    def sums(self, a: Floats, until: Any, happened: Floats, beta: Floats) -> tuple[Floats, Floats]:
        """H below the diagonal, and the score without Σ a of events."""
        weights = np.exp(a @ beta) * self.reached[until]
        hessian = (a * weights[:, None]).T @ a - self.square
        return hessian[np.tril_indices(len(beta))], -(weights @ a) + happened


@dataclass(frozen=True)
class Party:
    """Its rows: one number, the event times it has, and what an attacker looks for."""

    x: Any
    exits: Any
    died: Any

    @classmethod
    def of(cls, columns: Mapping[str, Any], grid: int) -> Party:
        exits = np.maximum(-(-np.asarray(columns["months"]) // grid), 1)
        return cls(np.asarray(columns["x"]), exits, np.asarray(columns["died"], bool))

    @property
    def times(self) -> Any:
        """Those of its events, as far as three rows are at risk."""
        last = np.sort(self.exits)[-3]
        return np.unique(self.exits[self.died & (self.exits <= last)])

    @property
    def until(self) -> Any:
        return np.searchsorted(self.times, self.exits, side="right")

    @property
    def events(self) -> list[int]:
        return [int((self.died & (self.exits == t)).sum()) for t in self.times]

    @property
    def counted(self) -> Any:
        return self.died & np.isin(self.exits, self.times)

    def rows(self, step: Opened, x: Any) -> Floats:
        return in_coordinates(step, np.asarray(x, float)[:, None])

    def opened(self, step: Opened) -> list[float]:
        """What it entered, but for rounding."""
        beta = np.array([float(b) for b in step.beta])
        a = self.rows(step, self.x)
        risk = Risk.of(a, self.until, self.events, beta)
        hessian, score = risk.sums(a, self.until, a[self.counted].sum(axis=0), beta)
        return [*hessian.tolist(), *score.tolist()]

    def table(self, values: int) -> list[int]:
        """Rows by risk sets and value; those that are in none tell nothing."""
        sets = len(self.times)
        return [int(((self.until == u) & (self.x == v)).sum())
                for u in range(1, sets + 1) for v in range(values)]  # fmt: skip

    def sums(self, steps: Sequence[Opened], others: Sequence[Party], values: int) -> Sums:
        """The steps as sums over that table, all else known."""
        found, sets, grid = Sums([], [], []), len(self.times), np.arange(values)
        for at, step in enumerate(steps):
            beta = np.array([float(b) for b in step.beta])
            own = self.rows(step, self.x)
            risk = Risk.of(own, self.until, self.events, beta)
            a, n = self.rows(step, grid), step.problem.columns
            v = np.exp(a @ beta)
            pairs = [(j, k) for j in range(n) for k in range(j + 1)]
            pieces = [v * a[:, j] * a[:, k] for j, k in pairs] + [-v * a[:, j] for j in range(n)]
            functions = [np.concatenate([risk.reached[u] * f for u in range(1, sets + 1)])
                         for f in pieces]  # fmt: skip
            known = np.sum([party.opened(step) for party in others], axis=0)
            told = np.array([float(x) for x in step.values[: step.problem.layout.of_step]]) - known
            square = [float(risk.square[j, k]) for j, k in pairs]
            happened = own[self.counted].sum(axis=0).tolist()
            told = told + np.array([*square, *(-h for h in happened)])
            units = step.point.units(step.problem)[: len(told)]
            near = [2.0**u * sqrt(step.problem.parties / 12) for u in units]
            keep = len(pairs) if at == 0 else len(told)  # the first has no score
            found += Sums(functions[:keep], told[:keep].tolist(), near[:keep])
        return found


# -- studies of one number ------------------------------------------------------------------------

_CENTRE, _SPREAD = 0.47, 0.16
"""Of the values of a number: so it is usually distributed."""


def drawn(
    seed: int, sizes: Sequence[int], values: int, effect: float = 0.6
) -> dict[str, dict[str, Any]]:
    """Of three parties: a number, and months to an event that depend on it."""
    rng, found = np.random.default_rng(seed), {}
    for name, rows in zip(("north", "east", "south"), sizes, strict=True):
        z = rng.normal(0, 1, rows)
        x = np.clip(np.round(values * (_CENTRE + _SPREAD * z)), 0, values - 1).astype(int)
        z = (x - _CENTRE * values) / (_SPREAD * values)
        months = np.ceil(rng.exponential(20 / np.exp(effect * z)))
        died = (months <= 60) & (rng.random(rows) > 0.3)
        found[name] = {
            "x": x.tolist(),
            "months": np.minimum(months, 60).astype(int).tolist(),
            "died": died.astype(int).tolist(),
        }
    return found


def known(values: int) -> Dictionary:
    columns = {"x": Number.read("0", str(values - 1), "1"), "months": Time.read("0", "60", "1")}
    return Dictionary.of({**columns, "died": Flag()})


def usual(party: Party, values: int) -> list[float]:
    """What somebody expects of its table."""
    at = (np.arange(values) / values - _CENTRE) / _SPREAD
    shape = np.exp(-(at**2) / 2)
    sets = range(1, len(party.times) + 1)
    return [float(x) for u in sets for x in shape / shape.sum() * (party.until == u).sum()]


def attacked(steps: Sequence[Opened], party: Party, others: Sequence[Party], values: int) -> int:
    """How many entries of its table are found."""
    sets = len(party.times)
    rows = [[int(cell // values == u) for cell in range(sets * values)] for u in range(sets)]
    sums = party.sums(steps, others, values)
    return found_in(sums, rows, party.table(values), usual(party, values))


# -- a flag, and one interval ---------------------------------------------------------------------

Numbers = tuple[int, int, int]
"""Of one party: rows with the flag at 0 and at 1, and events."""


def _of_two(numbers: Sequence[Any], beta: float, a: float) -> tuple[Any, Any]:
    """The Hessian, and the score without its events, of rows at 0 and at a."""
    zero, one, events = numbers
    weight = one * np.exp(beta * a)
    mean = weight / np.maximum(zero + weight, 1e-9)
    return events * mean * (1 - mean) * a * a, -events * mean * a


def numbers_at_risk(
    steps: Sequence[Opened], own: Numbers, pooled: Sequence[int], events: int
) -> list[Numbers]:
    """What the two others have, found by who knows its own and what is pooled: by trying all.

    `events` are those of rows with the flag, which counts tell.
    """
    left = [n - mine for n, mine in zip(pooled, own, strict=True)]
    tried = np.meshgrid(*(np.arange(n + 1) for n in left), indexing="ij")
    worst = np.zeros(tried[0].shape)
    for at, step in enumerate(steps):
        beta = float(step.beta[0])
        a = float(in_coordinates(step, np.ones((1, 1)))[0, 0])

        rest = [n - x for n, x in zip(left, tried, strict=True)]
        pieces = [_of_two(numbers, beta, a) for numbers in (own, tried, rest)]
        hessian, score = (sum(each) for each in zip(*pieces, strict=True))
        told = [float(x) for x in step.values[:2]]
        units = step.point.units(step.problem)
        worst = np.maximum(worst, abs(told[0] - hessian) / 2.0 ** units[0])
        if at:  # the first has no score
            worst = np.maximum(worst, abs(told[1] - score - events * a) / 2.0 ** units[1])
    return [(int(x), int(y), int(d)) for x, y, d in np.argwhere(worst <= step.problem.parties / 2)]


def numbers_at_zero(
    steps: Sequence[Opened], place: int, own: Numbers, pooled: Sequence[int], events: int
) -> list[Numbers]:
    """The same of a flag among other columns: at 0 its entries are functions of its numbers alone,
    and the likelihood there is one of rows and events."""
    step = steps[1]
    n, parties = step.problem.columns, step.problem.parties
    scales = np.diag(2.0 ** -np.array(step.problem.scales, float))
    back = np.linalg.inv(np.array(step.problem.transform, float) @ scales)
    units = 2.0 ** np.array(step.point.units(step.problem), float) * parties / 2
    told = step.floats
    score = [float(x) for x in step.values[step.problem.layout.score]]
    size = np.abs(back[place])
    near = units[0] * size.sum() ** 2, units[n * (n + 1) // 2] * size.sum()
    hessian, slope = back[place] @ told @ back[place], back[place] @ np.array(score)
    left = [x - mine for x, mine in zip(pooled, own, strict=True)]
    tried = np.meshgrid(*(np.arange(x + 1) for x in left), indexing="ij")
    rest = [x - mine for x, mine in zip(left, tried, strict=True)]
    pieces = [_of_two(numbers, 0.0, 1.0) for numbers in (own, tried, rest)]
    first, second = (sum(each) for each in zip(*pieces, strict=True))
    last = steps[-1]
    null = [-x[2] * np.log(np.maximum(x[0] + x[1], 1)) for x in (own, tried, rest)]
    off = 2.0 ** last.point.units(last.problem)[-1] * parties / 2
    total: Any = sum(null)
    right = abs(total - float(last.values[-1])) <= off
    right &= (abs(first - hessian) <= near[0]) & (abs(second + events - slope) <= near[1])
    return [(int(x), int(y), int(d)) for x, y, d in np.argwhere(right)]
