"""SONATA (Sun, Daneshmand, Scutari 2019) with F the mean of the f_i, on directed networks.

Party i minimises its surrogate f_i(z) + (y_i − ∇f_i(x_i))ᵀ(z − x_i) + (ρ/2)‖z − x_i‖², that is

    d_i = −(A_iᵀA_i + ρI)⁻¹ y_i,    x_i^½ = x_i + γ d_i,

then mixes with push-sum weights and tracks the mean gradient:

    φ⁺ = C φ,   x_i⁺ = Σ_j C_ij φ_j x_j^½ / φ_i⁺,
    y_i⁺ = (Σ_j C_ij φ_j y_j + ∇f_i(x_i⁺) − ∇f_i(x_i)) / φ_i⁺,    φ⁰ = 1,  y⁰ = ∇f(x⁰)

The step size is γ; ρ is `regular` times L, the largest ‖A_iᵀA_i‖.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titan_lab.compare.case import Case, times
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats


class Sonata(Method):
    about = About(
        name="sonata",
        title="SONATA",
        reference="Sun, Daneshmand, Scutari, Convergence rate of distributed optimization "
        "algorithms based on gradient tracking, arXiv:1905.02637, 2019",
        requires=Requires(knows="its own out-degree, a step size and a regularisation"),
        finite=False,
        private="its in-neighbours' iterates and tracked gradients, their own gradients at first",
    )
    choices: ClassVar[dict[str, Any]] = {"regular": 0.1}

    @classmethod
    def default_step(cls, case: Case) -> float:
        """γ = 1/32, since parties with few rows have flat surrogates; less if mixing is slow."""
        return min(1 / 32, case.gap(case.column_stochastic) / 6)

    def init(self) -> None:
        case = self.case
        rho = self.choice["regular"] * case.smoothness
        self.inverse = np.linalg.inv(case.gram + rho * np.eye(case.n))
        self.x = np.zeros((case.m, case.n))
        self.phi = np.ones((case.m, 1))
        self.gradient = case.gradient(self.x)
        self.y = self.gradient.copy()
        self.cost.hold(3 * case.n + 1)

    def step(self) -> None:
        """φ x^½, φ y and φ, 2n + 1 numbers, to each out-neighbour."""
        case, C = self.case, self.case.column_stochastic
        direction = -times(self.inverse, self.y)
        moved = self.phi * (self.x + self.alpha * direction)
        tracked = C @ (self.phi * self.y)
        self.phi = C @ self.phi
        self.x = C @ moved / self.phi
        gradient = case.gradient(self.x)
        self.y = (tracked + gradient - self.gradient) / self.phi
        self.gradient = gradient
        self.cost.rounds += 1
        self.cost.broadcast(2 * case.n + 1)
        self.cost.work(case.mixing_flops(2 * case.n + 1) + 2 * case.matrix_flops)

    @property
    def estimates(self) -> Floats:
        return self.x
