"""Long frames lie beside the journal: what is acknowledged is there, what is torn comes again."""

from __future__ import annotations

import errno
import itertools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.study.runs import beginning, mask_frame
from titan.errors import DamagedError, FileError, MessageError
from titan.study import vectors
from titan.study.database import Database
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.vectors import Vectors

LONG = 20_000


def long_frame(peer: str, sequence: int) -> Frame:
    return Frame(peer, sequence, "TOTAL", os.urandom(LONG + sequence), 0, sequence)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


@pytest.fixture
def beside(path: Path) -> Path:
    return path.with_name("run.journal-vectors")


def test_long_frames_come_back_in_order_masks_sealed(path: Path, beside: Path) -> None:
    mask = mask_frame("south", 0)
    long_mask = Frame("south", 1, mask.kind, bytes(range(256)) * 100, 0)
    frames = [mask, long_mask, long_frame("south", 2), long_frame("west", 0)]
    with Journal.open(path) as journal:
        beginning(journal)
        for frame in frames:
            assert journal.record_incoming(frame)
        told = journal.messages()
    assert os.name != "posix" or beside.stat().st_mode & 0o777 == 0o600
    content = beside.read_bytes()
    assert bytes(long_mask.body[:64]) not in content, "a mask lies there unsealed"
    assert bytes(frames[2].body) in content
    assert all(bytes(frame.body) not in path.read_bytes() for frame in frames[1:])
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == frames
        assert journal.messages() == told
        assert not journal.record_incoming(frames[2])
        with pytest.raises(MessageError, match="twice, with different contents"):
            journal.record_incoming(Frame("west", 0, "TOTAL", bytes(LONG), 0, 0))
        assert journal.record_incoming(long_frame("west", 1))


def _cut(beside: Path) -> None:
    os.truncate(beside, 2 * LONG)


def _zero_a_page(beside: Path) -> None:
    with beside.open("r+b") as file:
        file.seek(LONG + 4096)
        file.write(bytes(4096))


def _remove(beside: Path) -> None:
    beside.unlink()


@pytest.mark.parametrize(("damage", "left"), [(_cut, 1), (_zero_a_page, 1), (_remove, 0)])
def test_rows_without_their_vectors_go_and_all_after_them(
    path: Path, beside: Path, damage: Callable[[Path], None], left: int
) -> None:
    """A power cut may leave a row whose vector never reached the disk: it was not acknowledged."""
    frames = [long_frame("south", 0), long_frame("south", 1), Frame("west", 0, "END", b"..")]
    with Journal.open(path) as journal:
        beginning(journal)
        for frame in frames:
            journal.record_incoming(frame)
    damage(beside)
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == frames[:left]
        assert (journal.received_from("south"), journal.received_from("west")) == (left, 0)
        for frame in frames[left:]:
            assert journal.record_incoming(frame)
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == frames


