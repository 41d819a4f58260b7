"""Invariant: however many ranks there are, every computation ends as it does in one process.

And whoever fails before the first sum does not leave the other ranks waiting. `make cluster`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.ranks import ROOT, cases, launcher, mpiexec
from tests.cluster.test_mpi import ADDED, SAME

COMPUTATIONS = {
    "average", "solve", "solver", "fit", "HC0", "HC3", "cluster", "ridge", "logistic", "poisson",
    "describe", "survival", "cox", "meeting",
}  # fmt: skip
SIMULATE = ("-m", "titan.engines.mpi")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_computation(tmp_path: Path, count: int) -> None:
    for rank in cases(tmp_path, count, "everything"):
        assert rank["everything"].pop("differ") is False, "a comparison that cannot fail"
        assert rank["everything"] == dict.fromkeys(COMPUTATIONS, True)


@pytest.mark.parametrize("count", [1, 3, 5])
def test_any_number_of_ranks(tmp_path: Path, count: int) -> None:
    """Also more than there are parties: some have none."""
    for rank in cases(tmp_path, count, "recoveries", "few_parties", "data_error", "veto"):
        assert rank["recoveries"] == {"found": [SAME] * 4}
        assert rank["few_parties"] == {"value": 2.5, "messages": 4, "counted": 2}
        assert rank["data_error"]["text"] == "no column y (name one)"
        assert rank["veto"]["kind"] == "VetoError"
        assert rank["veto"]["next"] == ADDED


def test_who_fails_before_the_first_sum_ends_all() -> None:
    """The other rank is in the sum already, and would wait for ever."""
    done = mpiexec(2, "-m", "tests.cluster.mpi_cases", "fail_alone")
    assert done.returncode != 0
    assert done.stderr.count("InputError: rows.csv cannot be read") == 1


def test_ten_thousand_agents() -> None:
    """The command line of its own compares the sum and the costs itself; one rank prints."""
    done = mpiexec(2, *SIMULATE, "--parties", "10000", "--entries", "4", "--network", "kautz")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["ranks"], told["parties"]) == (2, 10_000)
    assert told["average"] == [5000.5, 10001.0, 15001.5, 20002.0]


def test_the_command_line_refuses_in_words() -> None:
    done = mpiexec(2, *SIMULATE, "--parties", "5", "--tau", "4")
    assert done.returncode == 1
    assert "titan: error: τ = 4 of 5 parties" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_rank_is_told_how_to_have_more() -> None:
    command = [sys.executable, *SIMULATE, "--parties", "5"]
    launcher()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["ranks"] == 1
    assert done.stderr.startswith("titan: one rank only; ")


def test_a_launcher_of_another_mpi() -> None:
    """Four processes that do not know of each other would each do everything."""
    launcher()
    done = subprocess.run(
        [sys.executable, *SIMULATE, "--parties", "5"],
        cwd=ROOT,
        env={**os.environ, "OMPI_COMM_WORLD_SIZE": "4"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "4 processes were started, and each of them is alone" in done.stderr
    assert done.stdout == ""


def test_titan_commands_answer_once(tmp_path: Path) -> None:
    for name, number in (("north", 12.5), ("east", 7), ("south", 9.25)):
        (tmp_path / f"{name}.txt").write_text(f"{number}\n", encoding="utf-8")
    files = [str(file) for file in sorted(tmp_path.glob("*.txt"))]
    done = mpiexec(2, "-m", "titan", "average", *files, "--engine", "mpi", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["total"] == 28.75
