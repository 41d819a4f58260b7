"""Two studies whose difference exposes a party or a few rows: the second is refused."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.study.digests import row_digests
from titan.errors import FileError, InputError
from titan.study.ledger import Conflict, Entry, Ledger
from titan.study.row_digests import RowDigests

ROWS = [b"row %d" % i for i in range(100)]
EVERYONE = ("north", "east", "south", "west", "centre")


def fingerprints(names: Sequence[str]) -> dict[str, str]:
    return {name: f"certificate of {name}" for name in names}


def entry(ledger: Ledger, rows: Sequence[bytes] = ROWS, **changed: Any) -> Entry:
    values: dict[str, Any] = {
        "study": "ab" * 32,
        "title": "Heart",
        "run": 1,
        "parties": fingerprints(EVERYONE),
        "tau": 1,
        "minimum": 5,
        "columns": frozenset({"age", "sex"}),
        "model": "thalach ~ age + sex",
        "rows": {"record": row_digests(rows, ledger.row_key)},
    }
    return Entry(**(values | changed))


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "ledger") as opened:
        yield opened


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """A ledger that has one study in it."""
    ledger.record(entry(ledger))
    return ledger


def reasons(ledger: Ledger, other: Entry) -> list[str]:
    return [conflict.reason for conflict in ledger.check(other)]


# -- what is allowed --------------------------------------------------------------------------


def test_the_same_again_is_no_difference(used: Ledger) -> None:
    for run in (1, 2):
        used.record(entry(used, run=run))
    used.record(entry(used, study="cd" * 32, model="thalach ~ age"))
    used.record(entry(used, rows=ROWS[::-1], study="ef" * 32))


def test_a_run_is_written_down_once_with_its_rows_stored_once(used: Ledger) -> None:
    for run in (1, 1, 2):
        used.record(entry(used, run=run))
    assert used._one("SELECT count(*) FROM entries") == (2,)
    assert used._one("SELECT count(*) FROM row_sets") == (1,)


def test_other_columns_cannot_be_subtracted(used: Ledger) -> None:
    other = entry(used, rows=ROWS[1:], columns=frozenset({"height"}))
    assert used.check(other) == []
    assert reasons(used, entry(used, rows=ROWS[1:], columns=frozenset({"height", "sex"})))


# -- parties ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tau", "parties", "differing"),
    [
        (1, EVERYONE[:4], ["centre"]),
        (1, EVERYONE[:3], ["centre", "west"]),
        (1, EVERYONE[:2], []),
        (2, EVERYONE[:2], ["centre", "south", "west"]),
        (1, (*EVERYONE[:4], "new"), ["centre", "new"]),
        (0, (*EVERYONE, "new"), ["new"]),
        (1, (*EVERYONE, "new", "newer", "newest"), []),
    ],
)
def test_one_to_tau_plus_one_parties_make_a_difference(
    ledger: Ledger, tau: int, parties: tuple[str, ...], differing: list[str]
) -> None:
    ledger.record(entry(ledger, tau=0))
    other = entry(ledger, study="cd" * 32, tau=tau, parties=fingerprints(parties))
    assert [list(c.parties) for c in ledger.check(other)] == ([differing] if differing else [])


def test_the_larger_tau_of_the_two_counts(ledger: Ledger) -> None:
    ledger.record(entry(ledger, tau=2))
    fewer = fingerprints(EVERYONE[:2])
    (conflict,) = ledger.check(entry(ledger, tau=0, parties=fewer))
    assert conflict.parties == ("centre", "south", "west")


def test_new_names_and_new_certificates_hide_no_difference(used: Ledger) -> None:
    renamed = {f"{name} ltd": its for name, its in fingerprints(EVERYONE[:2]).items()}
    renewed = {name: f"{its}, renewed" for name, its in fingerprints(EVERYONE[2:4]).items()}
    (conflict,) = used.check(entry(used, parties=renamed | renewed))
    assert conflict.parties == ("centre",)
    assert used.check(entry(used, parties=renamed | renewed | fingerprints(["centre"]))) == []


# -- rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "refused"),
    [
        (ROWS[1:], True),
        (ROWS[4:], True),
        (ROWS[5:], False),
        ([*ROWS, b"new"], True),
        ([*ROWS, ROWS[0]], True),
        ([*ROWS[4:], b"1", b"2", b"3", b"4"], True),
        ([*ROWS[5:], b"1", b"2", b"3", b"4", b"5"], False),
        ([*ROWS[1:], *(b"%d" % i for i in range(50))], False),
        ([], False),
    ],
)
def test_fewer_rows_than_the_minimum_make_a_difference(
    used: Ledger, rows: list[bytes], refused: bool
) -> None:
    assert reasons(used, entry(used, rows=rows)) == (["rows"] if refused else [])


def test_the_larger_minimum_counts_and_every_earlier_study(used: Ledger) -> None:
    assert reasons(used, entry(used, rows=ROWS[10:], minimum=11)) == ["rows"]
    assert reasons(used, entry(used, rows=ROWS[4:], minimum=2)) == ["rows"]
    used.record(entry(used, rows=ROWS[10:], study="cd" * 32, title="Lungs"))
    conflicts = used.check(entry(used, rows=ROWS[9:], study="ef" * 32))
    assert [(c.title, c.reason) for c in conflicts] == [("Lungs", "rows")]


def test_any_view_of_the_rows_may_tell(ledger: Ledger) -> None:
    """The file's unused columns were edited, and one row left out."""
    view = "columns age, sex"
    ledger.record(_two(ledger, view, ROWS, ROWS))
    edited = [row + b", edited" for row in ROWS[1:]]
    assert reasons(ledger, _two(ledger, view, edited, ROWS[1:])) == ["rows"]
    assert reasons(ledger, _two(ledger, view, edited, ROWS)) == []
    assert reasons(ledger, _two(ledger, "columns age", ROWS[1:], edited)) == ["rows"]


