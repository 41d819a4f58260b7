"""Least squares problems in fractions, and the dumb twins the tests compare with."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint

from titan.leastsquares import PooledMoments, column_scales
from titan.leastsquares.pooled import integers

Rows = list[list[Fraction]]
DATA = Path(__file__).parents[2] / "src" / "titan_lab" / "datasets" / "data"


@dataclass(frozen=True)
class Problem:
    """Rows A, responses b, and a name for every column."""

    names: tuple[str, ...]
    A: Rows
    b: list[Fraction]

    def gram(self) -> Rows:
        columns = list(zip(*self.A, strict=True))
        return [[_dot(u, v) for v in columns] for u in columns]

    def rhs(self) -> list[Fraction]:
        return [_dot(u, self.b) for u in zip(*self.A, strict=True)]

    def bb(self) -> Fraction:
        return _dot(self.b, self.b)

    def part(self, i: int, parties: int) -> Problem:
        return Problem(self.names, self.A[i::parties], self.b[i::parties])

    def exact(self, response: str = "y") -> PooledMoments:
        rows, bb = len(self.A), self.bb()
        return exact_moments(
            self.names, self.gram(), self.rhs(), rows=rows, bb=bb, response=response
        )

    def pooled(self, *, parties: int = 3, bits: int = 128) -> PooledMoments:
        """As the protocol would: every party rounds its own part, the sums are exact."""
        parts = [self.part(i, parties) for i in range(parties)]
        n = len(self.names)
        grams = [part.gram() if part.A else [[Fraction(0)] * n] * n for part in parts]
        diagonal = [sum(_wide(gram[j][j]) for gram in grams) for j in range(n)]
        scales = column_scales(diagonal)
        upper = [(j, k) for j in range(n) for k in range(j + 1, n)]
        one = Fraction(2) ** (bits - 2)
        return PooledMoments.of_sums(
            self.names,
            rows=len(self.A),
            diagonal=diagonal,
            rhs=[sum(_wide(part.rhs()[j]) for part in parts if part.A) for j in range(n)],
            bb=sum(_wide(part.bb()) for part in parts),
            off_diagonal=[
                sum(round(g[j][k] / Fraction(2) ** (scales[j] + scales[k]) * one) for g in grams)
                for j, k in upper
            ],
            parties=parties,
            bits=bits,
        )

    def solution(self) -> list[Fraction]:
        """The exact least squares solution, by flint's rational elimination."""
        n = len(self.names)
        gram = flint.fmpq_mat(n, n, [_fmpq(v) for row in self.gram() for v in row])
        rhs = flint.fmpq_mat(n, 1, [_fmpq(v) for v in self.rhs()])
        return [Fraction(int(x.p), int(x.q)) for x in gram.solve(rhs).entries()]


def exact_moments(
    names: Sequence[str],
    gram: Sequence[Sequence[int | Fraction]],
    rhs: Sequence[int | Fraction],
    *,
    rows: int,
    bb: int | Fraction | None = None,
    response: str = "y",
) -> PooledMoments:
    """AᵀA and Aᵀb as they are, in any unit; nothing rounded."""
    scales = column_scales([row[j] for j, row in enumerate(gram)])
    two, at = Fraction(2), range(len(names))
    scaled = [[gram[j][k] / two ** (scales[j] + scales[k]) for k in at] for j in at]
    denominator = math.lcm(*(entry.denominator for row in scaled for entry in row))
    return PooledMoments(
        names=tuple(names),
        response=response,
        rows=rows,
        scales=scales,
        gram=integers([[int(entry * denominator) for entry in row] for row in scaled]),
        denominator=denominator,
        rhs=tuple(g / two**s for g, s in zip(rhs, scales, strict=True)),
        bb=None if bb is None else Fraction(bb),
    )


def _dot(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0))


def _wide(number: Fraction) -> Fraction:
    return Fraction(round(number * 2**256), 2**256)


def _fmpq(number: Fraction) -> flint.fmpq:
    return flint.fmpq(number.numerator, number.denominator)


def hilbert(n: int) -> Problem:
    rows = [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]
    return Problem(tuple(f"h{j}" for j in range(n)), rows, [Fraction(1)] * n)


def nist(name: str) -> tuple[Problem, dict[str, Any]]:
    """One of NIST's linear regressions, and its reference values."""
    reference: dict[str, Any] = json.loads((DATA / "nist" / f"{name}.json").read_text())
    with (DATA / "nist" / f"{name}.csv").open() as file:
        lines = list(csv.DictReader(file))
    model = reference["model"]
    names = tuple(p["name"] for p in reference["certified"]["parameters"])
    rows = []
    for line in lines:
        predictors = [Fraction(text) for key, text in line.items() if key != "y"]
        if len(predictors) == 1:
            predictors = [predictors[0] ** k for k in range(1, model["polynomial_degree"] + 1)]
        rows.append([Fraction(1)] * model["intercept"] + predictors)
    return Problem(names, rows, [Fraction(line["y"]) for line in lines]), reference


def heart() -> tuple[Problem, dict[str, Any]]:
    """Four hospitals' heart-disease rows."""
    reference: dict[str, Any] = json.loads((DATA / "sites" / "heart_disease.json").read_text())
    with (DATA / "sites" / "heart_disease.csv").open() as file:
        lines = list(csv.DictReader(file))
    predictors = reference["predictors"]
    rows = [[Fraction(1)] + [Fraction(line[name]) for name in predictors] for line in lines]
    response = [Fraction(line[reference["response"]]) for line in lines]
    return Problem(("Intercept", *predictors), rows, response), reference
