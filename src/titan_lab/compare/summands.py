"""What a method for averages averages: the values themselves, or everybody's moments.

Of equations, party i's summand is the upper triangle of A_iᵀA_i and then A_iᵀb_i: n(n+1)/2 + n
numbers. From their average, exact or not yet, each party solves for x.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from titan_lab.compare.case import Case
from titan_lab.compare.method import Method
from titan_lab.compare.problem import Floats


def summands(case: Case) -> Floats:
    """One vector per party, shape (m, d)."""
    if case.problem.average:
        return np.stack(case.problem.b)
    upper = np.triu_indices(case.n)
    return np.concatenate([case.gram[:, upper[0], upper[1]], case.moment], axis=1)


def solved(case: Case, means: Floats) -> Floats:
    """Each party's x from its own idea of the average summand; zero where it cannot solve yet."""
    if case.problem.average:
        return means
    G, g = normal_equations(case, means)
    x = np.zeros_like(g)
    for i, (matrix, right) in enumerate(zip(G, g, strict=True)):
        try:
            x[i] = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            continue
    return x


def normal_equations(case: Case, means: Floats) -> tuple[Floats, Floats]:
    """Each party's idea of the mean A_iᵀA_i and A_iᵀb_i."""
    upper = np.triu_indices(case.n)
    G = np.zeros((len(means), case.n, case.n))
    G[:, upper[0], upper[1]] = G[:, upper[1], upper[0]] = means[:, : len(upper[0])]
    return G, means[:, len(upper[0]) :]


class Averaging(Method):
    """A method that averages summands; it says what each party believes the average to be."""

    @property
    @abstractmethod
    def means(self) -> Floats:
        """Each party's estimate of the average summand, shape (m, d)."""

    @property
    def estimates(self) -> Floats:
        return solved(self.case, self.means)

    def surely_beyond(self, tolerance: float) -> bool:
        """‖x_i − x*‖ ≥ ‖g_i − G_i x*‖ / ‖G_i‖, which takes no solving."""
        if self.case.problem.average:
            return False
        solution = self.case.problem.solution
        allowed = 2 * tolerance * np.linalg.norm(solution)  # 2: for rounding
        for mean in self.means:  # mostly the first will do
            (G,), (g,) = normal_equations(self.case, mean[None])
            if np.linalg.norm(g - G @ solution) > allowed * np.linalg.norm(G):
                return True
        return False
