"""Invariant: no sum of numbers is over rows of fewer than τ + 2 parties, however it is asked.

Each was accepted: the cell of two terms whose columns meet in AᵀA; of weights; of squared
residuals; of an outcome that a flag cuts; a number of three values, or of two that the dictionary
says has three; rows of weight 0 beside a question without weights; a flag within a flag.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.release.hostile import KNOWN, Seen, ask, asked_of, number, stated, tables
from titan.errors import ReleaseError
from titan.release import Column, Flag, Number

COLUMNS: dict[str, Column] = KNOWN | {
    "f": Flag(),
    "g": Flag(),
    "w": number(1, 10),
    "u": number(0, 5),
    "code": number(0, 2),
    "half": Number.read("0", "1", "0.5"),
    "ten": Number.read("0", "250", "10"),
    "z": number(0, 200),
    "sparse": number(0, 100),
}
ROWS = 60


def patients() -> list[dict[str, Any]]:
    found = tables(ROWS)
    for at, table in enumerate(found):
        rng = np.random.default_rng(100 + at)
        table |= {name: rng.integers(0, 2, ROWS).astype(float) for name in ("f", "g")}
        table["w"] = rng.integers(1, 9, ROWS).astype(float)
        table["z"] = rng.integers(0, 200, ROWS).astype(float)
        table["code"] = rng.integers(0, 3, ROWS).astype(float)
    return found


def by_two() -> list[dict[str, Any]]:
    """Both flags have only patients of north and of east; each flag has patients everywhere."""
    found = patients()
    for table in found[2:]:
        table["g"][table["f"] == 1] = 0
    return found


def check_refused(seen: Seen, rule: str = "cell_parties") -> None:
    assert isinstance(seen.error, ReleaseError)
    assert (seen.error.rule, len(seen.totals)) == (rule, 0)


# -- where columns of two terms meet --------------------------------------------------------------

TWO_TERMS: list[tuple[str, dict[str, str]]] = [
    ("y ~ f + age:g", {}),
    ("y ~ age:f + pressure:g", {}),
    ("y ~ f + I(age*g)", {}),
    ("I(y*f) ~ g", {}),
    ("I(y*f) ~ age:g", {}),
    ("y ~ f + g", {"weights": "w"}),
    ("f ~ g", {"weights": "w"}),
    ("y ~ f + g", {"cov_type": "HC0"}),
]


@pytest.mark.parametrize(("formula", "options"), TWO_TERMS)
def test_the_cell_of_two_terms(formula: str, options: dict[str, str]) -> None:
    study = stated(COLUMNS, ask("regression", formula=formula, **options))
    check_refused(asked_of(study, by_two()))


@pytest.mark.parametrize(("formula", "options"), TWO_TERMS)
def test_which_all_may_sum_over_where_all_have_rows(formula: str, options: dict[str, str]) -> None:
    study = stated(COLUMNS, ask("regression", formula=formula, **options))
    assert asked_of(study, patients()).error is None


def test_what_north_would_see_of_east() -> None:
    """The control: agreed on in so many words, Σ age of east's patients with both flags."""
    formula, parties = "y ~ f + age:g", by_two()
    study = stated(COLUMNS, ask("regression", "q", formula=formula), min_cell_parties=2)
    total = asked_of(study, parties).products("q")["age:g", "f"]
    north, east = (float((t["age"] * t["f"] * t["g"]).sum()) for t in parties[:2])
    assert total - int(north) == east


@pytest.mark.parametrize("formula", ["y ~ age:f:g + flag", "y ~ flag + I(age*f*g)"])
def test_the_one_patient_in_a_cell_of_two_terms(formula: str) -> None:
    """The entry of AᵀA is that patient's age."""
    tables = patients()
    for table in tables:
        table["flag"] = np.where((table["f"] == 1) & (table["g"] == 1), 0.0, np.arange(ROWS) % 2)
    one = np.flatnonzero((tables[1]["f"] == 1) & (tables[1]["g"] == 1))[0]
    tables[1]["flag"][one] = 1
    check_refused(asked_of(stated(COLUMNS, ask("regression", formula=formula)), tables), "cells")


def test_of_two_flags_alone_only_rows_are_counted() -> None:
    """Which is said in docs/privacy.md."""
    assert asked_of(stated(COLUMNS, ask("regression", formula="y ~ f + g")), by_two()).error is None


# -- numbers of few values ------------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["y ~ code + I(code*code)", "y ~ poly(code, 2, raw=True)"])
def test_a_number_of_three_values_and_its_square(formula: str) -> None:
    """They are the indicators of its values."""
    parties = patients()
    for table in parties[2:]:
        table["code"] = np.minimum(table["code"], 1)
    check_refused(asked_of(stated(COLUMNS, ask("regression", formula=formula)), parties))
    study = stated(COLUMNS, ask("regression", formula=formula))
    assert asked_of(study, patients()).error is None


