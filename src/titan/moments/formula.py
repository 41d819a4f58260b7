"""Reading a formula. A formula comes from another party: it is data, and nothing in it is run.

    formula := response "~" sum
    sum     := product {("+" | "-") product}         0 and 1 stand for the intercept
    product := cell {"*" cell}                       a * b is a + b + a:b
    cell    := atom {":" atom}
    atom    := "(" sum ")" | factor
    factor  := name | log(e) | exp(e) | sqrt(e) | I(e) | poly(e, degree, raw=True)
             | C(name, levels=[level, …]) | name[level, …]

where e, arithmetic with + - * **, and names are those of `formula_arithmetic`. Where the caller
states a column's levels, `name` is name[…] and C(name) has them; name[…] is C(name, levels=[…]) but
for what its columns are called: sex[T.m], as patsy calls those of a column of text.

That is the whole language, so that there is nothing to forbid: what is not in the grammar cannot be
said. (Formula libraries were tried: formulaic expands `(a + b + … )**13` while parsing, which takes
for ever, and imports pandas. Python's own parser knows neither `:` nor backquotes.)
"""

# Rule 1: text, depth, terms, degree, digits and columns are bounded before work is done on them.
# Rule 2: nothing here looks at data, and nothing in a formula is looked up anywhere but in data.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from titan.errors import FormulaError
from titan.listing import listing
from titan.moments import expressions
from titan.moments.formula_arithmetic import (
    MOST_DIGITS,
    MOST_POWER,
    ArithmeticParser,
    Token,
    tokens,
)
from titan.moments.terms import (
    Category,
    Factor,
    Level,
    Numeric,
    Polynomial,
    Term,
    count_all_digits,
    count_columns,
    count_digits,
)

MOST_TERMS = 10_000
MOST_COLUMNS = 20_000
MOST_FACTORS = 8
MOST_DIGITS_OF_A_ROW = 5000
NO_LEVELS: Mapping[str, Sequence[str]] = MappingProxyType({})

_Terms = dict[frozenset[Factor], Term]


@dataclass(frozen=True)
class Formula:
    """What a formula says: the response, and the terms in order, the intercept being ()."""

    response: Numeric
    terms: tuple[Term, ...]

    def __str__(self) -> str:
        """The one way to write it: equal formulas give equal text, and the text reads back."""
        terms = ["1" if () in self.terms else "0"]
        terms += [":".join(map(str, term)) for term in self.terms if term]
        return f"{self.response} ~ {' + '.join(terms)}"


def parse(text: str, levels: Mapping[str, Sequence[str]] = NO_LEVELS) -> Formula:
    """Read a formula, or say with FormulaError what is wrong with it and where.

    `levels` are those of the columns that are known to be categories.
    """
    formula = _Parser(tokens(text), levels).formula()
    for term in (*formula.terms, (formula.response,)):
        for factor in term:
            for name in () if isinstance(factor, Category) else factor.columns_needed():
                if name in levels:
                    raise FormulaError(
                        f"{factor} reads {name!r} as a number, which is a category",
                        hint=f"a category stands by itself: {expressions.quoted(name)}",
                    )
    return formula


def without_levels(text: str) -> list[str]:
    """The columns that stand in C(name): their levels are for somebody else to state."""
    words, found = tokens(text), []
    for at in range(len(words) - 3):
        c, opening, name, closing = words[at : at + 4]
        if (c.text, opening.text, closing.text) == ("C", "(", ")"):
            found.append(name.text.strip("`"))
    return list(dict.fromkeys(found))


