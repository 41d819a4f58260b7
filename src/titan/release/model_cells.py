"""Which cells a model's sums tell apart: they are counted first.

cuts      a category, a flag, a number with two values, a comparison, be it by itself or inside of
          a number: each divides the rows into a few groups
tables    of every two cuts, of those of a term, each with an outcome that is itself a cut; and
          of every number with few values alone, and of those that a term multiplies, since
          sums give these counts away
digits    for a number with more values the rows off each coarser grid, of 2, 5 or 10 steps (and
          20, 50, 100, … of a fine one), and how many parties have such rows: their last digits
          stand in nobody else's sums
held      for the cells that a term's columns sum over, or those of two terms where numbers or
          weights are in the product: how many parties have rows there. Where only two do, each
          could take its own from the sum and see the other's. Those of a number with few values
          too, if sums can tell its values apart
"""

# Rule 1: which cells there are follows from the study alone, not from anybody's rows.
# Rule 2: a table that is part of another is not counted twice.

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import prod

from titan.decimals import decimal_text
from titan.errors import InputError
from titan.moments.expressions import Name
from titan.moments.model import Model
from titan.moments.terms import Category as Levels
from titan.moments.terms import Condition, Factor, Polynomial, Term, conditions
from titan.release.cells import AnyCut, CellCounts, Cut, Digits, Table
from titan.release.dictionary import Column, Flag, Number, points

COARSER = 2, 5, 10
"""Steps of the coarser grids, and of a fine grid ten times these, and so on."""
FINE = 20
"""So many points at least has a coarser grid that is not the first of its kind."""
FEW, FEW_MADE = 5, 12
"""So many values of a number are counted: of any; of one that a formula makes columns of."""
_MOST_CELLS = 50_000
_TWO = 2


def cells_of(
    model: Model,
    columns: Mapping[str, Column],
    *,
    squared: bool = False,
    events: bool = False,
    steps: bool = False,
) -> CellCounts:
    """The tables that the model's sums tell apart, and the digits of its numbers.

    With `squared` residuals their squares are summed too, wherever two columns meet. With `events`
    the outcome is a count, and rows without any are told apart from others. With `steps` sums are
    of functions of all numbers; where that is one, it is as good as made.
    """
    read = _summed(model)
    made = {name for name in read if _is_made(name, model)}
    if steps:
        own = model.response.columns_needed()
        numbers_only = [n for n in read if n not in own and _values(n, columns) > _TWO]
        made |= set(numbers_only) if len(numbers_only) == 1 else set()
    few = {name: cut_of_number(name, columns, made) for name in read}
    numbers = {name: cut for name, cut in few.items() if cut is not None}
    cuts = {name: cut for name, cut in numbers.items() if len(cut.labels) == _TWO}
    outcome = [cuts[name] for name in model.response.columns_needed() if name in cuts]
    outcome += map(cut_of_levels, conditions(model.response))
    if events and not outcome and isinstance(model.response.expression, Name):
        outcome = [AnyCut.of(model.response.expression.name)]
    parts = [_cut(term, cuts) for term in (*model.terms, (model.response,))]
    sets = [own for own, _ in parts[:-1]]
    weighted = squared or (model.weights is not None and model.weights not in cuts)
    met = [
        tuple(dict.fromkeys(one + other))
        for (one, numeric), (other, also) in combinations_with_replacement(parts, 2)
        if weighted or numeric or also
    ]
    held = [*sets, *met, *((cut,) for cut in outcome)]
    sets += met
    if model.weights in numbers:
        sets.append((numbers[model.weights],))
    singles = list(dict.fromkeys(cut for each in sets for cut in each))
    held_few: list[tuple[Cut, ...]] = []
    for term in [*model.terms, (model.response,)]:
        of_term = [numbers[n] for factor in term for n in factor.columns_needed() if n in numbers]
        several = tuple(dict.fromkeys(of_term))
        if prod(len(cut.labels) for cut in several) <= FEW * FEW:
            sets.append(several)
            held_few.append(several)
    sets += [*combinations(singles, 2), *((cut,) for cut in singles), ()]
    sets += [(cut,) for cut in numbers.values() if cut not in cuts.values()]
    held = _largest(held)
    pairs = [
        pair
        for pair in combinations(singles, 2)
        if (weighted or any(numeric for _, numeric in parts))
        and not any(set(pair) <= set(each) for each in held if len(each) > 1)
    ]
    told = [(n, _told(n, model, numbers, weighted)) for n in numbers if n not in cuts]
    held_few = [each for each in held_few if not set(each) <= set(cuts.values())]
    tables = _largest([(*each, *(cut for cut in outcome if cut not in each)) for each in sets])
    digits = [each for name in read for each in digits_of(name, columns)]
    weightless = model.weights is not None and _can_be_0(columns.get(model.weights))
    counts = CellCounts(
        tuple(map(Table, tables)),
        tuple(digits),
        tuple(map(Table, (*held, *_largest(held_few), *pairs))),
        model.weights,
        weightless,
        tuple(told),
        len(pairs),
        tuple(_varying(model, columns, numbers)),
    )
    if counts.of_rows > _MOST_CELLS:
        raise InputError(
            f"{counts.of_rows} cells would be counted",
            hint=f"at most {_MOST_CELLS}: use fewer categories, or fewer levels",
        )
    return counts


