"""The terms of a model, and the columns of the design matrix that each contributes.

A term is a product of factors; no factor at all is the intercept. A factor is a number per row
(`Numeric`), powers of one (`Polynomial`), a choice among stated levels (`Category`) or a comparison
(`Condition`), whose levels are False and True. A category becomes one 0/1 column for each level but
the base, which is the first unless Treatment(…) says otherwise. With Sum a column is 1 at its
level, -1 at the base, which is the last unless said otherwise, and 0 elsewhere.

Where the base's column is not yet spanned by the other terms (`y ~ 0 + C(site)`), every level gets
its column, as in R and patsy. All levels of a category span a constant and the contrasts. A
product of categories therefore splits into one part for each subset of them, contrasts only; the
parts that an earlier term spans are left out, and what remains is put together again: the parts S
and S ∪ {c} are S ∪ {c} with all levels of c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations, product
from math import prod

from titan.moments import expressions
from titan.moments.expressions import Expression, Name

_INT64_DIGITS = 18


@dataclass(frozen=True)
class Level:
    """One value of a category, as text or as a number."""

    value: str | Fraction
    text: str

    def __str__(self) -> str:
        return expressions.text_literal(self.text) if isinstance(self.value, str) else self.text


@dataclass(frozen=True)
class _OfExpression:
    expression: Expression

    def columns_needed(self) -> Iterator[str]:
        return expressions.names(self.expression)


@dataclass(frozen=True)
class Numeric(_OfExpression):
    """One number per row: a column's name, log(…), exp(…), sqrt(…) or I(…)."""

    identity: bool = False

    def __str__(self) -> str:
        return f"I({self.expression})" if self.identity else str(self.expression)

    @property
    def label(self) -> str:
        bare = isinstance(self.expression, Name) and not self.identity
        return self.expression.name if bare else str(self)  # type: ignore[union-attr]

    def labels(self) -> list[str]:
        return [self.label]


@dataclass(frozen=True)
class Polynomial(_OfExpression):
    """The powers 1 to degree of one number per row."""

    degree: int

    def __str__(self) -> str:
        return f"poly({self.expression}, {self.degree}, raw=True)"

    @property
    def label(self) -> str:
        return str(self)

    def labels(self) -> list[str]:
        return [f"{self}[{power}]" for power in range(1, self.degree + 1)]


@dataclass(frozen=True)
class Contrast:
    """How a category's levels become columns, where the formula says so."""

    text: str
    """As it was written, but for blanks: patsy makes it part of the columns' names."""
    base: int
    """Which level has no column of its own."""
    sums: bool = False
    """Sum: that level is -1 in all columns."""


_FIRST = Contrast("", 0)
_Weights = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Category:
    """A column that takes one of the stated levels in every row."""

    column: str
    levels: tuple[Level, ...] = field(hash=False)  # hashed often, and may be many
    bare: bool = False
    """Written without C(…), and so called by its column's name alone."""
    contrast: Contrast = _FIRST

    def __str__(self) -> str:
        levels, name = ", ".join(map(str, self.levels)), expressions.quoted(self.column)
        return f"{name}[{levels}]" if self.bare else f"C({name}{self._said}, levels=[{levels}])"

    @property
    def _said(self) -> str:
        return f", {self.contrast.text}" if self.contrast.text else ""

    @property
    def label(self) -> str:
        """What it is called in the names of columns, before the level."""
        return self.column if self.bare else f"C({expressions.quoted(self.column)}{self._said})"

    def labels(self, *, full: bool) -> list[str]:
        return [label for label, _ in self.coded(full=full)]

    def coded(self, *, full: bool) -> Iterator[tuple[str, _Weights]]:
        """The columns: what each is called, and its value at each level where that is not 0."""
        name, base, sums = self.label, self.contrast.base, self.contrast.sums
        if full and sums:
            yield f"{name}[mean]", tuple((at, 1) for at in range(len(self.levels)))
        for at, level in enumerate(self.levels):
            if full and not sums:
                yield f"{name}[{level.text}]", ((at, 1),)
            elif at != base and sums:
                yield f"{name}[S.{level.text}]", ((at, 1), (base, -1))
            elif at != base:
                yield f"{name}[T.{level.text}]", ((at, 1),)

    def columns_needed(self) -> Iterator[str]:
        yield self.column


@dataclass(frozen=True)
class Condition(Category):
    """What is true or false in every row, which is a category of two levels to patsy."""

    expression: Expression = field(kw_only=True)

    @classmethod
    def of(cls, expression: Expression) -> Condition:
        return cls(f"I({expression})", _FALSE_TRUE, bare=True, expression=expression)

    def __str__(self) -> str:
        return self.column

    def columns_needed(self) -> Iterator[str]:
        return expressions.names(self.expression)


