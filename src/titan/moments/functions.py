"""Functions and quotients of exact columns, each rounded once, to the nearest float64.

The argument is the exact number, and the result the double nearest to the true value (ties to
even), whatever the machine's mathematical library says: all parties get the same bits. log and exp
of a rational number are irrational (Lindemann) but for log 1 and exp 0, so a ball around the
true value, narrow enough, lies on one side of every midpoint between two doubles. log2 and log10
are irrational but for powers of 2 and of 10, whose logarithms are whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.moments.arithmetic import as_integers, largest
from titan.moments.columns import BadRowError, Column
from titan.moments.precision import working_precision

if TYPE_CHECKING:
    from flint import arb, fmpq

_FIRST_PRECISION = 96
_SQRT_BITS = 64
_UNDERFLOW = -746  # exp of anything smaller is below half of the least double
_OVERFLOW = 710  # and exp of this above the largest
_WHOLE_DOUBLES = 2**53  # up to here every whole number is a double, and quotients round once


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


def quotient(a: Fraction, b: Fraction) -> float:
    """The double nearest to a / b; ArithmeticError where there is none."""
    if not b:
        raise ArithmeticError("a division by zero")
    try:
        return float(a / b) + 0.0  # which is never -0.0
    except OverflowError:
        raise ArithmeticError("a quotient too large to be held") from None


def divide(a: Column, b: Column) -> Column:
    """Entry by entry; DomainError names the first row that has no quotient."""
    a, b = as_integers(a), as_integers(b)
    unit = a.unit / b.unit
    above, below = unit.numerator, unit.denominator
    zero = np.asarray(b.numbers == 0, bool)
    if zero.any():
        raise DomainError(int(zero.argmax()), "a division by zero")
    if max(largest(a), 1) * above < _WHOLE_DOUBLES and largest(b) * below < _WHOLE_DOUBLES:
        x, y = ((c.numbers * by).astype(np.float64) for c, by in ((a, above), (b, below)))
        return Column(x / y + 0.0)
    results = np.empty(len(a), np.float64)
    for row, (n, m) in enumerate(zip(a.numbers.tolist(), b.numbers.tolist(), strict=True)):
        try:
            results[row] = quotient(Fraction(n * above), Fraction(m * below))
        except ArithmeticError as error:
            raise DomainError(row, str(error)) from None
    return Column(results)


def _log(x: fmpq) -> float:
    return 0.0 if _positive("log", x) == 1 else _nearest(lambda: _ball(x).log())


def _log_of_one_more(x: fmpq) -> float:
    if x <= -1:
        raise ArithmeticError("log1p of a number that is not above -1")
    return 0.0 if x == 0 else _nearest(lambda: _ball(x).log1p())


def _logarithm(name: str, base: int) -> Callable[[fmpq], float]:
    """To a whole base: a power of it is found first, since no ball around it is narrow enough."""

    def log(x: fmpq) -> float:
        _positive(name, x)
        whole = int(x.p if x.q == 1 else x.q)
        power = round(math.log(whole, base))
        if 1 in (x.p, x.q) and base**power == whole:
            return float(power if x.q == 1 else -power)
        return _nearest(lambda: _ball(x).log() / _ball(base).log())

    return log


def _positive(name: str, x: fmpq) -> fmpq:
    if x <= 0:
        raise ArithmeticError(f"{name} of a number that is not positive")
    return x


def _exp(x: fmpq) -> float:
    return 0.0 if x < _UNDERFLOW else 1.0 if x == 0 else _below(x, lambda: _ball(x).exp())


def _exp_less_one(x: fmpq) -> float:
    return 0.0 if x == 0 else _below(x, lambda: _ball(x).expm1())


def _below(x: fmpq, ball: Callable[[], arb]) -> float:
    result = math.inf if x > _OVERFLOW else _nearest(ball)
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


def _ball(x: fmpq | int) -> arb:
    from flint import arb

    return arb(x)


def _nearest(ball: Callable[[], arb]) -> float:
    """The one double that all of a ball is nearest to, made again until there is one."""
    from flint import ctx

    found = ball()
    nearest = float(found.lower())
    if nearest == float(found.upper()):
        return nearest
    with working_precision(2 * ctx.prec):
        return _nearest(ball)


FUNCTIONS: dict[str, Callable[[fmpq], float]] = {
    "log": _log,
    "exp": _exp,
    "sqrt": _sqrt,
    "log2": _logarithm("log2", 2),
    "log10": _logarithm("log10", 10),
    "log1p": _log_of_one_more,
    "expm1": _exp_less_one,
}
