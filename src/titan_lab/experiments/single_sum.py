"""The paper's solver (Algorithm 3) as it stands: one private sum, and a bound `a` that was guessed.

Every party's A_iᵀA_i and A_iᵀb_i, all |entries| below a, are encoded as signed fixed point so fine
that m of them cannot wrap around, masked, recovered and summed once; everyone solves the pooled
normal equations. `titan.solve` does it in two sums instead, and then there is nothing to guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
import numpy.typing as npt

from titan.errors import NumberError
from titan.leastsquares import PooledMoments, Solution, column_scales, solve_pooled
from titan.leastsquares.certified import certify
from titan.leastsquares.pooled import exact
from titan.matrices import moments_of
from titan.moments import Moments
from titan.network import Network
from titan.protocol import Plan, RecoveryName
from titan.ring import FixedPoint, Residues, Ring
from titan_lab.compare.problem import Problem

TAU = 1
"""The paper's experiments have one adversary."""

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SingleSum:
    """All parties' encoded inputs, (limbs, m, d). Column n of `pairs` stands for b."""

    problem: Problem
    scale: FixedPoint
    pairs: Pairs
    secrets: Residues

    @classmethod
    def of(cls, problem: Problem, bound: int, *, whole: bool = False, bits: int = 128) -> SingleSum:
        """Encode; `whole` sends all n² entries of A_iᵀA_i, else the upper triangle alone."""
        ring = Ring(bits)
        scale = FixedPoint.for_bound(ring, Fraction(bound), problem.m)
        pairs = _pairs(problem.n, whole)
        largest = int(bound * Fraction(2) ** scale.fraction)
        secrets = []
        for party, moments in zip(problem.parties, moments_of_all(problem), strict=True):
            try:
                encoded = moments.fixed_point(
                    ring, scale.fraction, pairs, [0] * (problem.n + 1), within=largest
                )
            except NumberError:
                raise NumberError(
                    f"an entry of {party!r} exceeds the paper's bound a = {bound}",
                    hint="take another seed; titan.solve needs no such bound",
                ) from None
            secrets.append(encoded)
        return cls(problem, scale, pairs, np.stack(secrets, axis=1))

    def plan(
        self,
        network: Network,
        recovery: RecoveryName,
        k: int | None = None,
        rounds: int | None = None,
    ) -> Plan:
        d = len(self.pairs)
        return Plan.make(
            network, self.scale.ring, d, recovery=recovery, k=k, rounds=rounds, tau=TAU
        )

    def units(self, residues: Residues) -> list[Fraction]:
        """What residues stand for, in the units of the moments, signed."""
        unit = Fraction(2) ** -self.scale.fraction
        return [number * unit for number in self.scale.ring.to_signed(residues)]

    def solution(self, total: Residues) -> Solution:
        """Everyone's last step: solve (Σ A_iᵀA_i) x = Σ A_iᵀb_i, with a proven bound."""
        n, e = self.problem.n, Fraction(self.problem.m, 2) / Fraction(2) ** self.scale.fraction
        pooled = np.zeros((n + 1, n + 1), object)
        for (j, k), value in zip(self.pairs.tolist(), self.units(total), strict=True):
            pooled[j, k] = pooled[k, j] = value
        scales = column_scales(np.diagonal(pooled)[:n].tolist())
        units = np.array([Fraction(2) ** s for s in scales], object)
        gram = pooled[:n, :n] / units[:, None] / units
        denominator = math.lcm(*(entry.denominator for entry in gram.flat))
        moments = PooledMoments(
            names=tuple(f"x{j}" for j in range(1, n + 1)),
            response="y",
            rows=int(self.problem.rows.sum()),
            scales=scales,
            gram=np.vectorize(int, otypes=[object])(gram * denominator),
            denominator=denominator,
            rhs=tuple(pooled[:n, n] / units),
            gram_error=e / Fraction(4) ** min(scales),
            diagonal_error=tuple(e / Fraction(4) ** s for s in scales),
            rhs_error=tuple(e / Fraction(2) ** s for s in scales),
        )
        return solve_pooled(moments)


def moments_of_all(problem: Problem) -> list[Moments]:
    """Every party's exact moments of [A_i b_i]."""
    parts = zip(problem.parties, problem.A, problem.b, strict=True)
    found = [moments_of(party, (A, b), None) for party, A, b in parts]
    return [moments for moments in found if isinstance(moments, Moments)]  # floats: all of them


def _pairs(n: int, whole: bool) -> Pairs:
    matrix = np.indices((n, n)).reshape(2, -1) if whole else np.stack(np.triu_indices(n))
    vector = np.stack([np.arange(n), np.full(n, n)])
    return np.concatenate([matrix, vector], axis=1).T


# -- how good an answer is --------------------------------------------------------------------


@dataclass(frozen=True)
class Errors:
    """Largest errors over the coefficients, each divided by the largest |coefficient|."""

    exact: float
    """Of TITAN's answer before it is rounded to float64, against the exact one."""
    float64: float
    """Of the float64 that TITAN returns, against the exact answer."""
    lstsq: float
    """Between that and numpy.linalg.lstsq on all rows together."""
    lstsq_exact: float
    """Of numpy.linalg.lstsq, against the exact answer."""


def exact_solution(problem: Problem) -> list[Fraction]:
    """The least squares solution of all rows together, to 60 digits and more."""
    pooled = exact(reduce(Moments.__add__, moments_of_all(problem)))
    return [ball.mid for ball in certify(pooled, fast=False).enclosures]


def errors(problem: Problem, solution: Solution, truth: list[Fraction]) -> Errors:
    lstsq = problem.solution.tolist()
    x = solution.x.tolist()
    return Errors(
        exact=_distance([ball.mid for ball in solution.enclosures], truth),
        float64=_distance(x, truth),
        lstsq=_distance(x, lstsq),
        lstsq_exact=_distance(lstsq, truth),
    )


def _distance(found: Sequence[Fraction | float], other: Sequence[Fraction | float]) -> float:
    size = max(abs(Fraction(x)) for x in other)
    pairs = zip(found, other, strict=True)
    return float(max(abs(Fraction(a) - Fraction(b)) for a, b in pairs) / size)
