"""A party outlives its terminal: with stdout or stderr full, closed or stuck at any moment, all
parties get the answer, its secrets are erased, and its exit status says whether it was shown."""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from tests.party.campaign.nursing import Nurse
from tests.party.joining import Study, calm, until
from tests.party.loopback import Gathering
from titan.cli.terminal import LastingStream
from titan.study.audit import JOURNAL
from titan.study.journal import Journal

FULL = Path("/dev/full")
CYCLE = calm(("north", "east"), ("east", "south"), ("south", "north"))


class Pipe:
    """A named pipe of the least size, and its reading end."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.heard = b""
        fcntl.fcntl(self.end, fcntl.F_SETPIPE_SZ, 4096)

    def read(self) -> bytes:
        with suppress(BlockingIOError):
            self.heard += os.read(self.end, 1 << 16)
        return self.heard

    def fill(self) -> None:
        """So that whoever writes next waits."""
        end = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            while True:
                os.write(end, b"." * 4096)
        except BlockingIOError:
            os.close(end)

    def close(self) -> None:
        os.close(self.end)


Ends = Coroutine[None, None, None]
"""How it ends, once all have begun."""


class Trial(Study):
    """A study whose parties are in trouble, each in its own."""

    def pipe(self, name: str) -> Pipe:
        return Pipe(self.folder / f"{name}.pipe")

    def answered(self, name: str) -> bool:
        return self.answer(name) == self.expected

    def nothing_secret_is_left(self, name: str) -> None:
        (folder,) = (self.folder / "runs").glob(f"*-{name}")
        with Journal.open(folder / JOURNAL) as journal:
            assert journal.state is not None
            assert journal.state.erased
        assert (folder / "result.json").exists()


Trouble = Callable[[Trial, str], Coroutine[None, None, Ends]]


async def full_from_the_start(trial: Trial, name: str) -> Ends:
    party = await trial.join(name, out=FULL, save=False)

    async def ends() -> None:
        assert await party.ends() == 75
        assert "written to standard output: no space left on device" in party.said
        again = await trial.join(name)
        assert await again.ends() == 0
        assert again.out.stat().st_size

    return ends()


async def full_but_saved(trial: Trial, name: str) -> Ends:
    party = await trial.join(name, "--json", out=FULL, err=FULL)

    async def ends() -> None:
        assert await party.ends() == 0
        assert trial.answered(name)

    return ends()


async def closed_when_answered(trial: Trial, name: str) -> Ends:
    pipe = trial.pipe(name)
    party = await trial.join(name, out=pipe.path)
    await party.says("waiting for")  # so it has opened its end
    pipe.close()

    async def ends() -> None:
        assert await party.ends() == 0
        assert trial.answered(name)

    return ends()


async def closed_while_it_waits(trial: Trial, name: str) -> Ends:
    pipe = trial.pipe(name)
    party = await trial.join(name, "--json", err=pipe.path)
    await until(lambda: b"waiting for" in pipe.read())
    pipe.close()

    async def ends() -> None:
        assert await party.ends() == 0
        assert json.loads(party.out.read_text())["party"] == name

    return ends()


async def nobody_reads_what_it_tells(trial: Trial, name: str) -> Ends:
    pipe = trial.pipe(name)
    pipe.fill()
    party = await trial.join(name, err=pipe.path)

    async def ends() -> None:
        assert await party.ends() == 0
        pipe.close()

    return ends()


async def nobody_reads_the_answer_yet(trial: Trial, name: str) -> Ends:
    """The others, whose ends are looked at before, have all they need before somebody does."""
    pipe = trial.pipe(name)
    pipe.fill()
    party = await trial.join(name, out=pipe.path)

    async def ends() -> None:
        assert trial.answered(name)
        assert not party.ended.done()
        await until(lambda: b"All parties have this answer" in pipe.read())
        assert await party.ends() == 0
        pipe.close()

    return ends()


def stopped_while_nobody_reads(number: signal.Signals, *more: str) -> Trouble:
    """Neither the answer that is shown while it stays nor the JSON at the end keeps it."""

    async def trouble(trial: Trial, name: str) -> Ends:
        pipe = trial.pipe(name)
        pipe.fill()
        party = await trial.join(name, *more, out=pipe.path)

        async def ends() -> None:
            await until(lambda: trial.answered(name))
            await asyncio.sleep(0.2)
            os.kill(party.pid, number)
            assert await party.ends() == 75
            by = f" by {number.name}" * (number != signal.SIGINT)
            assert f"titan: stopped{by}; the answer is in " in party.said
            assert "Traceback" not in party.said
            trial.nothing_secret_is_left(name)
            again = await trial.join(name)
            assert await again.ends() == 0
            pipe.close()

        return ends()

    return trouble


async def a_terminal_beside_a_file(trial: Trial, name: str) -> Ends:
    """The live line is on the terminal, and the answer in the file."""
    master, slave = os.openpty()
    party = await trial.join(name, err=Path(os.ttyname(slave)))

    async def ends() -> None:
        assert await party.ends() == 0
        assert "All parties have this answer" in party.out.read_text()
        os.close(slave)
        os.close(master)

    return ends()


async def a_terminal_that_goes_away(trial: Trial, name: str) -> Ends:
    master, slave = os.openpty()
    place, seen = Path(os.ttyname(slave)), b""
    party = await trial.join(name, out=place, err=place, save=False)
    while b"waiting for" not in seen:
        seen += await asyncio.to_thread(os.read, master, 1 << 10)
    os.close(slave)
    os.close(master)

    async def ends() -> None:
        assert await party.ends() == 75

    return ends()


async def no_trouble(trial: Trial, name: str) -> Ends:
    party = await trial.join(name)

    async def ends() -> None:
        assert await party.ends() == 0

    return ends()


TRIALS = (
    (closed_while_it_waits, full_but_saved, full_from_the_start),
    (a_terminal_that_goes_away, closed_when_answered, a_terminal_beside_a_file),
    (nobody_reads_what_it_tells, no_trouble, nobody_reads_the_answer_yet),
    (
        stopped_while_nobody_reads(signal.SIGTERM),
        stopped_while_nobody_reads(signal.SIGINT),
        stopped_while_nobody_reads(signal.SIGTERM, "--json"),
    ),
)
"""What happens to north, east and south; those who must wait for somebody come first."""


def test_whatever_happens_to_its_streams_a_party_takes_part_to_the_end(tmp_path: Path) -> None:
    async def trial() -> None:
        async with Nurse() as nurse:
            for number, troubles in enumerate(TRIALS):
                folder = tmp_path / str(number)
                folder.mkdir()
                study = Trial(folder, nurse, CYCLE)
                names = CYCLE.parties
                ends = [await each(study, name) for each, name in zip(troubles, names, strict=True)]
                for each in ends:
                    await each
                for name in names:
                    study.nothing_secret_is_left(name)

    asyncio.run(trial())


def test_without_stderr_nothing_told_is_among_answers_or_in_other_files(tmp_path: Path) -> None:
    """Else the next file that is opened, the journal, is what libraries write their words into."""
    g = Gathering(tmp_path)
    g.save()
    words = [sys.executable, "-m", "titan", *map(str, g.words("north", "--wait", "0.1"))]
    closed = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *words]
    done = subprocess.run(closed, cwd=tmp_path, check=False, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (75, b"")
    (folder,) = (tmp_path / "runs").glob("*-north")
    with Journal.open(folder / JOURNAL) as journal:
        assert journal.state is not None


def test_an_answer_on_a_closed_stdout_was_not_shown() -> None:
    """`>&-`: what is printed goes nowhere, and who must know is told so."""
    code = (
        "import sys; from titan.cli import terminal, output; output.speak_plainly(); "
        "terminal.outlive_terminal(); print('the answer'); sys.stderr.write(terminal.not_shown())"
    )
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", code]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "it is closed")


def test_any_command_says_that_its_answer_was_not_written() -> None:
    words = [sys.executable, "-m", "titan", "--version"]
    with FULL.open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("titan: error: no space left on device\ntitan: hint: make room")


def test_a_stream_that_failed_is_silent_and_says_why() -> None:
    with FULL.open("w") as full:
        stream = LastingStream(full, waits=True)
        assert stream.write("words\n") == 6
        stream.flush()
        assert stream.failure == "no space left on device"
        stream.write("more")
        assert os.path.samestat(os.fstat(full.fileno()), Path(os.devnull).stat())


def test_a_question_can_be_asked_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What typer asks with looks first whether a stream takes bytes; one that did not mind did."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", LastingStream(shown, waits=True))
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert typer.confirm("Take part?")
    assert shown.buffer.getvalue().startswith(b"Take part? [y/N]:")