class _Parser(ArithmeticParser):
    """Recursive descent, one method for each rule of the grammar."""

    def __init__(self, words: list[Token], levels: Mapping[str, Sequence[str]]) -> None:
        super().__init__(words)
        self.levels = levels

    # -- terms --------------------------------------------------------------------------------

    def formula(self) -> Formula:
        if self.next.text == "~":
            raise self.error("the response was expected before it", hint='write "y ~ a + b"')
        token = self.next
        response = self.factor()
        if not isinstance(response, Numeric):
            raise self.error("the response must be one number per row", token=token)
        self.expect("~")
        terms = self.sum({frozenset(): ()})
        if self.next.kind != "end":
            hint = "interactions are a:b and a*b; arithmetic goes inside I(…)"
            raise self.error("the end was expected", hint=hint)
        return _checked(Formula(response, tuple(sorted(terms, key=lambda term: term != ()))))

    def sum(self, terms: _Terms) -> list[Term]:
        """On top, where the intercept is there to begin with, 0 and 1 speak of it."""
        top = bool(terms)
        plus = not (top and self.take("-"))
        if top and plus:
            self.take("+")
        while True:
            if top and self.next.kind == "number":
                self.intercept(terms, plus=plus)
            else:
                self.merge(terms, self.product(), plus=plus)
            if not self.at_plus_or_minus():
                return list(terms.values())
            plus = self.advance().text == "+"

    def intercept(self, terms: _Terms, *, plus: bool) -> None:
        token = self.advance()
        if token.text not in ("0", "1") or (token.text == "0" and not plus):
            raise self.error(
                "only + 0, - 1 and + 1, for the intercept, are numbers among the terms",
                hint="inside I(…) any number may stand",
                token=token,
            )
        if plus and token.text == "1":
            terms[frozenset()] = ()
        else:
            terms.pop(frozenset(), None)

    def merge(self, terms: _Terms, new: Sequence[Term], *, plus: bool = True) -> list[Term]:
        """Terms of the same factors are one."""
        for term in new:
            if plus:
                terms.setdefault(frozenset(term), term)
            elif terms.pop(frozenset(term), None) is None:
                raise self.error("a term to be taken away is not there before it")
        if len(terms) > MOST_TERMS:
            raise self.error(f"more than {MOST_TERMS} terms up to here")
        return list(terms.values())

    def product(self) -> list[Term]:
        terms = self.cell()
        while self.take("*"):
            other = self.cell()
            terms = self.merge({}, [*terms, *other, *self.crossed(terms, other)])
        return terms

    def cell(self) -> list[Term]:
        terms = self.atom()
        while self.take(":"):
            terms = self.crossed(terms, self.atom())
        if self.next.text == "**":
            raise self.error("which is for numbers", hint="the square of a column is I(x ** 2)")
        return terms

    def crossed(self, left: list[Term], right: list[Term]) -> list[Term]:
        if len(left) * len(right) > MOST_TERMS:
            raise self.error(f"more than {MOST_TERMS} terms up to here")
        pairs = [tuple(dict.fromkeys(a + b)) for a in left for b in right]
        if any(len(term) > MOST_FACTORS for term in pairs):
            raise self.error(f"more than {MOST_FACTORS} factors in one term")
        return self.merge({}, pairs)

    def atom(self) -> list[Term]:
        if not self.take("("):
            return [(self.factor(),)]
        terms = self.deeper(lambda: self.sum({}))
        self.expect(")")
        return terms

    # -- factors ------------------------------------------------------------------------------

    def factor(self) -> Factor:
        token = self.next
        called = self.tokens[min(self.position + 1, len(self.tokens) - 1)].text == "("
        if token.kind == "name" and called and token.text in ("C", "I", "poly"):
            self.position += 2
            rules: dict[str, Callable[[], Factor]] = {
                "C": self.category,
                "I": lambda: Numeric(self.expression(), identity=True),
                "poly": self.polynomial,
            }
            factor = rules[token.text]()
            self.expect(")")
            return factor
        if token.kind not in ("name", "quoted"):
            raise self.error("a column or one of C, I, poly, log, exp, sqrt was expected")
        expression = self.operand()
        if isinstance(expression, expressions.Name):
            if self.next.text == "[":
                return Category(expression.name, self.stated(expression.name), bare=True)
            if expression.name in self.levels:
                return Category(expression.name, self.known(expression.name), bare=True)
        return Numeric(expression)

    def polynomial(self) -> Polynomial:
        argument = self.expression()
        self.expect(",")
        degree = self.whole_number()
        raw = self.take(",")
        if raw:
            self.keyword("raw")
            raw = self.next.text == "True"
        if not raw:
            raise self.error(
                "but only raw polynomials can be had: orthogonal ones depend on all parties' rows",
                hint="write poly(x, 3, raw=True)",
            )
        self.advance()
        if not 1 <= degree <= MOST_POWER or degree * expressions.degree(argument) > MOST_POWER:
            raise self.error(f"before which the degree must be from 1 to {MOST_POWER}")
        return Polynomial(argument, degree)

    def category(self) -> Category:
        name = self.column()
        if not self.take(","):
            return Category(name, self.known(name))
        self.keyword("levels")
        return Category(name, self.stated(name))

    def known(self, name: str) -> tuple[Level, ...]:
        """The levels that the caller has stated."""
        if name not in self.levels:
            raise self.error(
                f"but the levels of {name!a} are not stated, and parties that guess them from "
                "their own rows would not agree",
                hint='write C(site, levels=["a", "b"]); the first level is the base',
            )
        if len(self.levels[name]) < 2:
            raise FormulaError(
                f"{name!a} in the formula has one level only, and explains nothing",
                hint=f"state all levels that may occur: --levels {name}=a,b; or leave it out",
            )
        return tuple(Level(text, text) for text in self.levels[name])

    def stated(self, name: str) -> tuple[Level, ...]:
        """The levels that the formula states, in an order of its own."""
        self.expect("[")
        levels = [self.level()]
        while self.take(","):
            levels.append(self.level())
            if len(levels) > MOST_COLUMNS:
                raise self.error(f"more than {MOST_COLUMNS} levels")
        closing = self.next
        self.expect("]")
        if len({level.value for level in levels}) < len(levels) or len(levels) < 2:
            few = "before which at least two different levels were expected"
            raise self.error(few, token=closing)
        if len({type(level.value) for level in levels}) > 1:
            mixed = "before which levels are partly text and partly numbers"
            raise self.error(mixed, token=closing)
        known = self.levels.get(name)
        if known is not None and {level.text for level in levels} != set(known):
            raise self.error(
                f"before which the levels of {name!a} are not those that are known",
                hint=f"they are {listing(map(expressions.text_literal, known))}",
                token=closing,
            )
        return tuple(levels)

    def level(self) -> Level:
        if self.next.kind == "text":
            text = self.text()
            if text != text.strip():
                raise self.error("before which a level begins or ends with a space")
            return Level(text, text)
        sign = "-" if self.take("-") else ""
        text = sign + self.number()
        return Level(Fraction(text), text)

    def keyword(self, name: str) -> None:
        if self.next.kind != "name" or self.next.text != name:
            raise self.error(f'"{name}=" was expected')
        self.advance()
        self.expect("=")


def _checked(formula: Formula) -> Formula:
    if not formula.terms:
        raise FormulaError("a formula without any term", hint="y ~ 1 has the intercept alone")
    if count_columns(formula.terms) > MOST_COLUMNS:
        raise FormulaError(f"a formula that makes more than {MOST_COLUMNS} columns")
    # Constants are the formula's own: whatever the data, they must not make numbers endless.
    every = [*formula.terms, (formula.response,)]
    for found, most, where in (
        (max(map(count_digits, formula.terms)), MOST_DIGITS, "in one term"),
        (count_all_digits(every), MOST_DIGITS_OF_A_ROW, "in all columns together"),
    ):
        if found > most:
            raise FormulaError(
                f"a formula whose constants make numbers of {found} digits {where}, "
                f"where {most} are the most",
                hint="use shorter constants or smaller powers, or rescale the column in the data",
            )
    return formula