def _summed(model: Model) -> list[str]:
    """The numbers that stand in some sum: a time only orders the rows of each party."""
    return [name for name in model.number_columns if name != model.time]


def _cut(term: Term, cuts: Mapping[str, Cut]) -> tuple[tuple[Cut, ...], bool]:
    """What divides the rows of a term, and whether it has numbers that do not."""
    found, numeric = list[Cut](), False
    for factor in term:
        if isinstance(factor, Levels):
            found.append(cut_of_levels(factor))
        else:
            found += [cuts[name] for name in factor.columns_needed() if name in cuts]
            found += map(cut_of_levels, conditions(factor))
            numeric |= not set(factor.columns_needed()) <= set(cuts)
    return tuple(dict.fromkeys(found)), numeric


def _told(name: str, model: Model, numbers: Collection[str], weighted: bool) -> int:
    """So many values of a number at most can be told apart by the sums of its functions."""
    found, twice = dict[Factor, int](), weighted
    for term in [*model.terms, (model.response,)]:
        own = [f for f in _functions(term) if name in f.columns_needed()]
        found |= {f: f.degree if isinstance(f, Polynomial) else 1 for f in own}
        twice |= bool(own) and any(not set(f.columns_needed()) <= set(numbers) for f in term)
    return 1 + sum(found.values()) * (2 if twice else 1)


def _varying(
    model: Model, columns: Mapping[str, Column], numbers: Collection[str]
) -> Iterator[tuple[str, Fraction, Fraction]]:
    for name in _summed(model):
        column = columns.get(name)
        counted = name in numbers or name == model.weights
        if isinstance(column, Number) and column.step is not None and not counted:
            yield name, column.low, column.step


def _functions(term: Term) -> list[Factor]:
    """The factors that are made of numbers, comparisons too."""
    return [f for f in term if not isinstance(f, Levels) or isinstance(f, Condition)]


def cut_of_levels(category: Levels) -> Cut:
    """A category, by its levels."""
    labels = tuple(f"{category.column} = {level.text}" for level in category.levels)
    return Cut(category.column, labels, category)


def _is_made(name: str, model: Model) -> bool:
    """Whether a formula makes something of this number, but for a product with levels."""
    for term in model.terms:
        factors = _functions(term)
        if any(name in each.columns_needed() for each in factors):
            plain = len(factors) == 1 and isinstance(getattr(factors[0], "expression", None), Name)
            if not plain or isinstance(factors[0], Polynomial):
                return True
    return False


def _values(name: str, columns: Mapping[str, Column]) -> int:
    return points(columns[name]) if name in columns else 0


def cut_of_number(
    name: str, columns: Mapping[str, Column], made: Collection[str] = ()
) -> Cut | None:
    """A flag, or a number that takes few values."""
    column = columns.get(name)
    if isinstance(column, Flag):
        column = Number(Fraction(0), Fraction(1), Fraction(1))
    if not isinstance(column, Number) or column.step is None:
        return None
    count = int((column.high - column.low) / column.step) + 1
    if not 1 < count <= (FEW_MADE if name in made else FEW):
        return None
    values = tuple(column.low + at * column.step for at in range(count))
    return Cut(name, tuple(f"{name} = {decimal_text(value)}" for value in values), values=values)


def _can_be_0(column: Column | None) -> bool:
    """By the dictionary; where there is none, all rows lie in one place."""
    return isinstance(column, Flag) or (isinstance(column, Number) and column.low <= 0)


def digits_of(name: str, columns: Mapping[str, Column]) -> Iterator[Digits]:
    """The coarser grids of a number."""
    column = columns.get(name)
    if isinstance(column, Number) and column.step is not None:
        steps = (column.high - column.low) / column.step
        origin = Fraction(0) if column.low % column.step == 0 else column.low
        for coarser in _coarser(steps):
            yield Digits(name, origin, coarser * column.step, coarser)


def _coarser(steps: Fraction) -> Iterator[int]:
    times = 1
    while times == 1 or FINE * times <= steps:
        for each in COARSER:
            coarser = each * times
            if steps > coarser and (times == 1 or steps >= FINE * coarser):
                yield coarser
        times *= 10


def _largest(sets: Iterable[tuple[Cut, ...]]) -> list[tuple[Cut, ...]]:
    """Those that are not part of another, each once."""
    found: list[tuple[Cut, ...]] = []
    holding: dict[Cut, set[int]] = {}
    for each in sorted(dict.fromkeys(sets), key=len, reverse=True):
        if each and not set.intersection(*(holding.get(cut, set()) for cut in each)):
            for cut in each:
                holding.setdefault(cut, set()).add(len(found))
            found.append(each)
    return found
