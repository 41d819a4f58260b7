"""center(x): what a column is less its mean over all rows, which nobody knows before the sums.

So it is not summed. What is summed is the model in which x stands for center(x). If A are its
columns and m the means, the columns of the formula are

    A_c = A T(m),

where T follows from multiplying out, (x − m)·z = x·z − m·z: its entries are polynomials in the
means. The means are in AᵀA, as products of a column with the constant. So the pooled moments of A_c
follow from those of A, and nothing more is opened than of A.

That works where all that is multiplied out is in the model: the constant beside center(x), z beside
center(x):z. Otherwise more columns would have to be summed than were asked for, and it is refused.
"""

# Rule 1: no row is looked at; T is exact, and so are the means where the moments are.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, product
from math import prod

from titan.errors import FormulaError
from titan.moments import polynomials
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
    parts,
    text_literal,
)
from titan.moments.formula import Formula, parse
from titan.moments.formula_arithmetic import CENTER
from titan.moments.formula_words import center_hint
from titan.moments.polynomials import MOST_COLUMNS, ONE, Mean, Monomial, Sum, TooLongError
from titan.moments.terms import (
    Category,
    Factor,
    Numeric,
    Polynomial,
    Term,
    design,
    name_of,
    name_of_term,
)

Centres = Mapping[str, Fraction]
"""Means, by the text of what is centred."""
Combination = tuple[Fraction, ...]
"""Coefficients of the columns that are summed."""


@dataclass(frozen=True)
class Centring:
    """How the columns of a formula follow from those that are summed, once the means are known."""

    formula: str
    """With center(…), in canonical form."""
    names: tuple[str, ...]
    """Of its columns."""
    columns: tuple[Mapping[Monomial, Combination], ...] = field(repr=False)
    """Of each: what stands at each product of means."""
    arguments: Mapping[str, Combination] = field(repr=False)
    """What is centred."""
    one: Combination = field(repr=False)
    """The constant."""

    def matrix(self, centres: Centres) -> list[list[Fraction]]:
        """T, one column for each of the formula's."""
        n = len(self.one)
        whole = [[Fraction(0)] * len(self.columns) for _ in range(n)]
        for j, column in enumerate(self.columns):
            for means, combination in column.items():
                by = prod((centres[mean.of] ** power for mean, power in means), start=Fraction(1))
                for k, value in enumerate(combination):
                    whole[k][j] += by * value
        return whole

    def means(self, products: Callable[[Combination, Combination], Fraction], rows: int) -> Centres:
        """From the pooled uᵀAᵀAv of two combinations of columns."""
        return {
            text: products(argument, self.one) / rows for text, argument in self.arguments.items()
        }


def uncentred(
    text: str, levels: Mapping[str, Sequence[str]], *, weighted: bool = False
) -> tuple[str, Centring | None]:
    """The formula whose columns are summed, and how those of `text` follow; None where it is that.

    FormulaError where they do not, with what to write instead.
    """
    if CENTER not in text:
        return text, None
    formula = parse(text, levels)
    centred = list(_centred(formula.terms))
    if not centred:
        return text, None
    if weighted:
        raise FormulaError(
            f"{centred[0]} beside weights: the pooled mean is weighted, and that of rows is not",
            hint=center_hint(centred[0].argument),
        )
    summed = Formula(formula.response, tuple(map(_as_summed, formula.terms)))
    _refuse_twice(formula.terms, summed.terms)
    found = _followed(formula, summed, centred)
    if found is None:
        raise _refusal(formula, centred[0], _completed(formula))
    return str(summed), found


def at_centres(terms: Iterable[Term], centres: Centres | None) -> dict[Factor, Factor]:
    """What is evaluated for each factor: the means are known, as doubles."""

    def known(part: Centred) -> Expression:
        mean = None if centres is None else centres.get(str(part.argument))
        if mean is None:
            raise FormulaError(
                f"{part} needs the mean of all parties' rows, which only a regression finds",
                hint=center_hint(part.argument),
            )
        return Binary("-", part.argument, Number(repr(float(mean))))

    return {factor: _rewritten(factor, known) for term in terms for factor in term}


# -- what is multiplied out -----------------------------------------------------------------------


