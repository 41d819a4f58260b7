"""One problem on one network, with the matrices that many methods share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from titan.errors import InputError
from titan.network import Network
from titan_lab.compare.problem import Floats, Problem


def both_ways(network: Network) -> Network:
    """The undirected version: every link both ways."""
    pairs = set(zip(network.senders.tolist(), network.receivers.tolist(), strict=True))
    pairs |= {(b, a) for a, b in pairs}
    senders, receivers = np.array(sorted(pairs)).T
    return Network.from_arrays(network.parties, senders, receivers)


def is_undirected(network: Network) -> bool:
    pairs = set(zip(network.senders.tolist(), network.receivers.tolist(), strict=True))
    return all((b, a) in pairs for a, b in pairs)


def times(matrices: Floats, x: Floats) -> Floats:
    """Each party's matrix times its vector, (m, n, n) and (m, n)."""
    return np.asarray(np.matmul(matrices, x[:, :, None])[:, :, 0])


@dataclass(frozen=True, eq=False)
class Case:
    """A problem whose parties are those of the network, in its order."""

    problem: Problem
    network: Network

    def __post_init__(self) -> None:
        if self.problem.parties != self.network.parties:
            raise InputError(
                f"the problem has {self.problem.m} parties, the network {len(self.network)}, "
                "and they are not the same",
                hint="for example Network.cycle(problem.parties)",
            )

    @property
    def m(self) -> int:
        return self.problem.m

    @property
    def n(self) -> int:
        return self.problem.n

    # -- weights ------------------------------------------------------------------------------

    @cached_property
    def adjacency(self) -> Floats:
        """1 at (j, i) where i can send to j, and on the diagonal."""
        N = np.eye(self.m)
        N[self.network.receivers, self.network.senders] = 1
        return N

    @cached_property
    def metropolis(self) -> Floats:
        """W_ij = 1 / (1 + max(d_i, d_j)) between neighbours, W_ii the rest: doubly stochastic."""
        degree = self.network.in_degree
        W = np.asarray(self.adjacency / (1 + np.maximum(degree[:, None], degree)))
        np.fill_diagonal(W, 0)
        np.fill_diagonal(W, 1 - W.sum(axis=1))
        return W

    @cached_property
    def column_stochastic(self) -> Floats:
        """C_ji = 1 / (1 + d_out(i)) for i's out-neighbours j and for j = i."""
        return np.asarray(self.adjacency / self.adjacency.sum(axis=0))

    @cached_property
    def row_stochastic(self) -> Floats:
        """The mean of oneself and one's in-neighbours: 1/|N_i| each."""
        return np.asarray(self.adjacency / self.adjacency.sum(axis=1, keepdims=True))

    @staticmethod
    def gap(weights: Floats) -> float:
        """1 − the second largest |eigenvalue|: how fast mixing by these weights forgets."""
        return float(1 - np.sort(np.abs(np.linalg.eigvals(weights)))[-2])

    # -- least squares ------------------------------------------------------------------------

    @cached_property
    def gram(self) -> Floats:
        """A_iᵀA_i, shape (m, n, n)."""
        return np.stack([A.T @ A for A in self.problem.A])

    @cached_property
    def moment(self) -> Floats:
        """A_iᵀb_i, shape (m, n)."""
        return np.stack([A.T @ b for A, b in zip(self.problem.A, self.problem.b, strict=True)])

    def gradient(self, x: Floats) -> Floats:
        """∇f_i(x_i) = A_iᵀA_i x_i − A_iᵀb_i for every party."""
        return times(self.gram, x) - self.moment

    @cached_property
    def smoothness(self) -> float:
        """The largest ‖A_iᵀA_i‖: no party's gradient changes faster."""
        return float(np.linalg.eigvalsh(self.gram)[:, -1].max())

    # -- consistent systems -------------------------------------------------------------------

    @cached_property
    def particular(self) -> Floats:
        """The shortest solution of A_i x = b_i, shape (m, n)."""
        inverses = [np.linalg.pinv(A) for A in self.problem.A]
        return np.stack([R @ b for R, b in zip(inverses, self.problem.b, strict=True)])

    @cached_property
    def kernels(self) -> Floats:
        """P_i, the projector onto ker A_i, shape (m, n, n)."""
        eye = np.eye(self.n)
        return np.stack([eye - np.linalg.pinv(A) @ A for A in self.problem.A])

    def project(self, x: Floats) -> Floats:
        """Π_i(x_i), the nearest solution of A_i x = b_i, for every party."""
        return self.particular + times(self.kernels, x)

    # -- flops of a round, per party, leading order ---------------------------------------------

    def mixing_flops(self, numbers: int) -> Floats:
        """A weighted sum of one's own and the in-neighbours' numbers."""
        return np.asarray(2.0 * numbers * self.adjacency.sum(axis=1))

    @property
    def matrix_flops(self) -> float:
        """A matrix of order n times a vector: one gradient, or one projection."""
        return 2.0 * self.n**2
