"""What the steps of a GLM opened, as somebody sees it who wants the table behind it.

Each entry of a step is Σ c(x) f(x) over the table c of rows by x, with a function f that everybody
can work out, rounded by every party. Lattice reduction looks for the whole numbers c that fit all
of them and lie near what is usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from flint import fmpz_mat

from titan.generalised.families import family_named
from titan.generalised.newton import Newton
from titan.generalised.rows import FloatRows, weights_of
from titan.generalised.steps import Opened
from titan.joint.kinds import Question
from titan.joint.meeting import Meeting
from titan.release import Dictionary

from .asking import Ended, asked_of, study_of

Floats = npt.NDArray[np.float64]
_FINE, _EXACTLY = 1 << 10, 1 << 45


@contextmanager
def steps_opened() -> Iterator[list[Opened]]:
    """All steps that are opened meanwhile, in their order."""
    found: list[Opened] = []
    learn = Newton.learn

    def watched(self: Newton, totals: Sequence[int]) -> Newton:
        found.append(Opened(self.problem, self.point, tuple(totals)))
        return learn(self, totals)

    with patch.object(Newton, "learn", watched):
        yield found


def glm(formula: str, name: str = "q1", **options: Any) -> Question:
    chosen = (("formula", formula), *((key, str(value)) for key, value in options.items()))
    return Question("glm", name, chosen)


def ask_steps(
    parties: Mapping[str, Any], columns: Dictionary, question: Question, *, limited: bool = True
) -> tuple[Ended, list[Opened]]:
    """How a study of it ends; if not `limited`, as before steps were counted."""
    study = study_of(parties, columns, question)
    meeting = study.meeting
    if not limited:
        free = [(name, replace(c, told=None)) for name, c in meeting.computations]  # type: ignore[type-var]
        meeting = Meeting(tuple(free), meeting.budget, meeting.apart)
    with steps_opened() as steps:
        ended = asked_of(study, meeting, parties)
    return ended, steps


def in_coordinates(step: Opened, raw: Floats) -> Floats:
    """Rows of the model as its sums take them."""
    T = np.array([[float(x) for x in row] for row in step.problem.transform])
    return np.asarray((raw / 2.0 ** np.array(step.problem.scales)) @ T.T)


def largest_leverage(
    step: Opened, raw: Floats, weights: Floats | None = None, offset: Floats | None = None
) -> float:
    """Of all parties' rows, in the Hessian that a step opened."""
    a = in_coordinates(step, raw)
    rows = FloatRows(a, np.zeros(len(a)), weights, offset, np.zeros(a.shape[1]), None)
    v = weights_of(rows, family_named(step.problem.family), step.beta)
    inverse = np.linalg.inv((a * v[:, None]).T @ a)
    return float((v * np.einsum("ij,jk,ik->i", a, inverse, a)).max())


@dataclass(frozen=True)
class Sums:
    """Entries of all steps as functions of the points of a table, what they are, and how near."""

    functions: list[Floats]
    told: list[float]
    near: list[float]

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.functions + other.functions, self.told + other.told, self.near + other.near
        )


def sums_of(steps: Sequence[Opened], points: Floats, rows: Floats, y: Floats) -> Sums:
    """Of models without offset and weights; that Σ y a is known too, from the first step."""
    found = Sums([], [], [])
    for step in steps[1:]:
        a, events = in_coordinates(step, points), in_coordinates(step, rows).T @ y
        eta = a @ np.array([float(b) for b in step.beta])
        mu = np.exp(eta) if step.problem.family == "poisson" else 1 / (1 + np.exp(-eta))
        v = mu if step.problem.family == "poisson" else mu * (1 - mu)
        n, layout = step.problem.columns, step.problem.layout
        functions = [v * a[:, j] * a[:, k] for j in range(n) for k in range(j + 1)]
        functions += [-mu * a[:, j] for j in range(n)]
        told = [float(x) for x in step.values[: layout.of_step]]
        told[layout.score] = [g - e for g, e in zip(told[layout.score], events, strict=True)]
        near = [2.0**u * sqrt(step.problem.parties / 12) for u in step.point.units(step.problem)]
        found += Sums(functions, told, near[: layout.of_step])
    return found


def found_in(
    sums: Sums, exact: Sequence[Sequence[int]], secret: Sequence[int], guess: Sequence[float]
) -> int:
    """How many entries of the secret table its sums give away; those of `exact` are known too."""
    n, around = len(secret), [round(x) for x in guess]
    weights = [max(1, round(_FINE / max(sqrt(x), 0.3))) for x in guess]
    known = [[int(x) for x in f] for f in exact]
    rest = [sum(x * (s - m) for x, s, m in zip(f, secret, around, strict=True)) for f in known]
    pairs = list(zip(sums.functions, sums.told, sums.near, strict=True))
    scaled = [[round(x) for x in (f / near * _FINE).tolist()] for f, _, near in pairs]
    left = [round((told - float(f @ np.array(around))) / near * _FINE) for f, told, near in pairs]
    basis = [
        [weights[i] * (i == k) for k in range(n)]
        + [0, *(_EXACTLY * f[i] for f in known), *(f[i] for f in scaled)]
        for i in range(n)
    ]
    basis.append([0] * n + [_FINE, *(-_EXACTLY * r for r in rest), *(-x for x in left)])
    best = (float("inf"), 0)
    for row in ([int(x) for x in row] for row in fmpz_mat(basis).lll().tolist()):
        if abs(row[n]) == _FINE and not any(row[n + 1 : n + 1 + len(known)]):
            sign = row[n] // _FINE
            found = [m + sign * x // w for m, x, w in zip(around, row, weights, strict=False)]
            right = sum(a == b for a, b in zip(found, secret, strict=True))
            best = min(best, (sum(x * x for x in row), right))
    return best[1]
