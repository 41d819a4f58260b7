"""After the end no secret byte is left in any file of the journal; what others need is."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.study.runs import beginning, everything_in, fixed, mask_frame, total_frame
from titan.errors import DamagedError, FileError, InputError, MessageError, RecoveryError
from titan.study import database, run_key
from titan.study.frames import Frame
from titan.study.journal import Journal

PIECE = 24  # bytes of a secret whose presence would be noticed


def pieces(secret: bytes) -> list[bytes]:
    """From the beginning, from the end, and every 700 bytes in between."""
    last = len(secret) - PIECE
    return [secret[at : at + PIECE] for at in (*range(0, last, 700), last)]


def any_of(secrets: list[bytes], directory: Path) -> bool:
    found = everything_in(directory)
    return any(piece in found for secret in secrets for piece in pieces(secret))


def test_no_secret_byte_is_left_in_the_files(tmp_path: Path) -> None:
    """Sizes from one cell to many pages, written in several sittings, so that pages move."""
    rng = random.Random(0)
    path = tmp_path / "run.journal"
    masks = [mask_frame("east", at, rng.choice([40, 300, 9000, 70_000])) for at in range(40)]
    kept = [total_frame("south", at, rng.choice([40, 300, 9000])) for at in range(100, 140)]
    sent = [mask_frame("south", at, 500) for at in range(200, 210)]
    with Journal.open(path) as journal:
        state = beginning(journal)
        digest = journal.keyed_digest([b"rows of north"])
        assert journal._key is not None
        check_key = journal._key.check
    checks = []
    for some in range(4):
        with Journal.open(path) as journal:
            for frame in [f for pair in zip(masks, kept, strict=True) for f in pair][some::4]:
                journal.record_incoming(frame)
            for frame in sent:
                journal.sending(frame)
            checks = [c for (c,) in journal._all("SELECT local_check FROM sent")]
    never = [*state.keys, check_key, *(bytes(m.body) for m in masks)]
    secrets = [*never, digest, *checks, journal.key_path.read_bytes()]
    found = everything_in(tmp_path)
    assert all(piece in found for s in (digest, *checks, secrets[-1]) for piece in [s])
    assert not any_of(never, tmp_path), "these are on the disk under the key alone, at any time"

    with Journal.open(path) as journal:
        journal.finish(b"an answer", b"transcript")
        journal.erase_secrets()
    assert not any_of(secrets, tmp_path)
    assert path.stat().st_size < sum(len(f.body) for f in kept) + 60 * 16384, "rebuilt"
    assert bytes(kept[0].body) in everything_in(tmp_path)


def test_not_even_while_the_journal_stays_open(tmp_path: Path) -> None:
    """Read by another process: a handle of ours, closed, would drop the lock."""
    with Journal.open(tmp_path / "run.journal") as journal:
        beginning(journal)
        journal.record_incoming(mask_frame())
        key, digest = journal.key_path.read_bytes()[:64], journal.keyed_digest([b"rows of north"])

        def count() -> str:
            code = (
                "import sys, pathlib; d = b''.join(p.read_bytes() for p in"
                " pathlib.Path(sys.argv[1]).iterdir());"
                " print(sum(bytes.fromhex(s) in d for s in sys.argv[2:]))"
            )
            secrets = [key.hex(), digest.hex()]
            command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path), *secrets]
            return subprocess.check_output(command, text=True)

        assert count() == "2\n"
        journal.finish(b"{}", b"")
        journal.erase_secrets()
        assert count() == "0\n"


def test_a_finished_run_serves_what_somebody_still_needs(tmp_path: Path) -> None:
    unacknowledged = [total_frame("east", 1), total_frame("east", 2), total_frame("south", 1)]
    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal.record_incoming(mask_frame())
        journal.record_incoming(total_frame())
        journal.sending(mask_frame())
        for frame in unacknowledged:
            journal.sending(frame)
        before = journal.messages()
        journal.finish(b"an answer", b"transcript")
        journal.erase_secrets(unacknowledged)
    with Journal.open(tmp_path / "j") as journal:
        state = beginning(journal, data_digest=journal.keyed_digest([b"whatever"]))
        assert state.erased
        assert state.keys == ()
        assert state.result == b"an answer"
        assert journal.messages() == before
        assert list(journal.incoming()) == [total_frame()]
        assert list(journal.served()) == unacknowledged
        journal.acknowledged("east", 1)
        assert list(journal.served()) == unacknowledged[1:]


def test_an_erased_mask_that_comes_again_is_a_repeat(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal.record_incoming(mask_frame())
        journal.finish(b"{}", b"")
        journal.erase_secrets()
        assert not journal.record_incoming(mask_frame())
        with pytest.raises(MessageError, match="different contents"):
            journal.record_incoming(mask_frame(size=4999))
        with pytest.raises(RecoveryError, match="masks are erased"):
            journal.sending(mask_frame())


def test_nothing_is_erased_too_early(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j") as journal:
        with pytest.raises(InputError, match="only a finished run"):
            journal.erase_secrets()
        beginning(journal)
        with pytest.raises(InputError, match="only a finished run"):
            journal.erase_secrets()
        journal.finish(b"{}", b"")
        with pytest.raises(InputError, match="east has not acknowledged a mask yet"):
            journal.erase_secrets([mask_frame()])
        state = journal.state
        assert state is not None
        assert not state.erased
        assert len(state.keys) == 2


def test_a_kind_nobody_called_public_is_erased_too(tmp_path: Path) -> None:
    strange = Frame("east", 7, "NOVELTY", b"0123456789" * 10)
    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal.record_incoming(strange)
        journal.finish(b"{}", b"")
        journal.erase_secrets()
        assert not list(journal.incoming())
    assert not any_of([bytes(strange.body)], tmp_path)


def test_whoever_dies_while_erasing_is_finished_off_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_: Journal) -> None:
        raise KeyboardInterrupt

    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal.record_incoming(mask_frame(size=50_000))
        secrets = [journal.key_path.read_bytes(), journal.keyed_digest([b"rows of north"])]
        journal.finish(b"{}", b"")
        monkeypatch.setattr(Journal, "_scrub", die)
        with pytest.raises(KeyboardInterrupt):
            journal.erase_secrets()
        _copy_aside(tmp_path)  # as kill -9 leaves them: no orderly close
    monkeypatch.undo()
    aside = tmp_path / "aside"
    assert any_of(secrets, aside)
    with Journal.open(aside / "j"):
        assert not any_of(secrets, aside), "gone at once, not only after an orderly close"


def _copy_aside(directory: Path) -> None:
    """By another process, so that the lock stays."""
    (directory / "aside").mkdir()
    for name in ("j", "j-wal", "j.secret"):
        subprocess.check_call(["cp", "-p", directory / name, directory / "aside" / name])


def test_deleted_content_is_overwritten_and_a_sync_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill -9 cannot show these two: the rebuilding hides the one, the system's cache the other."""
    waited_for: list[int] = []
    with Journal.open(tmp_path / "j") as journal:
        assert journal._one("PRAGMA secure_delete") == (1,)
        assert journal._one("PRAGMA journal_mode") == ("wal",)
        monkeypatch.setattr(os, "fsync", lambda file: waited_for.append(os.fstat(file).st_ino))
        journal.record_incoming(Frame("east", 0, "TOTAL", b"a total"))
        assert waited_for == []
        journal.sync()
        assert waited_for == [(tmp_path / "j-wal").stat().st_ino]
        for end in ("", "-wal"):  # what has been waited for holds what was written
            (tmp_path / f"copy{end}").write_bytes((tmp_path / f"j{end}").read_bytes())
    (tmp_path / "copy").chmod(0o600)
    with Journal.open(tmp_path / "copy") as copy:
        assert [frame.body for frame in copy.incoming()] == [b"a total"]


