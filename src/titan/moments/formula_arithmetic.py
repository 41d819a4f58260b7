"""The words of a formula, and its arithmetic: what stands inside I(…), log(…) and poly(…).

    e       := product {("+" | "-") product}
    product := signed {"*" signed}
    signed  := {"-" | "+"} raised
    raised  := operand ["**" whole number]
    operand := "(" e ")" | number | (log | exp | sqrt) "(" e ")" | name
    name    := identifier | `any text` | Q("any text")

The words are ASCII: a look-alike of `log` is a stranger.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from titan.decimals import UNSIGNED
from titan.errors import FormulaError
from titan.moments import expressions
from titan.moments.expressions import Apply, Binary, Expression, Name, Negate, Number, Power
from titan.moments.functions import FUNCTIONS

MOST_CHARACTERS = 200_000
MOST_DEPTH = 40
MOST_PARTS = 200
MOST_POWER = 64
MOST_DIGITS = 2000
"""That the constants of one term may add to a number: see `expressions.digits`."""
_MOST_NUMBER = 40  # characters of a number in a formula
_MOST_EXPONENT = 308
_WORDS = ("C", "I", "Q", "poly", *FUNCTIONS)

_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]+)
      | (?P<number>{UNSIGNED})
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<quoted>`[^`]*`)
      | (?P<text>"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*')
      | (?P<sign>\*\*|[-~+*:(),=\[\]])""",
    re.VERBOSE | re.ASCII,
)

_T = TypeVar("_T")


@dataclass(frozen=True)
class Token:
    """A word, of what kind, and at which character."""

    kind: str
    text: str
    at: int


def tokens(text: str) -> list[Token]:
    """The words of a text, and one that says that it ends."""
    if len(text) > MOST_CHARACTERS:
        raise FormulaError(
            f"a formula of {len(text)} characters, where {MOST_CHARACTERS} are the most"
        )
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _refused(text[at], at)
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], at))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def _refused(character: str, at: int) -> FormulaError:
    hints = {
        ".": "a name with a dot, or any other odd name, goes in backquotes: `a.b`",
        "/": "multiply by a decimal number instead of dividing: 0.5 * x",
        "^": "powers are written I(x ** 2)",
        "|": "groups and random effects are not supported",
    }
    return FormulaError(
        f"formula, character {at + 1}: {character!a} is not part of the language",
        hint=hints.get(character, "names other than plain ones go in backquotes"),
    )


class ArithmeticParser:
    """Recursive descent, one method for each rule of the grammar."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def at_plus_or_minus(self) -> bool:
        return self.next.kind == "sign" and self.next.text in "+-"

    def advance(self) -> Token:
        token = self.next
        self.position += 1
        return token

    def take(self, text: str) -> bool:
        found = self.next.kind == "sign" and self.next.text == text
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f'"{text}" was expected')

    def error(self, expected: str, *, hint: str = "", token: Token | None = None) -> FormulaError:
        token = token or self.next
        found = f"found {token.text[:40]!a}" if token.kind != "end" else "it ends here"
        return FormulaError(f"formula, character {token.at + 1}: {found}, {expected}", hint=hint)

    def deeper(self, rule: Callable[[], _T]) -> _T:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise self.error(f"nested deeper than {MOST_DEPTH} levels")
        result = rule()
        self.depth -= 1
        return result

    def text(self) -> str:
        token = self.advance()
        if token.kind != "text":
            raise self.error("text in quotes was expected", token=token)
        return self.printable(re.sub(r"\\(.)", r"\1", token.text[1:-1]), token)

    def printable(self, text: str, token: Token) -> str:
        if not text.isprintable() or not text:
            raise self.error("but names and levels are visible text", token=token)
        return text

    def number(self) -> str:
        token = self.advance()
        if token.kind != "number":
            raise self.error("a number was expected", token=token)
        exponent = re.split("[eE]", token.text)[1:] or ["0"]
        long = len(token.text) > _MOST_NUMBER
        if long or abs(int(exponent[0])) > _MOST_EXPONENT:
            raise self.error("a shorter number was expected", token=token)
        return token.text

    def whole_number(self) -> int:
        token = self.next
        text = self.number()
        if not text.isdecimal() or int(text) > MOST_POWER:
            raise self.error(f"a whole number up to {MOST_POWER} was expected", token=token)
        return int(text)

    # -- arithmetic ---------------------------------------------------------------------------

    def expression(self) -> Expression:
        """A whole expression, its size bounded."""
        start = self.position
        expression = self.deeper(self.arithmetic)
        if self.position - start > MOST_PARTS * 2:
            raise self.error(f"after an expression of more than {MOST_PARTS} parts")
        if expressions.degree(expression) > MOST_POWER:
            raise self.error(f"after a power beyond the {MOST_POWER}th")
        if expressions.digits(expression) > MOST_DIGITS:
            raise self.error(
                f"after constants that make numbers of more than {MOST_DIGITS} digits",
                hint="use shorter constants or smaller powers, or rescale the column in the data",
            )
        return expression

    def arithmetic(self) -> Expression:
        left, start = self.multiplied(), self.position
        while self.at_plus_or_minus():
            left = Binary(self.advance().text, left, self.multiplied())
            self.bounded(start)
        return left

    def multiplied(self) -> Expression:
        left, start = self.signed(), self.position
        while self.take("*"):
            left = Binary("*", left, self.signed())
            self.bounded(start)
        return left

    def bounded(self, start: int) -> None:
        """A long chain is a deep tree."""
        if self.position - start > MOST_PARTS:
            raise self.error(f"after an expression of more than {MOST_PARTS} parts")

    def signed(self) -> Expression:
        if self.take("-"):
            return Negate(self.deeper(self.signed))
        if self.take("+"):
            return self.deeper(self.signed)
        return self.raised()

    def raised(self) -> Expression:
        base = self.operand()
        if not self.take("**"):
            return base
        power = Power(base, self.whole_number())
        if self.next.text == "**":
            raise self.error("but one exponent is enough", hint="use parentheses")
        return power

    def operand(self) -> Expression:
        if self.take("("):
            expression = self.deeper(self.arithmetic)
            self.expect(")")
            return expression
        if self.next.kind == "number":
            return Number(self.number())
        if self.next.kind == "name" and self.next.text in FUNCTIONS:
            function = self.advance().text
            if self.next.text != "(":  # a column may be called log
                return Name(function)
            self.expect("(")
            argument = self.expression()
            self.expect(")")
            return Apply(function, argument)
        return Name(self.column())

    def column(self) -> str:
        token = self.advance()
        if token.kind == "quoted":
            return self.printable(token.text[1:-1], token)
        if token.kind != "name":
            raise self.error("a column was expected", token=token)
        if token.text == "Q" and self.take("("):
            name = self.text()
            self.expect(")")
            return name
        if self.next.text == "(":
            raise self.error(
                f"but there is no function {token.text!a} in formulas",
                hint=f"there are {', '.join(_WORDS)}",
            )
        if not expressions.is_plain(token.text):
            raise self.error("but names that begin with __ go in backquotes", token=token)
        return token.text
