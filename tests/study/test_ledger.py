"""Two studies whose difference exposes a party or a few rows: the second is refused."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.study.digests import QUESTION, digests, own_rows
from titan.errors import DamagedError, FileError, InputError, ReleaseError
from titan.study.differencing import Conflict, LedgerQuestion, refusal_of
from titan.study.digest_order import Alike, Stretch
from titan.study.ledger import Ledger
from titan.study.row_classes import Class, Span, compare, exposed_parties, exposed_rows
from titan.study.row_digests import OwnRows

ROWS = [b"row %d" % i for i in range(100)]
EVERYONE = ("north", "east", "south", "west", "centre")


def fingerprints(names: Sequence[str]) -> dict[str, str]:
    return {name: f"certificate of {name}" for name in names}


def entry(
    ledger: Ledger,
    rows: Sequence[bytes] = ROWS,
    columns: Sequence[str] = ("age", "sex"),
    **but: Any,
) -> LedgerQuestion:
    values: dict[str, Any] = {
        "study": "ab" * 32,
        "title": "Heart",
        "run": 1,
        "parties": fingerprints(EVERYONE),
        "tau": 1,
        "question": QUESTION,
        "model": "thalach ~ age + sex",
        "minimum": 5,
        "columns": {name: {} for name in columns},
    }
    own = but.pop("own", None) or own_rows(rows, ledger.row_key, columns)
    return LedgerQuestion(**(values | but), own=own)


def test_of_many_runs_of_one_study_the_first_are_named(ledger: Ledger) -> None:
    """Twenty-five times the same sentence would hide what to do."""
    found = [Conflict("ab" * 32, "Heart", run, "rows") for run in range(1, 26)]
    said = refusal_of(entry(ledger), found).message
    assert said.count("only a few of this party's rows") == 3
    assert said.endswith("run 3); and so for 22 more")
    assert refusal_of(entry(ledger), found[:3]).message.endswith("run 3)")


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """A ledger that has one study in it."""
    ledger.record([entry(ledger)])
    return ledger


def reasons(ledger: Ledger, other: LedgerQuestion) -> list[str]:
    return [conflict.reason for conflict in ledger.check([other])]


# -- what is allowed --------------------------------------------------------------------------


def test_the_same_again_is_no_difference(used: Ledger) -> None:
    for run in (1, 2):
        used.record([entry(used, run=run)])
    used.record([entry(used, study="cd" * 32, model="thalach ~ age")])
    used.record([entry(used, rows=ROWS[::-1], study="ef" * 32)])


def test_a_run_is_written_down_once_with_its_rows_stored_once(used: Ledger) -> None:
    for run in (1, 1, 2):
        used.record([entry(used, run=run)])
    assert used._one("SELECT count(*) FROM entries") == (2,)
    assert used._one("SELECT count(*) FROM row_sets") == (1,)


def test_other_columns_cannot_be_subtracted(used: Ledger) -> None:
    other = entry(used, rows=ROWS[1:], columns=["height"])
    assert used.check([other]) == []
    assert reasons(used, entry(used, rows=ROWS[1:], columns=["height", "sex"]))


# -- parties ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tau", "parties", "differing"),
    [
        (1, EVERYONE[:4], ["centre"]),
        (1, EVERYONE[:3], ["centre", "west"]),
        (1, EVERYONE[:2], ["east", "north"]),  # two are left, and one of them may collude
        (2, EVERYONE[:2], ["centre", "south", "west"]),
        (1, (*EVERYONE[:4], "new"), ["centre", "new"]),
        (0, (*EVERYONE, "new"), ["new"]),
        (1, (*EVERYONE, "new", "newer", "newest"), []),
        (1, (*EVERYONE[:4], "new", "newer"), ["centre", "new", "newer"]),  # each class is small
        (1, ("north", "a", "b", "c"), []),  # who is in both is hidden by either of the others
    ],
)
def test_one_to_tau_plus_one_parties_make_a_difference(
    ledger: Ledger, tau: int, parties: tuple[str, ...], differing: list[str]
) -> None:
    ledger.record([entry(ledger, tau=0)])
    other = entry(ledger, study="cd" * 32, tau=tau, parties=fingerprints(parties))
    assert [list(c.parties) for c in ledger.check([other])] == ([differing] if differing else [])


def test_the_larger_tau_of_the_two_counts(ledger: Ledger) -> None:
    ledger.record([entry(ledger, tau=2)])
    fewer = fingerprints(EVERYONE[:2])
    (conflict,) = ledger.check([entry(ledger, tau=0, parties=fewer)])
    assert conflict.parties == ("centre", "south", "west")


def test_new_names_and_new_certificates_hide_no_difference(used: Ledger) -> None:
    renamed = {f"{name} ltd": its for name, its in fingerprints(EVERYONE[:2]).items()}
    renewed = {name: f"{its}, renewed" for name, its in fingerprints(EVERYONE[2:4]).items()}
    (conflict,) = used.check([entry(used, parties=renamed | renewed)])
    assert conflict.parties == ("centre",)
    assert used.check([entry(used, parties=renamed | renewed | fingerprints(["centre"]))]) == []


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
        ([*ROWS[1:], *(b"%d" % i for i in range(50))], True),  # the one that went is a class
        ([*ROWS[:3], *(b"%d" % i for i in range(50))], False),  # in both: in no difference
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
    used.record([entry(used, rows=ROWS[10:], study="cd" * 32, title="Lungs")])
    conflicts = used.check([entry(used, rows=ROWS[9:], study="ef" * 32)])
    assert [(c.title, c.reason) for c in conflicts] == [("Lungs", "rows")]


def test_files_may_have_other_columns_besides(ledger: Ledger) -> None:
    ledger.record([entry(ledger)])
    for columns in (["age", "sex", "note"], ["sex", "id", "age"]):
        own = own_rows(ROWS[1:], ledger.row_key, columns)
        assert reasons(ledger, entry(ledger, own=own, study="cd" * 32)) == ["rows"]
        own = own_rows(ROWS, ledger.row_key, columns)
        assert reasons(ledger, entry(ledger, own=own, study="cd" * 32)) == []


def renamed(own: OwnRows, **names: str) -> OwnRows:
    (piece,) = own.pieces
    cells = {names.get(name, name): its for name, its in piece.cells.items()}
    return replace(own, pieces=[replace(piece, cells=cells)])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (["age", "sex", "y"], ["age", "y", "bmi"]),  # sex is not even in the file
        (["age", "sex", "y"], ["y"]),
        (["y"], ["age", "y"]),
    ],
)
@pytest.mark.parametrize("names", [{}, {"y": "outcome", "age": "years"}])
def test_other_models_on_the_same_people(
    ledger: Ledger, before: list[str], now: list[str], names: dict[str, str]
) -> None:
    """One fewer is seen by the columns in common, whatever these are called."""
    ledger.record([entry(ledger, columns=before)])

    def again(rows: list[bytes]) -> list[str]:
        own = renamed(own_rows(rows, ledger.row_key, now), **names)
        columns = [names.get(name, name) for name in now]
        return reasons(ledger, entry(ledger, columns=columns, own=own, study="cd" * 32))

    assert again(ROWS) == []
    assert again(ROWS[1:]) == ["rows"]
    assert again(ROWS[5:]) == []
    assert again([b"other" + row for row in ROWS]) == []


def test_a_party_that_left_is_seen_under_other_names_of_columns(used: Ledger) -> None:
    for names in ({}, {"age": "years", "sex": "gender"}):
        own = renamed(own_rows(ROWS, used.row_key, ["age", "sex"]), **names)
        fewer = fingerprints(EVERYONE[:4])
        other = entry(used, columns=own.columns, own=own, study="cd" * 32, parties=fewer)
        assert [c.parties for c in used.check([other])] == [("centre",)]


def test_three_studies_together(ledger: Ledger) -> None:
    """Each two differ by many; the sums of two less that of the third show one row."""
    base, one, two = ROWS[:50], ROWS[50:70], ROWS[70:90]
    ledger.record([entry(ledger, rows=[*base, *one, ROWS[99]], study="ab" * 32)])
    ledger.record([entry(ledger, rows=[*base, *two], study="cd" * 32)])
    third = entry(ledger, rows=[*base, *one, *two], study="ef" * 32)
    assert [c.study[:2] for c in ledger.check([third])] == ["ab"]


def test_questions_of_one_study_are_compared_at_once(ledger: Ledger) -> None:
    def asked(gaps: int, *columns: str) -> list[LedgerQuestion]:
        used = {"q1": np.ones(100, bool), "q2": np.arange(100) >= gaps}
        own = own_rows(ROWS, ledger.row_key, ["age", "bmi"], used)
        first = entry(ledger, columns=["age"], own=own)
        return [first, entry(ledger, columns=columns, own=own, question="q2", model="other")]

    for gaps, columns, refused in (
        (1, ("age", "bmi"), True),
        (5, ("age", "bmi"), False),
        (0, ("age", "bmi"), False),
        (1, ("bmi",), False),  # nothing in common
    ):
        assert bool(ledger.check(asked(gaps, *columns))) is refused
    with pytest.raises(ReleaseError, match="two questions of this study use rows"):
        ledger.record(asked(1, "age", "bmi"))


def test_people_who_agree_by_chance_are_others(ledger: Ledger) -> None:
    """Of two years' patients a few are alike in all columns; so are some within one year."""
    rng = random.Random(3)

    def year(count: int) -> list[bytes]:
        return [b"%d" % rng.randrange(5000) for _ in range(count)]

    for at in range(4):
        ledger.record([entry(ledger, rows=year(300), study=f"{at:064}", columns=["age"])])
    rows = year(300)
    ledger.record([entry(ledger, rows=rows, study="cd" * 32, columns=["age"])])
    fewer = entry(ledger, rows=rows[1:], study="ef" * 32, columns=["age"])
    assert "cd" in [c.study[:2] for c in ledger.check([fewer])]


