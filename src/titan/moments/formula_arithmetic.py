"""Reading the arithmetic of a formula: what stands inside I(…), log(…) and poly(…).

e       := product {("+" | "-") product}
product := signed {"*" signed}
signed  := {"-" | "+"} raised
raised  := operand ["**" whole number]
operand := "(" e ")" | number | (log | exp | sqrt) "(" e ")" | name
name    := identifier | `any text` | Q("any text")
"""

from __future__ import annotations

from titan.moments import expressions
from titan.moments.expressions import Apply, Binary, Expression, Name, Negate, Number, Power
from titan.moments.functions import FUNCTIONS
from titan.moments.tokens import MOST_DIGITS, MOST_POWER, Cursor

MOST_PARTS = 200
_WORDS = ("C", "I", "Q", "poly", *FUNCTIONS)


class ArithmeticParser(Cursor):
    """Recursive descent, one method for each rule of the grammar."""

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
        while self.next.kind == "sign" and self.next.text in "+-":
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
