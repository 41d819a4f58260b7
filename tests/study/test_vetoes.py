"""Invariant: vetoes are counted by what is read of the rows; no way to put a question starts anew.

Three of the same columns, nine of any one column: after that nobody is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import titan
from tests.study.test_ledger import ROWS, entry
from titan.errors import FileError, ReleaseError
from titan.study.ledger import Ledger
from titan.study.vetoes import Vetoes


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "ledger") as opened:
        yield opened


def vetoed(ledger: Ledger, run: int, columns: Sequence[str], rows: Sequence[bytes] = ROWS) -> str:
    """One more, on these columns; what is said of it."""
    asked = entry(ledger, rows, columns, run=run, model=f"question {run}")
    found = ledger.record([asked], allow_differencing=True)
    ledger.mark_vetoed("ab" * 32, run)
    return str(found)


def test_every_one_says_which_it_was(ledger: Ledger) -> None:
    said = [vetoed(ledger, run, ["age", "y"]) for run in (1, 2, 3)]
    assert said == [f"veto {n} of 3 on these rows" for n in (1, 2, 3)]
    assert vetoed(ledger, 4, ["age", "sex"]) == (
        "veto 1 of 3 on these rows, and 4 of 9 for questions on age"
    )


def test_other_words_for_the_same_columns_are_the_same_question(ledger: Ledger) -> None:
    for run in (1, 2, 3):
        vetoed(ledger, run, ["age", "y", "sex"])
    with pytest.raises(ReleaseError, match="stopped by a veto 3 times on these rows") as refused:
        ledger.record([entry(ledger, columns=["sex", "age", "y"], run=4, model="in other words")])
    assert refused.value.refused() == {"rule": "vetoes", "question": "q1", "cell": None}


@pytest.mark.parametrize("how", ["more columns", "fewer columns", "other columns", "gaps"])
def test_one_column_is_in_nine_of_them_and_no_more(ledger: Ledger, how: str) -> None:
    """What an attacker would try next: each time a set of columns, or of rows, that is new."""
    all_of_them = [f"x{at}" for at in range(12)]
    for run in range(1, 11):
        columns, rows = {
            "more columns": (["age", *all_of_them[:run]], ROWS),
            "fewer columns": (["age", *all_of_them[run:]], ROWS),
            "other columns": (["age", all_of_them[run]], ROWS),
            "gaps": (["age", "y"], ROWS[: 100 - 5 * run]),
        }[how]
        if run < 10:
            vetoed(ledger, run, columns, rows)
            continue
        with pytest.raises(ReleaseError, match=r"questions that read 'age'.* 9 times") as refused:
            vetoed(ledger, run, columns, rows)
        assert refused.value.rule == "vetoes"
        assert refused.value.cell.split(", ")[0] == "age"
        vetoed(ledger, run, [f"other{at}" for at in range(3)])


def test_who_mends_questions_in_earnest_is_not_locked_out(ledger: Ledger) -> None:
    """Another set of columns for the same outcome has its own three tries."""
    for run, columns in enumerate([["y", "age"]] * 3 + [["y", "sex"]] * 3, 1):
        vetoed(ledger, run, columns)
    ledger.record([entry(ledger, columns=["y", "pressure"], run=7)])


def test_other_rows_are_counted_anew(ledger: Ledger) -> None:
    """Those of the next year; or the same where levels were merged in the file."""
    for run in range(1, 10):
        vetoed(ledger, run, ["y", f"x{run}"])
    others = [b"of next year, " + row for row in ROWS]
    assert vetoed(ledger, 10, ["y", "x1"], others) == "veto 1 of 3 on these rows"


def test_several_questions_are_told_apart() -> None:
    assert str(Vetoes({"main": 1, "other": 0})) == (
        "veto 2 of 3 for main and 1 of 3 for other on these rows"
    )
    assert str(Vetoes({"main": 1, "other": 1})) == "veto 2 of 3 on these rows"


def test_rows_that_cannot_be_used_are_counted_by_columns_too(ledger: Ledger) -> None:
    """Another set of columns each time finds the largest age no further."""
    for run in range(1, 10):
        found = ledger.record_refusal("ab" * 32, run, {"q1": ("words", ["age", f"x{run % 4}"])})
        assert found.columns["age"] == run - 1
    again = ledger.record_refusal("ab" * 32, 9, {"q1": ("words", ["age", "x1"])})
    assert again.columns["age"] == 8, "the same run, after a crash"
    with pytest.raises(ReleaseError, match=r"questions that read 'age'.* 9 times"):
        ledger.record_refusal("ab" * 32, 10, {"q1": ("words", ["age", "x9"])})
    with pytest.raises(ReleaseError, match="stopped by a veto 3 times") as refused:
        ledger.record_refusal("ab" * 32, 10, {"q1": ("in other words", ["x1", "age"])})
    assert "correct the rows" in refused.value.hint
    assert "count these vetoes as well" in refused.value.hint
    assert "the same command takes part" not in refused.value.hint, "theirs would refuse it"
    assert ledger.refused("ab" * 32, 9)
    assert not ledger.refused("ab" * 32, 10)


def test_an_empty_file_is_not_a_new_ledger(tmp_path: Path) -> None:
    """What it knew is lost; taken for a new one, it would let everything through."""
    place = tmp_path / "north.ledger"
    place.touch(mode=0o600)
    for opened in (Ledger.open, Ledger.key_for):
        with pytest.raises(FileError, match="is empty: what it knew of earlier studies is lost"):
            opened(place)
    assert place.stat().st_size == 0
    done = titan("ledger", "show", cwd=tmp_path)
    assert done.returncode == 1
    assert "delete the file" in done.stderr
