"""Moments rounded, once, to residues of the ring: the numbers that are masked and summed.

The entry (j, k) becomes the integer nearest to

    moment_jk · 2^-(scales_j + scales_k) · 2^fraction_bits,

and likewise with powers of five, ties to even, modulo 2^bits. A modular sum comes out right
whenever the *pooled* number fits the ring's signed range [-2^(bits-1), 2^(bits-1)); one party's
part of it may be any number. So no part is refused here unless the caller asks with `within`, which
it does where no bound on the pooled sum is known: m parties that each keep within
(2^(bits-1) - 1) // m cannot wrap around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, NumberError
from titan.moments import limbs, triangle
from titan.ring import Residues, Ring

if TYPE_CHECKING:
    from titan.moments.moments import Moments

_GUARD = 2  # bits kept below the last one before a division, so that its remainder decides no tie


def fixed_point(
    moments: Moments,
    ring: Ring,
    fraction_bits: int,
    pairs: npt.ArrayLike,
    scales: Sequence[int],
    *,
    fives: Sequence[int] | None = None,
    fraction_fives: int = 0,
    within: int | None = None,
) -> Residues:
    """The moments of `pairs` (positions, shape (p, 2)), shape (ring.limbs, p).

    `scales` has an exponent for every column. With `within`, a rounded number of larger absolute
    value raises NumberError, naming its two columns.
    """
    j, k = _pairs(moments, pairs)
    if len(scales) != len(moments.names):
        raise DataError(f"{len(scales)} scales for {len(moments.names)} columns")
    unit = np.array(moments.units, np.int64).reshape(-1, 2)
    exponent = unit[:, 0] - np.array(scales, np.int64)
    five = unit[:, 1] - np.array([0] * len(scales) if fives is None else fives, np.int64)
    gram = moments.gram[:, triangle.place(j, k)]
    minus = limbs.negative(gram)
    rounded = _rounded(
        limbs.negate(gram, minus),
        exponent[j] + exponent[k] + fraction_bits,
        five[j] + five[k] + fraction_fives,
    )
    if within is not None:
        _check(rounded, within, moments, j, k)
    signed = limbs.widen(limbs.negate(rounded, minus), ring.limbs)
    return ring.reduce(np.ascontiguousarray(signed[: ring.limbs]))


def _rounded(x: Residues, twos: limbs.Counts, fives: limbs.Counts) -> Residues:
    """x · 2^twos · 5^fives to the nearest integer, ties to even; no x is negative.

    Half to even does not care about signs, so magnitudes are rounded and signed afterwards.
    """
    guard = np.where(fives < 0, _GUARD, 0)
    x = limbs.scale(x, np.maximum(twos, 0) + guard, np.maximum(fives, 0))
    x, inexact = limbs.divide_by_fives(x, np.maximum(-fives, 0))
    return limbs.round_shift(x, np.maximum(-twos, 0) + guard, inexact)


def _pairs(moments: Moments, pairs: npt.ArrayLike) -> tuple[triangle.Positions, triangle.Positions]:
    chosen = np.asarray(pairs, np.int64).reshape(-1, 2)
    n = len(moments.names)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n):
        raise DataError(f"a pair of columns beyond the {n} there are")
    return chosen[:, 0], chosen[:, 1]


def _check(
    magnitude: Residues,
    within: int,
    moments: Moments,
    j: triangle.Positions,
    k: triangle.Positions,
) -> None:
    bound = limbs.from_ints([-within])
    excess = limbs.add(magnitude, np.broadcast_to(bound, (len(bound), magnitude.shape[1])))
    zero = ~excess.any(axis=0)
    too_large = np.flatnonzero(~limbs.negative(excess) & ~zero)
    if len(too_large):
        first, second = moments.names[j[too_large[0]]], moments.names[k[too_large[0]]]
        others = f", and {len(too_large) - 1} others are" if len(too_large) > 1 else ""
        raise NumberError(
            f'the moment of columns "{first}" and "{second}" is too large for the ring{others}',
            hint="rescale these columns: divide them by a power of ten",
        )