def test_a_disk_that_fails_is_named_and_fails_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        monkeypatch.setattr(os, "fsync", lambda _: None)  # the system says it once only
        raise OSError(errno.EIO, "Input/output error")

    with Journal.open(tmp_path / "j") as journal:
        monkeypatch.setattr(os, "fsync", fail)
        for _ in range(2):
            with pytest.raises(FileError, match="cannot be used: input/output error"):
                journal.sync()


def test_whatever_fails_the_log_does_not_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs: set[int] = set()
    opening, closing = database._open_log, os.close

    def opened(place: Path, what: str) -> int:
        logs.add(log := opening(place, what))
        return log

    def closed(file: int) -> None:
        logs.discard(file)
        closing(file)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    with Journal.open(tmp_path / "j") as journal:
        journal._do("UPDATE journal SET erased = 1")
    monkeypatch.setattr(database, "_open_log", opened)
    monkeypatch.setattr(os, "close", closed)
    monkeypatch.setattr(Journal, "_scrub", fail)
    with pytest.raises(FileError, match="disk full"):
        Journal.open(tmp_path / "j")
    journal = Journal.open(tmp_path / "k")
    assert len(logs) == 1
    journal.acknowledged("east", 1)
    monkeypatch.setattr(Journal, "_commit", fail)
    with pytest.raises(FileError, match="disk full"):
        journal.close()
    with pytest.raises(FileError, match="it is closed"):
        journal.sync()
    assert not logs


