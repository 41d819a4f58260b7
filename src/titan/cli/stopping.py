"""Stopped from outside: Ctrl-C, a supervisor's SIGTERM, the SIGHUP of a terminal that went away.

All end a command in the same way: with a word, in good order, and with the status that says that
the same command goes on. A signal that is ignored from the start (nohup) stays ignored.
"""

# Rule: a handler starts no thread and takes no lock. It runs in the main thread between any two of
#       its steps, perhaps while that holds the very lock: then both would wait for ever.

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

import typer

from titan.cli.log import tell
from titan.cli.terminal import wait_for_no_reader
from titan.errors import WaitError
from titan.held_signals import ENDING
from titan.party.notices import Notice

_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)
_GENTLY = 5.0  # seconds to leave in good order; what is in the middle of something then breaks off
_LAST = 0.5  # seconds for what the interpreter does at its end, threads in the middle of something
_NOTHING = "nothing was sent, and the same command begins again"
_CUT_SHORT = "it did not end by itself and was cut short; the same command goes on"
_ALARM = getattr(signal, "SIGALRM", None)

_stopped = threading.Event()


class _Signals:
    """Signals that stop, Ctrl-C's among them."""

    def __init__(self) -> None:
        self.name = ""
        self._alarms = 0

    def take(self, number: int, frame: FrameType | None) -> None:
        """A terminal that goes away may say so several times: the first one counts.

        Who presses Ctrl-C again does not want to wait.
        """
        if not self.name:
            self.name = signal.Signals(number).name
            _alarm_every(_GENTLY)
            wait_for_no_reader()
            if _cancelled():
                return
        elif number == _ALARM:
            self._alarms += 1
            if self._alarms > 1:  # it was broken off, and even that did not end it
                self.leave()
        elif number != signal.SIGINT:
            return
        raise KeyboardInterrupt

    def leave(self) -> NoReturn:
        """As in a crash, of which a journal is afraid as little."""
        with suppress(Exception):
            tell(Notice(f"stopped by {self.name}; {_CUT_SHORT}", event="stopped"))
        os._exit(WaitError.exit_status)


def _alarm_every(seconds: float) -> None:
    """Where the system has alarms; 0 ends it."""
    if _ALARM is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def _cancelled() -> bool:
    """Where a run is going on, it is asked to leave; asyncio listens to no signal but its own."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    from titan.party.run import MAIN_TASK  # it is there: a run is going on

    tasks = [task for task in asyncio.all_tasks(loop) if task.get_name() == MAIN_TASK]
    for task in tasks:
        task.cancel()
    loop.call_soon_threadsafe(lambda: None)  # it may be asleep
    return bool(tasks)


@contextmanager
def ends_with_a_word() -> Iterator[None]:
    """Whatever stops what is inside, the exit status is 75 and a line on stderr says what it means.

    That is the text of the KeyboardInterrupt; without one, nothing had begun.
    """
    signals, mine = _Signals(), threading.current_thread() is threading.main_thread()
    before = {each: signal.getsignal(each) for each in ENDING if mine}
    before = {each: how for each, how in before.items() if how in _UNTOUCHED}
    alarm = [_ALARM] if mine and _ALARM is not None else []
    before |= {each: signal.getsignal(each) for each in alarm}
    for each in before:
        signal.signal(each, signals.take)
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError, typer.Abort) as stopped:
        if signals.name:  # what follows is the end in any case
            before = dict.fromkeys(before, signal.SIG_IGN)
            _stopped.set()
        wait_for_no_reader()
        by = f" by {signals.name}" if signals.name not in ("", "SIGINT") else ""
        tell(Notice(f"stopped{by}; {str(stopped) or _NOTHING}", event="stopped"))
        raise typer.Exit(WaitError.exit_status) from None
    finally:
        if alarm:
            _alarm_every(0)
        for each, how in before.items():
            signal.signal(each, how)


def end_soon() -> None:
    """Of a process that was stopped, and has said so: threads that are busy are not waited for.

    What they do is lost, as in a crash; so nothing is.
    """
    if _stopped.is_set():
        last = threading.Timer(_LAST, os._exit, (WaitError.exit_status,))
        last.daemon = True
        last.start()