def test_vectors_reach_the_disk_before_their_rows(
    path: Path, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []
    with Journal.open(path) as journal:
        beginning(journal)
        journal.record_incoming(long_frame("south", 0))
        monkeypatch.setattr(os, "fsync", lambda file: waited.append(os.fstat(file).st_ino))
        journal.sync()
        files = [beside, beside.parent, path.with_name("run.journal-wal")]
        assert waited == [file.stat().st_ino for file in files]
        journal.sync()
        assert waited[3:] == [files[2].stat().st_ino], "nothing new lies there"


def _full(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_an_error_of_ours_and_nothing_is_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = long_frame("south", 0)
    with Journal.open(path) as journal:
        beginning(journal)
        journal.record_incoming(frame)
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", _full)
            for _ in range(2):
                with pytest.raises(FileError, match="no space left on device"):
                    journal.sync()
            journal.close()
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == [], "it will come again"
        assert journal.record_incoming(frame)
        journal.sync()
        assert list(journal.incoming()) == [frame]


def test_who_brings_too_much_waits_for_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MOST_UNWRITTEN", LONG)
    with Journal.open(path) as journal:
        beginning(journal)
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", _full)
            with pytest.raises(FileError, match="no space left on device"):
                journal.record_incoming(long_frame("south", 1))
        assert list(journal.incoming()) == [], "the row was taken back"


def test_after_a_failed_flush_no_place_is_told_twice(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop may bring more before it hears that a wait for the disk has failed."""
    with Journal.open(path) as journal:
        beginning(journal)
        journal.record_incoming(long_frame("south", 0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", _full)
            with pytest.raises(FileError, match="no space left on device"):
                journal.sync()
        with pytest.raises(FileError, match="no space left on device"):
            journal.record_incoming(long_frame("south", 1))
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == []


def test_nothing_but_zeros_fills_the_last_block_of_a_record(path: Path) -> None:
    """Memory that was used before may be full of rows."""
    file, size = Vectors(path), vectors._AT_ONCE - 5000
    at = file.append(bytes(size))
    file._staging[:] = b"\xab" * len(file._staging)
    file.sync()
    file.close()
    assert not any(path.read_bytes()[at + vectors._HEAD.size :])


def test_records_are_taken_while_the_disk_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is opened by whoever is first, once."""
    places, opened = list[int](), os.open
    file = Vectors(path)
    file.append(os.urandom(LONG))
    file.sync()
    file.close()
    file = Vectors(path)

    def slowly(*arguments: Any) -> int:
        if threading.current_thread() is waiting and other.ident is None:
            other.start()
            other.join(0.1)  # it would be through by now, if it could
        return opened(*arguments)

    other = threading.Thread(target=lambda: places.append(file.append(b"x" * LONG)))
    monkeypatch.setattr(os, "open", slowly)
    waiting = threading.Thread(target=file.sync)
    waiting.start()
    waiting.join()
    other.join()
    places.append(file.append(b"y" * LONG))
    file.sync()
    assert len(set(places)) == 2
    assert [file.read(at) for at in places] == [b"x" * LONG, b"y" * LONG]
    file.close()


def test_a_killed_process_loses_what_it_has_not_waited_for(path: Path) -> None:
    frames = [long_frame("south", 0), long_frame("south", 1), Frame("west", 0, "NONCE", b"..")]
    journal = Journal.open(path)
    beginning(journal)
    journal.record_incoming(frames[0])
    journal.sync()
    for frame in frames[1:]:
        journal.record_incoming(frame)
    Database.close(journal)
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == frames[:1]
        for frame in frames[1:]:
            assert journal.record_incoming(frame)
    with Journal.open(path) as journal:
        assert list(journal.incoming()) == frames, "who leaves in order writes all"


def _as_on_a_disk(_: pytest.MonkeyPatch) -> None:
    pass


def _no_such_flag(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(vectors, "_PAST_CACHE", 0)


def _refused_when_written(patch: pytest.MonkeyPatch) -> None:
    """Some file systems open such a file, and take nothing from it."""
    write, opened = os.pwritev, Vectors._opened

    def remembering(self: Vectors, flag: int = 0) -> int:
        file = opened(self, flag)
        strange.update({self._past_cache} - {None})
        return file

    def strict(file: int, parts: tuple[bytes, ...], at: int) -> int:
        if file in strange:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return write(file, parts, at)

    strange: set[int | None] = set()
    patch.setattr(Vectors, "_opened", remembering)
    patch.setattr(os, "pwritev", strict)


@pytest.mark.parametrize("system", [_as_on_a_disk, _no_such_flag, _refused_when_written])
def test_records_of_every_length_are_read_as_written(
    path: Path, system: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the system takes them, and wherever a block of the disk ends."""
    system(monkeypatch)
    long, most, block = vectors._LONG, vectors._AT_ONCE, vectors._BLOCK
    sizes = [1, block, long - 1, long, long + 1, most - 17, most - 16, most - 15, 2 * most + 5, 9]
    bodies = [os.urandom(size) for size in sizes]
    file = Vectors(path)
    places = [file.append(body) for body in bodies]
    file.sync()
    file.close()
    again = Vectors(path)
    assert [again.read(at) for at in places] == bodies
    last = os.urandom(long)
    assert again.append(last) > places[-1]
    assert [again.read(at) for at in places] == bodies
    again.close()


def test_a_system_that_writes_a_little_at_a_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwritev
    monkeypatch.setattr(vectors, "_PAST_CACHE", 0)
    monkeypatch.setattr(
        os, "pwritev", lambda file, parts, at: write(file, [b"".join(parts)[:5000]], at)
    )
    with Journal.open(path) as journal:
        beginning(journal)
        frame = long_frame("south", 0)
        journal.record_incoming(frame)
        assert list(journal.incoming()) == [frame]


def test_closing_waits_for_who_is_writing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the rest would be written to whatever has the number of the file by then."""
    at_disk, go_on, steps = threading.Event(), threading.Event(), list[str]()
    write, file = vectors._write, Vectors(path)

    def slowly(*arguments: Any) -> None:
        at_disk.set()
        assert go_on.wait(60)
        write(*arguments)
        steps.append("written")

    def close() -> None:
        file.close()
        steps.append("closed")

    monkeypatch.setattr(vectors, "_write", slowly)
    place = file.append(b"x" * LONG)
    writing = threading.Thread(target=file.write)
    closing = threading.Thread(target=close)
    writing.start()
    assert at_disk.wait(60)
    closing.start()
    closing.join(0.1)  # it would be through by now, if it could
    go_on.set()
    for each in (writing, closing):
        each.join()
    assert steps == ["written", "closed"]
    assert Vectors(path).read(place) == b"x" * LONG


def test_a_disk_that_cannot_be_read_is_an_error_of_ours(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.open(path) as journal:
        beginning(journal)
        journal.record_incoming(long_frame("east", 0))

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", fail)
        with pytest.raises(FileError, match=r'journal "[^"]*" cannot be used: input/output error'):
            Journal.open(path)
    with Journal.open(path) as journal:
        assert len(list(journal.incoming())) == 1, "it goes on where the disk does"


def test_an_index_that_leads_round_in_a_circle_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was damaged since the journal was opened may do."""
    with Journal.open(path) as journal:
        beginning(journal)
        for number in range(3):
            journal.record_incoming(long_frame("east", number))
        ask, found = journal._one, list[Any]()

        def round_and_round(statement: str, *values: object) -> Any:
            if "ORDER BY place LIMIT 1" not in statement:
                return ask(statement, *values)
            found.append(ask(statement, *values) if len(found) < 2 else found[0])
            return found[-1]

        monkeypatch.setattr(journal, "_one", round_and_round)
        with pytest.raises(DamagedError):
            list(itertools.islice(journal.incoming(), 9))