# -- the key ----------------------------------------------------------------------------------


def test_the_key_is_overwritten_in_place_before_its_name_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second name of the same blocks shows them; a step undone by a power cut is a step less."""
    steps: list[str] = []
    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal.finish(b"{}", b"")
        blocks = tmp_path / "blocks"
        os.link(journal.key_path, blocks)
        inode, log = blocks.stat().st_ino, (tmp_path / "j-wal").stat().st_ino

        def note(file: int) -> None:
            found = os.fstat(file).st_ino
            if found == log:
                (flag,) = journal._one("SELECT erased FROM journal")
                steps.append("the journal knows" if flag else "too early")
            elif found == inode:
                steps.append("gone" if not any(blocks.read_bytes()) else "still there")
            elif not journal.key_path.exists():
                steps.append("no name")

        monkeypatch.setattr(os, "fsync", note)
        journal.erase_secrets()
    assert steps == ["the journal knows", "gone", "no name"]
    assert blocks.read_bytes() == bytes(run_key.FILE_BYTES)


@pytest.mark.parametrize("before", [b"", b"of a process that died before its journal was laid out"])
def test_a_key_is_on_the_disk_before_anything_is_sealed_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    synced: list[int] = []
    seal = run_key.RunKey.seal

    def sealing(self: run_key.RunKey, content: bytes, place: bytes) -> memoryview:
        assert (tmp_path / "j.secret").stat().st_ino in synced
        assert synced[-1] == tmp_path.stat().st_ino
        return seal(self, content, place)

    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    monkeypatch.setattr(run_key.RunKey, "seal", sealing)
    if before:
        (tmp_path / "j.secret").write_bytes(before)
    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)


@pytest.mark.parametrize("key", [None, b"", bytes(4096), b"x" * 100, b"x" * 4096])
def test_without_its_key_a_run_cannot_go_on_but_a_finished_one_opens(
    tmp_path: Path, key: bytes | None
) -> None:
    """No key, an empty one, an overwritten one, half of one, another's."""

    def spoil() -> None:
        (tmp_path / "j.secret").unlink()
        if key is not None:
            (tmp_path / "j.secret").write_bytes(key)
            (tmp_path / "j.secret").chmod(0o600)

    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal.record_incoming(mask_frame())
    good = (tmp_path / "j.secret").read_bytes()
    spoil()
    with Journal.open(tmp_path / "j") as journal:
        assert len(journal.messages()) == 1, "it can be looked at"
        with pytest.raises(DamagedError, match="is missing, damaged or that of another") as refused:
            beginning(journal)
        assert "run 2" in refused.value.hint
        assert "titan runs clean" in refused.value.hint
    (tmp_path / "j.secret").write_bytes(good)
    (tmp_path / "j.secret").chmod(0o600)
    with Journal.open(tmp_path / "j") as journal:
        assert beginning(journal).keys == (fixed("key 0"), fixed("key 1"))
        assert list(journal.incoming()) == [mask_frame()]
        journal.finish(b"an answer", b"transcript")
    spoil()
    for _ in range(2):
        with Journal.open(tmp_path / "j") as journal:
            assert journal.state is not None
            assert journal.state.erased
            assert journal.state.result == b"an answer"
    assert not (tmp_path / "j.secret").exists()


def test_a_record_opens_in_its_own_place_only(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j") as journal:
        beginning(journal)
        journal._do("UPDATE sums SET key = (SELECT key FROM sums WHERE place = 0) WHERE place = 1")
        with pytest.raises(FileError, match="is damaged: sum 1 is not what was written down"):
            _ = journal.state
    with Journal.open(tmp_path / "k") as journal:
        beginning(journal)
        journal._do("UPDATE journal SET run = 2")
    with pytest.raises(FileError, match="is damaged"):
        Journal.open(tmp_path / "k")


def test_two_records_of_the_same_content_have_nothing_in_common() -> None:
    key = run_key.RunKey(b"x" * 4096)
    one, two = (bytes(key.seal(bytes(64), b"here")) for _ in range(2))
    assert {one[:12], one[12:28], one[28:44]}.isdisjoint({two[:12], two[12:28], two[28:44]})
    assert key.open(one, b"here") == key.open(two, b"here") == bytes(64)
    assert key.open(one, b"there") is key.open(one[:-1] + b"?", b"here") is None


def test_a_log_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be used: no such file"):
        database._open_log(tmp_path / "none", "journal")
