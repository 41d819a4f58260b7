"""When something is done to a process, and that it is done."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.party.campaign.faults import PHASES
from tests.party.campaign.judge import text_of

_LOOK = 0.004  # seconds between two looks at a file


def send(name: str, pid: int, ended: asyncio.Future[int]) -> None:
    number = signal.SIGTERM if name == "SIGversion" else signal.Signals[name]
    if not ended.done():
        with suppress(ProcessLookupError):  # it was quicker
            os.kill(pid, number)


def stands_still(pid: int) -> bool:
    """Stopped, or gone."""
    state = text_of(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return not state or state[0] in "TtZX"


def reached(phase: str, said: str) -> bool:
    """Or a later one: some recoveries have no sum to check."""
    later = PHASES[PHASES.index(phase) :]
    return any(f"titan: {each}" in said or f": {each}" in said for each in later)


def stage(out: str, said: str) -> str:
    """How far a party is whose journal is remembered."""
    return "answer" if out else "masked" if reached("recovery", said) else "begun"


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(_LOOK)
