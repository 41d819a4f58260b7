"""Many signed integers of any size at once, as arrays of 64-bit limbs.

An array of shape (limbs, d) holds d integers in two's complement: row 0 has the low 64 bits of
every entry, the top bit of the last row is the sign. `Ring(64 · limbs)` does the additions.
"""

# Rule 1: what a function here returns is exact; it makes the array wider where that needs it.
# Rule 2: only `shift_left` and `shift_right` keep the number of limbs; they say so.

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from titan.ring import Residues, Ring

Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FIVES = 13  # 5^13 is the largest power of five below 2^32
_POWERS = np.array([5**power for power in range(_FIVES + 1)], np.uint64)


# -- in and out -------------------------------------------------------------------------------


def from_ints(numbers: Sequence[int]) -> Residues:
    """The fewest limbs that hold these integers."""
    largest = max(max(numbers, default=0), -min(numbers, default=0))
    limbs = largest.bit_length() // 64 + 1
    data = b"".join([n.to_bytes(8 * limbs, "little", signed=True) for n in numbers])
    return trim(np.frombuffer(data, "<u8").reshape(-1, limbs).T.astype(np.uint64, order="C"))


def to_ints(x: Residues) -> list[int]:
    return Ring(64 * len(x)).to_signed(x)


def negative(x: Residues) -> Flags:
    minus: Flags = x[-1].view(np.int64) < 0
    return minus


def widen(x: Residues, limbs: int) -> Residues:
    """The same integers in at least this many limbs."""
    if limbs <= len(x):
        return x
    out = np.empty((limbs, x.shape[1]), np.uint64)
    out[: len(x)] = x
    out[len(x) :] = _sign(x[-1])
    return out


def trim(x: Residues) -> Residues:
    """The same integers in the fewest limbs, at least one."""
    limbs = len(x)
    while limbs > 1 and np.array_equal(x[limbs - 1], _sign(x[limbs - 2])):
        limbs -= 1
    return x[:limbs]


def _sign(top: Residues) -> Residues:
    """All ones where the top bit is set, else zero."""
    return (top.view(np.int64) >> 63).view(np.uint64)


# -- arithmetic -------------------------------------------------------------------------------


def add(x: Residues, y: Residues) -> Residues:
    limbs = max(len(x), len(y)) + 1
    return trim(Ring(64 * limbs).add(widen(x, limbs), widen(y, limbs)))


def negate(x: Residues, where: Flags) -> Residues:
    """-x where told, with room for minus the most negative integer."""
    wide = widen(x, len(x) + 1)
    return np.where(where, Ring(64 * len(wide)).negate(wide), wide)


def scale(x: Residues, twos: Counts, fives: Counts) -> Residues:
    """x · 2^twos · 5^fives entry by entry; no exponent is negative."""
    if not twos.any() and not fives.any():
        return x
    bits = int(twos.max(initial=0)) + 7 * int(fives.max(initial=0)) // 3 + 1  # log2 5 < 7/3
    wide = widen(x, len(x) + bits // 64 + 1)
    return trim(shift_left(_times_fives(wide, fives), twos))


def _times_fives(x: Residues, fives: Counts) -> Residues:
    left = fives.copy()
    while left.any():
        step = np.minimum(left, _FIVES)
        x = _times(x, _POWERS[step])
        left -= step
    return x


def _times(x: Residues, factors: Residues) -> Residues:
    """x · factors modulo 2^(64 · limbs), factors below 2^32."""
    out = np.empty_like(x)
    carry: Residues | np.uint64 = np.uint64(0)
    for limb, row in enumerate(x):
        low = (row & _LOW_HALF) * factors + carry
        high = (row >> _HALF) * factors + (low >> _HALF)
        out[limb] = (low & _LOW_HALF) | (high << _HALF)
        carry = high >> _HALF
    return out


def divide_by_fives(x: Residues, fives: Counts) -> tuple[Residues, Flags]:
    """The floor of x / 5^fives, and where something was left over; no x is negative."""
    inexact = np.zeros(x.shape[1], np.bool_)
    left = fives.copy()
    while left.any():
        step = np.minimum(left, _FIVES)
        x, rest = _divide(x, _POWERS[step])
        inexact |= rest != 0
        left -= step
    return x, inexact


def _divide(x: Residues, divisors: Residues) -> tuple[Residues, Residues]:
    """Schoolbook division by divisors below 2^32, in halves of limbs from the top."""
    out = np.empty_like(x)
    rest = np.zeros(x.shape[1], np.uint64)
    for limb in range(len(x) - 1, -1, -1):
        high, rest = np.divmod(rest << _HALF | x[limb] >> _HALF, divisors)
        low, rest = np.divmod(rest << _HALF | x[limb] & _LOW_HALF, divisors)
        out[limb] = high << _HALF | low
    return out, rest


# -- shifts, each entry by its own number of bits -----------------------------------------------


def shift_left(x: Residues, by: Counts) -> Residues:
    """x · 2^by modulo 2^(64 · limbs)."""
    if not by.any():
        return x
    padded = np.concatenate([np.zeros((1, x.shape[1]), np.uint64), x])
    moved = _move(padded, -(by >> 6))
    bits = (by & 63).astype(np.uint64)
    # two steps, since a shift by all 64 bits is undefined
    return moved[1:] << bits | moved[:-1] >> _ONE >> (np.uint64(63) - bits)


def shift_right(x: Residues, by: Counts) -> Residues:
    """The floor of x / 2^by, in as many limbs."""
    if not by.any():
        return x
    padded = np.concatenate([x, _sign(x[-1])[None]])
    moved = _move(padded, by >> 6)
    bits = (by & 63).astype(np.uint64)
    return moved[:-1] >> bits | moved[1:] << _ONE << (np.uint64(63) - bits)


def _move(x: Residues, rows: Counts) -> Residues:
    """Row i of an entry becomes its row i + rows; the first or last stands for all beyond it."""
    if not rows.any():
        return x
    source = np.clip(np.arange(len(x))[:, None] + rows, 0, len(x) - 1)
    moved: Residues = x.ravel().take(source * x.shape[1] + np.arange(x.shape[1]))
    return moved


def round_shift(x: Residues, by: Counts, inexact: Flags) -> Residues:
    """x / 2^by to the nearest integer, ties to even; no x is negative.

    Where `inexact`, the number meant is a little more than x (by less than one); `by` must be at
    least 1 there, else nobody could say on which side of a tie it lies.
    """
    doubled = shift_left(widen(x, len(x) + 1), np.ones_like(by))
    halves = shift_right(doubled, by)  # the quotient and, as its last bit, the half
    beyond = inexact | (shift_left(halves, by) != doubled).any(axis=0)
    half = halves[0] & _ONE != 0
    odd = halves[0] & np.uint64(2) != 0
    up = np.zeros_like(halves)
    up[0] = half & (beyond | odd)
    return add(shift_right(halves, np.ones_like(by)), up)
