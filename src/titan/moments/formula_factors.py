"""The factors of a formula: columns, numbers made of columns, categories and their contrasts.

    factor   := name | function "(" e ")" | I(e) | poly(e, degree, raw=True)
              | C(name [, contrast] [, levels=[level, …]]) | name[level, …]
    contrast := Treatment | Treatment([reference=] level) | Sum | Sum([omit=] level)

where e, functions and names are those of `formula_arithmetic`. I(e) with a comparison is a category
of the levels False and True, as in patsy. A level that a contrast names may also be its place,
counted from 0, where no level is called so.
"""

# Rule 1: nothing here looks at data: levels are stated by the formula or by who calls.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from titan.errors import FormulaError
from titan.listing import listing
from titan.moments import expressions
from titan.moments.formula_arithmetic import MOST_POWER, WORDS, ArithmeticParser
from titan.moments.formula_words import COMPARISONS, Token
from titan.moments.terms import Category, Condition, Contrast, Factor, Level, Numeric, Polynomial

MOST_COLUMNS = 20_000
NO_LEVELS: Mapping[str, Sequence[str]] = MappingProxyType({})
ANY_LEVELS = ("?", "??")
"""Of a category whose levels are still to be found in rows: a contrast may name any."""
_CONTRASTS = {"Treatment": "reference", "Sum": "omit"}
_OTHER_CONTRASTS = ("Poly", "Helmert", "Diff", "contr")


class FactorParser(ArithmeticParser):
    """Recursive descent, one method for each rule of the grammar."""

    def __init__(self, words: list[Token], levels: Mapping[str, Sequence[str]]) -> None:
        super().__init__(words)
        self.levels = levels

    def factor(self) -> Factor:
        token = self.next
        if token.kind == "name" and self.is_called() and token.text in ("C", "I", "poly"):
            self.position += 2
            rules: dict[str, Callable[[], Factor]] = {
                "C": self.category,
                "I": self.identity,
                "poly": self.polynomial,
            }
            factor = rules[token.text]()
            self.expect(")")
            return factor
        if token.kind not in ("name", "quoted"):
            raise self.error(f"a column or one of {', '.join(WORDS)} was expected")
        expression = self.operand()
        if isinstance(expression, expressions.Name):
            if self.next.text == "[":
                return Category(expression.name, self.stated(expression.name), bare=True)
            if expression.name in self.levels:
                return Category(expression.name, self.known(expression.name), bare=True)
        if self.next.text in COMPARISONS:
            hint = f"I({expression} {self.next.text} 5)"
            raise self.error("but comparisons stand inside I(…)", hint=hint)
        return Numeric(expression)

    def identity(self) -> Numeric | Condition:
        token = self.next
        expression = self.expression()
        if not expressions.is_truth(expression):
            return Numeric(expression, identity=True)
        if next(expressions.names(expression), None) is None:
            raise self.error("where a comparison has no column in it", token=token)
        return Condition.of(expression)

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
        token = self.next
        of_call = token.text == "I" and self.is_called()
        name = token.text if of_call else self.column()
        if of_call or self.next.text not in (",", ")"):
            raise self.error(
                "but C(…) takes a column as it is",
                hint="a comparison is a category by itself: I(x > 5)",
                token=token,
            )
        contrast, levels = None, None
        if self.take(","):
            if self.next.text != "levels":
                contrast = self.contrast_words()
            if contrast is None or self.take(","):
                self.keyword("levels")
                levels = self.stated(name)
        if levels is None:
            levels = self.known(name)
        if contrast is None:
            return Category(name, levels)
        return Category(name, levels, contrast=self.contrast(contrast, levels, name))

    def contrast_words(self) -> list[Token]:
        """The words of a contrast, which is made when the levels are known."""
        token = self.next
        if token.text not in _CONTRASTS or token.kind != "name":
            hint = 'C(g, Treatment("b")) has another base, and C(g, Sum) sums to zero'
            if token.text in _OTHER_CONTRASTS:
                hint = f"only Treatment and Sum are there: {hint}"
            raise self.error('"levels=", Treatment or Sum was expected', hint=hint)
        words = [self.advance()]
        if self.take("("):
            if self.next.text == _CONTRASTS[token.text] and self.next.kind == "name":
                words.append(self.advance())
                self.expect("=")
            words.append(self.next)
            self.level()
            self.expect(")")
        return words

    def contrast(self, words: list[Token], levels: Sequence[Level], name: str) -> Contrast:
        kind = words[0].text
        if len(words) == 1:
            return Contrast(kind, len(levels) - 1 if kind == "Sum" else 0, kind == "Sum")
        text = "=".join(word.text for word in words[1:])
        return Contrast(f"{kind}({text})", self.level_named(words[-1], levels, name), kind == "Sum")

    def level_named(self, word: Token, levels: Sequence[Level], name: str) -> int:
        """Which level a contrast names: by what it is called, or by its place."""
        texts = [level.text for level in levels]
        said = word.text.strip("\"'") if word.kind == "text" else word.text
        if tuple(texts) == ANY_LEVELS:
            return 0
        if said in texts:
            return texts.index(said)
        if word.kind == "number" and said.isdecimal() and int(said) < len(levels):
            return int(said)
        raise self.error(
            f"which is not a level of {name!a}",
            hint=f"they are {listing(map(expressions.text_literal, texts))}",
            token=word,
        )

    def known(self, name: str) -> tuple[Level, ...]:
        """The levels that the caller has stated."""
        if name not in self.levels:
            raise self.error(
                f"but the levels of {name!a} are not stated, and parties that guess them from "
                "their own rows would not agree",
                hint=f'write C({expressions.quoted(name)}, levels=["a", "b"]); '
                "the first level is the base",
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
            hint = f"{name} by itself is the column; {name}[…] states the levels of a category"
            raise self.error(few, hint=hint, token=closing)
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