@pytest.mark.parametrize("formula", ["y ~ {}", "y ~ age + {}", "{} ~ age", "y ~ age:{}"])
@pytest.mark.parametrize("column", ["half", "code"])
def test_a_number_of_three_values_that_has_two(formula: str, column: str) -> None:
    parties = patients()
    for at, table in enumerate(parties):
        table[column] = table["f"] * (at < 2)
    study = stated(COLUMNS, ask("regression", formula=formula.format(column)))
    check_refused(asked_of(study, parties))


def test_a_number_of_three_values_by_itself_is_in_no_cell_of_two_parties() -> None:
    """Σ y + 2 Σ y over two cells tells neither: ordinary numbers stay ordinary."""
    parties = patients()
    for table in parties[2:]:
        table["code"] = np.minimum(table["code"], 1)
    assert asked_of(stated(COLUMNS, ask("regression", formula="y ~ code")), parties).error is None


# -- what two questions tell together -------------------------------------------------------------


@pytest.mark.parametrize("weight", ["u", "f"])
def test_rows_of_weight_0_beside_a_question_without_weights(weight: str) -> None:
    parties = patients()
    for at, table in enumerate(parties):
        table[weight] = 1.0 - ((at < 2) & (np.arange(ROWS) % 2 == 0))
    questions = (
        ask("regression", "a", formula="y ~ age"),
        ask("regression", "b", formula="y ~ age", weights=weight),
    )
    check_refused(asked_of(stated(COLUMNS, *questions), parties))


@pytest.mark.parametrize("parties", [1, 2])
def test_rows_that_a_gap_leaves_out_of_one_question(parties: int) -> None:
    """The difference of the answers is over rows of one party, or of two."""
    tables = patients()
    for table in tables[:parties]:
        table["z"][:30] = np.nan
    questions = (
        ask("regression", "a", formula="y ~ age"),
        ask("regression", "b", formula="y ~ age + z"),
    )
    seen = asked_of(stated(COLUMNS, *questions, missing="drop"), tables)
    assert isinstance(seen.error, ReleaseError)
    assert (seen.error.rule, seen.error.cell) == ("cell_parties", "a without b")
    assert not seen.totals, "after the counts"
    for table in tables:
        table["z"][:30] = np.nan
    assert asked_of(stated(COLUMNS, *questions, missing="drop"), tables).error is None, "of all"


# -- a table 1 ------------------------------------------------------------------------------------


def test_a_column_that_only_two_parties_have_is_not_summed() -> None:
    parties = patients()
    for at, table in enumerate(parties):
        table["ten"] = np.where(at < 2, 100.0 + 100 * table["f"], np.nan)  # no last digits
    check_refused(asked_of(stated(COLUMNS, ask("describe", columns=("age", "ten"))), parties))


# -- cells that the empty ones tell ---------------------------------------------------------------


def test_a_flag_within_a_flag() -> None:
    """Σ y of g less Σ y of f is that of g without f, which only two parties have."""
    parties = patients()
    for at, table in enumerate(parties):
        more = (at < 2) & (np.arange(ROWS) % 3 == 0)
        table["g"] = np.where((table["f"] == 1) | more, 1.0, 0.0)
    for formula in ("y ~ f + g", "f ~ age + g"):
        check_refused(asked_of(stated(COLUMNS, ask("regression", formula=formula)), parties))


# -- numbers that say whose a row is --------------------------------------------------------------


@pytest.mark.parametrize("parties", [1, 2])
def test_a_number_that_is_0_at_all_but_few(parties: int) -> None:
    """Declared as 0 to 100, it is 0 or 10: Σ sparse·y is ten times Σ y of one party, or of two."""
    tables = patients()
    for at, table in enumerate(tables):
        table["sparse"] = np.full(ROWS, 10.0 * (at < parties))
    for formula in ("y ~ age + sparse", "y ~ age + I(age + sparse)", "sparse ~ age"):
        check_refused(asked_of(stated(COLUMNS, ask("regression", formula=formula)), tables))


@pytest.mark.parametrize("formula", ["y ~ sparse + I(sparse*sparse)", "y ~ sparse"])
def test_a_number_that_names_the_hospital(formula: str) -> None:
    """With its square every hospital had the others' Σ y one by one: attack 8 by a number."""
    tables = patients()
    for at, table in enumerate(tables):
        table["sparse"] = np.full(ROWS, 10.0 * at)
    check_refused(asked_of(stated(COLUMNS, ask("regression", formula=formula)), tables))


def test_a_number_may_be_the_same_in_one_hospital() -> None:
    tables = patients()
    tables[1]["age"][:] = 50
    assert asked_of(stated(COLUMNS, ask("regression", formula="y ~ age")), tables).error is None
