"""Finite-time least squares by the minimal polynomial (Yang, George, Qin, Yi, Wu 2020).

All run a linear iteration with a consensus and a gradient term whose fixed point is x*,

    x⁺ = W x − α∇f(x) − v,    v⁺ = v + ½(I − W) x,    x⁰ = v⁰ = 0,

(the proportional-integral form of EXTRA). One chosen party watches its own x_1(0), x_1(1), …, finds
the smallest L for which the Hankel matrix of the differences x_1(k+1) − x_1(k) has a kernel β, and

    x* = Σ_j β_j x_1(j) / Σ_j β_j

after 2L + 1 rounds; it need not wait for convergence. Then it floods x*. In float64 the kernel is
hopeless, so all is done in rationals: exact, with numbers that grow at every round (`cost.bits`).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from titan_lab.compare.case import Case
from titan_lab.compare.flooding import flood
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.methods.extra import Extra
from titan_lab.compare.methods.rationals import (
    as_float,
    exact_moments,
    exact_weights,
    longest,
    row,
    zeros,
)
from titan_lab.compare.methods.recurrence import annihilates, kernel, length
from titan_lab.compare.problem import Floats

_MOST_UNKNOWNS = 40


class FiniteTime(Method):
    about = About(
        name="finite-time",
        title="Finite-time least squares (minimal polynomial)",
        reference="Yang, George, Qin, Yi, Wu, Distributed least squares solver for network linear "
        "equations, Automatica 113, 2020",
        requires=Requires(
            undirected=True, unknowns=_MOST_UNKNOWNS, knows="the neighbours' degrees, a step size"
        ),
        finite=True,
        private="its neighbours' exact iterates, and their gradients from them",
        accuracy="exact",
    )

    @classmethod
    def default_step(cls, case: Case) -> float:
        """The power of two at or below EXTRA's: few digits, and the iteration converges."""
        return float(2.0 ** np.floor(np.log2(Extra.default_step(case))))

    def init(self) -> None:
        case, n = self.case, self.case.n
        self.W = exact_weights(case)
        self.gram, self.moment = exact_moments(case)
        self.x, self.v = zeros(case.m, n), zeros(case.m, n)
        self.own: list[list[Any]] = [row(self.x, 0)]
        self.answer: Floats | None = None
        self.cost.flops = None  # rationals of thousands of bits, and the kernels: time says more

    def step(self) -> None:
        """n rationals to each neighbour; the chosen party keeps all its states."""
        self._iterate()
        rounds = len(self.own) - 1
        if rounds > self.case.network.diameter:  # before, something may not have reached it
            lengths = [length(self._differences(c)) for c in range(self.case.n)]
            if rounds >= 2 * max(lengths) + 1:
                self._solve(lengths)
                flood(self.cost, self.case.network, 0, self.case.n)

    def _differences(self, component: int) -> list[Any]:
        states = [state[component] for state in self.own]
        return [after - before for before, after in itertools.pairwise(states)]

    def _iterate(self) -> None:
        from flint import fmpq, fmpq_mat

        case = self.case
        self.cost.bits = max(self.cost.bits, longest(self.x))
        mixed = self.W * self.x
        rows = [
            (G * fmpq_mat(case.n, 1, row(self.x, i)) - g).entries()
            for i, (G, g) in enumerate(zip(self.gram, self.moment, strict=True))
        ]
        gradient = fmpq_mat(case.m, case.n, list(itertools.chain(*rows)))
        alpha = fmpq(*Fraction(self.alpha).as_integer_ratio())
        new = mixed - gradient * alpha - self.v
        self.v = self.v + (self.x - mixed) * fmpq(1, 2)
        self.x = new
        self.own.append(row(new, 0))
        self.cost.rounds += 1
        self.cost.broadcast(case.n)
        held = np.full(case.m, 2 * case.n, np.int64)
        held[0] += case.n * len(self.own)
        self.cost.hold(held)

    def _solve(self, lengths: list[int]) -> None:
        """One kernel for all components where it annihilates them all, as it mostly does."""
        beta = kernel(self._differences(0), lengths[0])
        limit = []
        for c in range(self.case.n):
            differences = self._differences(c)
            if not annihilates(beta, differences):
                beta = kernel(differences, lengths[c])
            terms = [weight * state[c] for weight, state in zip(beta, self.own, strict=False)]
            limit.append(sum(terms[1:], terms[0]) / sum(beta[1:], beta[0]))
        self.answer = np.array([as_float(x) for x in limit])
        self.finished = True

    @property
    def estimates(self) -> Floats:
        """Before the end, the iterates."""
        if self.answer is not None:
            return np.tile(self.answer, (self.case.m, 1))
        return np.array([[as_float(x) for x in row(self.x, i)] for i in range(self.case.m)])
