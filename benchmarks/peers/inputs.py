"""The two tasks, and their exact answers, found without TITAN.

All numbers are drawn from a fixed seed. The exact answers are rationals: a sum of Fractions, and
Cramer's rule over the integers by python-flint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAGNITUDE = 8  # a public bound on every entry of the vectors
SCALE = 2**7  # equations are multiples of 1/128, the finest of MPyC's own regression demo


def vectors(parties: int, entries: int) -> Floats:
    """One vector per party, of shape (parties, entries)."""
    drawn = np.random.default_rng(20260102).standard_normal((parties, entries))
    return np.clip(drawn, -MAGNITUDE, MAGNITUDE)


def exact_sum(values: Floats) -> list[Fraction]:
    return [sum(map(Fraction, column), Fraction()) for column in values.T.tolist()]


@dataclass(frozen=True)
class Equations:
    """Rows of every party: A of shape (parties, rows, unknowns), b of (parties, rows)."""

    A: Floats
    b: Floats

    @staticmethod
    def draw(parties: int, rows: int, unknowns: int) -> Equations:
        rng = np.random.default_rng(20260103)
        A = rng.standard_normal((parties, rows, unknowns))
        b = A @ rng.standard_normal(unknowns) + rng.standard_normal((parties, rows))
        return Equations(np.round(A * SCALE) / SCALE, np.round(b * SCALE) / SCALE)

    @property
    def pooled(self) -> tuple[Floats, Floats]:
        return self.A.reshape(-1, self.A.shape[2]), self.b.reshape(-1)

    def moments(self) -> Integers:
        """Each party's [AᵀA | Aᵀb] in units of SCALE⁻², of shape (parties, n, n + 1)."""
        A, b = (np.rint(x * SCALE).astype(np.int64) for x in (self.A, self.b))
        right = np.concatenate([A, b[:, :, None]], axis=2)
        return np.asarray(A.transpose(0, 2, 1) @ right, dtype=np.int64)

    def exact(self) -> list[Fraction]:
        """The least squares solution."""
        from flint import fmpq_mat, fmpz_mat

        total = self.moments().sum(axis=0)
        left, right = fmpz_mat(total[:, :-1].tolist()), fmpz_mat(total[:, -1:].tolist())
        solution = fmpq_mat(left).solve(fmpq_mat(right))
        return [Fraction(int(x.p), int(x.q)) for x in solution.entries()]


def error(found: Sequence[float] | Floats, exact: Sequence[Fraction]) -> float:
    """The largest difference, relative to the largest entry of the exact answer."""
    if len(found) != len(exact):
        raise ValueError(f"{len(found)} numbers found, {len(exact)} expected")
    off = max(abs(Fraction(float(x)) - y) for x, y in zip(found, exact, strict=True))
    return float(off / max(map(abs, exact)))
