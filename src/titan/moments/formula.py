"""Reading a formula. A formula comes from another party: it is data, and nothing in it is run.

    formula := response "~" sum
    sum     := product {("+" | "-") product}         0 and 1 stand for the intercept
    product := cell {("*" | "/") cell}               a * b is a + b + a:b, and a / b is a + a:b
    cell    := raised {":" raised}
    raised  := atom ["**" whole number]              (a + b)**2 is a + b + a:b
    atom    := "(" sum ")" | factor

where factors are those of `formula_factors`. Where the caller states a column's levels, `name` is
name[…] and C(name) has them; name[…] is C(name, levels=[…]) but for what its columns are called:
sex[T.m], as patsy calls those of a column of text.

That is the whole language, so that there is nothing to forbid: what is not in the grammar cannot be
said. docs/decisions/0016 says why no library parses it.
"""

# Rule 1: text, depth, terms, degree, digits and columns are bounded before work is done on them.
# Rule 2: nothing here looks at data, and nothing in a formula is looked up anywhere but in data.
# Rule 3: no word is read twice, and for each at most so many terms are made as there may be.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from titan.errors import FormulaError
from titan.moments import expressions
from titan.moments.formula_arithmetic import MOST_DIGITS
from titan.moments.formula_factors import ANY_LEVELS, MOST_COLUMNS, NO_LEVELS, FactorParser
from titan.moments.formula_words import tokens
from titan.moments.terms import (
    Category,
    Condition,
    Factor,
    Numeric,
    Term,
    count_all_digits,
    count_columns,
    count_digits,
)

__all__ = ["ANY_LEVELS", "MOST_COLUMNS", "NO_LEVELS", "Formula", "parse", "without_levels"]

MOST_TERMS = 10_000
MOST_FACTORS = 8
MOST_DIGITS_OF_A_ROW = 5000
_CONTRAST_WORDS = 10  # of C(name, Treatment(reference="b"), levels at most before the last

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
            for name in () if _is_level(factor) else factor.columns_needed():
                if name in levels:
                    raise FormulaError(
                        f"{factor} reads {name!r} as a number, which is a category",
                        hint=f"a category stands by itself: {expressions.quoted(name)}",
                    )
    return formula


def _is_level(factor: Factor) -> bool:
    return isinstance(factor, Category) and not isinstance(factor, Condition)


def without_levels(text: str) -> list[str]:
    """The columns that stand in C(name) or C(name, contrast): others are to state their levels."""
    words, found = tokens(text), []
    for at in range(len(words) - 3):
        c, opening, name = words[at : at + 3]
        if (c.text, opening.text) == ("C", "("):
            rest = (word.text for word in words[at + 3 : at + 3 + _CONTRAST_WORDS])
            if "levels" not in takewhile(lambda word: word not in ("C", "["), rest):
                found.append(name.text.strip("`"))
    return list(dict.fromkeys(found))


