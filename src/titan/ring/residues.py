"""Vectors of integers modulo 2^bits.

The paper masks real numbers modulo m·a. Floats can be neither uniform nor summed without rounding,
so we mask integers modulo 2^bits instead: addition is exact, and a uniform residue hides a secret
perfectly.

A vector of d residues is a uint64 array of shape (limbs, d): row 0 holds the low 64 bits of every
entry, and unused bits of the top row are zero. Arrays of shape (limbs, ..., d) work throughout.
"""

# Rule 1: every array that leaves a Ring is reduced: unused top bits are zero.
# Rule 2: nothing here draws randomness; `uniform` is handed the bytes' source.
# Rule 3: a Ring is a pure description; it holds no secret and may be printed.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import islice

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, MessageError
from titan.ring.whole import whole_number

Residues = npt.NDArray[np.uint64]
RandomWords = Callable[[int], Residues]
"""n -> n independent uniform 64-bit words."""

MOST_BITS = 1 << 20
_WORD = np.dtype("<u8")
_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_LONG = 512  # entries of a vector
_BLOCK_BYTES = 1 << 16  # what is made and used at once stays in the cache


@dataclass(frozen=True)
class Ring:
    """The integers modulo 2^bits, `bits` any positive number."""

    bits: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", whole_number("bits", self.bits))
        if not 1 <= self.bits <= MOST_BITS:
            raise InputError(
                f"a ring of {self.bits!r} bits cannot be made",
                hint=f"bits is a whole number from 1 to {MOST_BITS}; 128 is the default",
                choice="bits",
            )

    @property
    def modulus(self) -> int:
        return 1 << self.bits

    @cached_property
    def limbs(self) -> int:
        return -(-self.bits // 64)

    @cached_property
    def width(self) -> int:
        """Bytes that encode one residue."""
        return -(-self.bits // 8)

    @cached_property
    def _top(self) -> np.uint64 | None:
        """The used bits of the top limb, or None where all 64 are used."""
        used = self.bits % 64
        return np.uint64((1 << used) - 1) if used else None

    # -- arithmetic ---------------------------------------------------------------------------

    def reduce(self, x: Residues) -> Residues:
        """Drop, in place, what lies above `bits`."""
        if self._top is not None:
            x[-1] &= self._top
        return x

    def zeros(self, *shape: int) -> Residues:
        return np.zeros((self.limbs, *shape), np.uint64)

    def add(self, x: Residues, y: Residues) -> Residues:
        return self.add_into(x.copy(), y)

    def add_into(self, total: Residues, y: Residues) -> Residues:
        """total += y, in place."""
        if self.limbs == 1:
            total += y
            return self.reduce(total)
        carry: npt.NDArray[np.bool_] | None = None
        for limb in range(self.limbs):
            row, addend = total[limb], y[limb]
            row += addend
            overflow = None if limb == self.limbs - 1 else row < addend  # above it is nothing
            if carry is not None:
                row += carry
                if overflow is not None:
                    overflow |= carry & (row == 0)
            carry = overflow
        return self.reduce(total)

    def negate(self, x: Residues) -> Residues:
        """-x = ~x + 1."""
        flipped = np.invert(x)
        carry: npt.NDArray[np.bool_] | np.bool_ = np.True_
        for row in flipped:
            row += carry
            carry = carry & (row == 0)
        return self.reduce(flipped)

    def subtract(self, x: Residues, y: Residues) -> Residues:
        return self.subtract_into(x.copy(), y)

    def subtract_into(self, total: Residues, y: Residues) -> Residues:
        """total -= y, in place."""
        if self.limbs == 1:
            total -= y
            return self.reduce(total)
        borrow: npt.NDArray[np.bool_] | None = None
        for limb in range(self.limbs):
            row, subtrahend = total[limb], y[limb]
            below = None if limb == self.limbs - 1 else row < subtrahend
            row -= subtrahend
            if borrow is not None:
                if below is not None:
                    below |= borrow & (row == 0)
                row -= borrow
            borrow = below
        return self.reduce(total)

    def sum(self, vectors: Iterable[Residues], entries: int) -> Residues:
        """The sum of many vectors of `entries` entries each; zero for none."""
        total, rest = self.zeros(entries), iter(vectors)
        if entries >= _LONG:  # one by one: a stack would not fit the processor's cache
            return reduce(self.add_into, rest, total)
        while some := list(islice(rest, 64)):  # a stack at a time: few calls
            self.add_into(total, self.sum_axis(np.stack(some, axis=1)))
        return total

    def sum_axis(self, x: Residues, axis: int = 1) -> Residues:
        """Sum an array (limbs, ..., d) along one axis, exactly, for fewer than 2^32 terms.

        Limbs are added in halves of 32 bits, whose sums fit 64 bits with room for the carry.
        """
        if self.limbs == 1:
            return self.reduce(x.sum(axis=axis, dtype=np.uint64))
        return self.from_halves(
            (x & _LOW_HALF).sum(axis=axis, dtype=np.uint64),
            (x >> _HALF).sum(axis=axis, dtype=np.uint64),
        )

    def sum_groups(self, x: Residues, starts: npt.NDArray[np.intp]) -> Residues:
        """Sum along the last axis in groups of neighbours that begin at `starts`, none empty."""
        each, left_over = divmod(x.shape[-1], len(starts))
        if not left_over and np.array_equal(starts, np.arange(len(starts)) * each):
            return self._sum_equal_groups(x, each)
        if self.limbs == 1:
            return self.reduce(np.add.reduceat(x, starts, axis=-1))
        return self.from_halves(
            np.add.reduceat(x & _LOW_HALF, starts, axis=-1),
            np.add.reduceat(x >> _HALF, starts, axis=-1),
        )

    def _sum_equal_groups(self, x: Residues, each: int) -> Residues:
        """The same where all groups have one size: the first of each, plus the second, …"""
        total = np.ascontiguousarray(x[..., ::each])
        total = total.copy() if each == 1 else total
        for nth in range(1, each):
            self.add_into(total, x[..., nth::each])
        return total

    def from_halves(self, low: Residues, high: Residues) -> Residues:
        """Put together per-limb sums of low and high halves: Σ (low + 2^32 high) 2^(64 limb)."""
        out = np.empty_like(low)
        carry: Residues | np.uint64 = np.uint64(0)
        for limb in range(self.limbs):
            below = low[limb] + carry
            above = high[limb] + (below >> _HALF)
            out[limb] = (below & _LOW_HALF) | (above << _HALF)
            carry = above >> _HALF
        return self.reduce(out)

    # -- in and out ---------------------------------------------------------------------------

    def uniform(self, entries: int, words: RandomWords) -> Residues:
        """Independent uniform residues: whole words, of which the top ones lose unused bits."""
        return self.reduce(words(self.limbs * entries).reshape(self.limbs, entries))

    def blocks(self, entries: int) -> Iterator[slice]:
        """For who needs so many entries some at a time."""
        size = max(1, _BLOCK_BYTES // (8 * self.limbs))
        return (slice(at, min(at + size, entries)) for at in range(0, entries, size))

    def from_ints(self, numbers: Sequence[int]) -> Residues:
        """Python integers, negative ones too, reduced modulo 2^bits."""
        modulus, size = self.modulus, 8 * self.limbs
        data = b"".join((n % modulus).to_bytes(size, "little") for n in numbers)
        words = np.frombuffer(data, _WORD).astype(np.uint64)
        return np.ascontiguousarray(words.reshape(len(numbers), self.limbs).T)

    def to_ints(self, x: Residues) -> list[int]:
        """Representatives in [0, 2^bits)."""
        size = 8 * self.limbs
        data = np.ascontiguousarray(x.T).astype(_WORD, copy=False).tobytes()
        return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]

    def to_signed(self, x: Residues) -> list[int]:
        """Representatives in [-2^(bits-1), 2^(bits-1))."""
        modulus, half = self.modulus, self.modulus >> 1
        return [n - modulus if n >= half else n for n in self.to_ints(x)]

    def to_bytes(self, x: Residues) -> bytes:
        """Limb after limb, little-endian; the top one in as few whole bytes as hold it."""
        return b"".join(self.to_buffers(x))

    def to_buffers(self, x: Residues) -> list[memoryview]:
        """The same in parts; what need not be copied is not."""
        whole = x if self.bits % 64 == 0 else x[:-1]
        parts = [np.ascontiguousarray(row, _WORD).data for row in whole]
        if self.bits % 64:
            top = x[-1:].T.astype(_WORD).view(np.uint8)[:, : self.width - 8 * (self.limbs - 1)]
            parts.append(np.ascontiguousarray(top).data)
        return parts

    def from_bytes(self, data: bytes | memoryview, entries: int) -> Residues:
        """The inverse of `to_bytes`; refuses every other encoding. The result may be read-only."""
        if len(data) != self.width * entries:
            raise MessageError(
                f"a vector of {len(data)} bytes where {self.width * entries} were expected"
            )
        if self.bits % 64 == 0:
            return np.frombuffer(data, _WORD).reshape(self.limbs, entries)
        whole = 8 * (self.limbs - 1) * entries
        x = self.zeros(entries)
        x[:-1] = np.frombuffer(data[:whole], _WORD).reshape(self.limbs - 1, entries)
        top = np.frombuffer(data[whole:], np.uint8).reshape(
            entries, self.width - 8 * (self.limbs - 1)
        )
        for byte in range(top.shape[1]):
            x[-1] |= top[:, byte].astype(np.uint64) << np.uint64(8 * byte)
        assert self._top is not None  # noqa: S101 - bits is not a multiple of 64 here
        if np.any(x[-1] > self._top):
            raise MessageError(f"a residue that does not fit {self.bits} bits")
        return x