# -- classes ----------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 12), max_size=20), min_size=2, max_size=4))
def test_classes_are_those_of_multisets(held: list[list[int]]) -> None:
    """The nth of equal rows is in those questions that hold at least n of them."""
    expected: Counter[tuple[bool, ...]] = Counter()
    for value in range(13):
        times = [rows.count(value) for rows in held]
        for n in range(max(times)):
            expected[tuple(n < each for each in times)] += 1
    words = [np.array(rows, np.uint64) * np.uint64(0xABCDEF0123456789) for rows in held]
    today = Alike.single(words[0], np.zeros(len(words[0]), np.uint32)).joined()
    earlier = [Stretch(*np.unique(each, return_counts=True)) for each in words[1:]]
    found = compare(today, earlier).sizes
    assert {(kind.use == 0, *kind.earlier): size for kind, size in found.items()} == expected


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=5), st.data())
def test_the_span_is_that_of_linear_algebra(given: list[list[bool]], data: Any) -> None:
    wanted = tuple(data.draw(st.lists(st.booleans(), min_size=4, max_size=4)))
    rank = np.linalg.matrix_rank
    before, after = np.array([*given, [False] * 4]), np.array([*given, wanted])
    inside = rank(before.astype(float)) == rank(after.astype(float))
    assert (wanted in Span(map(tuple, given))) is bool(inside)


