"""The terms of a model, and the columns of the design matrix that each contributes.

A term is a product of factors; no factor at all is the intercept. A factor is a number per row
(`Numeric`), powers of one (`Polynomial`) or a choice among stated levels (`Category`), which
becomes one 0/1 column for each level but the first: the first is the base.

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

    def labels(self) -> list[str]:
        bare = isinstance(self.expression, Name) and not self.identity
        return [self.expression.name if bare else str(self)]  # type: ignore[union-attr]


@dataclass(frozen=True)
class Polynomial(_OfExpression):
    """The powers 1 to degree of one number per row."""

    degree: int

    def __str__(self) -> str:
        return f"poly({self.expression}, {self.degree}, raw=True)"

    def labels(self) -> list[str]:
        return [f"{self}[{power}]" for power in range(1, self.degree + 1)]


@dataclass(frozen=True)
class Category:
    """A column that takes one of the stated levels in every row."""

    column: str
    levels: tuple[Level, ...] = field(hash=False)  # hashed often, and may be many
    bare: bool = False
    """Written without C(…), and so called by its column's name alone."""

    def __str__(self) -> str:
        levels, name = ", ".join(map(str, self.levels)), expressions.quoted(self.column)
        return f"{name}[{levels}]" if self.bare else f"C({name}, levels=[{levels}])"

    def labels(self, *, full: bool) -> list[str]:
        name = self.column if self.bare else f"C({expressions.quoted(self.column)})"
        if full:
            return [f"{name}[{level.text}]" for level in self.levels]
        return [f"{name}[T.{level.text}]" for level in self.levels[1:]]

    def columns_needed(self) -> Iterator[str]:
        yield self.column


Factor = Numeric | Polynomial | Category
Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Piece:
    """What one factor gives to one column: its `index`-th label, that is level or power."""

    factor: Factor
    index: int
    label: str


DesignColumn = tuple[Piece, ...]
"""A product of pieces; none is the intercept."""

_Coding = dict[Category, bool]  # whether a category has all its levels


def design(terms: Sequence[Term]) -> list[DesignColumn]:
    """The columns of all terms, term by term."""
    codings = _codings(terms)
    return [column for term in terms for coding in codings[term] for column in _block(term, coding)]


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
    full = coding[factor]
    labels = factor.labels(full=full)
    return [Piece(factor, index + (not full), label) for index, label in enumerate(labels)]


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
