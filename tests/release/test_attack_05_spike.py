"""Attack 5: a column that a formula makes is next to nothing but for one patient.

Invariant: the hospital that has the patient refuses before the regressors' Gram matrix leaves it,
however the formula dresses the column up.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import titan
from tests.cli.test_commands import titan as command
from tests.release.asking import ask
from tests.release.shipped import HEART, check_own, counts_of, heart_lines, hospitals
from titan.errors import ReleaseError
from titan.moments import Source
from titan.release import Dictionary
from titan.release.dictionary import Flag, Number
from titan_lab import datasets

VICTIM = "Cleveland Clinic"
SPIKE = "exp(-60*((age-76)*(age-76)+(trestbps-140)*(trestbps-140)))"
PLACE = "heart_disease.csv, line 259"


def cleveland() -> Source:
    return hospitals()[VICTIM]


@pytest.mark.parametrize(
    "regressors",
    [
        f"I({SPIKE}+1e-20)",
        f"age + I({SPIKE}+1e-20+age)",
        f"sex + I({SPIKE}+sex)",
        f"sex*exang + I({SPIKE}+sex*exang)",
        f"I(1000*age + {SPIKE}) + age + cp2 + cp3 + cp4",
        f"age + I(age + 1e-40*{SPIKE})",
        f"I(1 + 1e-60*{SPIKE})",
        f"exp(-0.01*age) + I({SPIKE} + exp(-0.01*age))",
        f"I({SPIKE}+sqrt(age)) + I(sqrt(age)+log(trestbps+2)) + log(trestbps+2)",
        "I(exp(-60*(age-76)*(age-76))):I(exp(-60*(trestbps-140)*(trestbps-140)))",
        f"I({SPIKE} + age*trestbps) + age*trestbps",
        f"I({SPIKE} + cp3*age) + cp3*age + sex + exang + oldpeak",
    ],
)
def test_the_patient_is_not_in_anything_that_leaves(regressors: str) -> None:
    with pytest.raises(ReleaseError, match="stand alone") as caught:
        check_own(cleveland(), HEART, f"thalach ~ {regressors}")
    assert caught.value.rule == "leverage"
    assert PLACE in caught.value.message
    assert " and " not in caught.value.message.split(PLACE)[1]


@pytest.mark.parametrize(
    "formulas",
    [
        [f"I({SPIKE}+1e-20) ~ sex + oldpeak"],
        [f"I({SPIKE}+age) ~ age + sex"],
        [f"thalach ~ sex + I({SPIKE} + age)", "thalach ~ sex + age"],
        [f"thalach ~ I({SPIKE} + exp(-0.01*age))", "oldpeak ~ exp(-0.01*age)"],
        [f"I(thalach + {SPIKE}) ~ age", "thalach ~ age"],
        [f"I(thalach + {SPIKE}) ~ age", "age ~ sex + thalach"],
    ],
)
def test_nor_as_a_response_nor_between_two_questions(formulas: list[str]) -> None:
    """Each question by itself may look ordinary: what one sums is taken from what another does."""
    with pytest.raises(ReleaseError, match="stand alone"):
        check_own(cleveland(), HEART, formulas)


def few(rows: int = 12) -> dict[str, Any]:
    """The patient and eleven others, so that there are hardly more rows than columns."""
    columns = list(HEART)
    text = [line.split(",") for line in heart_lines()]
    at = [heart_lines()[0].split(",").index(name) for name in columns]
    chosen = [line for line in text[1:] if line[0] == VICTIM][: rows - 1]
    chosen.append(text[258])
    return {name: [float(line[j]) for line in chosen] for name, j in zip(columns, at, strict=True)}


@pytest.mark.parametrize(
    "column",
    [
        f"I({SPIKE}+1e-20)",
        f"I({SPIKE}+1e-20+age)",
        f"I({SPIKE}+sqrt(age)) + I(sqrt(age)+exp(-sex))",
    ],
)
def test_nor_where_there_are_hardly_more_rows_than_columns(column: str) -> None:
    plain = "thalach ~ age + sex + trestbps + exang + oldpeak + cp2 + cp3 + cp4"
    check_own(few(), HEART, plain)
    check_own(few(), HEART, f"{plain} + log(age)")
    with pytest.raises(ReleaseError, match="stand alone"):
        check_own(few(), HEART, f"{plain} + {column}")


# -- alone in a cell ------------------------------------------------------------------------------

ROWS = 40
KNOWN = Dictionary.of(
    {
        "y": Number.read("0", "99", "1"),
        "x": Number.read("0", "99", "1"),
        "g": Flag(),
        "two": Number.read("5", "7", "2"),
    }
)


def one_in_a_cell() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x = 2 * rng.integers(10, 30, ROWS)
    return {
        "y": rng.integers(0, 99, ROWS),
        "x": np.where(np.arange(ROWS) == 11, 41, x),
        "g": (np.arange(ROWS) == 11).astype(int),
        "two": np.where(np.arange(ROWS) % 2, 5, 7),
    }


@pytest.mark.parametrize("regressors", ["x + g", "x * g", "x + g * two", "x + two", "log(x) + g"])
def test_a_row_alone_in_a_cell_hides_among_the_others(regressors: str) -> None:
    """They have rows there: that was counted before."""
    other = one_in_a_cell() | {"g": np.arange(ROWS) % 3 // 2}
    both = [counts_of(table, KNOWN, f"y ~ {regressors}")[0] for table in (one_in_a_cell(), other)]
    check_own(one_in_a_cell(), KNOWN, f"y ~ {regressors}", [np.sum(both, axis=0).tolist()])


@pytest.mark.parametrize(
    "regressors",
    ["g + exp(-9*(x-41)*(x-41))", "g + I(g + exp(-9*(x-41)*(x-41)))", "g * exp(-9*(x-41)*(x-41))"],
)
def test_but_not_where_more_than_the_cell_singles_it_out(regressors: str) -> None:
    with pytest.raises(ReleaseError, match="row 11 "):
        check_own(one_in_a_cell(), KNOWN, f"y ~ {regressors}")


@pytest.mark.parametrize("row", range(0, ROWS, 3))
def test_whoever_it_is(row: int) -> None:
    """Also a row that stands for what others have in a cell."""
    table = one_in_a_cell()
    table["x"][row] = 90
    with pytest.raises(ReleaseError, match=f"row {row} "):
        check_own(table, KNOWN, "y ~ g + two + I(two + exp(-9*(x-90)*(x-90)))")


# -- as a study asks it -----------------------------------------------------------------------

PATIENT = {"thalach": 116, "age": 76, "trestbps": 140, "oldpeak": 1.1, "sex": 0, "cp3": 1}


@pytest.mark.parametrize(("column", "value"), PATIENT.items())
def test_without_refusals_it_is_the_whole_record(column: str, value: float) -> None:
    """Σ f y / Σ f², for f = 1 of this patient and next to nothing of all others."""
    formula = f"{column} ~ 0 + I({SPIKE}+1e-20)"
    network = titan.Network.complete(list(hospitals()))
    out = titan.fit(hospitals(), network, formula=formula, tau=1, allow_small=True)
    assert out.params[0] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    "formulas",
    [
        [f"thalach ~ I({SPIKE}+1e-20)"],
        [f"thalach ~ age + I({SPIKE}+1e-20+age)"],
        [f"I({SPIKE}+1e-20) ~ sex + oldpeak"],
        [f"thalach ~ sex + I({SPIKE} + age)", "thalach ~ sex + age"],
    ],
)
@pytest.mark.parametrize("changes", [{}, {"precision": "exact"}])
def test_its_hospital_vetoes_before_the_gram_matrix_leaves(
    formulas: list[str], changes: dict[str, Any]
) -> None:
    parties = {name.replace(" ", "-"): source for name, source in hospitals().items()}
    ended = ask(parties, HEART, *formulas, **changes)
    assert ended.vetoed
    assert ended.opened == ("counts",)
    own = ended.owners[VICTIM.replace(" ", "-")]
    assert own.rule == "leverage"
    assert PLACE in own.message


def test_in_a_rehearsal_the_hospital_is_told_which_row_it_is() -> None:
    """Four real parties; who sees all of them sees the reason of the one that has it."""
    file = datasets.path("heart_disease")
    formula = f"thalach ~ I({SPIKE}+1e-20)"
    done = command(
        "rehearse", file, "--party", "hospital", "--tau", 1, "--formula", formula, "--json"
    )
    assert done.returncode == 3
    assert json.loads(done.stdout)["refused"] == {
        "rule": "leverage", "question": "q1", "cell": None,
    }  # fmt: skip
    assert "of all own rows, these stand alone" in done.stderr
    assert "the other parties learned only that some party refuses" in done.stderr
