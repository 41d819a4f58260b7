"""The arithmetic of a formula: what stands inside I(…), log(…) and poly(…).

    e        := both [("<" | "<=" | ">" | ">=" | "==" | "!=") both]
    both     := all {"|" all}
    all      := sum {"&" sum}
    sum      := product {("+" | "-") product}
    product  := signed {("*" | "/") signed}
    signed   := {"-" | "+" | "~"} raised
    raised   := operand ["**" whole number]
    operand  := "(" e ")" | number | name | function "(" e ")" | center "(" e ")"
    function := [np.] log | log2 | log10 | log1p | exp | expm1 | sqrt | abs
    name     := identifier | `any text` | Q("any text")

Operations bind as in Python. A comparison is true or false; & | ~ are for these alone, and so is
their product. In all other arithmetic it counts as 1 or 0. + and - of two comparisons are refused:
to NumPy the one is "or", and the other an error. center(e) is multiplied out once its mean is known
(`centring`): it stands in sums, products, powers and over constants, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from titan.errors import FormulaError
from titan.moments import expressions
from titan.moments.expressions import (
    Apply,
    Binary,
    Centred,
    Compare,
    Expression,
    Name,
    Negate,
    Not,
    Number,
    Power,
)
from titan.moments.formula_words import COMPARISONS, NUMPY, Token, center_hint, hint_for

MOST_DEPTH = 40
MOST_PARTS = 200
MOST_POWER = 64
MOST_DIGITS = 2000
"""That the constants of one term may add to a number: see `expressions.digits`."""
_MOST_NUMBER = 40  # characters of a number in a formula
_MOST_EXPONENT = 308
CENTER = "center"
WORDS = ("C", "I", "Q", "poly", CENTER, *expressions.FUNCTIONS)

_T = TypeVar("_T")


class ArithmeticParser:
    """Recursive descent, one method for each rule of the grammar."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.centred: list[Centred] = []

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

    def is_called(self) -> bool:
        """Whether a parenthesis follows the next word."""
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)].text == "("

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

    def number(self, hint: str = "") -> str:
        token = self.advance()
        if token.kind != "number":
            raise self.error("a number was expected", hint=hint, token=token)
        exponent = re.split("[eE]", token.text)[1:] or ["0"]
        long = len(token.text) > _MOST_NUMBER
        if long or abs(int(exponent[0])) > _MOST_EXPONENT:
            raise self.error("a shorter number was expected", token=token)
        return token.text

    def whole_number(self, hint: str = "") -> int:
        token = self.next
        text = self.number(hint)
        if not text.isdecimal() or int(text) > MOST_POWER:
            expected = f"a whole number up to {MOST_POWER} was expected"
            raise self.error(expected, hint=hint, token=token)
        return int(text)

    # -- arithmetic ---------------------------------------------------------------------------

    def expression(self) -> Expression:
        """A whole expression, its size bounded."""
        start = self.position
        expression = self.deeper(self.compared)
        if self.position - start > MOST_PARTS * 2:
            raise self.error(f"after an expression of more than {MOST_PARTS} parts")
        if expressions.degree(expression) > MOST_POWER:
            raise self.error(f"after a power beyond the {MOST_POWER}th")
        made = max(expressions.digits(expression), expressions.digits_inside(expression))
        if made > MOST_DIGITS:
            raise self.error(
                f"after constants that make numbers of more than {MOST_DIGITS} digits",
                hint="use shorter constants or smaller powers, or rescale the column in the data",
            )
        if any(map(expressions.divides_by_zero, expressions.parts(expression))):
            raise self.error("after a division by zero")
        return expression

    def compared(self) -> Expression:
        before = len(self.centred)
        left = self.chain("|", lambda: self.chain("&", self.arithmetic))
        if self.next.text not in COMPARISONS or self.next.kind != "sign":
            if self.next.text == "=":
                raise self.error("but equality is written ==", hint="I(x == 5)")
            return left
        operation = self.advance().text
        if self.next.kind == "text":
            raise self.error(
                "but only numbers are compared",
                hint=f"a category stands by itself, and its levels have columns: C({left})",
            )
        right = self.chain("|", lambda: self.chain("&", self.arithmetic))
        if self.next.text in COMPARISONS:
            raise self.error("but comparisons do not form a chain", hint="write (a > 1) & (a < 5)")
        self.not_centred(before, "inside a comparison")
        return Compare(operation, left, right)

    def chain(self, sign: str, operand: Callable[[], Expression]) -> Expression:
        left, start = operand(), self.position
        while self.next.text == sign:
            token = self.advance()
            right = operand()
            if not (expressions.is_truth(left) and expressions.is_truth(right)):
                raise self.error(
                    "which joins comparisons", hint="as in (a > 1) & (b < 5)", token=token
                )
            left = Binary(sign, left, right)
            self.bounded(start)
        return left

    def arithmetic(self) -> Expression:
        left, start = self.multiplied(), self.position
        while self.at_plus_or_minus():
            token = self.advance()
            right = self.multiplied()
            if expressions.is_truth(left) and expressions.is_truth(right):
                raise self.error(
                    "between two comparisons",
                    hint="write (a > 1) | (b > 1) for one or both, or count them: "
                    "1 * (a > 1) + 1 * (b > 1)",
                    token=token,
                )
            left = Binary(token.text, left, right)
            self.bounded(start)
        return left

    def multiplied(self) -> Expression:
        before = len(self.centred)
        left, start = self.signed(), self.position
        while self.next.kind == "sign" and self.next.text in ("*", "/"):
            operation, above = self.advance().text, len(self.centred)
            left = Binary(operation, left, self.signed())
            if operation == "/":
                whole = expressions.exact_inverse(left.right) is not None
                self.not_centred(above if whole else before, "in a quotient")
            self.bounded(start)
        if self.next.text == "//":
            raise self.error("which is not there", hint="make this column in the data")
        return left

    def bounded(self, start: int) -> None:
        """A long chain is a deep tree."""
        if self.position - start > MOST_PARTS:
            raise self.error(f"after an expression of more than {MOST_PARTS} parts")

    def signed(self) -> Expression:
        token = self.next
        if self.take("-"):
            return Negate(self.number_like(self.deeper(self.signed), token))
        if self.take("+"):
            return self.deeper(self.signed)
        if self.take("~"):
            argument = self.deeper(self.signed)
            if not expressions.is_truth(argument):
                raise self.error("but only a comparison can be untrue", token=token)
            return Not(argument)
        return self.raised()

    def number_like(self, expression: Expression, token: Token) -> Expression:
        if expressions.is_truth(expression):
            hint = "what is not so is ~(a > 1); for numbers write -1 * (a > 1)"
            raise self.error("before a comparison", hint=hint, token=token)
        return expression

    def raised(self) -> Expression:
        base = self.operand()
        if not self.take("**"):
            return base
        power = Power(base, self.whole_number("the root is sqrt(x), the inverse I(1 / x)"))
        if self.next.text == "**":
            raise self.error("but one exponent is enough", hint="use parentheses")
        return power

    def operand(self) -> Expression:
        if self.take("("):
            expression = self.deeper(self.compared)
            self.expect(")")
            return expression
        if self.next.kind == "number":
            return Number(self.number())
        if self.next.kind == "name" and expressions.is_function(self.next.text):
            if not self.is_called() and not self.next.text.startswith(NUMPY):
                return Name(self.advance().text)  # a column may be called log
            function, before = self.advance().text, len(self.centred)
            self.expect("(")
            argument = self.expression()
            self.not_centred(before, f"inside {function}(…)")
            if self.next.text == ",":
                raise self.error("but there is one argument only", hint="log2(x) and log10(x)")
            self.expect(")")
            return Apply(function, argument)
        if self.next.text == CENTER and self.is_called():
            return self.center()
        return Name(self.column())

    def center(self) -> Centred:
        token, before = self.advance(), len(self.centred)
        self.expect("(")
        argument = self.expression()
        self.expect(")")
        self.not_centred(before, f"inside {CENTER}(…)")
        if expressions.is_truth(argument) or next(expressions.names(argument), None) is None:
            hint = f"a comparison counts as a number in {CENTER}(1 * (x > 5))"
            raise self.error("which centres what is made of columns", hint=hint, token=token)
        self.centred.append(Centred(argument))
        return self.centred[-1]

    def not_centred(self, before: int, where: str, *, inside: bool = True) -> None:
        """Refuse what was centred since, here."""
        for part in self.centred[before:]:
            raise self.error(
                f"after {part} {where}: it stands in sums, products and powers only",
                hint=center_hint(part.argument, inside=inside),
            )

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
            inside = self.tokens[self.position + 1].text
            raise self.error(
                f"but there is no function {token.text!a} in formulas",
                hint=hint_for(token.text, inside, ", ".join(WORDS)),
            )
        if token.text.startswith(NUMPY):
            raise self.error("but a name with a dot goes in backquotes: `a.b`", token=token)
        if not expressions.is_plain(token.text):
            raise self.error("but names that begin with __ go in backquotes", token=token)
        return token.text