def test_what_no_combination_shows_is_hidden() -> None:
    few = Class((True, True, False), 2)
    large = [Class((True, False, False), 50), Class((False, True, False), 50)]
    assert exposed_rows([few, *large], 5, 1, certain=False) == []
    assert exposed_rows([few, *large], 5, 1, certain=True) == [few]
    assert exposed_rows([few, large[0]], 5, 1, certain=False) == [few]
    alone = Class((True, True), 1)
    assert exposed_parties([alone, Class((True, False), 3)], 3) == [alone]
    assert exposed_parties([alone, Class((True, False), 3), Class((False, True), 3)], 3) == []


# -- refusing and recording -------------------------------------------------------------------


def test_a_refusal_names_studies_and_parties_and_no_rows(used: Ledger) -> None:
    other = entry(used, rows=ROWS[3:], study="cd" * 32, parties=fingerprints(EVERYONE[:4]))
    with pytest.raises(InputError) as refused:
        used.record([other])
    text = str(refused.value)
    assert "'Heart' (abababababab, run 1)" in text
    assert "only by centre" in text
    assert "only a few of this party's rows differ" in text
    assert "97" not in text
    assert "3" not in text
    assert used._one("SELECT count(*) FROM entries") == (1,), "what is refused leaves no trace"


def test_told_in_so_many_words_it_is_recorded_and_counts_later(used: Ledger) -> None:
    used.record([entry(used, rows=ROWS[3:], study="cd" * 32)], allow_differencing=True)
    assert used._all("SELECT allowed FROM runs") == [(0,), (1,)]
    conflicts = used.check([entry(used, rows=ROWS[2:], study="ef" * 32)])
    assert [c.study[:2] for c in conflicts] == ["ab", "cd"]