def _followed(formula: Formula, summed: Formula, centred: Sequence[Centred]) -> Centring | None:
    """None where some of it is not among the columns that are summed."""
    asked, given = design(formula.terms), design(summed.terms)
    names = [name_of(column) for column in given]
    if not len(asked) == len(set(names)) == len(names) <= MOST_COLUMNS:
        return None
    texts = list(dict.fromkeys(str(part.argument) for part in centred))
    try:
        columns = list(map(polynomials.of_column, given))
        apart = [_by_means(polynomials.of_column(column)) for column in asked]
        inner = [polynomials.of_expression(part.argument) for part in dict.fromkeys(centred)]
    except TooLongError:
        return None
    targets = [each for column in apart for each in column.values()]
    found = polynomials.combinations(columns, [*targets, *inner, {ONE: Fraction(1)}])
    whole = [each for each in found if each is not None]
    if len(whole) < len(found):
        return None
    rest = iter(whole)
    made = tuple({means: next(rest) for means in column} for column in apart)
    arguments = {text: next(rest) for text in texts}
    return Centring(str(formula), tuple(map(name_of, asked)), made, arguments, next(rest))


def _by_means(column: Sum) -> dict[Monomial, Sum]:
    """The polynomial in the data's names that stands at each product of means."""
    found: dict[Monomial, dict[Monomial, Fraction]] = {}
    for monomial, value in column.items():
        means = frozenset(each for each in monomial if isinstance(each[0], Mean))
        found.setdefault(means, {})[monomial - means] = value
    return dict(found)


def _centred(terms: Iterable[Term]) -> Iterator[Centred]:
    for term in terms:
        for factor in term:
            if not isinstance(factor, Category):
                yield from _centred_in(factor.expression)


def _centred_in(expression: Expression) -> Iterator[Centred]:
    return (part for part in parts(expression) if isinstance(part, Centred))


def _as_summed(term: Term) -> Term:
    return tuple(_rewritten(factor, lambda part: part.argument) for factor in term)


def _rewritten(factor: Factor, become: Callable[[Centred], Expression]) -> Factor:
    """With something else in the place of what is centred; as short as it can be written."""
    if isinstance(factor, Category):
        return factor
    expression = _with(factor.expression, become)
    if expression == factor.expression:
        return factor
    if isinstance(factor, Polynomial):
        return replace(factor, expression=expression)
    return Numeric(expression, identity=not isinstance(expression, Name | Apply))


def _with(expression: Expression, become: Callable[[Centred], Expression]) -> Expression:
    match expression:
        case Centred():
            return become(expression)
        case Negate(argument) | Not(argument):
            return type(expression)(_with(argument, become))
        case Binary(operation, left, right) | Compare(operation, left, right):
            return type(expression)(operation, _with(left, become), _with(right, become))
        case Power(base, exponent):
            return Power(_with(base, become), exponent)
        case Apply(function, argument):
            return Apply(function, _with(argument, become))
    return expression


# -- refusals -------------------------------------------------------------------------------------


def _refuse_twice(terms: Sequence[Term], summed: Sequence[Term]) -> None:
    known: dict[frozenset[Factor], Term] = {}
    for term, plain in zip(terms, summed, strict=True):
        other = known.setdefault(frozenset(plain), term)
        if other is not term:
            raise FormulaError(
                f"{name_of_term(other)} and {name_of_term(term)} differ by means only",
                hint="leave one of them out",
            )


def _refusal(formula: Formula, part: Centred, completed: Formula | None) -> FormulaError:
    message = (
        f"{part} does not follow from the sums of this formula: multiplied out, it needs columns "
        "that are not in it"
    )
    if completed is None:
        return FormulaError(message, hint=center_hint(part.argument))
    names, of_whole = (set(map(name_of, design(f.terms))) for f in (formula, completed))
    smaller = f"; fit.submodel({text_literal(str(formula))}) then has the smaller model"
    return FormulaError(message, hint=f"write {completed}{smaller if names < of_whole else ''}")


def _completed(formula: Formula) -> Formula | None:
    """With what is centred by itself, and all below every term; None where that is not enough."""
    alone: list[Term] = [(Numeric(part),) for part in _centred(formula.terms)]
    below = (kept for term in formula.terms for kept in _choices(list(map(_lower, term))))
    every = {frozenset(term): term for term in ((), *formula.terms, *alone, *below)}
    terms = tuple(sorted(every.values(), key=len))
    whole = Formula(formula.response, terms)
    summed = Formula(formula.response, tuple(map(_as_summed, terms)))
    return whole if _followed(whole, summed, list(_centred(terms))) else None


def _choices(lower: Sequence[Sequence[Term]]) -> Iterator[Term]:
    """Products of what is below each factor."""
    return (tuple(chain.from_iterable(chosen)) for chosen in product(*lower))


def _lower(factor: Factor) -> list[Term]:
    """Of what is centred: itself, the powers below it, and nothing."""
    if isinstance(factor, Category) or not any(_centred_in(factor.expression)):
        return [(factor,)]
    found: list[Term] = [(factor,), ()]
    match factor:
        case Numeric(Power(Centred() as base, exponent)):
            powers = (Numeric(Power(base, k), identity=True) for k in range(2, exponent))
            found += [(Numeric(base),), *((power,) for power in powers)]
    return found
