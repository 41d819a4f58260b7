"""Which columns depend on each other, and whether more bits would help.

Elimination in the order of the columns, in high precision and on G̃ with a unit diagonal: the pivot
of column j is the squared sine of its angle to the columns before it. A pivot that the encoding's
rounding could have made says that column j depends, as far as anybody can tell, on the columns
that take part in its expansion.

How small the pivots below the noise really are nobody can see. They are extrapolated: the pivots
of an ill-conditioned but regular matrix fall off steadily, those of dependent columns fall off a
cliff.
"""

# Rule 1: everything here is a diagnosis for an error message; no proof rests on it.

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from titan.errors import DataError, RankError
from titan.leastsquares.balls import Ball, bits_of
from titan.leastsquares.pooled import Integers, PooledMoments, integers
from titan.leastsquares.precise import singular
from titan.listing import listing

_SMALL_BITS = 20
_SMALL = 2.0**-_SMALL_BITS
"""A column that carries less than this part of the dependence is not named."""

_FLOAT_NOISE = 2.0**-38
_MARGIN_BITS = 24
_CLIFF_BITS = 24
_NAMED = 8

MANY = 150
"""Columns beyond which a dependence is first looked for in float64."""


@dataclass(frozen=True)
class Dependence:
    """Columns that depend on each other; the bits to try next, or None where none would help."""

    columns: tuple[str, ...]
    cliff: bool
    bits: int | None
    small: tuple[str, ...] = ()
    """Columns to give in a smaller unit: the loss is in the first sum, and bits do not help."""


def rank_error(moments: PooledMoments) -> RankError:
    """The error for a pooled system that is not provably of full rank."""
    sizes = zip(moments.names, np.diagonal(moments.gram), moments.diagonal_error, strict=True)
    zero = [name for name, size, error in sizes if size <= error * moments.denominator]
    if zero:
        are, them = ("is", "it") if len(zero) == 1 else ("are", "them")
        message = f"{named_columns(zero)} {are} zero in all rows of all parties"
        return RankError(message, columns=zero, hint=f"leave {them} out")
    few = suspects(moments) if len(moments.names) > MANY else ()
    found = find(moments.subset(few) if few else moments)
    message, hint = _message(moments, found), _hint(found)
    return RankError(message, columns=found.columns, bits=found.bits, hint=hint)


def refuse_singular(moments: PooledMoments) -> None:
    """RankError where G̃, which is exact, has no inverse."""
    if singular(moments):
        raise rank_error(moments)


def unproven_residual(
    moments: PooledMoments, x: Sequence[float], residual: Ball, tiny: Fraction
) -> RankError:
    """The error for a residual sum of squares that may be zero, and may be more than `tiny`.

    `x` are bounds of the coefficients of scaled columns: with them, what the first sum has rounded
    off, which more bits do not give back, is known by column.
    """
    message = "the residual sum of squares is not proven positive, nor next to zero"
    if moments.bb is not None and moments.bb <= moments.bb_error:
        message = f"the response {moments.response!r} is zero in all rows, or too small to tell"
    if moments.bits is None:
        return RankError(message, hint="give the response in a smaller unit, or fewer columns")
    triples = zip(map(Fraction, x), moments.rhs_error, first_sum_errors(moments), strict=True)
    lost = [2 * size * of_rhs + size**2 * of_square for size, of_rhs, of_square in triples]
    if 2 * (sum(lost) + moments.bb_error) >= tiny:
        worst = max(range(len(lost)), key=lost.__getitem__)
        of_response = moments.bb_error >= lost[worst]
        hint = _smaller("the response" if of_response else f"column {moments.names[worst]!r}")
        return RankError(message, hint=f"{hint}, or name fewer columns")
    bits = 64 * math.ceil((moments.bits + bits_of(residual.upper / tiny) + 1) / 64)
    message += f", as far as {moments.bits} bits can tell"
    return RankError(message, bits=bits, hint=f"try bits={bits}")


def _message(moments: PooledMoments, found: Dependence) -> str:
    if moments.exact and not found.cliff:
        return f"{named_columns(found.columns)} are too close to dependent for the range of float64"
    if moments.exact:
        return f"{named_columns(found.columns)} are exactly dependent; no number of bits helps"
    like = "exactly dependent" if found.cliff else "too close to dependent"
    return (
        "the pooled system is not provably of full rank: "
        f"{named_columns(found.columns)} are {like}, "
        f"as far as {moments.bits or 'these'} bits can tell"
    )


def first_sum_errors(moments: PooledMoments) -> list[Fraction]:
    """What the first sum has rounded off the diagonal; the rest of its error shrinks with bits."""
    cut = Fraction(1, 2 * moments.denominator)
    return [max(error - cut, Fraction(0)) for error in moments.diagonal_error]


def small_response(moments: PooledMoments) -> RankError:
    """The error for bounds that the range of float64 cannot hold."""
    return RankError(
        f"the response {moments.response!r} is too small for the range of float64",
        hint=_smaller("the response"),
    )


def _smaller(what: str) -> str:
    return f"give {what} in a smaller unit, so that the numbers are larger"