def test_an_aborted_run_counts(tmp_path: Path) -> None:
    """Recorded, then nothing more: the process may die at once."""
    with Ledger.open(tmp_path / "l") as ledger:
        ledger.record([entry(ledger)])
    with Ledger.open(tmp_path / "l") as ledger:
        assert reasons(ledger, entry(ledger, rows=ROWS[1:])) == ["rows"]


def test_two_processes_take_turns(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l") as one, Ledger.open(tmp_path / "l") as two:
        one.record([entry(one)])
        assert reasons(two, entry(two, rows=ROWS[1:])) == ["rows"]


def test_nobody_can_write_between_the_check_and_the_entry(
    used: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    def check(ledger: Ledger, _: Sequence[LedgerQuestion]) -> list[Conflict]:
        with sqlite3.connect(ledger.path, timeout=0) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            checked.append(True)
        other.close()
        return []

    monkeypatch.setattr(Ledger, "check", check)
    used.record([entry(used, run=2)])
    assert checked


def test_the_ledger_holds_no_rows_and_is_for_its_owner(tmp_path: Path) -> None:
    import hashlib

    path = tmp_path / "l"
    rows = [b"patient %d, 53, f" % i for i in random.Random(1).sample(range(10**9), 50)]
    with Ledger.open(path) as ledger:
        ledger.record([entry(ledger, rows=rows)])
    data = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(row in data or hashlib.sha256(row).digest()[:8] in data for row in rows)
    with Ledger.open(tmp_path / "other") as other, Ledger.open(path) as ledger:
        here, there = (entry(it, rows=rows).rows for it in (ledger, other))
        assert not {*digests(here)} & {*digests(there)}, "keys differ"
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


@pytest.mark.parametrize("version", [1, 2, 3, 4, 6])
def test_a_ledger_of_another_version_is_refused(tmp_path: Path, version: int) -> None:
    """All its rows would seem to be others than today's, and nothing would be refused."""
    Ledger.open(tmp_path / "l").close()
    with sqlite3.connect(tmp_path / "l") as old:
        old.execute(f"PRAGMA application_id = {0x54_4C_00_00 + version}")
    old.close()
    with pytest.raises(FileError, match=rf"of another version \({version}, where 5") as refused:
        Ledger.open(tmp_path / "l")
    assert "--ledger" in refused.value.hint


def test_a_damaged_ledger_is_refused_in_words_of_ours(tmp_path: Path) -> None:
    """Wherever it is hit; and where rows would seem to be others, it is noticed."""
    path = tmp_path / "l"
    with Ledger.open(path) as made:
        made.record([entry(made)])
    whole, rng, refused = path.read_bytes(), random.Random(0), list[FileError]()
    for _ in range(60):
        at, damaged = rng.randrange(len(whole)), bytearray(whole)
        damaged[at : at + 16] = rng.randbytes(16)
        path.write_bytes(damaged if rng.random() < 0.7 else whole[:at])
        try:
            with Ledger.open(path) as found:
                found.recorded()
                found.known_keys()
                found.check([entry(found, study="cd" * 32)])
        except FileError as error:
            refused.append(error)
        except ReleaseError:
            pass
    assert len(refused) > 10
    for each in refused:
        assert 'the ledger "' in each.message or "it is not a ledger" in each.message
        assert "backup" in each.hint or "--ledger" in each.hint
    path.write_bytes(whole)
    with Ledger.open(path) as found:
        found._do("UPDATE row_pieces SET digests = zeroblob(length(digests))")
        with pytest.raises(DamagedError, match="cannot be used: it is damaged"):
            found.check([entry(found, study="cd" * 32)])


def test_a_ledger_whose_key_has_changed_is_damaged(tmp_path: Path) -> None:
    """It would take all rows for new ones. One made before that was checked is taken as it is."""
    path = tmp_path / "l"
    with Ledger.open(path) as made:
        made.record([entry(made)])
        (key,) = made._one("SELECT row_key FROM ledger")
        other = bytes([key[0] ^ 1]) + key[1:]
        made._do("UPDATE ledger SET row_key = ?", other)
    with pytest.raises(DamagedError, match="cannot be used: it is damaged"), Ledger.open(path):
        pass
    with closing(sqlite3.connect(path)) as file:
        file.execute("DROP TABLE key_check")
        file.commit()
    for _ in range(2):
        with Ledger.open(path):
            pass


# -- vetoes, and runs that never were ---------------------------------------------------------


def test_three_vetoes_on_the_same_rows_end_a_question(ledger: Ledger) -> None:
    for run in (1, 2, 3):
        ledger.record([entry(ledger, run=run)])
        ledger.mark_vetoed("ab" * 32, run)
        ledger.mark_vetoed("ab" * 32, run)
    ledger.record([entry(ledger, run=3)])  # the same run again, after a crash
    for study in ("ab" * 32, "cd" * 32):
        with pytest.raises(ReleaseError, match="stopped by a veto 3 times on these rows"):
            ledger.record([entry(ledger, run=4, study=study)], allow_differencing=True)
    ledger.record([entry(ledger, run=4, columns=["age", "sex", "pressure"])])
    ledger.record([entry(ledger, run=5, rows=ROWS[:50])])
    assert [it.vetoed for it in ledger.recorded()] == [True] * 3 + [False] * 2


def test_a_withdrawn_run_counts_no_more(ledger: Ledger) -> None:
    ledger.record([entry(ledger)], nonce=b"one", date="2026-01-31")
    ledger.record([entry(ledger, study="cd" * 32, rows=ROWS[50:])], nonce=b"two")
    fewer = entry(ledger, study="ef" * 32, rows=ROWS[49:])
    assert len(ledger.check([fewer])) == 1
    with pytest.raises(ReleaseError, match="begun more than once"):
        ledger.withdraw("cd" * 32, 1, b"other")
    ledger.withdraw("cd" * 32, 1, b"two")
    assert ledger.check([fewer]) == []
    assert [(it.title, it.run, it.date) for it in ledger.recorded()] == [("Heart", 1, "2026-01-31")]
    assert ledger._one("SELECT count(*) FROM row_sets") == (1,)
    with pytest.raises(FileError, match="does not know run 1"):
        ledger.withdraw("cd" * 32, 1, b"two")


def test_a_run_that_was_begun_twice_is_not_withdrawn(used: Ledger) -> None:
    for nonce in (b"one", b"two"):
        used.record([entry(used, run=2)], nonce=nonce)
    for nonce in (b"one", b"two"):
        with pytest.raises(ReleaseError, match="begun more than once"):
            used.withdraw("ab" * 32, 2, nonce)
