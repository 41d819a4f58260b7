"""Several programs side by side: what each says, and none left behind.

All are listened to at once, in this thread. The first that fails ends the others.
"""

# Rule 1: whatever happens here (an error, Ctrl-C, a signal to end), no child outlives the call.
# Rule 2: what a child writes to stderr is for the person who started it: progress, or an error.

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

from titan.errors import ReleaseError, TitanError
from titan.joint.meeting import VETO
from titan.party.run import DOES_NOT_TAKE_PART, OTHERS_WAIT

Progress = Callable[[str, str], None]
"""Called with a child's name and a line that it said."""

_SELF = "titan: "
_ERROR, _HINT = f"{_SELF}error: ", f"{_SELF}hint: "
_SECONDS_TO_END = 5.0
_LINES = 50  # of which an error is made
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(eq=False)
class _Child:
    name: str
    process: subprocess.Popen[bytes]
    out: bytearray = field(default_factory=bytearray, repr=False)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES), repr=False)
    _rest: bytes = field(default=b"", repr=False)
    open_pipes: int = 2

    @property
    def pipes(self) -> list[IO[bytes]]:
        return [pipe for pipe in (self.process.stdout, self.process.stderr) if pipe is not None]

    @property
    def answered(self) -> bool:
        """Whether some of its questions have an answer, though others have none."""
        try:
            questions = json.loads(self.out)["questions"]
            return any("error" not in answer for answer in questions.values())
        except (ValueError, TypeError, KeyError):
            return False

    def hear(self, data: bytes, progress: Progress | None) -> None:
        """Take in a piece of stderr; a line may come in several."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").rstrip()
            if text:
                self.lines.append(text)
                if progress is not None and not text.startswith((_ERROR, _HINT)):
                    progress(self.name, text.removeprefix(_SELF))


def run_all(commands: Mapping[str, Sequence[str]], progress: Progress | None) -> dict[str, str]:
    """Run these commands together and return what each wrote to stdout.

    TitanError with a child's name and its own words where one fails.
    """
    children: list[_Child] = []
    with _signals_raise():
        try:
            for name, words in commands.items():
                children.append(_Child(name, _started(words)))
            _listen(children, progress)
        finally:
            _end(children)
    return {child.name: child.out.decode(errors="replace") for child in children}


def _started(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C comes to us, and we end it in order."""
    return subprocess.Popen(  # noqa: S603 - our own program
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    )


def _environment() -> dict[str, str]:
    """Several processes share the processors: each has one thread for its arithmetic."""
    found = dict.fromkeys(_ONE_THREAD, "1") | os.environ
    for name in [name for name in found if name.startswith("TITAN_")]:  # meant for real runs
        del found[name]
    found["TITAN_JOIN_LOG_FORMAT"] = "plain"  # as it is read here
    if "PYTHONPATH" in found:  # which may be relative to another place than this one by now
        here = Path(__file__).resolve().parents[2]
        found["PYTHONPATH"] = os.pathsep.join([str(here), found["PYTHONPATH"]])
    return found


def _listen(children: Sequence[_Child], progress: Progress | None) -> None:
    """Until all have ended well, or one has not."""
    with selectors.DefaultSelector() as pipes:
        for child in children:
            for pipe in child.pipes:
                pipes.register(pipe, selectors.EVENT_READ, child)
        left_alone: list[_Child] = []
        while pipes.get_map():
            for key, _ in pipes.select():
                child, data = key.data, os.read(key.fd, 1 << 16)
                if key.fileobj is child.process.stderr:
                    child.hear(data or b"\n", progress)
                else:
                    child.out += data
                if not data:
                    pipes.unregister(key.fileobj)
                    left_alone += [child] if _closed(child) else []
        for child in left_alone:  # the one they waited for has said nothing of its own
            _fail(child)


def _closed(child: _Child) -> bool:
    """Whether it ended because of another one; a failure of its own is raised."""
    child.open_pipes -= 1
    if child.open_pipes or not child.process.wait() or child.answered:
        return False
    said = [line for line in child.lines if line.startswith(_ERROR)]
    if not any(DOES_NOT_TAKE_PART in line or VETO in line for line in said):
        _fail(child)
    return True


def _fail(child: _Child) -> NoReturn:
    said = [line.removeprefix(_ERROR) for line in child.lines if line.startswith(_ERROR)]
    hints = [line.removeprefix(_HINT) for line in child.lines if line.startswith(_HINT)]
    status = child.process.returncode
    if said:
        hint = hints[0].removesuffix(OTHERS_WAIT) if hints else ""  # here nobody does
        what = f'"{child.name}": {said[0]}'
        if status != ReleaseError.exit_status:
            raise TitanError(what, hint=hint)
        refusal = ReleaseError(what, hint=hint)
        vars(refusal).update(_refused(bytes(child.out)))
        raise refusal
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    raise TitanError(f'"{child.name}" {how}' + (f": {child.lines[-1]}" if child.lines else ""))


def _refused(out: bytes) -> dict[str, str]:
    """Which rule it was, as the party said it in JSON."""
    try:
        said = json.loads(out)["refused"]
        return {key: str(said[key] or "") for key in ("rule", "question", "cell")}
    except (ValueError, TypeError, KeyError):
        return {}


def _end(children: Sequence[_Child]) -> None:
    """Ask those that still run to end, and after some seconds insist."""
    running = [child.process for child in children if child.process.poll() is None]
    try:
        for process in running:
            process.terminate()
        until = time.monotonic() + _SECONDS_TO_END
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
    finally:  # also where somebody loses patience meanwhile
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
        for pipe in (pipe for child in children for pipe in child.pipes):
            pipe.close()


@contextmanager
def _signals_raise() -> Iterator[None]:
    """A signal to end becomes an exception, so that children are ended first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {each: signal.signal(each, leave) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
