"""`titan status` tells how every run stands, from files alone: what a party wrote while it ran, and
whether its process still lives. Nothing secret is in them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.cli.test_commands import titan
from tests.cli.unread import unread
from tests.party.loopback import NAMES, Gathering, run, until
from titan.errors import FileError, PeerError, ReleaseError
from titan.party import status_file
from titan.party.run import RunProgress
from titan.party.run_events import Watch
from titan.party.status_file import StatusFile, process_start, read
from titan.study.audit import STATUS
from titan.study.journal import Journal


def state(folder: Path) -> str:
    found = read(folder)
    assert found is not None
    return found.state


def begun(folder: Path, name: str = "a") -> StatusFile:
    (folder / name).mkdir()
    return StatusFile(folder / name, "f" * 64, 1, "north")


def changed(folder: Path, **facts: Any) -> None:
    told = json.loads((folder / STATUS).read_text())
    (folder / STATUS).write_text(json.dumps(told | facts))


def test_of_a_run_from_beginning_to_end(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    north = g.run_folder("north")
    seen: list[dict[str, Any]] = []
    write = StatusFile._write

    def watched(self: StatusFile) -> None:
        write(self)
        if self._path.parent == north:
            seen.append(json.loads((north / STATUS).read_text()))

    async def trial() -> None:
        waiting = g.joining("north")
        await until(lambda: bool(seen) and seen[-1]["waiting"] == ["east", "south"])
        assert state(north) == "running"
        await asyncio.gather(waiting, g.joining("east"), g.joining("south"))

    with patch.object(StatusFile, "_write", watched), patch.object(status_file, "_BURST", 10_000):
        run(trial())
    states = list(dict.fromkeys(each["state"] for each in seen))
    assert states == ["running", "serving", "answered"]
    assert {(each["sum"], each["sums"]) for each in seen} >= {(None, None), (1, 3), (3, 3)}
    came = [each["here"] for each in seen if each["here"]]
    assert came[0] == ["north"], "nobody else has come"
    assert ["north", "east", "south"] in came, "all are named, in the study's order"
    assert seen[-1] | {"exit_status": 0, "pid": os.getpid(), "waiting": []} == seen[-1]
    assert stat.S_IMODE((north / STATUS).stat().st_mode) == 0o600
    with Journal.open(north / "journal.db") as journal:
        assert journal.state is not None
        nonces = [nonce.hex() for nonce in journal.state.nonces.values()]
    assert not any(nonce in (north / STATUS).read_text() for nonce in nonces)


def test_how_a_run_ended(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(PeerError):
        run(g.join("north", wait=0.2))
    assert state(g.run_folder("north")) == "stopped"
    few = Gathering(tmp_path, changes={"min_rows_total": 40})
    for name in NAMES:
        (tmp_path / f"{name}.ledger").unlink(missing_ok=True)
    assert {type(each) for each in run(few.errors(run=2)).values()} == {ReleaseError}
    for name in NAMES:
        assert state(few.run_folder(name, 2)) == "refused"
        text = (few.run_folder(name, 2) / STATUS).read_text()
        assert "rows" not in text, "why is told by titan show"


def test_a_party_that_waits_for_its_turn_does_not_speak_for_the_other(tmp_path: Path) -> None:
    g = Gathering(tmp_path)

    async def trial() -> None:
        first = g.joining("north")
        await until(lambda: bool(g.phases.get("north")))
        with pytest.raises(FileError, match="another process is using"):
            await g.join("north")
        assert state(g.run_folder("north")) == "running"
        await asyncio.gather(first, g.joining("east"), g.joining("south"))

    run(trial())


def test_a_process_that_died_is_found_out(tmp_path: Path) -> None:
    begun(tmp_path)
    folder = tmp_path / "a"
    assert state(folder) == "running"
    changed(folder, process="1")  # another one has its number by now
    assert state(folder) == "gone"
    changed(folder, process="", pid=2**22 + 1)  # more than the system gives
    assert state(folder) == "gone"
    changed(folder, host="elsewhere")
    assert state(folder) == "running", "nobody can know"
    changed(folder, state="answered")
    assert state(folder) == "answered"
    assert process_start(os.getpid()) != process_start(1)


def test_exit_status_for_supervisors(tmp_path: Path) -> None:
    assert titan("status", tmp_path).returncode == 1
    assert "no run was begun" in titan("status", tmp_path).stderr
    assert titan("status", tmp_path / "nowhere").returncode == 1
    begun(tmp_path)
    (tmp_path / "not a run").mkdir()
    assert titan("status", cwd=tmp_path).returncode == 1, "runs/ is looked for"
    for folder in (tmp_path, tmp_path / "a"):
        done = titan("status", folder)
        assert done.returncode == 0
        assert "running" in done.stdout
        assert f"preparing (process {os.getpid()})" in done.stdout
    begun(tmp_path, "b").__exit__(None, PeerError("no"), None)
    assert titan("status", tmp_path).returncode == 1
    begun(tmp_path, "c").__exit__(None, KeyboardInterrupt(), None)
    done = titan("status", tmp_path, "--json")
    assert done.returncode == 75
    told = json.loads(done.stdout)["runs"]
    assert [each["state"] for each in told] == ["running", "failed", "stopped"]
    assert [each["exit_status"] for each in told] == [None, 1, 75]
    assert set(told[0]) == {
        "folder", "study", "run", "party", "state", "since", "phase", "waiting", "here", "sum",
        "sums", "started", "progressed", "exit_status", "pid", "host", "version", "problem",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["garbage", "", '{"format": 2, "state": "running"}', "[" * 60_000])
def test_what_cannot_be_read_of_one_run_does_not_hide_the_others(tmp_path: Path, text: str) -> None:
    begun(tmp_path, "a")
    begun(tmp_path, "b")
    (tmp_path / "b" / STATUS).write_text(text)
    done = titan("status", tmp_path, "--json")
    one, other = json.loads(done.stdout)["runs"]
    assert (done.returncode, one["state"], one["problem"]) == (1, "running", None)
    assert other.keys() == one.keys()
    known = {key: value for key, value in other.items() if value is not None}
    assert known.pop("problem").startswith(f"{tmp_path / 'b' / STATUS} is not a status that this")
    assert known == {"folder": str(tmp_path / "b"), "state": "unreadable"}
    done = titan("status", tmp_path)
    assert (done.returncode, "running" in done.stdout, "unreadable" in done.stdout) == (
        1,
        True,
        True,
    )
    assert "is not a status that this version" in done.stderr
    assert titan("status", tmp_path / "b").returncode == 1
    begun(tmp_path, "c").__exit__(None, KeyboardInterrupt(), None)
    assert titan("status", tmp_path).returncode == 75, "there is something to start again"


@pytest.mark.parametrize(
    "facts", [{"since": "\x1b[2J"}, {"phase": "a\nb"}, {"waiting": ["\x9b2J"]}, {"party": "\ud800"}]
)
def test_what_does_not_print_is_no_status(tmp_path: Path, facts: dict[str, Any]) -> None:
    begun(tmp_path)
    changed(tmp_path / "a", **facts)
    with pytest.raises(FileError, match="is not a status that this version of titan wrote"):
        read(tmp_path / "a")


def test_a_run_that_lost_its_status_is_shown_until_it_is_given_up(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(PeerError):
        run(g.join("north", wait=0.2))
    begun(tmp_path, "z")
    folder = g.run_folder("north")
    (folder / STATUS).unlink()
    for place in (tmp_path, folder):
        done = titan("status", place)
        assert (done.returncode, "unreadable" in done.stdout) == (1, True)
        assert f"{folder / STATUS} is missing" in done.stderr
    assert titan("runs", "clean", folder, "--yes").returncode == 0
    done = titan("status", tmp_path, "--json")
    assert (done.returncode, len(json.loads(done.stdout)["runs"])) == (0, 1)
    assert "all were given up" in titan("status", folder).stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])  # noticed at the end, or at once
def test_a_reader_that_goes_away_does_not_change_the_status(
    tmp_path: Path, unbuffered: str
) -> None:
    begun(tmp_path).__exit__(None, KeyboardInterrupt(), None)
    done = unread("status", tmp_path, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (75, "")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "pid": 1}'])
def test_a_file_that_is_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / STATUS).write_text(text)
    with pytest.raises(FileError, match="not a status"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("state", "lost"), ("pid", 0), ("pid", 2**31), ("pid", "1"), ("waiting", [1]), ("here", None)],
)
def test_a_file_with_a_value_of_another_kind(tmp_path: Path, field: str, value: object) -> None:
    """To show it, or to look for its process, would end with a traceback."""
    begun(tmp_path)
    file = tmp_path / "a" / STATUS
    told = json.loads(file.read_text())
    assert read(file.parent)
    file.write_text(json.dumps(told | {field: value}))
    with pytest.raises(FileError, match="not a status"):
        read(file.parent)


def test_a_full_disk_leaves_the_last_status_and_no_pieces(tmp_path: Path) -> None:
    """As for a minute in which others are waited for; then there is room again."""
    full = OSError(errno.ENOSPC, "no space left on device")
    with begun(tmp_path) as status:
        before = (tmp_path / "a" / STATUS).read_text()
        for broken in (
            patch.object(json, "dump", side_effect=full),
            patch.object(Path, "replace", side_effect=full),
        ):
            with broken:
                status._set("serving")
            assert [each.name for each in (tmp_path / "a").iterdir()] == [STATUS]
            assert (tmp_path / "a" / STATUS).read_text() == before
        status._set("serving")
        assert state(tmp_path / "a") == "serving"


def test_progress_is_written_now_and_then_and_never_fails(tmp_path: Path) -> None:
    writes = 0

    def count(self: StatusFile) -> None:
        nonlocal writes
        writes += 1

    async def trial() -> None:
        with begun(tmp_path) as status:
            watch = status.watched(Watch())
            assert watch.progress is not None
            (tmp_path / "a" / STATUS).unlink()
            (tmp_path / "a").rmdir()
            watch.progress(RunProgress("masks"))
            with patch.object(StatusFile, "_write", count):
                for _ in range(10_000):
                    watch.progress(RunProgress("masks"))

    asyncio.run(trial())
    assert writes < 10
