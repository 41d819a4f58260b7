"""`titan join` on a run that is over: its answer for its rows, and for no others."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest

from tests.party.loopback import NAMES, Gathering, answers_agree, rows, run
from titan.errors import InputError
from titan.party import run_to_answer
from titan.party.engine import Engine


@pytest.fixture
def over(tmp_path: Path) -> Gathering:
    g = Gathering(tmp_path)
    run(g.all())
    g.shown.clear()
    return g


def again(g: Gathering) -> Any:
    """North joins again, and soon sees that nobody comes who misses something."""
    with patch.object(run_to_answer, "_GRACE", 0.2):
        return run(g.join("north"))


def without_an_engine(g: Gathering) -> Any:
    """North joins again, and nothing is dialled."""
    with patch.object(Engine, "__init__", side_effect=AssertionError):
        return run(g.join("north"))


def test_the_same_rows_have_the_answer_again(over: Gathering) -> None:
    outcome = again(over)
    assert over.shown["north"].to_dict()["nobs"] == 36
    assert outcome.results is over.shown["north"]
    assert set(over.told["north"]) <= {"east: nobody answers there yet"}


def test_so_have_the_same_rows_in_another_file(over: Gathering) -> None:
    """In another order, and with a column that the model does not read."""
    header, *lines = rows("north").splitlines()
    over.write("north", "\n".join([f"{header},note", *(f"{line},x" for line in lines[::-1])]))
    again(over)
    assert "north" in over.shown


@pytest.mark.parametrize(
    "text",
    [rows("south"), rows("north") + "1,2,3\n", rows("north", 3), "x,z,y\n1,2,much\n"],
    ids=["others", "one more", "too few", "unreadable"],
)
def test_other_rows_are_told_that_the_run_is_over(over: Gathering, text: str) -> None:
    over.write("north", text)
    with pytest.raises(InputError) as refused:
        without_an_engine(over)
    assert refused.value.message == "run 1 of this study is over, and its rows were different ones"
    assert "agree with the others on run 2 (--run 2) to ask again" in refused.value.hint
    assert not over.shown


def test_then_the_next_run_asks_again(over: Gathering) -> None:
    """Of ten rows more at every party, so that no difference shows a few."""
    for name in NAMES:
        over.write(name, rows(name, 24))
    run(over.all(run=2))
    answers_agree(over)
    assert over.shown["north"].to_dict()["nobs"] == 72


def test_a_run_that_stopped_is_over_too(tmp_path: Path) -> None:
    """Who finds more rows after "too few rows" must not be told the same again."""
    g = Gathering(tmp_path, changes={"min_rows_total": 40})
    run(g.errors())
    g.write("north", rows("north", 24))
    with pytest.raises(InputError, match="run 1 of this study is over"):
        without_an_engine(g)


def test_a_ledger_that_does_not_know_the_run_is_no_judge(over: Gathering) -> None:
    (over.folder / "north.ledger").unlink()
    over.write("north", rows("south"))
    again(over)
    assert "north" in over.shown
    assert "the ledger does not know this run" in over.told["north"][0]
    assert not (over.folder / "north.ledger").exists()


def test_a_name_that_cannot_be_looked_up_keeps_no_answer_back(over: Gathering) -> None:
    """It is looked up once: each time may take many seconds."""
    failing = Mock(side_effect=socket.gaierror(-3, "Temporary failure in name resolution"))
    with patch.object(socket, "getaddrinfo", failing):
        run(over.join("north"))
    assert "north" in over.shown
    assert failing.call_count <= 2
