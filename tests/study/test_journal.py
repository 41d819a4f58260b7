"""What the journal has taken is there after a restart; what it must not take changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.study.runs import PARTIES, STUDY, beginning, fixed, mask_frame, total_frame
from titan.errors import (
    DamagedError,
    DataError,
    FileError,
    InputError,
    MessageError,
    PeerError,
    RecoveryError,
)
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.kinds import Message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


# -- beginning --------------------------------------------------------------------------------


def test_a_run_begun_again_is_the_stored_one(path: Path) -> None:
    with Journal.open(path) as journal:
        assert journal.state is None
        first = beginning(journal)
    with Journal.open(path) as journal:
        again = beginning(journal, nonce=fixed("other"), keys=[fixed("more"), fixed("keys")])
        assert again == first == journal.state
    assert first.keys == (fixed("key 0"), fixed("key 1"))
    assert (first.study, first.run, first.parties) == (STUDY, 1, PARTIES)
    assert first.nonces == {"north": first.nonce}


def test_changed_data_are_refused_without_a_digest_in_the_message(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
    with Journal.open(path) as journal:
        changed = journal.keyed_digest([b"rows of south"])
        with pytest.raises(DataError, match="data changed since the run began") as refused:
            beginning(journal, data_digest=changed)
        assert changed.hex() not in str(refused.value)
        assert "run 2" in refused.value.hint
        beginning(journal, data_digest=journal.keyed_digest([b"rows of north"]))


def test_data_are_replaced_until_something_may_have_left(path: Path) -> None:
    with Journal.open(path) as journal:
        assert not journal.nothing_left(), "it has not begun"
        first = beginning(journal)
        journal.sending(Frame("east", 0, "NONCE", b"n"))
        other = journal.keyed_digest([b"rows of south"])
        assert journal.nothing_left()
        assert journal.replace_data(other)
        assert not journal.replace_data(other), "they are the same now"
        assert beginning(journal, data_digest=other) == first, "with its nonce and keys"
        journal.sending(Frame("east", 1, "MASK", b"r", 0))
        assert not journal.nothing_left()
        with pytest.raises(InputError, match="may have left"):
            journal.replace_data(journal.keyed_digest([b"rows of north"]))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"study": "cd" * 32}, "belongs to study abababababab"),
        ({"party": "east"}, "as 'north', not to study abababababab as 'east'"),
        ({"parties": ("north", "east")}, "belongs to study"),
        ({"run": 2}, "belongs to run 1, not to run 2"),
        ({"keys": [fixed("one")]}, "begun with 2 sums, not 1"),
    ],
)
def test_another_run_is_refused(path: Path, changed: dict[str, object], match: str) -> None:
    with Journal.open(path) as journal:
        first = beginning(journal)
        with pytest.raises(InputError, match=match):
            beginning(journal, **changed)
        assert journal.state == first


@pytest.mark.parametrize(
    "changed",
    [
        {"keys": [fixed("same"), fixed("same")]},
        {"keys": [fixed("nonce of north"), fixed("key 1")]},
        {"keys": [b"short", fixed("key 1")]},
        {"party": "west"},
        {"parties": ("north", "east", "east")},
    ],
)
def test_a_senseless_beginning_is_refused_whole(path: Path, changed: dict[str, object]) -> None:
    with Journal.open(path) as journal:
        with pytest.raises(InputError):
            beginning(journal, **changed)
        assert journal.state is None


def test_the_same_data_have_another_digest_in_another_journal(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "a") as a, Journal.open(tmp_path / "b") as b:
        assert a.keyed_digest([b"rows"]) == a.keyed_digest([b"rows"]) != b""
        assert a.keyed_digest([b"rows"]) != b.keyed_digest([b"rows"])


def test_other_data_have_other_masks(path: Path) -> None:
    """So a journal put back to a time when nothing had left exposes nobody, whatever comes next."""
    with Journal.open(path) as journal:
        beginning(journal)
        first = journal.mask_keys()
        assert len(set(first)) == len(first) == 2
        journal.replace_data(journal.keyed_digest([b"rows of south"]))
        assert set(journal.mask_keys()).isdisjoint(first)
        journal.replace_data(journal.keyed_digest([b"rows of north"]))
        assert journal.mask_keys() == first


def test_a_message_that_was_changed_or_is_missing_is_noticed(path: Path) -> None:
    frames = [total_frame("east", at) for at in range(3)]
    with Journal.open(path) as journal:
        beginning(journal)
        for frame in frames:
            journal.record_incoming(frame)
        journal.check_whole()
        journal._do("UPDATE incoming SET round = 7 WHERE sequence = 1")
        with pytest.raises(DamagedError, match="incoming east 1 is not what was written down"):
            list(journal.incoming())
        journal._do("DELETE FROM incoming WHERE sequence = 1")
        with pytest.raises(DamagedError, match="incoming is not what"):
            journal.check_whole()


# -- the file ---------------------------------------------------------------------------------


def test_only_the_owner_can_read_it(path: Path) -> None:
    before = os.umask(0)
    try:
        with Journal.open(path) as journal:
            beginning(journal)
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    names = ("run.journal", "run.journal-wal", "run.journal.secret")
    assert modes == dict.fromkeys(names, 0o600)
    (path.parent / "run.journal.secret").chmod(0o640)
    with pytest.raises(FileError, match=r"key of the journal .* can be read by people"):
        Journal.open(path)
    (path.parent / "run.journal.secret").chmod(0o600)
    path.chmod(0o640)
    with pytest.raises(FileError, match="can be read by people other than its owner") as refused:
        Journal.open(path)
    assert "chmod 600" in refused.value.hint


OPEN_AND_SAY = """
import sys
from titan.study.journal import Journal
journal = Journal.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_one_process_at_a_time_and_kill_9_frees_it(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
    with subprocess.Popen(
        [sys.executable, "-c", OPEN_AND_SAY, path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(FileError, match="another process is using the journal"):
            Journal.open(path)
        other.kill()
    with Journal.open(path) as journal:
        assert journal.state is not None
        with pytest.raises(FileError, match="another process is using"):
            Journal.open(path)


def test_what_is_no_journal_is_refused_and_left_alone(path: Path) -> None:
    content = b"hello, this is not a database at all" * 100
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(FileError, match="cannot be used: it is not a journal"):
        Journal.open(path)
    assert path.read_bytes() == content


def test_another_database_is_refused(path: Path, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    path.chmod(0o600)
    with pytest.raises(FileError, match="something else, or of another version"):
        Journal.open(path)
    with pytest.raises(FileError, match="cannot be used: it is not a file"):
        Journal.open(tmp_path)
    with pytest.raises(FileError, match="cannot be used: no such file"):
        Journal.open(tmp_path / "nowhere" / "run.journal")


def test_a_journal_names_the_version_that_began_its_run(path: Path) -> None:
    with Journal.open(path) as journal:
        assert beginning(journal, software="0.7.1").software == "0.7.1"
        assert beginning(journal, software="0.8.0").software == "0.7.1"
        with pytest.raises(InputError, match="begun with 2 sums") as refused:
            beginning(journal, keys=[fixed("one")])
        assert "0.7.1" in refused.value.hint
        journal._do(f"PRAGMA application_id = {Journal.identity + 5}")
    with pytest.raises(FileError, match=r"was begun by titan 0.7.1: its format is 8, where 3"):
        Journal.open(path)


# -- frames -----------------------------------------------------------------------------------


def test_frames_come_back_in_the_order_they_came(path: Path) -> None:
    frames = [mask_frame("south"), mask_frame("east"), total_frame("east"), total_frame("south")]
    with Journal.open(path) as journal:
        beginning(journal)
        assert [journal.record_incoming(frame) for frame in frames] == [True] * 4
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == frames


def test_a_repeat_is_told_and_a_forgery_refused(path: Path) -> None:
    frame = mask_frame()
    with Journal.open(path) as journal:
        beginning(journal)
        assert journal.record_incoming(frame)
        assert not journal.record_incoming(frame)
        view = Frame(frame.peer, frame.sequence, frame.kind, memoryview(bytes(frame.body)), 0, 0)
        assert not journal.record_incoming(view)
        for forged in (
            Frame(frame.peer, 0, "MASK", bytes(frame.body)[:-1] + b"?", 0, 0),
            Frame(frame.peer, 0, "MASK", frame.body, 1, 0),
            Frame(frame.peer, 0, "MASK", frame.body, 0, 1),
            Frame(frame.peer, 0, "TOTAL", frame.body, 0, 0),
        ):
            with pytest.raises(MessageError, match="east sent message 0 twice"):
                journal.record_incoming(forged)
        assert list(journal.incoming()) == [frame]


def test_a_batch_is_there_whole_or_not_at_all(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
        with pytest.raises(KeyError), journal.batch():  # noqa: PT012 - the batch is the point
            journal.record_incoming(mask_frame())
            journal.sending(mask_frame())
            raise KeyError
        assert not list(journal.incoming())
        assert not journal.messages()
        with journal.batch(), journal.batch():
            journal.record_incoming(mask_frame())
        assert list(journal.incoming()) == [mask_frame()]


def test_a_replay_must_send_the_same_bytes(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(mask_frame())
        journal.sending(total_frame())
    with Journal.open(path) as journal:
        journal.sending(mask_frame())
        journal.sending(total_frame())
        for frame in (mask_frame(), total_frame()):
            other = bytes(frame.body)[:-1] + b"?"
            with pytest.raises(RecoveryError, match="not what it was before the restart"):
                journal.sending(
                    Frame(frame.peer, frame.sequence, frame.kind, other, 0, frame.round)
                )
        assert len(journal.messages()) == 2


def test_acknowledgements_grow_and_are_kept(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
        assert journal.acknowledged_by("east") == -1
        journal.acknowledged("east", 4)
        journal.acknowledged("east", 2)
        assert journal.acknowledged_by("east") == 4
    with Journal.open(path) as journal:
        assert journal.acknowledged_by("east") == 4
        journal.acknowledged("east", 3)
        assert journal.acknowledged_by("east") == 4
        assert journal.acknowledged_by("south") == -1


def test_only_recovery_messages_have_a_digest(path: Path) -> None:
    import hashlib

    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(mask_frame())
        journal.sending(total_frame())
        journal.record_incoming(mask_frame("south"))
        journal.record_incoming(total_frame("south"))
        journal.record_incoming(Frame("south", 2, "NONCE", b"32 bytes"))
        told = journal.messages()
    sha = hashlib.sha256(total_frame().body).hexdigest()
    assert told == [
        Message("south", "north", None, 0, "NONCE", 8),
        Message("north", "east", 0, 0, "MASK", 5000),
        Message("north", "east", 0, 1, "TOTAL", 5000, sha),
        Message("south", "north", 0, 0, "MASK", 5000),
        Message("south", "north", 0, 1, "TOTAL", 5000, sha),
    ]
    with pytest.raises(ValueError, match="no other message has"):
        Message("north", "east", 0, 0, "MASK", 5000, sha)


# -- the others and the end -------------------------------------------------------------------


def test_a_party_with_another_nonce_lost_its_journal(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal, party="east", nonce=fixed("nonce of east"))
        journal.set_nonce("north", fixed("n"))
    with Journal.open(path) as journal:
        journal.set_nonce("north", fixed("n"))
        with pytest.raises(PeerError, match="north lost its journal; agree on run 2"):
            journal.set_nonce("north", fixed("another"))
        with pytest.raises(PeerError, match="'west', who is not in the study"):
            journal.set_nonce("west", fixed("w"))
        with pytest.raises(MessageError, match="nonce of 5 bytes"):
            journal.set_nonce("south", b"short")
        state = journal.state
    assert state is not None
    assert state.nonces == {"north": fixed("n"), "east": fixed("nonce of east")}


def test_the_first_answer_stays(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
        journal.agree("12" * 32)
    with Journal.open(path) as journal:
        journal.agree("12" * 32)
        with pytest.raises(RecoveryError, match="not the one found before"):
            journal.agree("34" * 32)
        journal.finish(b"an answer", b"transcript")
        journal.finish(b"another answer", b"another")
        state = journal.state
    assert state is not None
    assert state.finished
    assert state.result == b"an answer"
    assert state.transcript == b"transcript"
    assert state.agreed == "12" * 32


def test_no_repr_shows_a_secret(path: Path) -> None:
    with Journal.open(path) as journal:
        state = beginning(journal)
        shown = repr(journal) + repr(state) + repr(mask_frame())
    for secret in (*state.keys, bytes(mask_frame().body)):
        assert repr(secret)[2:20] not in shown
        assert secret.hex()[:16] not in shown
