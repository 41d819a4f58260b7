"""Moments of fractions: exact columns over a divisor each, for numbers such as 1/3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from titan.moments.columns import Column
from titan.moments.gram import gram
from titan.moments.moments import Moments, too_large_for_ring
from titan.ring import Residues, Ring


@dataclass(frozen=True)
class RationalMoments:
    """moments_jk / (divisor_j · divisor_k)."""

    moments: Moments
    divisors: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, names: Sequence[str], columns: Sequence[Sequence[Fraction]]) -> RationalMoments:
        pairs = [Column.of_fractions(values) for values in columns]
        return cls(gram(names, [column for column, _ in pairs]), tuple(d for _, d in pairs))

    @property
    def names(self) -> tuple[str, ...]:
        return self.moments.names

    @property
    def rows(self) -> int:
        return self.moments.rows

    @property
    def zero_columns(self) -> npt.NDArray[np.bool_]:
        return self.moments.zero_columns

    def fraction(self, j: int, k: int) -> Fraction:
        return self.moments.fraction(j, k) / (self.divisors[j] * self.divisors[k])

    def fixed_point(
        self,
        ring: Ring,
        fraction_bits: int,
        pairs: npt.ArrayLike,
        scales: Sequence[int],
        *,
        fives: Sequence[int] | None = None,
        fraction_fives: int = 0,
        within: int | None = None,
    ) -> Residues:
        """As `Moments.fixed_point`, with Python's fractions."""
        codes = []
        fives = fives or [0] * len(scales)
        for j, k in np.asarray(pairs, np.int64).reshape(-1, 2).tolist():
            scale = Fraction(2) ** (fraction_bits - scales[j] - scales[k])
            scale *= Fraction(5) ** (fraction_fives - fives[j] - fives[k])
            codes.append(round(self.fraction(j, k) * scale))
            if within is not None and abs(codes[-1]) > within:
                raise too_large_for_ring(self.names[j], self.names[k])
        return ring.from_ints(codes)
