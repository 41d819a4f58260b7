"""What a question about proportional hazards says: columns, a time, an event.

    age + sex                             with time=months; event=died, as lifelines has it
    months ~ age + sex                    with event=died, as statsmodels has it
    Surv(months, died) ~ age + sex        as R has it

All three are the same question. The model that is read has the event for its response and a
constant, so that levels are told from a base; no partial likelihood depends on the constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from titan.errors import InputError
from titan.joint.cox_rows import TimeGrid
from titan.joint.times_asked import check_named, time_asked
from titan.listing import divided
from titan.moments import Model
from titan.moments.expressions import quoted
from titan.release import Column

_SURV = re.compile(r"Surv\((.*)\)", re.DOTALL)
_HOW = 'formula="age + sex", time="months", event="died"'


def spoken(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The same with time and event apart from the formula, and its right side alone."""
    found = dict(asked)
    if not isinstance(found.get("formula"), str):
        return found
    *left, right = divided(found["formula"], "~")
    found["formula"] = right.strip()
    for key, name in _left("~".join(left).strip()) if left else ():
        if found.setdefault(key, name) != name:
            said = f"the {key} is {found[key]!r}, and {name!r} in the formula"
            raise InputError(said, hint=_HOW, choice="formula")
    return found


def _left(text: str) -> list[tuple[str, str]]:
    """The time, or both time and event."""
    if (surv := _SURV.fullmatch(text)) is None:
        return [("time", _name(text))]
    names = [_name(piece.strip()) for piece in divided(surv[1], ",")]
    if len(names) != 2:
        raise InputError(
            f"{text!r} has {len(names)} arguments",
            hint="Surv(months, died): a time, an event",
            choice="formula",
        )
    return [("time", names[0]), ("event", names[1])]


def _name(text: str) -> str:
    plain = text[1:-1] if len(text) > 2 and text[0] == text[-1] == "`" else text
    if not plain or (plain == text and not re.fullmatch(r"[^\W\d][\w.]*", text)):
        raise InputError(
            f"{text!r} is not the name of a column, where a time or an event was expected",
            hint=f"{_HOW}; a name with blanks stands in backticks",
            choice="formula",
        )
    return plain


def formula_asked(options: Mapping[str, Any]) -> str:
    """The formula of any question that has one, with its response."""
    formula = str(options["formula"])
    if "event" not in options:
        return formula
    return f"{quoted(str(options['event']))} ~ {formula} + 1"


def model_asked(asked: Mapping[str, Any], model: Callable[..., Model]) -> Model:
    """As `model` makes it of a formula."""
    if not str(asked["formula"]):
        said = "there is nothing that explains the hazard"
        raise InputError(said, hint=_HOW, choice="formula")
    found = model(formula_asked(asked), time=str(asked["time"]))
    if len(found.names) < 3:
        said = "no column explains the hazard"
        raise InputError(said, hint="name at least one: age + sex", choice="formula")
    return found


def right_side(model: Model) -> str:
    """Of its formula, in its one form."""
    return model.formula.partition(" ~ 1 + ")[2]


def grid_asked(asked: Mapping[str, Any], columns: Mapping[str, Column]) -> TimeGrid:
    """InputError where a column cannot be what it is asked to be."""
    time, event = str(asked["time"]), str(asked["event"])
    check_named((time, event), columns)
    column, grid = time_asked(asked, columns)
    return TimeGrid(time, event, grid, column.step or Fraction(1))
