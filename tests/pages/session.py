"""A reader who copies every block of a page into a terminal, one after the other."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from tests.pages.blocks import Block, missing_in
from tests.pages.interpreter import Interpreter
from tests.party.ports import free_port

_ADDRESS = re.compile(r"(?<=127\.0\.0\.1:)\d+|(?<=0\.0\.0\.0:)\d+")
_AFTER = '\n{ pwd; env -0; } > "$TITAN_PAGE_STATE"\n'
_SECONDS = 900  # for what hangs; a busy machine may be slow
_LOOKS_FOR = {
    "python": ["python", "-c", "import importlib, sys; importlib.import_module(sys.argv[1])"],
    "R": ["Rscript", "-e", "library(commandArgs(TRUE), character.only = TRUE)"],
}


def with_free_ports(text: str, ports: dict[str, int]) -> str:
    """Ports that are free on this machine in place of those that a page names."""

    def other(match: re.Match[str]) -> str:
        if match[0] not in ports:
            ports[match[0]] = free_port()
        return str(ports[match[0]])

    return _ADDRESS.sub(other, text)


class PageError(AssertionError):
    """What a page says is not what happens."""


@dataclass
class Session:
    """One page, in a folder that was empty before."""

    folder: Path
    programs: Path = Path(sys.executable).parent
    """Where `titan` and `python` are, until the page installs others."""
    not_run: list[str] = field(default_factory=list)
    """Blocks that were left out, with the reason."""

    def __post_init__(self) -> None:
        self.where = self.folder
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("TITAN_")
        }
        self.environment |= {
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
        }
        self.python: Interpreter | None = None
        self.ports: dict[str, int] = {}

    def run(self, blocks: list[Block]) -> int:
        """All of them, in order; how many were run."""
        wanted = [block for block in blocks if self._is_run(block)]
        try:
            self._run(wanted)
        finally:
            if self.python is not None:
                self.python.close()
        return len(wanted)

    def _run(self, wanted: list[Block]) -> None:
        for at_terminals, group in groupby(wanted, key=lambda block: "terminal" in block.tags):
            if at_terminals:
                self._beside_each_other(list(group))
            else:
                for block in group:
                    self._one(block)

    def _is_run(self, block: Block) -> bool:
        reason = block.tags.get("not-run")
        needs = block.tags.get("needs") or ("Rscript" if block.language == "r" else "")
        if reason is None and needs and not self._there(needs):
            reason = f"{needs} is not there"
        if reason is not None:
            self.not_run.append(f"{block.place}: {reason}")
        return reason is None

    def _there(self, needs: str) -> bool:
        """`titan join --sql`, `Rscript`, `python:duckdb` or `R:arrow`."""
        program, *words = shlex.split(needs)
        language, _, package = program.partition(":")
        if package:
            return self._tells([*_LOOKS_FOR[language], package]) is not None
        if not words:
            return shutil.which(program, path=self.environment["PATH"]) is not None
        options = [word for word in words if word.startswith("-")]
        told = self._tells([program, *(w for w in words if w not in options), "--help"])
        return told is not None and all(option in told for option in options)

    def _tells(self, command: list[str]) -> str | None:
        """What it prints; None where it is not there, or fails."""
        found = shutil.which(command[0], path=self.environment["PATH"])
        if found is None:
            return None
        done = subprocess.run(
            [found, *command[1:]], capture_output=True, text=True, env=self.environment, check=False
        )
        return None if done.returncode else done.stdout

    # -- one after the other ------------------------------------------------------------------

    def _one(self, block: Block) -> None:
        status, printed = self._in_shell(block) if block.language == "sh" else self._program(block)
        self._hold(block, status, printed)

    def _in_shell(self, block: Block) -> tuple[int, str]:
        """With what earlier blocks left: the folder they went to, the variables they set."""
        state = self.folder / ".state"
        script = self._here(block.text) + _AFTER
        status, printed = self._started(["bash", "-eo", "pipefail", "-c", script], state)
        if state.exists():
            where, _, variables = state.read_text(encoding="utf-8").partition("\n")
            self.where = Path(where)
            pairs = (pair.partition("=") for pair in variables.split("\0") if pair)
            self.environment = {name: value for name, _, value in pairs}
            state.unlink()
        return status, printed

    def _program(self, block: Block) -> tuple[int, str]:
        text = self._here(block.text)
        if block.language == "r":
            return self._started(["Rscript", "-e", text])
        if self.python is None:
            self.python = Interpreter(self.environment, self.where)
        return self.python.run(text, self.where)

    def _started(self, command: list[str], state: Path | None = None) -> tuple[int, str]:
        """Its status and what it said on both ways out."""
        variables = self.environment | ({} if state is None else {"TITAN_PAGE_STATE": str(state)})
        done = subprocess.run(
            command,
            cwd=self.where,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout

    # -- at the same time ---------------------------------------------------------------------

    def _beside_each_other(self, blocks: list[Block]) -> None:
        started = [(block, *self._at_terminal(block)) for block in blocks]
        with ThreadPoolExecutor(len(started)) as listeners:
            heard = listeners.map(_listen, (s[2] for s in started), (b.tags for b in blocks))
        for (block, process, _), printed in zip(started, heard, strict=True):
            self._hold(block, process.wait(_SECONDS), printed)

    def _at_terminal(self, block: Block) -> tuple[subprocess.Popen[bytes], int]:
        (mine, theirs), text = pty.openpty(), self._here(block.text)
        process = subprocess.Popen(
            ["timeout", "--foreground", str(_SECONDS), "bash", "-eo", "pipefail", "-c", text],
            cwd=self.where,
            env=self.environment | {"TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        return process, mine

    # -- what is held against the page --------------------------------------------------------

    def _hold(self, block: Block, status: int, printed: str) -> None:
        if status != int(block.tags.get("status", 0)):
            raise PageError(f"{block.place} ends with status {status}:\n{block.text}\n{printed}")
        absent = None if block.shows is None else missing_in(printed, self._here(block.shows))
        if absent is not None:
            raise PageError(f"{block.place} does not print\n{absent}\nbut\n{printed}")

    def _here(self, text: str) -> str:
        return with_free_ports(text, self.ports)


def _listen(end: int, tags: dict[str, str]) -> str:
    """All that is printed at a terminal; the answer is typed once it is asked for."""
    heard, answer = b"", tags.get("answer")
    while True:
        try:
            data = os.read(end, 1 << 16)
        except OSError:  # Linux says so when the other side is closed
            data = b""
        if not data:
            os.close(end)
            return heard.decode(errors="replace").replace("\r\n", "\n")
        heard += data
        if answer is not None and heard.rstrip().endswith(b"[y/N]:"):
            os.write(end, answer.encode() + b"\n")
            answer = None
