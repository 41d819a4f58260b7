"""Parties run side by side: one answer of all, or the error of one, and nobody left behind.

A stand-in plays the parties here; `test_rehearse` has the real ones.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.study.studies import study
from titan.errors import InputError, NetworkError, RecoveryError, TitanError
from titan.network import Network
from titan.party import processes, rehearsal
from titan.party.rehearsal import Rehearsal, rehearse
from titan.study import Link, Study

NAMES = ("north", "east", "south")
STUDY = study(NAMES)
ANSWER = 'answer {"params": {"x": 1.5}, "dropped": 2, "cost": {"rounds": 3}}'
STAND_IN = Path(__file__).with_name("stand_in.py")


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "_JOIN", (sys.executable, "-S", str(STAND_IN)))


def played(tmp_path: Path, *scripts: str, **choices: object) -> Rehearsal:
    data = {}
    for name, script in zip(NAMES, scripts, strict=True):
        data[name] = tmp_path / f"{name}.csv"
        data[name].write_text(script + "\n")
    return rehearse(STUDY, data, **choices)  # type: ignore[arg-type]


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_answer_and_everybodys_times(tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    out = played(
        tmp_path, f"say titan: waiting for east\n{ANSWER}", ANSWER, f"sleep 0.2\n{ANSWER}",
        progress=lambda *line: said.append(line),
    )  # fmt: skip
    assert out.answer == {"params": {"x": 1.5}, "dropped": 6, "cost": {"rounds": 3}}
    assert set(out.times) == set(NAMES)
    for times in out.times.values():
        assert 0.1 < times["connected"] < times["pooled"] < times["answered"]
    assert said == [("north", "waiting for east")]
    assert out.as_dict() == {**out.answer, "times": out.times}
    assert not out.runs["north"].parent.exists(), "a folder of its own is gone"


def test_what_is_kept_is_for_its_owner(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    out = played(tmp_path, ANSWER, ANSWER, ANSWER, folder=kept, allow_small=True)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    copy = Study.load(kept / "study.toml")
    assert copy.digest == out.study.digest
    assert (copy.min_rows_party, copy.min_rows_total, copy.rows_per_parameter) == (1, 1, 1)
    assert {p.name for p in (kept / "keys").glob("*.key")} == {f"{name}.key" for name in NAMES}
    assert out.runs["east"] == kept / "runs" / "east"


def test_the_words_of_a_party(tmp_path: Path) -> None:
    words = rehearsal._words(tmp_path, "north", tmp_path / "n.csv", 90.0, True)
    assert words[3:] == [
        str(tmp_path / "study.toml"), "--as", "north", "--data", str(tmp_path / "n.csv"),
        "--key", str(tmp_path / "keys/north.key"), "--runs", str(tmp_path / "runs/north"),
        "--ledger", str(tmp_path / "runs/north.ledger"), "--run", "1", "--wait", "90",
        "--yes", "--json", "--keep-journal",
    ]  # fmt: skip


def test_a_party_that_fails_ends_the_others(tmp_path: Path) -> None:
    pids = [tmp_path / "one.pid", tmp_path / "two.pid"]
    with pytest.raises(TitanError, match=r'^"east": east\.csv has no rows') as failed:
        played(
            tmp_path, f"pid {pids[0]}\nsleep 60",
            f"await {pids[0]}\nawait {pids[1]}\nsay titan: error: east.csv has no rows\n"
            "say titan: hint: add some\nend 1",
            f"pid {pids[1]}\nsleep 60",
        )  # fmt: skip
    assert failed.value.hint == "add some"
    assert not any(running(int(pid.read_text())) for pid in pids)


ABSENT = 'say titan: error: east does not take part: "its file of rows does not fit"\nend 1'


def test_a_party_that_does_not_take_part_is_the_one_that_is_shown(tmp_path: Path) -> None:
    """The others end before it, with its words instead of its error."""
    pids = [tmp_path / "one.pid", tmp_path / "two.pid"]
    with pytest.raises(TitanError, match=r'^"east": east\.csv has no column'):
        played(
            tmp_path, f"pid {pids[0]}\n{ABSENT}",
            f"await {pids[0]}\nawait {pids[1]}\nsleep 0.2\n"
            "say titan: error: east.csv has no column\nend 1",
            f"pid {pids[1]}\n{ABSENT}",
        )  # fmt: skip
    with pytest.raises(TitanError, match=r'^"north": east does not take part'):
        played(tmp_path, ABSENT, ANSWER, ANSWER)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill", '"north" was ended by signal 9'),
        ("end 3", '"north" ended with status 3'),
        ("say Boom: oh\nend 1", '"north" ended with status 1: Boom: oh'),
        ("print {", '"north" ended without an answer'),
        ("print [1]", '"north" ended without an answer'),
        ('answer {"party": "east"}', '"north" ended without an answer'),
    ],
)
def test_a_party_that_says_nothing_of_use(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(TitanError, match=message):
        played(tmp_path, script, ANSWER, ANSWER)


def test_different_answers_are_no_answer(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match='"north" and "south" ended with different answers'):
        played(tmp_path, ANSWER, ANSWER, ANSWER.replace("1.5", "1.5000000000000002"))


def test_one_that_does_not_want_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_SECONDS_TO_END", 0.2)
    pid = tmp_path / "pid"
    with pytest.raises(TitanError, match='"south" ended with status 1'):
        played(tmp_path, f"ignore\npid {pid}\nsleep 60", ANSWER, f"await {pid}\nend 1")
    assert not running(int(pid.read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nobody_behind(tmp_path: Path, number: int) -> None:
    pid = tmp_path / "pid"
    commands = {"a": [sys.executable, "-S", str(STAND_IN), "study", "--data", str(tmp_path / "a")]}
    (tmp_path / "a").write_text(f"pid {pid}\nsleep 60\n")
    code = f"from titan.party.processes import run_all; run_all({commands!r}, None)"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as parent:
        while not pid.exists():
            time.sleep(0.02)
        parent.send_signal(number)
        assert parent.wait(20) != 0
    assert not running(int(pid.read_text()))


def test_what_is_not_even_started(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows of east, south"):
        rehearse(STUDY, {"north": tmp_path})
    links = tuple(Link(a, b) for a, b in Network.cycle(list(NAMES)).edges[:-1])
    with pytest.raises(NetworkError, match="not strongly connected"):
        rehearse(study(NAMES, links=links), dict.fromkeys(NAMES, tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file cannot be used: file exists"):
        rehearse(STUDY, dict.fromkeys(NAMES, tmp_path), folder=tmp_path / "file")


def test_one_thread_each_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    found = processes._environment()
    assert (found["OMP_NUM_THREADS"], found["OPENBLAS_NUM_THREADS"]) == ("3", "1")
