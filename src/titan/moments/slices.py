"""Cutting a block of columns into slices, and putting the slices' products together again.

With column j = Σ_i slice_ij · 2^(unit_j + 22·i), the moment of columns j and k over the unit
2^(unit_j + unit_k) is Σ_t 2^(22·t) Σ_{i+l=t} slice_ijᵀ slice_lk. All products of slices come from
one call of BLAS on the stacked slices, S Sᵀ.

Whether they are exact is read off their diagonal. Slices are whole numbers; where the float64 sum
Σ s² < 2^53, it is exact (rounding is monotone, and 2^53 is a float64), and by Cauchy–Schwarz so
are all sums of products of two such slices, in any order. Only a top slice can fail this: the
number was larger than the span said. An infinity or a NaN fails it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments import limbs, triangle
from titan.moments.columns import WORDS, integers_of
from titan.moments.spans import WIDTH, Kind, Span, whole_parts
from titan.ring import Residues

Block = Sequence[npt.NDArray[Any]]
"""The same rows of every column."""
Floats = npt.NDArray[np.float64]
Sums = npt.NDArray[np.int64]

EXACT = 2.0**53
"""Whole numbers below are exact in float64."""

_TILE = 16  # columns cut at a time, so that they stay in the cache
_MAGIC = 1.5 * 2.0**52  # x + magic - magic is x rounded to a whole number, for |x| < 2^51
_DIGIT = np.int64((1 << WIDTH) - 1)
_SIGN = np.int64(1 << WIDTH - 1)


@dataclass(frozen=True)
class Layout:
    """Where the slices of columns with these spans lie among the rows of S.

    Columns are ordered by their number of slices, most first. All lowest slices come first, in
    this order, then all second ones (a prefix of the columns has one), and so on.
    """

    spans: tuple[Span, ...]

    @cached_property
    def order(self) -> list[int]:
        return sorted(range(len(self.spans)), key=lambda column: -self.spans[column].slices)

    @cached_property
    def counts(self) -> list[int]:
        """How many columns have a slice at each level."""
        most = max((span.slices for span in self.spans), default=0)
        return [sum(span.slices > level for span in self.spans) for level in range(most)]

    @cached_property
    def starts(self) -> list[int]:
        """The first row of each level, and the number of rows."""
        return [0, *np.cumsum(self.counts).tolist()]

    @property
    def rows(self) -> int:
        return self.starts[-1]

    @cached_property
    def scales(self) -> list[float | None]:
        """In order, the power of two that makes a column whole; None for those below."""
        return [
            None if self._is_unrounded(column) else 2.0 ** -self.spans[column].unit
            for column in self.order
        ]

    @cached_property
    def wide(self) -> list[int]:
        return [at for at, span in enumerate(self.spans) if span.kind is Kind.WIDE]

    @cached_property
    def unrounded(self) -> list[int]:
        """Positions in the order of wide columns and of int64 that float64 cannot hold."""
        return [at for at, column in enumerate(self.order) if self._is_unrounded(column)]

    def _is_unrounded(self, column: int) -> bool:
        span = self.spans[column]
        return span.kind is Kind.WIDE or (span.kind is Kind.INTEGERS and span.slices == 3)

    @cached_property
    def narrow_levels(self) -> int:
        """Levels above hold slices of wide columns only."""
        return max((span.slices for span in self.spans if span.kind is not Kind.WIDE), default=0)

    @cached_property
    def factors(self) -> Floats:
        """What makes a row a slice: those of wide columns are, others stand at their height."""
        return np.array(
            [
                1.0 if self.spans[column].kind is Kind.WIDE else 2.0 ** (-WIDTH * level)
                for level, count in enumerate(self.counts)
                for column in self.order[:count]
            ]
        )


# -- apart ------------------------------------------------------------------------------------


def cut(block: Block, layout: Layout, out: Floats) -> bool:
    """Fill the rows of `out` with slices; False where a number has bits below its unit.

    A number larger than its column's span is cut into nonsense, which `multiply` detects.
    """
    scratch = np.empty((_TILE, out.shape[1]))
    numbers = [block[layout.order[at]] for at in layout.unrounded]
    long = [at for at, x in zip(layout.unrounded, numbers, strict=True) if x.dtype == np.int64]
    thirds = _put_below_thirds(block, layout, long, out)
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(layout.order), _TILE):
            last = min(first + _TILE, len(layout.order))
            if not _cut_tile(block, layout, slice(first, last), out, scratch[: last - first]):
                return False
    in_words = [at for at in layout.unrounded if block[layout.order[at]].dtype == WORDS]
    for position in layout.unrounded:
        if position not in in_words and position not in long:
            _put_slices(block[layout.order[position]], layout, position, out)
    if long:
        out[[layout.starts[2] + at for at in long]] = thirds * 2.0 ** (2 * WIDTH)
    _put_words(block, layout, in_words, out)
    return True


def _cut_tile(block: Block, layout: Layout, tile: slice, out: Floats, scratch: Floats) -> bool:
    """Cut columns by rounding, from the top slice down to the lowest, which is what is left."""
    rest = out[tile]
    for row, column, factor in zip(rest, layout.order[tile], layout.scales[tile], strict=True):
        if factor is None:
            if block[column].dtype != np.int64:
                row[:] = 0  # all slices of a wide column come afterwards
        elif factor == 1:
            row[:] = block[column]
        else:
            np.multiply(block[column], factor, out=row)
    for level in range(layout.narrow_levels - 1, 0, -1):
        height = min(layout.counts[level] - tile.start, len(rest))
        if height > 0:
            at = layout.starts[level] + tile.start
            _peel(rest[:height], level, out[at : at + height])
    return np.array_equal(np.rint(rest, out=scratch), rest)


def _put_below_thirds(
    block: Block, layout: Layout, long: Sequence[int], out: Floats
) -> npt.NDArray[np.int64]:
    """What lies below the third slices of int64 numbers; those slices, over 2^44, are returned.

    They are the nearest multiples of 2^44, halves up.
    """
    if not long:
        return np.empty((0, 0), np.int64)
    numbers = np.stack([block[layout.order[at]] for at in long])
    thirds = numbers >> 2 * WIDTH - 1  # of which one more does not leave int64
    thirds += 1
    thirds >>= 1
    numbers -= thirds << 2 * WIDTH
    out[list(long)] = numbers
    return thirds


def _peel(rest: Floats, level: int, out: Floats) -> None:
    """Move the nearest multiple of 2^(22·level) from `rest` to `out`, without rounding."""
    magic = _MAGIC * 2.0 ** (WIDTH * level)
    np.add(rest, magic, out=out)
    out -= magic
    rest -= out


def _put_slices(numbers: npt.NDArray[Any], layout: Layout, position: int, out: Floats) -> None:
    """All slices of a wide column, which do not come from rounding."""
    span = layout.spans[layout.order[position]]
    rows = [start + position for start in layout.starts[: span.slices]]
    out[rows] = _digits(limbs.from_ints(integers(numbers, span.unit)), span.slices)


def _put_words(block: Block, layout: Layout, positions: Sequence[int], out: Floats) -> None:
    """Slices of columns of two words, of all at once that have as many."""
    slices_of = {at: layout.spans[layout.order[at]].slices for at in positions}
    for slices in sorted(set(slices_of.values())):
        alike = [at for at in positions if slices_of[at] == slices]
        columns = [block[layout.order[at]] for at in alike]
        low = np.concatenate([words["low"] for words in columns])
        high = np.concatenate([words["high"] for words in columns]).view(np.uint64)
        digits = _digits(np.stack([low, high]), slices)
        for level, digit in enumerate(digits):
            out[[layout.starts[level] + at for at in alike]] = digit.reshape(len(alike), -1)


def integers(numbers: npt.NDArray[Any], unit: int) -> list[int]:
    """The numbers over 2^unit; ValueError where one is not a finite multiple of it."""
    if numbers.dtype == WORDS:
        return list(integers_of(numbers))
    if numbers.dtype != np.float64:
        return [int(number) for number in numbers]  # whole numbers have the unit 1
    if not np.isfinite(numbers).all():
        raise ValueError("a number that is not finite has no whole part")
    mantissas, exponents = whole_parts(numbers)
    shifts = exponents.astype(np.int64) - unit
    below = (np.int64(1) << np.clip(-shifts, 0, 62)) - 1  # a mantissa is below 2^53
    if (mantissas & below).any():
        raise ValueError("a number has bits below the unit of its column")
    return [
        mantissa << shift if shift >= 0 else mantissa >> -shift
        for mantissa, shift in zip(mantissas.tolist(), shifts.tolist(), strict=True)
    ]


def _digits(x: Residues, slices: int) -> npt.NDArray[np.int64]:
    """Balanced digits, base 2^22, of integers below 2^(22·slices - 1): shape (slices, d)."""
    wide = limbs.widen(x, slices * WIDTH // 64 + 2)
    out = np.empty((slices, x.shape[1]), np.int64)
    carry: Sums | np.int64 = np.int64(0)
    for level in range(slices):
        limb, bit = divmod(level * WIDTH, 64)
        field = wide[limb] >> np.uint64(bit)
        field |= wide[limb + 1] << np.uint64(1) << np.uint64(63 - bit)
        digit = field.view(np.int64) & _DIGIT
        if level == slices - 1:
            digit = (digit ^ _SIGN) - _SIGN  # the top digit has the sign
        digit += carry
        carry = digit + _SIGN >> WIDTH if level < slices - 1 else np.int64(0)
        out[level] = digit - (carry << WIDTH)
    return out


# -- together ---------------------------------------------------------------------------------


def multiply(slices: Floats, layout: Layout) -> tuple[Floats, bool]:
    """All products of slices, and whether they are exact."""
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.dot(slices, slices.T)  # unlike `@` it lets other threads go on
        products *= layout.factors
        products *= layout.factors[:, None]
    return products, bool(np.all(products.diagonal() < EXACT))  # a NaN is not less either


def assemble(sums: Sums, layout: Layout) -> Residues:
    """From sums of products of slices to the integers of the Gram matrix, packed.

    The sums of a level's products must fit int64: see `Sum.limit` in `titan.moments.gram`.
    """
    weights = 2 * len(layout.counts) - 1
    out = np.zeros((weights * WIDTH // 64 + 2, triangle.entries(len(layout.order))), np.uint64)
    carry: Sums | np.int64 = np.int64(0)
    for weight, products in enumerate(_by_weight(sums, layout)):
        products += carry
        carry = products >> WIDTH
        _put((products & _DIGIT).view(np.uint64), weight * WIDTH, out)
    return _put_signed(np.asarray(carry), weights * WIDTH, out)


def _by_weight(sums: Sums, layout: Layout) -> Iterator[Sums]:
    """For t = 0, 1, … the sums over slices i and k with i + k = t, packed."""
    n, levels = len(layout.order), len(layout.counts)
    position = np.argsort(np.array(layout.order))
    rows, columns = (position[at] for at in triangle.pairs(n))
    for weight in range(2 * levels - 1):
        total = np.zeros((n, n), np.int64)
        for i in range(max(0, weight - levels + 1), min(weight, levels - 1) + 1):
            k = weight - i
            height, width = layout.counts[i], layout.counts[k]
            top, left = layout.starts[i], layout.starts[k]
            total[:height, :width] += sums[top : top + height, left : left + width]
        yield total[rows, columns]


def _put(digit: Residues, at: int, out: Residues) -> None:
    limb, bit = divmod(at, 64)
    out[limb] |= digit << np.uint64(bit)
    out[limb + 1] |= digit >> np.uint64(1) >> np.uint64(63 - bit)


def _put_signed(top: Sums, at: int, out: Residues) -> Residues:
    limb, bit = divmod(at, 64)
    out[limb] |= top.view(np.uint64) << np.uint64(bit)
    out[limb + 1] |= (top >> 1 >> (63 - bit)).view(np.uint64)
    return limbs.trim(out)