def _hint(found: Dependence) -> str:
    hint = "drop one of them, or use ridge"
    if found.small:
        smaller = _smaller(named_columns(found.small))
        return f"{hint}; if no exact dependence is known, {smaller}" if found.cliff else smaller
    if found.bits is None:
        return hint
    if found.cliff:
        maybe = f"bits={found.bits} may still tell them apart"
        return f"{hint}; if no exact dependence is known, {maybe}"
    return f"try bits={found.bits}; or {hint}"


def named_columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listing(map(repr, names), _NAMED)}"


def find(moments: PooledMoments) -> Dependence:
    """The first dependence in the order of the columns."""
    n, digits = len(moments.names), max(256, 3 * moments.denominator.bit_length())
    noise = _noise(moments, digits)
    correlation = _unit_diagonal(moments, digits)
    expansion = integers(np.eye(n, dtype=int).tolist()) * (1 << digits)
    pivots: list[float] = []
    for j in range(n):
        pivot = int(correlation[j, j])
        pivots.append(_log2(pivot, digits))
        # a rounding of every entry may move cᵀGc by as much as ‖c‖₁² of them
        below = noise + 2 * _log2(int(np.abs(expansion[j]).sum()), digits)
        if pivots[-1] <= below or j == n - 1:
            return _dependence(moments, pivots[:-1], expansion[j], below)
        for i in range(j + 1, n):
            factor = (int(correlation[i, j]) << digits) // pivot
            correlation[i, j:] -= (factor * correlation[j, j:]) >> digits
            expansion[i] -= (factor * expansion[j]) >> digits
    raise AssertionError("the last column returns")


def suspects(moments: PooledMoments) -> tuple[str, ...]:
    """The columns of the first dependence that float64 sees; none where it sees none."""
    diagonal = np.diagonal(moments.gram)
    roots = np.sqrt((diagonal / moments.denominator).astype(np.float64))
    matrix = (moments.gram / moments.denominator).astype(np.float64) / roots[:, None] / roots
    schur = matrix.copy()
    for j in range(len(matrix)):
        if schur[j, j] < _FLOAT_NOISE:
            expansion = np.linalg.lstsq(matrix[:j, :j], matrix[:j, j])[0]
            used = np.flatnonzero(np.abs(expansion) > _SMALL * np.abs(expansion).max())
            return tuple(moments.names[k] for k in (*used.tolist(), j))
        below = schur[j + 1 :, j]
        schur[j + 1 :, j + 1 :] -= np.multiply.outer(below, below / schur[j, j])
    return ()


def _noise(moments: PooledMoments, digits: int) -> float:
    """log2 of the rounding of one entry; far below everything where nothing was rounded."""
    error = max(moments.gram_error, *moments.diagonal_error)
    return _log2_of(error) if error else -digits / 2


def _unit_diagonal(moments: PooledMoments, digits: int) -> Integers:
    """G̃_jk / √(G̃_jj G̃_kk) in fixed point."""
    roots = integers([math.isqrt(int(v) << (2 * digits)) for v in np.diagonal(moments.gram)])
    scaled: Integers = (moments.gram << (3 * digits)) // np.multiply.outer(roots, roots)
    return scaled


def _log2(fixed: int, digits: int) -> float:
    return math.log2(fixed) - digits if fixed > 0 else -math.inf


def _dependence(
    moments: PooledMoments, seen: list[float], expansion: Integers, below: float
) -> Dependence:
    """Of the columns in an expansion whose pivot, after those `seen`, is not above `below`."""
    used = np.abs(expansion) > int(np.abs(expansion).max()) >> _SMALL_BITS
    columns, n = tuple(np.array(moments.names, object)[used]), len(moments.names)
    if moments.exact:
        return Dependence(columns, cliff=singular(moments), bits=None)
    cliff = bool(seen) and _extrapolate(seen, len(seen) + 1) > below + _CLIFF_BITS
    if moments.bits is None:
        return Dependence(columns, cliff, None)
    short = max(0.0, below - _extrapolate(seen, n))
    wanted = moments.bits + short + _MARGIN_BITS + n.bit_length()
    bits = 64 * math.ceil(moments.bits / 32 if cliff else wanted / 64)
    floors = [_log2_of(error) for error in first_sum_errors(moments)]
    target = _noise(moments, 0) - (bits - moments.bits)
    small = tuple(n for n, floor in zip(moments.names, floors, strict=True) if floor > target)
    return Dependence(columns, cliff, None if small else bits, small)


def _log2_of(number: Fraction) -> float:
    if not number:
        return -math.inf
    return math.log2(number.numerator) - math.log2(number.denominator)


def _extrapolate(pivots: Sequence[float], count: int) -> float:
    """log2 of the last of `count` pivots, if those seen go on falling as they did."""
    if len(pivots) < 3:
        return 64.0 * (len(pivots) - count)
    steps = -np.diff(pivots)
    step = float(steps[-3:].max())
    bend = max(0.0, float(steps[-1] - steps[0]) / max(1, len(steps) - 1))
    left = count - len(pivots)
    return pivots[-1] - left * step - bend * left * (left + 1) / 2


def no_rows(found: str) -> DataError:
    """Of sums that cannot be those of any rows, however a party came by its part of them."""
    return DataError(
        f"the pooled sums are not those of any rows: {found}",
        hint="some party entered other numbers than its rows'; start a new run",
    )
