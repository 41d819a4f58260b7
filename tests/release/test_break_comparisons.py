"""Invariant: a comparison in a formula shows no fewer than k patients, and none of two parties.

I(age > 88) is a cell, and is counted as one, wherever it stands: by itself, in an interaction,
inside of a number, in the response. What two questions compare, of one study or of two, is looked
at together by whoever has the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.release.hostile import KNOWN, ask, asked_of, stated, tables
from titan.errors import ReleaseError


def aged(**rows: list[int]) -> list[dict[str, Any]]:
    """Nobody is 65, but for these patients by party."""
    parties = tables()
    for name, table in zip(("north", "east", "south", "west"), parties, strict=True):
        table["age"][table["age"] == 65] = 67
        table["age"][rows.get(name, [])] = 65
    return parties


SINGLED = [
    "y ~ I((age > 64) * (age < 66))",
    "y ~ I((age > 64) & (age < 66))",
    "y ~ I(~((age <= 64) | (age >= 66)))",
    "y ~ I(age == 65)",
    "y ~ I(abs(age - 65) < 1)",
    "y ~ I(2 * age / 130 == 1)",
    "y ~ I(age > 64) + I(age > 65)",
    "y ~ I(age > 64):I(age <= 65)",
    "y ~ I(pressure * (age > 64) * (age < 66))",
    "y ~ I(1 * (age > 64) - 1 * (age > 65))",
    "y ~ pressure + I(pressure + (age == 65))",
    "y ~ log(1 + (age == 65))",
    "y ~ poly(1 * (age == 65), 2, raw=True) - poly(1 * (age == 65), 2, raw=True) + I(age == 65)",
    "I(y * (age == 65)) ~ pressure",
    "I(1 * (age == 65)) ~ pressure",
]


@pytest.mark.parametrize("formula", SINGLED)
def test_one_patient_is_a_cell_of_one(formula: str) -> None:
    """Refused by all, from the counts, before anything else is opened."""
    seen = asked_of(stated(KNOWN, ask("regression", formula=formula)), aged(east=[7]))
    assert isinstance(seen.error, ReleaseError), formula
    assert len(seen.totals) <= 1
    assert seen.error.rule == "cells", seen.error
    assert "age" in str(seen.error.cell)


@pytest.mark.parametrize("formula", ["y ~ I(age == 65)", "y ~ pressure:I(age > 64):I(age < 66)"])
def test_nor_are_many_of_one_party_summed(formula: str) -> None:
    seen = asked_of(stated(KNOWN, ask("regression", formula=formula)), aged(east=[*range(20)]))
    assert isinstance(seen.error, ReleaseError)
    assert len(seen.totals) <= 1
    assert seen.error.rule == "cell_parties", seen.error


ENOUGH = {"north": [*range(9)], "east": [*range(9)], "south": [*range(9)], "west": [*range(9)]}


@pytest.mark.parametrize("formula", [SINGLED[0], SINGLED[6], SINGLED[8], "y ~ I(age > 60)"])
def test_of_enough_patients_in_all_parties_there_is_an_answer(formula: str) -> None:
    seen = asked_of(stated(KNOWN, ask("regression", formula=formula)), aged(**ENOUGH))
    assert seen.error is None, seen.error or seen.refusals
    assert len(seen.totals) == 3


def test_two_questions_whose_difference_is_one_patient_are_refused() -> None:
    questions = [ask("regression", f"q{t}", formula=f"y ~ I(age > {t})") for t in (64, 65)]
    seen = asked_of(stated(KNOWN, *questions), aged(east=[7]))
    assert seen.refusals["east"].rule == "leverage"
    assert len(seen.totals) == 1
    for question in questions:
        assert asked_of(stated(KNOWN, question), aged(east=[7])).error is None


def test_two_studies_whose_difference_is_one_patient_are_refused(tmp_path: Path) -> None:
    first, second = (
        stated(KNOWN, ask("regression", formula=f"y ~ I(age > {t})"), title=f"above {t}")
        for t in (64, 65)
    )
    assert asked_of(first, aged(east=[7]), tmp_path).error is None
    again = asked_of(second, aged(east=[7]), tmp_path)
    assert again.refusals["east"].rule == "leverage"
    assert len(again.totals) == 1


def test_a_smooth_step_beside_the_comparison_does_not_hide_a_spike() -> None:
    """Were rows invented that are above 64 by the comparison and not by the step, it would."""
    step = "1 / (1 + exp(-10 * (age - 64.5)))"
    formula = f"y ~ I(age > 64) + I({step} + exp(-60 * (age - 65) ** 2))"
    study = stated(KNOWN, ask("regression", formula=formula), precision=10)
    seen = asked_of(study, aged(east=[7]))
    assert seen.refusals["east"].rule == "leverage"
    assert "row 7 " in str(seen.refusals["east"])
    assert len(seen.totals) == 1


def test_what_is_counted_is_what_rows_have_on_the_grid() -> None:
    """65.4 is 65 on the grid, so that I(age > 65.2) is false there."""
    parties = aged(**ENOUGH)
    for table in parties:
        table["age"] = np.where(table["age"] == 65, 65.4, table["age"])
    study = stated(KNOWN, ask("regression", "q", formula="y ~ I(age > 65.2)"))
    seen = asked_of(study, parties)
    assert seen.error is None
    true = sum(int((table["age"] > 65.5).sum()) for table in parties)
    column = "I(age > 65.2)[T.True]"
    assert seen.products("q")[column, column] == true
