"""A party outlives its terminal: what stdout or stderr does not take is dropped, and it goes on.

A terminal that went away, a pipe nobody reads, a full disk: none of them is a reason to leave the
others alone, or to leave secrets on the disk.
"""

# Rule 1: writing never raises. A stream that failed once is silent from then on, and says so in
#         `failure` to whoever must know whether the answer was shown.
# Rule 2: what is told on stderr never waits for its reader; the answer on stdout does, until
#         the party is stopped.
# Rule 3: a write that waits cannot be broken off, so what waits is the looking for room.

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_PIECE = 1000  # characters, so that what is written at once fits into any pipe that takes something
_LOOK_AGAIN = 100  # milliseconds, for room
_NOBODY_READS = "nobody reads it"
_CLOSED = "it is closed"


class LastingStream:
    """A text stream that never fails; for everything else it is the one it was made of."""

    def __init__(self, stream: TextIO, *, waits: bool) -> None:
        self.failure = ""
        self._stream = stream
        self._waits = waits
        self._given_up = False
        self._attempt(stream.flush)  # what it holds from before

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # libraries try b"" to find out what a stream takes
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        for piece in (text[i : i + _PIECE] for i in range(0, len(text), _PIECE)):
            if not self._finds_room():
                break
            self._attempt(self._stream.write, piece)
            self._attempt(self._stream.flush)
        return len(text)

    def flush(self) -> None:
        """Nothing is left to do: what was written was flushed, in pieces that fit."""

    def give_up(self) -> None:
        """From now on nobody waits for its reader."""
        self._given_up = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _attempt(self, do: Any, *words: str) -> None:
        if self.failure:
            return
        try:
            do(*words)
        except (OSError, ValueError) as error:  # ValueError: it was closed
            self._fail((getattr(error, "strerror", None) or _CLOSED).lower())

    def _fail(self, why: str) -> None:
        self.failure = why
        self._silence()

    def _silence(self) -> None:
        """What it still holds goes nowhere, and so does what libraries say there."""
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, self._stream.fileno())
            os.close(silent)
        except (OSError, ValueError):
            pass  # it has no descriptor

    def _finds_room(self) -> bool:
        """Whether a piece can be written without waiting, if need be after waiting for that."""
        while not self.failure and not self._has_room():
            if self._given_up:
                self._fail(_NOBODY_READS)
            elif not self._waits:
                return False
        return not self.failure

    def _has_room(self) -> bool:
        """Whether there is room now or, where it may wait, soon; one that is gone is found so."""
        try:
            poll = select.poll()
            poll.register(self._stream.fileno(), select.POLLOUT)
        except (OSError, ValueError, AttributeError):
            return True  # there is nothing to wait for, or no way to know
        return bool(poll.poll(_LOOK_AGAIN if self._waits and not self._given_up else 0))


_answers: list[LastingStream] = []  # stdout's, also while a live line stands in for it


def outlive_terminal() -> None:
    """From here to the end of the process; done twice, it is done once."""
    if not isinstance(sys.stdout, LastingStream):
        sys.stdout = cast("TextIO", LastingStream(sys.stdout, waits=True))
    _answers[:] = [cast("LastingStream", sys.stdout)]
    if not isinstance(sys.stderr, LastingStream):
        sys.stderr = cast("TextIO", LastingStream(sys.stderr, waits=False))


def wait_for_no_reader() -> None:
    """The party is stopped: what nobody has read by now is not waited for."""
    for each in _answers:
        each.give_up()


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """What is printed here may be cut short by its reader: that changes no status."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        outlive_terminal()


def not_shown() -> str:
    """Why what was printed did not arrive; empty if it did."""
    return str(getattr(sys.stdout, "failure", ""))


def open_closed_streams() -> None:
    """A process may be started without stdin, stdout or stderr.

    Then the next file that is opened, a journal perhaps, would get its number, and whatever a
    library says there; and `print(file=None)` would put what is told among the answers.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, os.O_RDWR) != number:
                return  # somebody else was quicker, and it cannot be mended
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream: Any = os.fdopen(number, mode, closefd=False)
            if name == "stdout":  # what is printed is shown to nobody
                stream = LastingStream(stream, waits=True)
                stream.failure = _CLOSED
            setattr(sys, name, stream)
