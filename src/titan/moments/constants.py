"""Which columns of a model add up to 1 in every row: proven from the model, whatever the rows.

Coefficients c with Σ c_j column_j = 1 as `polynomials` hold in every row. They are found exactly.
"""

# Rule 1: no row is looked at. What only the rows know, such as a column of ones, is not found here.

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from titan.moments.polynomials import MOST_COLUMNS, ONE, TooLongError, combinations, of_column
from titan.moments.terms import Category, DesignColumn, name_of


def constant(design: Sequence[DesignColumn]) -> dict[str, Fraction] | None:
    """Coefficients by column, without zeros; None where none are found."""
    if () in design:
        return {"Intercept": Fraction(1)}
    for category in dict.fromkeys(p.factor for column in design for p in column):
        if isinstance(category, Category):
            levels = [c for c in design if len(c) == 1 and c[0].factor == category]
            if len(levels) == len(category.levels):
                ones = [c for c in levels if all(weight == 1 for _, weight in c[0].levels)]
                return {name_of(column): Fraction(1) for column in ones}
    return dict(found) if (found := _solved(tuple(design))) else None


@lru_cache(maxsize=64)
def _solved(design: tuple[DesignColumn, ...]) -> dict[str, Fraction] | None:
    if len(design) > MOST_COLUMNS:
        return None
    try:
        columns = [of_column(column) for column in design]
    except TooLongError:
        return None
    if not any(ONE in column for column in columns):
        return None
    [found] = combinations(columns, [{ONE: Fraction(1)}])
    if found is None:
        return None
    return {name_of(c): value for c, value in zip(design, found, strict=True) if value}
