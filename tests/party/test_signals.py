"""SIGTERM and SIGHUP end `join` with a word, status 75, and a journal from which it goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from subprocess import PIPE, Popen, run
from unittest.mock import patch

import pytest
import typer

from tests.party.campaign.nursing import Nurse
from tests.party.joining import Study, calm
from tests.party.loopback import Gathering
from titan.cli import stopping
from titan.cli.stopping import ends_with_a_word
from titan.party.run import MAIN_TASK

CYCLE = calm(("north", "east"), ("east", "south"), ("south", "north"))
KEPT = "what was done is kept, and the same command continues from here"


def test_a_party_that_was_stopped_goes_on_with_the_same_command(tmp_path: Path) -> None:
    """Before others came, and while the sums are made; a terminal may hang up twice."""

    async def trial() -> None:
        async with Nurse() as nurse:
            study = Study(tmp_path, nurse, CYCLE)
            north = await study.join("north")
            await north.says("waiting for")
            for _ in range(2):
                os.kill(north.pid, signal.SIGHUP)
            assert await north.ends() == 75
            assert north.said.endswith(f"titan: stopped by SIGHUP; {KEPT}\n")
            others = [await study.join(name) for name in ("east", "south")]
            north = await study.join("north")
            await north.says("sum 1 of 3")
            os.kill(north.pid, signal.SIGTERM)
            if await north.ends():  # it may have been quicker
                assert "titan: stopped by SIGTERM; " in north.said
                assert "Traceback" not in north.said
                assert await (await study.join("north")).ends() == 0
            assert [await each.ends() for each in others] == [0, 0]
            assert all(study.answer(name) == study.expected for name in CYCLE.parties)

    asyncio.run(trial())


WHILE_LOADING = """
import os, signal, sys
import titan.__main__

class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == "titan.cli":
            os.kill(os.getpid(), getattr(signal, sys.argv.pop()))

sys.meta_path.insert(0, Loading())
titan.__main__.main()
"""
"""A signal, the last word, comes when the first of the program's many modules is looked for."""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_that_comes_while_the_program_is_loaded_gets_its_word(
    tmp_path: Path, name: str
) -> None:
    words = ["join", "study.toml", "--as", "north", "--key", "north.key", "--data", "north.csv"]
    more = ["--log-format", "json", name]
    loading = [sys.executable, "-c", WHILE_LOADING, *words, *more]
    done = run(loading, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 75
    (line,) = map(json.loads, done.stderr.splitlines())
    by = "" if name == "SIGINT" else f" by {name}"
    nothing = "nothing was sent, and the same command begins again"
    assert (line["event"], line["message"]) == ("stopped", f"stopped{by}; {nothing}")


def test_no_other_command_holds_signals_back(tmp_path: Path) -> None:
    loading = [sys.executable, "-c", WHILE_LOADING, "status", "SIGTERM"]
    done = run(loading, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, b"")


def test_what_is_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    """nohup, and a shell that starts it in the background: SIGTERM ends it all the same."""
    g = Gathering(tmp_path)
    g.save()
    words = [sys.executable, "-m", "titan", *map(str, g.words("north"))]
    deaf = ["sh", "-c", 'trap "" HUP INT; exec "$@"', "sh", *words]
    with Popen(deaf, cwd=tmp_path, stderr=PIPE, text=True) as north:
        assert north.stderr is not None
        assert "waiting for" in north.stderr.readline()
        for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            north.send_signal(each)
        *_, last = north.stderr
    assert north.returncode == 75
    assert last.endswith(f"titan: stopped by SIGTERM; {KEPT}\n")


def as_before() -> None:
    """This process was stopped, and is not stopped again; but here it goes on."""
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        assert signal.signal(each, signal.SIG_DFL) is signal.SIG_IGN, "once is enough"
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert stopping._stopped.is_set()
    stopping._stopped.clear()


def test_a_handler_starts_no_thread() -> None:
    """It may come while the main thread starts one, and holds what both would need."""
    try:
        with patch.object(threading.Thread, "start") as start, pytest.raises(typer.Exit) as left:
            ends_with_a_word()(lambda: os.kill(os.getpid(), signal.SIGTERM))()
    finally:
        as_before()
    assert left.value.exit_code == 75
    assert not start.called


def test_what_does_not_even_break_off_is_cut_short() -> None:
    """A lock that is never released, say, on the way out of what was broken off."""
    stuck = """
import os, signal, time
from titan.cli import stopping
stopping._GENTLY = 0.05
with stopping.ends_with_a_word():
    for _ in range(3):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except KeyboardInterrupt:
            continue
"""
    done = run([sys.executable, "-c", stuck], capture_output=True, text=True, check=False)
    assert done.returncode == 75
    assert done.stderr.startswith("titan: stopped by SIGTERM; it did not end by itself")


def test_what_does_not_listen_is_broken_off(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that are being read, for example, while nothing else gets its turn."""

    async def deaf() -> None:
        asyncio.current_task().set_name(MAIN_TASK)  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGTERM)
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            pass

    try:
        with patch.object(stopping, "_GENTLY", 0.05), pytest.raises(typer.Exit) as left:
            ends_with_a_word()(lambda: asyncio.run(deaf()))()
    finally:
        as_before()
    assert left.value.exit_code == 75
    assert capsys.readouterr().err.startswith("titan: stopped by SIGTERM; nothing was sent")
