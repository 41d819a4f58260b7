"""Whatever a disk has done to a journal: it is as it was, or known as damaged, in our words."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import titan
from tests.study.runs import beginning, fixed, mask_frame, total_frame
from titan.errors import DamagedError, FileError, MessageError, RecoveryError
from titan.study.audit import JOURNAL
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.kept_runs import DAMAGED, give_up, kept_runs, open_journal
from titan.study.kept_runs import KeptRun as Kept

PAGE = 4096
FLIPS = 400
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that is half over."""
    folder = tmp_path_factory.mktemp("whole")
    with Journal.open(folder / JOURNAL) as journal:
        beginning(journal)
        for at, name in enumerate(("east", "south")):
            journal.set_nonce(name, fixed(name))
            journal.record_incoming(Frame(name, 0, "NONCE", b"n" * 100))
            for number in range(1, 9):
                journal.record_incoming(mask_frame(name, 2 * number, 900))
                journal.record_incoming(total_frame(name, 2 * number + 1, 900))
                journal.sending(total_frame(name, number, 900 + at))
        journal.acknowledged("east", 3)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def damaged(folder: Path, whole: dict[str, bytes], content: bytes) -> Path:
    folder.mkdir()
    for name, kept in whole.items():
        (folder / name).write_bytes(content if name == JOURNAL else kept)
        (folder / name).chmod(0o600)
    return folder


def look(folder: Path) -> str:
    """At everything, as `join` and `runs` do; how it ended."""
    (found,) = kept_runs(folder)
    assert isinstance(found, Kept)
    told: list[str] = []
    with open_journal(folder, told.append) as journal:
        if told:
            assert (folder / DAMAGED).exists()
            return "set aside"
        try:
            journal.check_whole()
            for _ in journal.incoming():
                pass
            journal.messages()
            journal.sending(total_frame("east", 1, 900))
        except (DamagedError, RecoveryError, MessageError) as error:
            return "found out" if error.message.isprintable() else error.message
    assert give_up(found, NOW, told.append)
    assert not (folder / f"{JOURNAL}.secret").exists()
    return "as it was"


def flips(size: int) -> list[Callable[[bytes], bytes]]:
    rng = random.Random(13)

    def flip(bit: int) -> Callable[[bytes], bytes]:
        def change(content: bytes) -> bytes:
            changed = bytearray(content)
            changed[bit // 8] ^= 1 << bit % 8
            return bytes(changed)

        return change

    return [flip(rng.randrange(8 * size)) for _ in range(FLIPS)]


def pages(size: int) -> list[Callable[[bytes], bytes]]:
    def replaced(at: int, by: bytes) -> Callable[[bytes], bytes]:
        return lambda content: content[:at] + by + content[at + len(by) :]

    rubbish = random.Random(7).randbytes(PAGE)
    starts = range(0, size, PAGE)
    return [replaced(at, by) for at in starts for by in (bytes(PAGE), rubbish, rubbish[:50])]


@pytest.mark.parametrize("kind", [flips, pages])
def test_it_is_as_it_was_or_known_as_damaged(
    tmp_path: Path,
    whole: dict[str, bytes],
    kind: Callable[[int], list[Callable[[bytes], bytes]]],
) -> None:
    content = whole[JOURNAL]
    ends = [
        look(damaged(tmp_path / str(number), whole, change(content)))
        for number, change in enumerate(kind(len(content)))
    ]
    assert {"set aside"} <= set(ends) <= {"set aside", "found out", "as it was"}


def test_one_that_is_damaged_does_not_keep_others_from_being_cleaned(
    tmp_path: Path, whole: dict[str, bytes]
) -> None:
    content = whole[JOURNAL]
    for number, change in enumerate(pages(len(content))):
        damaged(tmp_path / f"{number:03}", whole, change(content))
    damaged(tmp_path / "whole", whole, content)
    for found in kept_runs(tmp_path):
        assert give_up(found, NOW, lambda _: None)
    assert not any(found.secrets for found in kept_runs(tmp_path))


RESULT, TRANSCRIPT = b"what was learned" * 400, b"what was signed" * 900


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that is over."""
    folder = tmp_path_factory.mktemp("over")
    with Journal.open(folder / JOURNAL) as journal:
        beginning(journal)
        journal.agree("the total")
        journal.finish(RESULT, TRANSCRIPT)
        journal.erase_secrets()
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("kind", [flips, pages])
def test_of_a_run_that_is_over_nothing_else_is_told_than_was_written_down(
    tmp_path: Path,
    over: dict[str, bytes],
    kind: Callable[[int], list[Callable[[bytes], bytes]]],
) -> None:
    content, ends = over[JOURNAL], set()
    for number, change in enumerate(kind(len(content))):
        folder = damaged(tmp_path / str(number), over, change(content))
        try:
            with Journal.open(folder / JOURNAL) as journal:
                state = journal.state
        except DamagedError:
            ends.add("known as damaged")
        else:
            assert state is None or not state.finished or state.result == RESULT
            assert state is None or not state.finished or state.transcript == TRANSCRIPT
            ends.add("as it was" if state is not None and state.finished else "not over")
    assert "known as damaged" in ends


def test_an_answer_of_another_kind_is_damage(tmp_path: Path, over: dict[str, bytes]) -> None:
    folder = damaged(tmp_path / "run", over, over[JOURNAL])
    with Journal.open(folder / JOURNAL) as journal:
        journal._do("UPDATE journal SET result = 'text'")
    with pytest.raises(DamagedError):
        Journal.open(folder / JOURNAL)


@pytest.mark.parametrize("older", [True, False], ids=["an older build", "a disk"])
def test_what_another_build_of_this_version_wrote_is_not_damaged(
    tmp_path: Path, whole: dict[str, bytes], older: bool
) -> None:
    """Its run can go on with that build, so its secrets stay. A number alone is a disk's doing."""
    folder = damaged(tmp_path / "run", whole, whole[JOURNAL])
    with closing(sqlite3.connect(folder / JOURNAL)) as file:
        file.execute(f"PRAGMA application_id = {Journal.identity - 1}")
        if older:
            file.execute("ALTER TABLE journal DROP COLUMN written")
        file.execute("UPDATE journal SET software = ?", (titan.__version__,))
        file.commit()
    told: list[str] = []
    if older:
        by = f"was begun by another build of titan {titan.__version__}: its format is 2, where 3"
        with pytest.raises(FileError, match=by):
            open_journal(folder, told.append)
        assert (folder / f"{JOURNAL}.secret").read_bytes() == whole[f"{JOURNAL}.secret"]
    else:
        open_journal(folder, told.append).close()
    assert len(told) == (not older)