_FALSE_TRUE = Level("False", "False"), Level("True", "True")
TRUE = ((1, 1),)
"""The levels of a piece that is 1 where a condition holds."""

Factor = Numeric | Polynomial | Category
Term = tuple[Factor, ...]


def conditions(factor: Factor) -> Iterator[Condition]:
    """The comparisons that a factor is, or that are in it: they divide the rows."""
    if isinstance(factor, Condition):
        yield factor
    elif not isinstance(factor, Category):
        yield from map(Condition.of, expressions.truths(factor.expression))


@dataclass(frozen=True)
class Piece:
    """What one factor gives to one column: its `index`-th power, or its values at levels."""

    factor: Factor
    index: int
    label: str
    levels: _Weights = ()
    """Of a category: the levels at which it is not 0, and what it is there."""


DesignColumn = tuple[Piece, ...]
"""A product of pieces; none is the intercept."""

_Coding = dict[Category, bool]  # whether a category has all its levels


def design(terms: Sequence[Term]) -> list[DesignColumn]:
    """The columns of all terms, term by term."""
    return [column for block in blocks(terms) for column in block]


def blocks(terms: Sequence[Term]) -> list[list[DesignColumn]]:
    """The columns that each term contributes."""
    codings = _codings(terms)
    return [[c for coding in codings[term] for c in _block(term, coding)] for term in terms]


def count_columns(terms: Sequence[Term]) -> int:
    """An upper bound on how many columns there will be, before any is made."""
    return sum(prod(_size(factor) for factor in term) for term in terms)


def count_digits(term: Term) -> int:
    """A bound on the digits that the constants add to each number of the term's columns."""
    return sum(expressions.digits(f.expression) * _size(f) for f in _numeric(term))


def count_all_digits(terms: Sequence[Term]) -> int:
    """About how many digits the constants add to one row, in all columns, beyond an int64's."""
    total = 0
    for term in terms:
        powers = ((expressions.digits(f.expression), 1 + _size(f)) for f in _numeric(term))
        mean = sum(digits * twice // 2 for digits, twice in powers)  # of the powers 1 … size
        total += count_columns([term]) * max(mean - _INT64_DIGITS, 0)
    return total


def _numeric(term: Term) -> Iterator[Numeric | Polynomial]:
    return (factor for factor in term if not isinstance(factor, Category))


def name_of(column: DesignColumn) -> str:
    return ":".join(piece.label for piece in column) or "Intercept"


def name_of_term(term: Term) -> str:
    return ":".join(factor.label for factor in term) or "Intercept"


def is_one_number(column: DesignColumn) -> bool:
    """Whether it is a column of the data as it is, or that at one level of categories."""
    numeric = [p.factor for p in column if not isinstance(p.factor, Category)]
    return (
        len(numeric) == 1
        and isinstance(numeric[0], Numeric)
        and (isinstance(numeric[0].expression, Name))
    )


def _size(factor: Factor) -> int:
    if isinstance(factor, Category):
        return len(factor.levels)
    return factor.degree if isinstance(factor, Polynomial) else 1


def _block(term: Term, coding: _Coding) -> Iterator[DesignColumn]:
    """All products of the factors' columns, those of the first factor running fastest."""
    factors = [f for f in term if not isinstance(f, Category) or f in coding]
    for pieces in product(*(_pieces(factor, coding) for factor in reversed(factors))):
        yield tuple(reversed(pieces))


def _pieces(factor: Factor, coding: _Coding) -> list[Piece]:
    if not isinstance(factor, Category):
        return [Piece(factor, index, label) for index, label in enumerate(factor.labels())]
    coded = factor.coded(full=coding[factor])
    return [Piece(factor, index, label, levels) for index, (label, levels) in enumerate(coded)]


def _codings(terms: Sequence[Term]) -> Mapping[Term, list[_Coding]]:
    """How the categories of each term are coded; lower terms choose first, whatever the order."""
    spanned: dict[frozenset[Factor], set[frozenset[Category]]] = {}
    codings = {}
    for term in sorted(terms, key=len):
        categories = [factor for factor in term if isinstance(factor, Category)]
        done = spanned.setdefault(frozenset(term) - frozenset(categories), set())
        sizes = range(len(categories) + 1)
        subsets = chain.from_iterable(combinations(categories, size) for size in sizes)
        parts = [part for part in subsets if frozenset(part) not in done]
        done.update(map(frozenset, parts))
        codings[term] = _joined([dict.fromkeys(part, False) for part in parts])
    return codings


def _joined(parts: list[_Coding]) -> list[_Coding]:
    """Put S and S ∪ {c} together as S ∪ {c in full} as long as there is such a pair."""
    for small, large in combinations(parts, 2):
        extra = [category for category in large if category not in small]
        if len(extra) == 1 and not large[extra[0]] and {**small, extra[0]: False} == large:
            large[extra[0]] = True
            return _joined([part for part in parts if part is not small])
    return parts