def _two(ledger: Ledger, view: str, records: list[bytes], columns: list[bytes]) -> Entry:
    key = ledger.row_key
    rows = {"record": row_digests(records, key), view: row_digests(columns, key)}
    return replace(entry(ledger), rows=rows)


@given(
    st.lists(st.integers(0, 12), max_size=30),
    st.lists(st.integers(0, 12), max_size=30),
)
def test_change_is_that_of_multisets(a: list[int], b: list[int]) -> None:
    def of(numbers: list[int]) -> RowDigests:
        return row_digests((b"%d" % n for n in numbers), b"key")

    left, right = Counter(a) - Counter(b), Counter(b) - Counter(a)
    assert of(a).change(of(b)) == max(left.total(), right.total())
    assert RowDigests.decode(of(a).encode()).change(of(a)) == 0


# -- refusing and recording -------------------------------------------------------------------


def test_a_refusal_names_studies_and_parties_and_no_rows(used: Ledger) -> None:
    other = entry(used, rows=ROWS[3:], study="cd" * 32, parties=fingerprints(EVERYONE[:4]))
    with pytest.raises(InputError) as refused:
        used.record(other)
    text = str(refused.value)
    assert "'Heart' (abababababab, run 1)" in text
    assert "only by centre" in text
    assert "only a few of this party's rows differ" in text
    assert "97" not in text
    assert "3" not in text
    assert used._one("SELECT count(*) FROM entries") == (1,), "what is refused leaves no trace"


def test_told_in_so_many_words_it_is_recorded_and_counts_later(used: Ledger) -> None:
    used.record(entry(used, rows=ROWS[3:], study="cd" * 32), allow_differencing=True)
    assert used._all("SELECT allowed FROM entries") == [(0,), (1,)]
    conflicts = used.check(entry(used, rows=ROWS[2:], study="ef" * 32))
    assert [c.study[:2] for c in conflicts] == ["ab", "cd"]


def test_an_aborted_run_counts(tmp_path: Path) -> None:
    """Recorded, then nothing more: the process may die at once."""
    with Ledger.open(tmp_path / "l") as ledger:
        ledger.record(entry(ledger))
    with Ledger.open(tmp_path / "l") as ledger:
        assert reasons(ledger, entry(ledger, rows=ROWS[1:])) == ["rows"]


def test_two_processes_take_turns(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l") as one, Ledger.open(tmp_path / "l") as two:
        one.record(entry(one))
        assert reasons(two, entry(two, rows=ROWS[1:])) == ["rows"]


def test_nobody_can_write_between_the_check_and_the_entry(
    used: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    def check(ledger: Ledger, _: Entry) -> list[Conflict]:
        with sqlite3.connect(ledger.path, timeout=0) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            checked.append(True)
        other.close()
        return []

    monkeypatch.setattr(Ledger, "check", check)
    used.record(entry(used, run=2))
    assert checked


def test_the_ledger_holds_no_rows_and_is_for_its_owner(tmp_path: Path) -> None:
    import hashlib

    path = tmp_path / "l"
    rows = [b"patient %d, 53, f" % i for i in random.Random(1).sample(range(10**9), 50)]
    with Ledger.open(path) as ledger:
        ledger.record(entry(ledger, rows=rows))
    data = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(row in data or hashlib.sha256(row).digest()[:8] in data for row in rows)
    with Ledger.open(tmp_path / "other") as other, Ledger.open(path) as ledger:
        here, there = (row_digests(rows, it.row_key) for it in (ledger, other))
        assert here.change(there) == 50, "keys differ"
        assert "53" not in repr(there)


def test_a_journal_is_no_ledger(tmp_path: Path) -> None:
    from titan.study.journal import Journal

    Journal.open(tmp_path / "j").close()
    with pytest.raises(FileError, match=r'the ledger ".*j" cannot be used: it is something else'):
        Ledger.open(tmp_path / "j")


def test_a_key_for_a_ledger_that_is_not_there_makes_no_file(tmp_path: Path) -> None:
    key = Ledger.key_for(tmp_path / "l")
    assert not (tmp_path / "l").exists()
    with Ledger.open(tmp_path / "l", key) as ledger:
        assert ledger.row_key == key
    assert Ledger.key_for(tmp_path / "l") == key != Ledger.key_for(tmp_path / "other")


def test_digests_under_the_key_of_another_ledger_are_not_taken(tmp_path: Path) -> None:
    """Somebody made the ledger while rows were read for it: theirs would all be other rows."""
    key = Ledger.key_for(tmp_path / "l")
    Ledger.open(tmp_path / "l").close()
    with pytest.raises(FileError, match="made by another process just now") as caught:
        Ledger.open(tmp_path / "l", key)
    assert "the same command again" in caught.value.hint


def test_a_ledger_with_digests_of_an_earlier_kind_is_refused(tmp_path: Path) -> None:
    """All its rows would seem to be others than today's, and nothing would be refused."""
    Ledger.open(tmp_path / "l").close()
    with sqlite3.connect(tmp_path / "l") as old:
        old.execute(f"PRAGMA application_id = {0x54_4C_00_01}")
    old.close()
    with pytest.raises(FileError, match="of another version"):
        Ledger.open(tmp_path / "l")
