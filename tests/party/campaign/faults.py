"""What can go wrong in a run."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

PHASES = ("connecting", "masks", "recovery", "check", "agreement", "end")
PAUSED = ("power", "full", "rollback")
"""What is done to a process that stands still."""
SIGNALS = ("TERM", "HUP", "INT")


@dataclass(frozen=True)
class Noise:
    """How often the stream's writer misbehaves, as chances per chunk."""

    duplicate: float = 0.0
    delay: float = 0.0
    swap: float = 0.0


@dataclass(frozen=True)
class Kill:
    """What ends one life of one party; in which of its lives, and when in it.

    `when` is "commit" or "write" (before or after the process's n-th one), "phase" (when its
    progress first names one), "answer" (when its answer is on the screen) or "time".

    `how` is "KILL", a gentler signal, "power" (the disk keeps what was synced), "full" (the disk
    is full until the party has ended), "rollback" (its run's folder is put back to what it was at
    this moment, a while later) or "version" (it speaks another version of the protocol).
    """

    party: str
    life: int
    when: str
    count: int = 0
    before: bool = True
    phase: str = ""
    seconds: float = 0.0
    pause: float = 0.0
    """Seconds until it is started again."""
    how: str = "KILL"
    till_answer: bool = False
    """A run's folder is put back when the party has its answer, not as soon as it has moved on."""

    @property
    def own(self) -> list[Any]:
        """What the process does to itself, if it does."""
        if self.when not in ("commit", "write"):
            return []
        number = signal.SIGSTOP if self.how in PAUSED else signal.Signals[f"SIG{self.how}"]
        return [self.when, self.count, self.before, number]


@dataclass(frozen=True)
class Cut:
    """All connections that others opened to a party are cut, and new ones for a while.

    Between hosts of their own nobody is told: packets vanish, in one direction or in both.
    """

    party: str
    phase: str
    seconds: float
    blackout: float
    ways: str = "both"


@dataclass(frozen=True)
class Stop:
    """SIGSTOP for a party, and SIGCONT after a while."""

    party: str
    phase: str
    lasting: float


@dataclass(frozen=True)
class Clock:
    """A party's clock: wrong by some days, until it jumps, after so many commits, to a time for
    which no certificate is made; or there from the start, in its first life."""

    party: str
    days: float
    commits: int
    jump: float
    lasting: float
    """Seconds until it is put right."""
    from_start: bool

    def order(self, life: int) -> tuple[float, int, float, float]:
        """For `inside`."""
        if not self.from_start:
            return self.days, self.commits, self.jump, self.lasting
        return (self.jump if life == 0 else 0.0), 0, 0.0, 0.0


@dataclass(frozen=True)
class Strangers:
    """Connections to a party that are nobody's of the study, again and again until it is over."""

    party: str
    idle: int = 0
    handshakes: int = 0
    """TLS without a certificate."""
    rubbish: int = 0


@dataclass(frozen=True)
class Distance:
    """Every party on a host of its own, in a network namespace."""

    delay: float
    loss: float
