"""Invariant: what questions of one study, or of two, tell together shows fewer than k patients.

Each was accepted: the two patients of one age by a response that is next to nothing but for them;
one patient by a weight of 0, or by two questions beside a third that leaves that patient out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.release.hostile import KNOWN, SPIKE, ask, asked_of, number, stated, tables
from titan.errors import ReleaseError, VetoError
from titan.study.ledger import Ledger


def of_age(*rows: int) -> list[dict[str, Any]]:
    """In one hospital these patients are 76, and nobody else anywhere."""
    parties = tables()
    parties[1]["age"][list(rows)] = 76
    return parties


@pytest.mark.parametrize(
    "formula",
    [
        f"I(pressure*{SPIKE}) ~ pressure",
        f"y ~ pressure + I({SPIKE})",
        f"I({SPIKE}) ~ pressure",
        f"I(age + {SPIKE}) ~ age + pressure",
    ],
)
def test_two_patients_whom_a_column_singles_out_are_not_summed(formula: str) -> None:
    """Σ and Σ² of two numbers are the two numbers."""
    seen = asked_of(stated(KNOWN, ask("regression", formula=formula)), of_age(3, 9))
    assert isinstance(seen.error, VetoError)
    assert {name: each.rule for name, each in seen.refusals.items()} == {"east": "leverage"}
    assert "row 3 " in str(seen.refusals["east"])
    assert "row 9 " in str(seen.refusals["east"])
    assert len(seen.totals) == 1


def test_three_are_as_many_as_a_cell_needs() -> None:
    study = stated(KNOWN, ask("regression", formula=f"I({SPIKE}) ~ pressure"))
    assert asked_of(study, of_age(3, 9, 21)).error is None


def test_nor_does_a_linear_system_sum_two() -> None:
    """Which counts no cells."""
    parties = tables()
    for table in parties:
        table["flag"][:] = 0
    parties[1]["flag"][[3, 9]] = 1
    asked = ask("solve", columns=("age", "pressure"), response="flag")
    seen = asked_of(stated(KNOWN, asked), parties)
    assert seen.refusals["east"].rule == "leverage"
    assert len(seen.totals) == 1


# -- gaps ---------------------------------------------------------------------------------------


def test_a_question_that_leaves_the_patient_out_does_not_hide_the_other_two() -> None:
    parties = of_age(3)
    for table in parties:
        table["pressure"][:15] = np.nan
    formulas = ["y ~ age", f"y ~ I(age + {SPIKE})", "y ~ pressure"]
    questions = [ask("regression", f"q{at}", formula=each) for at, each in enumerate(formulas)]
    study = stated(KNOWN, *questions, missing="drop")
    seen = asked_of(study, parties)
    assert seen.refusals["east"].rule == "leverage"
    assert len(seen.totals) == 1
    plain = stated(KNOWN, questions[0], questions[2], missing="drop")
    assert asked_of(plain, parties).error is None


# -- weights ------------------------------------------------------------------------------------


def weighing(weight: float, usual: float) -> list[dict[str, Any]]:
    parties = tables()
    for table in parties:
        table["w"] = np.full(60, usual)
    parties[1]["w"][7] = weight
    return parties


@pytest.mark.parametrize(("weight", "usual"), [(0, 1), (60, 50), (0, 50)])
def test_weights_do_not_take_one_patient_out_of_another_question(
    weight: float, usual: float
) -> None:
    columns = KNOWN | {"w": number(0, 100)}
    questions = (
        ask("regression", "a", formula="y ~ age"),
        ask("regression", "b", formula="y ~ age", weights="w"),
    )
    seen = asked_of(stated(columns, *questions), weighing(weight, usual))
    assert isinstance(seen.error, ReleaseError)
    assert len(seen.totals) < 2


def test_nor_out_of_an_earlier_study(tmp_path: Path) -> None:
    parties = tables()
    parties[1]["flag"][7] = 0
    first = stated(KNOWN, ask("regression", formula="y ~ age"))
    second = stated(KNOWN, ask("regression", formula="y ~ age", weights="flag"))
    assert asked_of(first, parties, tmp_path).error is None
    seen = asked_of(second, parties, tmp_path)
    assert "subtracted from an earlier one" in str(seen.refusals["east"])
    assert not seen.totals


@pytest.mark.parametrize("formula", [f"y ~ I(age + {SPIKE})", f"I(y + {SPIKE}) ~ age"])
def test_nor_do_formulas_of_two_studies_show_one_patient(tmp_path: Path, formula: str) -> None:
    parties = of_age(3)
    assert asked_of(stated(KNOWN, ask("regression", formula="y ~ age")), parties, tmp_path).totals
    seen = asked_of(stated(KNOWN, ask("regression", formula=formula)), parties, tmp_path)
    assert seen.error is not None


def test_what_a_party_refused_itself_does_not_count_against_later_studies(tmp_path: Path) -> None:
    """None of its columns has left; whoever refuses later has told A."""
    parties = of_age(3)
    formulas = [f"y ~ age + I({SPIKE})", "y ~ age", "y ~ pressure + age"]
    seen = [
        asked_of(stated(KNOWN, ask("regression", formula=each)), parties, tmp_path)
        for each in formulas
    ]
    assert [each.error is None for each in seen] == [False, True, True]


@pytest.mark.xfail(reason="a linear system counts no cells, as agreed", strict=True)
def test_nor_does_a_linear_system_sum_what_one_party_alone_has() -> None:
    """Which a regression on the same columns refuses."""
    parties = tables()
    for at, table in enumerate(parties):
        table["flag"][:] = at == 1
    asked = ask("solve", columns=("flag", "age"), response="y")
    assert asked_of(stated(KNOWN, asked), parties).error is not None


def test_vetoes_are_counted_however_a_question_is_put(tmp_path: Path) -> None:
    """Else four studies with other ranges tell who is the oldest, one bit at a time."""
    parties = tables()
    formulas = [
        "y ~ age + pressure",
        "y ~ pressure + age",
        "age ~ y + pressure",
        "pressure ~ age + y",
    ]
    for at, formula in enumerate(formulas):
        study = stated(KNOWN, ask("regression", formula=formula), title=f"study {at}")
        seen = asked_of(study, parties, tmp_path)
        if at < 3:
            assert seen.error is None
            with Ledger.open(tmp_path / "north.ledger") as ledger:
                ledger.mark_vetoed(study.digest, 1)
        elif at == 3:
            assert "is not asked again" in str(seen.refusals["north"])
