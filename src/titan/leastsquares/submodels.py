"""Which of a fitted model's columns a smaller model has, however it is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from titan.errors import FormulaError, InputError
from titan.moments.model import Model
from titan.moments.terms import Term, name_of


def chosen_columns(
    asked: str | Sequence[str],
    names: Sequence[str],
    response: str,
    intercept: str | None,
    whole: Model | None,
    keep: bool | None,
) -> tuple[str, ...]:
    """The columns of a formula, one column, or a list of them.

    `whole` is the fitted model. `keep` says of the intercept whether it stays; None keeps it unless
    a formula leaves it out.
    """
    if isinstance(asked, str) and "~" in asked:
        if keep is not None:
            raise InputError("intercept= beside a formula", hint='write "y ~ 0 + x" or "y ~ x"')
        return _of_formula(asked, names, response, intercept, whole)
    found = (asked,) if isinstance(asked, str) or not isinstance(asked, Iterable) else tuple(asked)
    for name in found:
        if not isinstance(name, str):
            raise InputError(
                f"{type(name).__name__} does not name a column", hint=f"there are {_listed(names)}"
            )
    if intercept is None or keep is False:
        return tuple(name for name in found if keep is not False or name != intercept)
    return found if intercept in found else (intercept, *found)


def shortened(whole: Model | None, chosen: Sequence[str]) -> str | None:
    """The formula of the chosen columns; None where only a part of a term is among them."""
    if whole is None:
        return None
    kept = [term for term in whole.terms if all(n in chosen for n in _columns_of(whole, term))]
    sides = ["1" if () in kept else "0", *(":".join(map(str, term)) for term in kept if term)]
    try:
        smaller = Model(f"{whole.response} ~ {' + '.join(sides)}", centres=whole.centres)
    except FormulaError:
        return None
    return smaller.formula if set(smaller.names[:-1]) == set(chosen) else None


def _columns_of(model: Model, term: Term) -> list[str]:
    """The columns that are made of all of the term's factors and no others."""
    return [
        name_of(column)
        for column in model.design
        if {piece.factor for piece in column} == set(term)
    ]


def _of_formula(
    asked: str, names: Sequence[str], response: str, intercept: str | None, whole: Model | None
) -> tuple[str, ...]:
    """Levels and means that it does not state are those of the fitted formula."""
    categories = () if whole is None else whole.categories
    levels = {c.column: [level.text for level in c.levels] for c in categories if c.bare}
    centres = None if whole is None else whole.centres
    smaller = Model(_with_levels(asked, whole), levels=levels, centres=centres)
    *columns, asked_response = smaller.names
    if asked_response != response:
        raise InputError(
            f"the response of {asked!r} is {asked_response!r}, and that of the fit {response!r}"
        )
    found = [intercept or n if n == "Intercept" else n for n in columns]
    missing = [name for name in found if name not in names]
    if missing:
        raise InputError(
            f"{asked!r} has the column {missing[0]!r}, which the fit does not have",
            hint=f"there are {_listed(names)}",
        )
    return tuple(found)


def _with_levels(asked: str, whole: Model | None) -> str:
    """C(sex) as the fitted formula has it."""
    for category in () if whole is None else whole.categories:
        if not category.bare:
            asked = asked.replace(f"C({category.column})", str(category))
    return asked


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
