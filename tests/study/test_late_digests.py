"""Nobody waits for the digest of a long message; transcripts have it, and a check stands for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.study.runs import beginning
from titan.study import frames
from titan.study.database import Database
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.run_state import SaidBeforeError

LONG = 70_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def total(sequence: int, of_vectors: bytes = b"") -> Frame:
    return Frame("east", sequence, "TOTAL", os.urandom(LONG), 0, 1 + sequence, of_vectors)


def noted(journal: Journal) -> list[str | None]:
    """The digests that the journal has, in order."""
    return [sha256 for (sha256,) in journal._all("SELECT sha256 FROM sent ORDER BY sequence")]


def of(frame: Frame) -> str:
    return hashlib.sha256(frame.body).hexdigest()


def told(journal: Journal) -> list[str | None]:
    return [message.sha256 for message in journal.messages()]


def killed(journal: Journal) -> None:
    Database.close(journal)


def test_it_is_made_when_it_is_asked_for(path: Path) -> None:
    frame = total(0)
    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(frame)
        assert noted(journal) == [None]
        assert told(journal) == noted(journal) == [of(frame)]


def test_a_short_message_has_it_at_once(path: Path) -> None:
    frame = Frame("east", 0, "TOTAL", b"short", 0, 1)
    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(frame)
        assert noted(journal) == [of(frame)]


def test_where_the_vectors_digests_are_known_it_is_made_at_once(path: Path) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(total(0, of_vectors=bytes(32)))
        assert None not in noted(journal)


def test_few_bytes_wait_for_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_MOST_UNDIGESTED", 2 * LONG)
    sent = [total(number) for number in range(4)]
    with Journal.open(path) as journal:
        beginning(journal)
        for frame in sent:
            journal.sending(frame)
        assert noted(journal) == [of(sent[0]), of(sent[1]), None, None]
        assert told(journal) == list(map(of, sent))


@pytest.mark.parametrize("end", [killed, Journal.close])
def test_after_a_restart_it_is_made_of_what_is_made_again(
    path: Path, end: Callable[[Journal], None]
) -> None:
    frame, journal = total(0), Journal.open(path)
    beginning(journal)
    journal.sending(frame)
    end(journal)
    with Journal.open(path) as journal:
        assert told(journal) == [None], "the run can be looked at all the same"
        journal.sending(frame)
        assert told(journal) == [of(frame)]


def test_other_bytes_are_refused_before_it_is_there_and_after(path: Path) -> None:
    frame, journal = total(0), Journal.open(path)
    other = Frame("east", 0, "TOTAL", bytes(LONG), 0, 1)
    beginning(journal)
    journal.sending(frame)
    killed(journal)
    with Journal.open(path) as journal:
        for _ in range(2):
            with pytest.raises(SaidBeforeError):
                journal.sending(other)
            journal.sending(frame)
            told(journal)


def test_it_is_the_same_message_whether_or_not_its_vectors_digests_are_known(path: Path) -> None:
    for made, again in ((bytes(32), b""), (b"", bytes(32))):
        frame = total(int(not made), made)
        with Journal.open(path) as journal:
            beginning(journal)
            journal.sending(frame)
            journal.sending(replace(frame, of_vectors=again))
            assert told(journal)[-1] == of(frame)


def test_when_a_run_ends_without_an_answer_it_is_there(path: Path) -> None:
    """Nothing is made again to make it of."""
    frame = total(0)
    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(frame)
        journal.finish(b"why there is no answer", b"")
        assert noted(journal) == [of(frame)]


def test_when_the_key_goes_it_is_there(path: Path) -> None:
    """The check that stood for it goes with the key."""
    frame = total(0)
    with Journal.open(path) as journal:
        beginning(journal)
        journal.sending(frame)
        journal.finish(b"why there is no answer", b"")
        journal.erase_secrets([frame])
        assert noted(journal) == [of(frame)]
        assert journal._all("SELECT local_check FROM sent") == [(None,)]
        journal.sending(frame)
        with pytest.raises(SaidBeforeError):
            journal.sending(Frame("east", 0, "TOTAL", bytes(LONG), 0, 1))
