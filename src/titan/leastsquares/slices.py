"""Integers cut into slices narrow enough that BLAS multiplies them exactly.

An integer N is Σ_s slice_s · 2^(width·(count−1−s)); all slices but the first are in [0, 2^width),
the first carries the sign. A float64 product of two matrices of such slices is exact in any order
of summation while inner · 2^(2·width) ≤ 2^53 (the idea of the Ozaki scheme).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from titan.leastsquares.bounds import Floats
from titan.leastsquares.pooled import Integers


def exact_width(inner: int) -> int:
    """The widest slices whose products summed over `inner` terms stay within 53 bits."""
    return (53 - (inner - 1).bit_length()) // 2


def bit_length(numbers: Integers) -> int:
    """Bits of the largest magnitude."""
    return int(max(numbers.max(), -numbers.min())).bit_length()


@dataclass(frozen=True, eq=False)
class Slices:
    """An integer matrix (n, n) as float64 slices of shape (count, n, n), the highest first."""

    parts: Floats
    width: int

    @classmethod
    def cut(cls, matrix: Integers, width: int) -> Slices:
        """Of a symmetric matrix; only its upper triangle is read."""
        upper = np.triu_indices(len(matrix))
        triangle = matrix[upper]
        count = -(-(bit_length(triangle) + 1) // width)
        limbs = _limbs(triangle, width * count)
        parts = np.empty((count, *matrix.shape))
        for s in range(count):
            field = _field(limbs, width * (count - 1 - s), width)
            if s == 0:  # two's complement: the top bit of the first slice is the sign
                field -= (field >> (width - 1)) << width
            parts[s][upper] = field
            parts[s].T[upper] = field
        return cls(parts, width)

    @property
    def bits(self) -> int:
        """All entries are within ±2^(bits−1)."""
        return self.width * len(self.parts)

    def times(self, vector: npt.NDArray[np.int64]) -> Integers:
        """The exact product with integers below 2^(2·width) in magnitude."""
        count, n, _ = self.parts.shape
        high, low = vector >> self.width, vector & ((1 << self.width) - 1)
        halves = np.stack([high, low], axis=1).astype(np.float64)
        product = (self.parts.reshape(count * n, n) @ halves).reshape(count, n, 2)
        total = np.zeros(n, object)
        for s in range(count):
            exact = product[s].astype(np.int64).astype(object)
            total = (total << self.width) + (exact[:, 0] << self.width) + exact[:, 1]
        return total


def _limbs(numbers: Integers, bits: int) -> npt.NDArray[np.int64]:
    """Two's complement in words of 64 bits, shape (words, entries), one spare word on top."""
    size = 8 * (bits // 64 + 2)
    flat = numbers.tolist()
    data = b"".join([number.to_bytes(size, "little", signed=True) for number in flat])
    return np.frombuffer(data, "<i8").reshape(len(flat), -1).T


def _field(limbs: npt.NDArray[np.int64], low: int, width: int) -> npt.NDArray[np.int64]:
    """Bits low … low+width−1 of every entry."""
    word, offset = divmod(low, 64)
    field = limbs[word].view(np.uint64) >> np.uint64(offset)
    if offset + width > 64:
        field |= limbs[word + 1].view(np.uint64) << np.uint64(64 - offset)
    masked: npt.NDArray[np.int64] = (field & np.uint64((1 << width) - 1)).astype(np.int64)
    return masked
