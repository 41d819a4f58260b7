"""log, exp and sqrt of exact columns, each rounded once, to the nearest float64.

The argument is the exact number, and the result the double nearest to the true value (ties to
even), whatever the machine's mathematical library says: all parties get the same bits. log and exp
of a rational number are irrational (Lindemann) but for log 1 and exp 0, so a ball around the
true value, narrow enough, lies on one side of every midpoint between two doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.moments.columns import BadRowError, Column
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import fmpq

_FIRST_PRECISION = 96
_SQRT_BITS = 64
_UNDERFLOW = -746  # exp of anything smaller is below half of the least double
_OVERFLOW = 710  # and exp of this above the largest


class DomainError(BadRowError):
    """The function has no (finite) value for the argument in this row."""


def value(name: str, x: Fraction) -> float:
    """The function of this name at one exact number; ArithmeticError where it has no value."""
    from flint import fmpq

    with working_precision(_FIRST_PRECISION):
        return FUNCTIONS[name](fmpq(x.numerator, x.denominator))


def apply(name: str, argument: Column) -> Column:
    """The function of this name, entry by entry; DomainError names the first bad row."""
    from flint import fmpq

    function = FUNCTIONS[name]
    known: dict[Any, float] = {}  # data repeat themselves: ages, years, counts
    results = np.empty(len(argument), np.float64)
    unit = fmpq(argument.unit.numerator, argument.unit.denominator)
    with working_precision(_FIRST_PRECISION):
        for row, number in enumerate(argument.numbers.tolist()):
            if number not in known:
                try:
                    known[number] = function(fmpq(*number.as_integer_ratio()) * unit)
                except ArithmeticError as error:
                    raise DomainError(row, str(error)) from None
            results[row] = known[number]
    return Column(results)


def _log(x: fmpq) -> float:
    if x <= 0:
        raise ArithmeticError("log of a number that is not positive")
    return 0.0 if x == 1 else _nearest("log", x)


def _exp(x: fmpq) -> float:
    if x < _UNDERFLOW:
        return 0.0
    result = math.inf if x > _OVERFLOW else 1.0 if x == 0 else _nearest("exp", x)
    if result == math.inf:
        raise ArithmeticError("exp of a number too large for its result to be held")
    return result


def _sqrt(x: fmpq) -> float:
    """√(p/q) from ⌊√(p·4^k/q)⌋ of at least 64 bits, and a last bit for "and a little more"."""
    if x < 0:
        raise ArithmeticError("sqrt of a negative number")
    p, q = int(x.p), int(x.q)
    k = max(0, _SQRT_BITS - (p.bit_length() - q.bit_length()) // 2)
    shifted, rest = divmod(p << (2 * k), q)
    root = math.isqrt(shifted)
    inexact = rest != 0 or root * root != shifted
    return (2 * root + inexact) / (1 << (k + 1))  # Python divides integers to the nearest double


def _nearest(name: str, x: fmpq) -> float:
    from flint import arb, ctx

    ball = getattr(arb(x), name)()
    nearest = float(ball.lower())
    if nearest == float(ball.upper()):
        return nearest
    with working_precision(2 * ctx.prec):
        return _nearest(name, x)


FUNCTIONS: dict[str, Callable[[fmpq], float]] = {"log": _log, "exp": _exp, "sqrt": _sqrt}
