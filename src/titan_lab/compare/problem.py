"""Problems for the bench: every party's equations A_i x = b_i, and the answer x* they share.

A private average is the same problem with A_i the identity: ½‖x − v_i‖² summed over the parties is
least where x is the average of the v_i. So every method for least squares averages as well; and a
method for averages solves least squares by averaging the moments A_iᵀA_i and A_iᵀb_i, after which
each party solves by itself (Xiao, Boyd, Lall 2005; TITAN's own Algorithm 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from titan.errors import DataError

Floats = npt.NDArray[np.float64]
_CONSISTENT = 1e-12  # of ‖b‖: what rounding leaves of a residual that is zero


@dataclass(frozen=True, eq=False)
class Problem:
    """Equations A_i x = b_i of party i; `average` where every A_i is the identity."""

    name: str
    parties: tuple[str, ...]
    A: tuple[Floats, ...]
    b: tuple[Floats, ...]
    average: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if not len(self.parties) == len(self.A) == len(self.b) > 1:
            raise DataError(
                f"{len(self.parties)} parties, {len(self.A)} matrices and {len(self.b)} vectors",
                hint="two parties or more, with one matrix and one vector each",
            )
        for party, A, b in zip(self.parties, self.A, self.b, strict=True):
            if A.shape != (len(b), self.n):
                raise DataError(
                    f"{party!r} has a matrix of shape {A.shape} beside a vector of {len(b)}",
                    hint=f"one row per entry, and {self.n} columns as the others have",
                )
            if not (np.isfinite(A).all() and np.isfinite(b).all()):
                raise DataError(f"{party!r} has an entry that is not finite")
        if np.linalg.matrix_rank(self.stacked[0]) < self.n:
            raise DataError(
                "the parties' equations together do not determine x",
                hint="the matrix of all rows must have full column rank",
            )

    @classmethod
    def of(cls, name: str, parts: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> Problem:
        """From one pair (A_i, b_i) per party, the parties called "1", "2", …"""
        A, b = (tuple(np.asarray(part[at], float) for part in parts) for at in (0, 1))
        return cls(name, _numbered(len(parts)), A, b)

    @classmethod
    def averaging(
        cls, values: npt.ArrayLike, name: str = "average", seed: int | None = None
    ) -> Problem:
        """The average of one number, or one row of numbers, per party."""
        v = np.asarray(values, float)
        v = v.reshape(len(v), -1)
        A = tuple(np.eye(v.shape[1]) for _ in v)
        return cls(name, _numbered(len(v)), A, tuple(v), average=True, seed=seed)

    @property
    def m(self) -> int:
        return len(self.parties)

    @property
    def n(self) -> int:
        return int(self.A[0].shape[1])

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """How many equations each party holds."""
        return np.array([len(b) for b in self.b], np.int64)

    @cached_property
    def stacked(self) -> tuple[Floats, Floats]:
        """All rows together, which nobody in the network has."""
        return np.concatenate(self.A), np.concatenate(self.b)

    @cached_property
    def solution(self) -> Floats:
        """x*, by orthogonal factorisation of all rows."""
        A, b = self.stacked
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])

    @cached_property
    def consistent(self) -> bool:
        """Whether A x = b has a solution."""
        A, b = self.stacked
        return bool(np.linalg.norm(A @ self.solution - b) <= _CONSISTENT * np.linalg.norm(b))

    @cached_property
    def contraction(self) -> float | None:
        """‖I − D⁻¹A‖∞ for a square system, D its diagonal, party i holding equation i alone."""
        A, _ = self.stacked
        if self.m != self.n or (self.rows != 1).any() or not np.diagonal(A).all():
            return None
        off = np.abs(A / np.diagonal(A)[:, None])
        return float(off.sum(axis=1).max() - 1)

    def error(self, estimates: Floats) -> float:
        """The worst party's ‖x_i − x*‖ / ‖x*‖ (‖x_i‖ where x* is zero)."""
        scale = float(np.linalg.norm(self.solution)) or 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            worst = np.sqrt(np.square(estimates - self.solution).sum(axis=1)).max()
        return float(worst) / scale if np.isfinite(worst) else float("inf")


def _numbered(m: int) -> tuple[str, ...]:
    return tuple(map(str, range(1, m + 1)))