class _Parser(FactorParser):
    """Recursive descent, one method for each rule of the grammar."""

    def formula(self) -> Formula:
        if self.next.text == "~":
            raise self.error("the response was expected before it", hint='write "y ~ a + b"')
        token = self.next
        response = self.factor()
        if not isinstance(response, Numeric):
            hint = "I(1 * (y > 5)) is 1 or 0" if isinstance(response, Condition) else ""
            raise self.error("the response must be one number per row", hint=hint, token=token)
        self.not_centred(0, "in the response", inside=False)
        if self.next.text != "~":
            hint = "one response stands before ~, as in y ~ a + b; arithmetic goes inside I(…)"
            raise self.error('"~" was expected', hint=hint)
        self.advance()
        terms = self.sum({frozenset(): ()})
        if self.next.kind != "end":
            raise self.error("the end was expected", hint=self.beyond())
        return _checked(Formula(response, tuple(sorted(terms, key=lambda term: term != ()))))

    def beyond(self) -> str:
        """What may have been meant by a word after which a sum has ended."""
        if self.next.text == "|":
            return "groups and random effects are not supported; C(group) has fixed effects"
        if self.next.kind in ("name", "number"):
            return "terms are joined by +; a name with a blank in it goes in backquotes: `a b`"
        return "interactions are a:b and a*b; arithmetic goes inside I(…)"

    def sum(self, terms: _Terms) -> list[Term]:
        """On top, where the intercept is there to begin with, 0 and 1 speak of it."""
        top = bool(terms)
        plus = not (top and self.take("-"))
        if top and plus:
            self.take("+")
        while True:
            if self.next.kind == "number":
                self.intercept(terms, plus=plus, top=top)
            else:
                self.merge(terms, self.product(), plus=plus)
            if not self.at_plus_or_minus():
                return list(terms.values())
            plus = self.advance().text == "+"

    def intercept(self, terms: _Terms, *, plus: bool, top: bool) -> None:
        token = self.advance()
        if token.text not in ("0", "1") or (token.text == "0" and not plus):
            raise self.error(
                "only + 0, - 1 and + 1, for the intercept, are numbers among the terms",
                hint="inside I(…) any number may stand",
                token=token,
            )
        if plus and token.text == "1":
            terms[frozenset()] = ()
        elif top:
            terms.pop(frozenset(), None)
        else:
            hint = "write + 0 or - 1 outside of all parentheses: 0 + (a + b)"
            raise self.error("which speaks of the intercept", hint=hint, token=token)

    def merge(self, terms: _Terms, new: Sequence[Term], *, plus: bool = True) -> _Terms:
        """Terms of the same factors are one."""
        for term in new:
            if plus:
                terms.setdefault(frozenset(term), term)
            elif terms.pop(frozenset(term), None) is None:
                gone = "a term to be taken away is not there before it"
                raise self.error(gone, hint="leave out what is not there")
        if len(terms) > MOST_TERMS:
            raise self.error(f"more than {MOST_TERMS} terms up to here")
        return terms

    def product(self) -> list[Term]:
        terms = self.cell()
        while self.next.kind == "sign" and self.next.text in ("*", "/"):
            nested = self.advance().text == "/"
            other = self.cell()
            if nested:  # as patsy: what is nested is so in all that stands before
                every = [tuple(dict.fromkeys(factor for term in terms for factor in term))]
                terms = self.distinct([*terms, *self.crossed(every, other)])
            else:
                terms = self.distinct([*terms, *other, *self.crossed(terms, other)])
        return terms

    def cell(self) -> list[Term]:
        terms = self.raised_terms()
        while self.take(":"):
            terms = self.crossed(terms, self.raised_terms())
        return terms

    def raised_terms(self) -> list[Term]:
        """To the power n: all products of up to n of the terms."""
        terms = self.atom()
        if not self.take("**"):
            return terms
        if len(terms) == 1:
            hint = "leave the power out"
            if len(terms[0]) == 1 and isinstance(terms[0][0], Numeric):
                hint += f"; the square of a number is I({terms[0][0].expression} ** 2)"
            raise self.error("but a power of one term is that term", hint=hint)
        power = self.whole_number("a whole number, as in (a + b)**2")
        if power < 1:
            raise self.error("before which the power must be at least 1")
        found, known = terms, 0
        while power > 1 and len(found) > known:  # a product of all terms has no more factors
            known, power = len(found), power - 1
            found = self.distinct([*found, *self.crossed(found, terms)])
        if self.next.text == "**":
            raise self.error("but one exponent is enough", hint="use parentheses")
        return found

    def distinct(self, terms: Sequence[Term]) -> list[Term]:
        return list(self.merge({}, terms).values())

    def crossed(self, left: list[Term], right: list[Term]) -> list[Term]:
        if len(left) * len(right) > MOST_TERMS:
            raise self.error(f"more than {MOST_TERMS} terms up to here")
        pairs = [tuple(dict.fromkeys(a + b)) for a in left for b in right]
        if any(len(term) > MOST_FACTORS for term in pairs):
            raise self.error(f"more than {MOST_FACTORS} factors in one term")
        return self.distinct(pairs)

    def atom(self) -> list[Term]:
        if not self.take("("):
            return [(self.factor(),)]
        terms = self.deeper(lambda: self.sum({}))
        if not self.take(")"):
            raise self.error('")" was expected', hint=self.beyond())
        return terms


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
