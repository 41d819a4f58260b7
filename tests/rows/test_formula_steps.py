"""A formula is read in a number of steps that grows as its length does: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from titan.errors import FormulaError
from titan.moments import formula, formula_arithmetic, formula_words
from titan.moments.formula_words import Token


def _joined(one: str) -> Callable[[int], str]:
    return lambda n: " + ".join(one.replace("#", str(i)) for i in range(n))


FAMILIES: dict[str, Callable[[int], str]] = {
    "sum": _joined("x#"),
    "interactions": _joined("x#:y#"),
    "products": _joined("x#*y#"),
    "nested": _joined("x#/y#"),
    "powers": _joined("(x# + y#)**9"),
    "parentheses": lambda n: "(" * 20 + _joined("x#")(n) + ")" * 20,
    "identities": _joined("I(x# ** 2 / 3 - log(1 + x#))"),
    "comparisons": _joined("I((x# > 1) & ~(x# < 9))"),
    "contrasts": _joined("C(x#, Sum, levels=['a', 'b'])"),
    "levels": lambda n: f"C(x, levels={[*range(n)]})",
    "taken away": lambda n: "a" + " + b - b" * n,
    "centred": _joined("center(x#)*y# + I(center(x#) / 4)"),
    "unfinished": lambda n: "a + " * n,
}


def steps(text: str, patch: pytest.MonkeyPatch) -> int:
    """Words looked at, and terms put in their place."""
    count = 0
    parser: Any = formula._Parser
    merge = parser.merge

    def next_word(self: Any) -> Token:
        nonlocal count
        count += 1
        word: Token = self.tokens[self.position]
        return word

    def counted(self: Any, terms: Any, new: Any, **how: Any) -> Any:
        nonlocal count
        count += len(new)
        return merge(self, terms, new, **how)

    with patch.context() as inside, suppress(FormulaError):
        inside.setattr(formula_arithmetic.ArithmeticParser, "next", property(next_word))
        inside.setattr(parser, "merge", counted)
        formula.parse(f"y ~ {text}")
    return count


@pytest.mark.parametrize("family", FAMILIES)
def test_twice_as_long_takes_twice_as_many_steps(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (FAMILIES[family](n) for n in (300, 600))
    first, second = steps(one, monkeypatch), steps(two, monkeypatch)
    assert first > len(one) / 8
    assert second <= 1.05 * first * len(two) / len(one) + 10
    assert first <= 40 * len(one)


def test_words_are_found_by_looking_at_every_character_once() -> None:
    text = "y ~ " + " + ".join(f"I(x{i} > 1.5e3)" for i in range(500))
    words = formula_words.tokens(text)
    ends = [word.at + len(word.text) for word in words]
    assert all(end <= word.at for end, word in zip(ends, words[1:], strict=False))
    assert sum(len(word.text) for word in words) + text.count(" ") == len(text)


def test_what_a_short_formula_can_ask_for_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "+".join("abcdefghijklm")
    assert steps(f"({names})**64", monkeypatch) < 20 * formula.MOST_TERMS
    assert steps("*".join("abcdefghijklmnop"), monkeypatch) < 20 * formula.MOST_TERMS
