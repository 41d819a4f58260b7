"""The attack of ladders: from exact sums Σ_a c(a) g(a) to the table c, by lattice reduction.

Whoever knows roughly what c is, looks for the shortest difference that makes all sums right: a
closest vector in the lattice of whole numbers on which all g vanish.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from math import gcd, sqrt
from typing import Any

import numpy as np
from flint import fmpz_mat

from titan.moments import columns
from titan.moments.arithmetic import as_integers
from titan.moments.model import Readings
from titan.release import Dictionary, Number
from titan.release.budget import Budget
from titan.release.made import MadeColumns
from titan_lab import datasets

KNOWN = Dictionary.of({"age": Number.read("0", "120", "1"), "y": Number.read("0", "300", "1")})
_FINE, _EXACTLY = 256, 1 << 80


def patients() -> list[tuple[int, int]]:
    """(age, thalach) of the shipped heart data."""
    with datasets.path("heart_disease").open() as file:
        rows = [(row["age"], row["thalach"]) for row in csv.DictReader(file)]
    return [(int(float(a)), int(float(y))) for a, y in rows if a and y]


AGES = range(28, 78)
ROWS = patients()
COUNTS = [sum(a == age for a, _ in ROWS) for age in AGES]
OUTCOMES = [sum(y for a, y in ROWS if a == age) for age in AGES]


def usual() -> list[float]:
    """What anybody might guess the counts to be: a bell curve."""
    ages = [a for a, _ in ROWS]
    mean, deviation = np.mean(ages), np.std(ages)
    curve = np.exp(-((np.array(AGES) - mean) ** 2) / (2 * deviation**2))
    return [float(x) for x in curve / curve.sum() * len(ages)]


def made(formula: str, precision: Any) -> tuple[MadeColumns, list[list[int]]]:
    """The model's columns as rounded, at every age, in units."""
    model = KNOWN.model(formula)
    found = MadeColumns.of(model, KNOWN, precision)
    each = {"age": columns.Column(np.array(AGES)), "y": columns.Column(np.zeros(50, np.int64))}
    values = found.rounding(model.evaluate(Readings(len(AGES), each, {})))[:-1]
    return found, [[int(x) for x in as_integers(column).numbers] for column in values]


def products(values: Sequence[Sequence[int]]) -> list[list[int]]:
    """The functions of which AᵀA holds the sums, each once."""
    found: list[list[int]] = []
    for at, f in enumerate(values):
        for g in values[at:]:
            both = [x * y for x, y in zip(f, g, strict=True)]
            common = gcd(*both) or 1
            both = [x // common for x in both]
            if any(both) and both not in found:
                found.append(both)
    return found


def recovered(
    functions: Sequence[Sequence[int]],
    secret: Sequence[int],
    guess: Sequence[float],
    spread: Sequence[float],
) -> int:
    """How many entries of the secret table its sums give away."""
    around = [round(x) for x in guess]
    rest = [sum(x * (s - m) for x, s, m in zip(f, secret, around, strict=True)) for f in functions]
    weights = [max(1, round(_FINE / s)) for s in spread]
    n = len(secret)
    basis = [
        [weights[i] * (i == k) for k in range(n)] + [0] + [_EXACTLY * f[i] for f in functions]
        for i in range(n)
    ]
    basis.append([0] * n + [_FINE] + [-_EXACTLY * r for r in rest])
    reduced = fmpz_mat(basis).lll().tolist()
    best = 0
    for row in ([int(x) for x in row] for row in reduced):
        if abs(row[n]) == _FINE and not any(row[n + 1 :]):
            sign = row[n] // _FINE
            found = [m + sign * x // w for m, x, w in zip(around, row, weights, strict=False)]
            best = max(best, sum(a == b for a, b in zip(found, secret, strict=True)))
    return best


def counts_recovered(formula: str, precision: Any) -> int:
    """Of 50, from AᵀA."""
    guess = usual()
    spread = [max(sqrt(x), 0.6) for x in guess]
    return recovered(products(made(formula, precision)[1]), COUNTS, guess, spread)


def outcomes_recovered(formula: str, precision: Any) -> int:
    """Of 50, from Aᵀb, with the counts at hand."""
    mean = np.mean([y for _, y in ROWS])
    guess = [float(c * mean) for c in COUNTS]
    spread = [max(25 * sqrt(c), 0.6) for c in COUNTS]
    return recovered(made(formula, precision)[1], OUTCOMES, guess, spread)


def budget(formula: str, precision: Any) -> Budget:
    model = KNOWN.model(formula)
    return Budget.of([(model, MadeColumns.of(model, KNOWN, precision).rounding, True)], KNOWN)


def ladder(steps: int, apart: str = "0.02") -> str:
    return "y ~ " + " + ".join(f"exp(-{apart} * {k} * age)" for k in range(1, steps + 1))


def cubic_spline(*knots: int) -> str:
    pieces = [f"I((age - {k}) ** 2 * sqrt((age - {k}) ** 2))" for k in knots]
    return " + ".join(["y ~ poly(age, 3, raw=True)", *pieces])


def linear_spline(*knots: int) -> str:
    return " + ".join(["y ~ age", *(f"sqrt((age - {k}) ** 2)" for k in knots)])
