"""How digits are counted, and that the others are treated fairly: every treatment is undone."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_commands import answer, titan
from titan_lab.experiments import rivals
from titan_lab.experiments.digits import certified_digits, correct_digits, worst_digits
from titan_lab.experiments.nist_report import cut


@pytest.mark.parametrize(
    ("certified", "digits"),
    [("-1467.48961422980", 15), ("0.165289256198347E-01", 15), ("1.00", 3), ("0.000", 3)],
)
def test_certified_digits(certified: str, digits: int) -> None:
    assert certified_digits(certified) == digits


@pytest.mark.parametrize(
    ("found", "certified", "digits"),
    [
        (1.001, "1.00000", 3),
        (1.000009, "1.00000", 6),  # within one unit of the last digit
        (2.5, "1.00000", 0),
        (1e-4, "0.000000", 4),
        (0.0, "0.000000", 6),
        (math.nan, "1.0", 0),
        (math.inf, "1.0", 0),
    ],
)
def test_correct_digits(found: float, certified: str, digits: float) -> None:
    assert correct_digits(found, certified) == pytest.approx(digits, abs=1e-9)


def test_the_worst_counts_and_nothing_is_rounded_up() -> None:
    assert worst_digits([1.0, 1.01], ["1.00000", "1.00000"]) == pytest.approx(2)
    assert [cut(14.99), cut(15.0), cut(None)] == ["14.9", "15", "–"]


@pytest.mark.parametrize("intercept", [True, False])
def test_every_treatment_is_undone(intercept: bool) -> None:
    """On an easy problem all treatments and programs agree with each other."""
    x = np.array([1.0, 2, 3, 5, 8, 9])
    y = np.array([2.0, 3, 7, 4, 1, 6])
    problem = rivals.Problem(x[:, None] ** [1, 2], y, intercept, polynomial=True)
    programs = [
        rivals.lstsq,
        rivals.lstsq_without_cut_off,
        rivals.statsmodels("pinv"),
        rivals.statsmodels("qr"),
        rivals.scikit_learn(),
    ]
    estimates = [e for program in programs for e in rivals.treatments(problem, program)]
    assert len(estimates) == 20
    assert ("shifted" in {e.treatment for e in estimates}) == intercept
    first = estimates[0]
    assert first.bse is not None
    for estimate in estimates:
        assert estimate.params == pytest.approx(first.params, rel=1e-9)
        assert estimate.rsquared == pytest.approx(first.rsquared, rel=1e-9)
        if estimate.bse is not None:
            assert estimate.bse == pytest.approx(first.bse, rel=1e-9)


# -- the command ------------------------------------------------------------------------------


def test_reproduce_nist(tmp_path: Path) -> None:
    out = answer("reproduce", "nist", "--out", tmp_path / "made")
    assert out["every_certified_digit"] is True
    assert out["exact_fits"] == ["Wampler1", "Wampler2"]
    ours = [score for score in out["scores"] if score["program"] == "TITAN"]
    assert len(ours) == 11
    for score in ours:
        assert score["coefficients"] == score["deviations"] == score["rsquared"] == 15
    filip = {
        (s["program"], s["setting"]): s["coefficients"]
        for s in out["scores"]
        if s["dataset"] == "Filip"
    }
    assert filip["numpy lstsq", "default"] < 1
    assert filip["numpy lstsq", "most favourable"] > 7
    text = (tmp_path / "made" / "nist.md").read_text()
    assert "| Filip | 15 | 0.0 / " in text
    with (tmp_path / "made" / "nist.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(out["scores"])
    names = ["nist.csv", "nist.md", "nist.svg", "nist.png"]
    assert [Path(file).name for file in out["files"]] == names


def test_reproduce_nist_says_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("statsmodels", "statsmodels.api", "sklearn", "sklearn.linear_model"):
        monkeypatch.setitem(sys.modules, package, None)
    done = titan("reproduce", "nist")
    assert done.returncode == 0, done.stderr
    assert "left out: statsmodels pinv, statsmodels QR, scikit-learn" in done.stdout
    assert "TITAN has every certified digit of all 11 sets" in done.stdout
