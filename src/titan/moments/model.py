"""A model: which columns of the design matrix are made of the data, and how.

By convention the response is the last column, so that the rows are [A b].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, FormulaError, about
from titan.moments import arithmetic, constants, expressions, formula, functions, terms
from titan.moments.cells import PlaceAmong
from titan.moments.centring import Centres, Centring, at_centres, uncentred
from titan.moments.columns import Column
from titan.moments.expressions import Expression
from titan.moments.formula import NO_LEVELS
from titan.moments.terms import (
    Category,
    Condition,
    DesignColumn,
    Factor,
    Numeric,
    Piece,
    Polynomial,
    Term,
)


@dataclass(frozen=True)
class Readings:
    """The data of some rows, as far as a model needs them, with nothing missing."""

    rows: int
    numbers: Mapping[str, Column] = field(repr=False)
    codes: Mapping[Category, npt.NDArray[Any]] = field(repr=False)
    """For each category of the data the number of its level in every row."""
    place: Callable[[int], str] = field(default="row {}, counted from 0".format, repr=False)
    """Where a row comes from, in words, for errors."""
    rounded: Mapping[str, int] = field(default_factory=dict)
    """How many numbers of a column a check has rounded."""

    def codes_of(self, category: Category) -> npt.NDArray[Any]:
        """The number of its level in every row; that of a condition follows from numbers."""
        if isinstance(category, Condition):
            return self.value(category.expression, category).numbers
        return self.codes[category]

    def value(self, expression: Expression, of: Factor) -> Column:
        """In every row, or DataError where there is none."""
        try:
            return expressions.evaluate(expression, self.numbers, self.rows)
        except functions.DomainError as error:
            raise DataError(
                f"{self.place(error.row)}, in {of}: {error.found}",
                hint="correct this row or leave it out, or change the formula",
            ) from None

    def take(self, rows: npt.NDArray[np.intp]) -> Readings:
        return Readings(
            len(rows),
            {name: column.take(rows) for name, column in self.numbers.items()},
            {category: codes[rows] for category, codes in self.codes.items()},
            PlaceAmong(self.place, rows),
        )


@dataclass(frozen=True, init=False)
class Model:
    """A response, the terms that explain it, and perhaps a column of analytic weights.

    Models are equal when they make the same columns of the same data; `str(model)` is canonical
    text, so that parties can agree on its digest, and reads back as the same model.
    """

    formula: str
    """In canonical form."""
    weights: str | None
    offset: str | None
    """What is added to aᵀβ without a coefficient, as an expression in canonical form."""
    time: str | None
    """A column of numbers that is read beside, and of which no column is made: when the response
    came."""
    names: tuple[str, ...] = field(compare=False, repr=False)
    """The columns that `evaluate` makes, in order, the response last."""

    def __init__(
        self,
        formula_text: str,
        *,
        weights: str | None = None,
        offset: str | None = None,
        time: str | None = None,
        levels: Mapping[str, Sequence[str]] = NO_LEVELS,
        centres: Centres | None = None,
    ) -> None:
        """`levels` are those of columns that are categories even without C(…).

        `centres` are the means that center(…) takes, once they are known; see `pooled`.
        """
        parsed = formula.parse(formula_text, levels)
        with about("offset"):
            added = None if offset is None else formula.parse(f"{offset} ~ 1", levels).response
        if weights in levels:
            raise FormulaError(f"the weights are {weights!r}, which is a category, not a number")
        if time in levels:
            raise FormulaError(f"the time is {time!r}, which is a category, not a number")
        blocks = terms.blocks(parsed.terms)
        columns = [column for block in blocks for column in block]
        names = [*map(terms.name_of, columns), *parsed.response.labels()]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FormulaError(f'two columns of the model are called "{twice}"')
        factors = list(dict.fromkeys(f for term in parsed.terms for f in term))
        for name, value in {
            "formula": str(parsed),
            "weights": weights,
            "offset": None if added is None else str(added),
            "offset_factor": added,
            "time": time,
            "names": tuple(names),
            "response": parsed.response,
            "design": columns,
            "terms": tuple(parsed.terms),
            "term_sizes": tuple(map(len, blocks)),
            "centring": None,
            "centres": centres or {},
            "_factors": factors,
            "_evaluated": at_centres(parsed.terms, centres),
        }.items():
            object.__setattr__(self, name, value)
        used = [f for term in (*parsed.terms, (parsed.response,)) for f in term]
        if time is not None and any(time in factor.columns_needed() for factor in used):
            raise FormulaError(
                f"the time {time!r} stands in the formula, too",
                hint="it says when the event came, and cannot explain it",
            )
        read = set(self.columns_needed)
        for condition in self.conditions:
            if condition.column in read:
                raise FormulaError(
                    f"a column of the data is called {condition.column!a}, as is a comparison",
                    hint="rename the column",
                )

    response: Numeric = field(compare=False, repr=False)
    offset_factor: Numeric | None = field(compare=False, repr=False)
    design: list[DesignColumn] = field(compare=False, repr=False)
    """The columns of A, each a product of pieces."""
    terms: tuple[Term, ...] = field(compare=False, repr=False)
    """What the columns of A are made of, the intercept being a term without factors."""
    term_sizes: tuple[int, ...] = field(compare=False, repr=False)
    """How many columns of A each term has; they stand one term after the other."""
    centring: Centring | None = field(compare=False, repr=False)
    """How the columns of `formula` follow from those here, where some are centred."""
    centres: Centres = field(compare=False, repr=False)
    """The means that center(…) takes, where they are known."""
    _factors: list[Factor] = field(compare=False, repr=False)
    _evaluated: dict[Factor, Factor] = field(compare=False, repr=False)

    @classmethod
    def pooled(
        cls,
        formula_text: str,
        *,
        weights: str | None = None,
        levels: Mapping[str, Sequence[str]] = NO_LEVELS,
    ) -> Model:
        """The model whose columns are summed: without center(…), which follows from its sums.

        For those who make an answer of `centring`; all others refuse such a formula.
        """
        summed, centring = uncentred(formula_text, levels, weighted=weights is not None)
        model = cls(summed, weights=weights, levels=levels)
        if centring is not None:
            object.__setattr__(model, "formula", centring.formula)
            object.__setattr__(model, "centring", centring)
        return model

    @classmethod
    def from_columns(
        cls,
        response: str,
        predictors: Sequence[str],
        *,
        intercept: bool = True,
        weights: str | None = None,
    ) -> Model:
        """The model of these columns as they are, whatever their names; none may come twice."""
        twice = [name for name, times in Counter(predictors).items() if times > 1]
        if twice:
            raise FormulaError(
                f'column "{twice[0]}" is chosen twice as a predictor', hint="name each column once"
            )
        names = [expressions.quoted(name) for name in (response, *predictors)]
        sides = " + ".join(["1" if intercept else "0", *names[1:]])
        return cls(f"{names[0]} ~ {sides}", weights=weights)

    def __str__(self) -> str:
        weighted = f" weighted by {self.weights}" if self.weights else ""
        offset = f" with offset {self.offset}" if self.offset else ""
        return self.formula + weighted + offset + (f" after {self.time}" if self.time else "")

    @property
    def columns_by_term(self) -> dict[str, tuple[str, ...]]:
        """Term → the names of its columns, in order; terms are called as patsy calls them."""
        ends = list(accumulate(self.term_sizes))
        return {
            terms.name_of_term(term): self.names[end - size : end]
            for term, size, end in zip(self.terms, self.term_sizes, ends, strict=True)
        }

    @property
    def constant(self) -> dict[str, Fraction] | None:
        """Coefficients c with A c = 1 in every row, as far as the model itself says so."""
        return constants.constant(self.design)

    @property
    def constant_column(self) -> str | None:
        """The column that is the constant by itself."""
        return "Intercept" if () in self.design else None

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of the data that are read as numbers."""
        numeric = [f for f in self._factors if not isinstance(f, Category) or f in self.conditions]
        numeric += [self.response, *([self.offset_factor] if self.offset_factor else [])]
        needed = [name for f in numeric for name in f.columns_needed()]
        return tuple(dict.fromkeys([*needed, *filter(None, (self.weights, self.time))]))

    @property
    def categories(self) -> tuple[Category, ...]:
        """Those that are columns of the data."""
        every = (f for f in self._factors if isinstance(f, Category))
        return tuple(f for f in every if not isinstance(f, Condition))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The comparisons that are categories of their own; others are inside of numbers."""
        return tuple(f for f in self._factors if isinstance(f, Condition))

    @property
    def columns_needed(self) -> tuple[str, ...]:
        """The columns that the data must have."""
        return tuple(dict.fromkeys([*self.number_columns, *(c.column for c in self.categories)]))

    def level_counts(self, diagonal: Sequence[Fraction], rows: int) -> dict[str, int]:
        """How many rows have each level, or levels together, from the diagonal of AᵀA.

        A column of levels alone is 0 or 1 in every row, so its sum of squares is a count. A base
        level without a column has the rows that are left. With weights nothing is counted, and
        nothing of a column that is 1 at several levels, or -1.
        """
        if self.weights is not None:
            return {}
        every = (*self.categories, *self.conditions)
        single: dict[Factor, list[int]] = {category: [] for category in every}
        counts = {}
        for column, squares in zip(self.design, diagonal, strict=True):
            if column and all(len(piece.levels) == 1 for piece in column):
                counts[terms.name_of(column)] = int(squares)
                if len(column) == 1:
                    single[column[0].factor].append(int(squares))
        for category in every:
            found = single[category]
            if len(found) == len(category.levels) - 1:
                base = category.contrast.base
                counts[category.labels(full=True)[base]] = rows - sum(found)
        return counts

    def evaluate(self, readings: Readings) -> list[Column]:
        """The design matrix and the response, exactly, in the order of `names`."""
        return [*self.evaluate_design(readings), _numbers(self.response, readings)[0]]

    def evaluate_design(self, readings: Readings) -> list[Column]:
        """The columns of A alone: rows to predict need not have a response."""
        factors = ((f, self._evaluated[f]) for f in self._factors)
        numbers = {f: _numbers(e, readings) for f, e in factors if not isinstance(e, Category)}

        def piece(piece: Piece) -> Column:
            if isinstance(piece.factor, Category):
                codes = readings.codes_of(piece.factor)
                chosen = [(codes == level) * np.int64(weight) for level, weight in piece.levels]
                return Column(reduce(np.add, chosen))
            return numbers[piece.factor][piece.index]

        def product(column: DesignColumn) -> Column:
            if not column:
                return Column(np.ones(readings.rows, np.int64))
            return reduce(arithmetic.multiply, map(piece, column))

        return list(map(product, self.design))

    def evaluate_offset(self, readings: Readings) -> Column | None:
        """What is added to aᵀβ in every row."""
        factor = self.offset_factor
        return None if factor is None else _numbers(factor, readings)[0]

    def evaluate_weights(self, readings: Readings) -> Column | None:
        """The weights w of Σ w a aᵀ; a negative one is an error."""
        if self.weights is None:
            return None
        column = readings.numbers[self.weights]
        negative = np.asarray(column.numbers < 0, bool)
        if negative.any():
            place = readings.place(int(negative.argmax()))
            raise DataError(
                f'{place}, column "{self.weights}": a negative weight',
                hint="a weight is 0 or more: correct it, or leave the row out",
            )
        return column


def _numbers(factor: Numeric | Polynomial, readings: Readings) -> list[Column]:
    """The columns of one factor: one, or one for each power."""
    value = readings.value(factor.expression, factor)
    degree = factor.degree if isinstance(factor, Polynomial) else 1
    return list(accumulate([value] * degree, arithmetic.multiply))
