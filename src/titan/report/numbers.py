"""Numbers as people read them, each with the number as programs have it beside it.

    <data value="-0.9939636521619492">−0.993964</data>

What is shown is rounded to the digits that are proven, and to as many as are wanted of those; the
value is the one of the JSON, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from titan.leastsquares.balls import Ball, at_most
from titan.markup import Html, tag

NOT_DEFINED = "–"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LEAST_P = 1e-4


def number(value: object, error: object = None, digits: int = 5) -> Html:
    """What is shown of a number of the JSON, of which `error` is the proven bound, if any is."""
    return _data(value, shown(value, error, digits))


def plain(value: object, digits: int = 12) -> Html:
    """Without zeros at its end: a number that somebody chose, such as a time of a grid."""
    return _data(value, plain_text(value, digits))


def plain_text(value: object, digits: int = 12) -> str:
    if not isinstance(value, float):
        return shown(value)
    return _powers(f"{value:.{digits}g}").replace("-", "−")


def fixed(value: object, error: object = None, decimals: int = 4) -> Html:
    """With so many decimals, fewer where fewer are proven: for columns of parts of one."""
    if not isinstance(value, float):
        return _data(value, shown(value))
    if isinstance(error, int | float) and error:
        decimals = max(min(decimals, Ball(Fraction(value), Fraction(error)).decimals), 0)
    return _data(value, f"{value:.{decimals}f}".replace("-", "−"))


def share(value: object) -> Html:
    """A part of a whole in per cent."""
    return _data(value, f"{value:.1%}".replace("%", " %") if isinstance(value, float) else "")


def in_full(value: object) -> Html:
    """All digits of a double, as programs write them: for copying."""
    return _data(value, NOT_DEFINED if value is None else repr(value), "exact")


def bound(error: object) -> Html:
    """Two digits of how far a number may be off, rounded up."""
    if not isinstance(error, int | float) or isinstance(error, bool):
        return tag("span", NOT_DEFINED)
    return _data(error, _powers(at_most(Fraction(error))) if error else "0")


def p_value(value: object, error: object = None, *, before: str = "") -> Html:
    """Three digits, or that it is very small; `before` stands where an equals sign would."""
    if isinstance(value, float) and value < _LEAST_P:
        return _data(value, "< 0.0001")
    return _data(value, before + shown(value, error, 3))


def shown(value: object, error: object = None, digits: int = 5) -> str:
    """As text."""
    if value is None:
        return NOT_DEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if not isinstance(value, float):
        return str(value)
    return _rounded(value, error, digits).replace("-", "−")


def _data(value: object, text: str, kind: str = "") -> Html:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return tag("span", text)
    return tag("data", text, kind=kind, value=repr(value))


def _rounded(value: float, error: object, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    if isinstance(error, int | float) and error:
        ball = Ball(Fraction(value), Fraction(error))
        digits = min(digits, ball.digits)
        if not digits:
            return f"0 ± {_powers(at_most(abs(ball.mid) + ball.rad))}"
    if not value:
        return "0"
    text = f"{value:.{digits - 1}e}"
    exponent = int(text.partition("e")[2])
    if -5 < exponent < digits:
        return f"{float(text):.{max(digits - 1 - exponent, 0)}f}"
    return _powers(text)


def _powers(text: str) -> str:
    """1.2e-08 as 1.2·10⁻⁸."""
    digits, _, exponent = text.partition("e")
    return f"{digits}·10{str(int(exponent)).translate(_SUPERSCRIPT)}" if exponent else digits


def error_of(answer: Mapping[str, Any], key: str) -> Any:
    """The proven bounds beside a number of an answer; None where there are none."""
    if key == "params":
        return answer.get("error_bound")
    return answer.get(f"{key}_error")


def named(error: Any, name: str) -> Any:
    """That of one name."""
    return error.get(name) if isinstance(error, Mapping) else None
