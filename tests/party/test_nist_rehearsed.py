"""NIST's regressions through `titan rehearse --precision exact --allow-small`: every digit.

One as real processes. All of them as the same command makes the study, with its parties in this
process instead: the dictionary made up from the rows, the study's own sums.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import answer, titan
from tests.fitting.test_fit import formula_of
from tests.leastsquares.test_nist import EXACT_FITS, SETS, assert_agrees, assert_certified
from titan.joint.equations import Given
from titan.joint.together import together
from titan.leastsquares import Regression
from titan.moments import Model, open_source
from titan.party.rehearsal import without_minima
from titan.study import Study
from titan_lab import datasets

NAMES = ("north", "east", "south")


def words(name: str, folder: Path) -> list[object]:
    """One file of three parties' rows, and the command that rehearses its model."""
    certified = datasets.nist(name)
    with certified.path.open() as file:
        header, *rows = csv.reader(file)
    with (folder / "rows.csv").open("w") as file:
        csv.writer(file).writerows(
            [["site", *header], *([NAMES[at % 3], *row] for at, row in enumerate(rows))]
        )
    formula = formula_of(certified.facts["model"], [key for key in header if key != "y"])
    asked = ["--party", "site", "--formula", formula]
    return ["rehearse", "rows.csv", *asked, "--precision", "exact", "--allow-small"]


@pytest.mark.parametrize("name", ["Filip"])
def test_as_processes(name: str, tmp_path: Path) -> None:
    typed = words(name, tmp_path)
    found = answer(*typed, cwd=tmp_path)
    certified = datasets.nist(name).facts["certified"]
    assert set(found["parties"]) == set(NAMES)
    names = Model(str(typed[typed.index("--formula") + 1])).names[:-1]
    for column, parameter in zip(names, certified["parameters"], strict=True):
        assert_agrees(found["params"][column], parameter["estimate"])
        assert_agrees(found["bse"][column], parameter["sd"])
    assert_agrees(found["rsquared"], certified["r_squared"])


@pytest.mark.parametrize("name", SETS)
def test_every_set_by_the_sums_of_its_study(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[Regression] = []

    class OverError(Exception):
        """What is computed is known, and the processes are not needed."""

    def in_this_process(study: Study, data: Any, *, allow_small: bool, **others: Any) -> None:
        assert allow_small
        it = without_minima(study)
        assert it.precision == "exact"
        ((_, computation),) = it.meeting.computations
        assert isinstance(computation.equations, Given)  # type: ignore[attr-defined]
        parts = [it.meeting.prepare(open_source(data[name])) for name in it.network.parties]
        (state,) = together(it.meeting, parts, it.settings).answer
        assert state.error is None
        fits.append(state.answer)
        raise OverError

    monkeypatch.setattr("titan.party.rehearsal.rehearse", in_this_process)
    with pytest.raises(OverError):
        titan(*words(name, tmp_path), cwd=tmp_path)
    (fit,), certified = fits, datasets.nist(name).facts["certified"]
    assert_certified(fit, certified)
    assert fit.exact_fit is (name in EXACT_FITS)
