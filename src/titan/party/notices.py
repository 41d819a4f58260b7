"""What is told to the people who run a party, and how much of it others can cause."""

# Rule 1: a peer's words are quoted as such: short, printable, and in quotes that they cannot end.
# Rule 2: of one peer and one kind of event some lines are told at once, and then one a minute; how
#         many were left out is told, too.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from titan.listing import printable

MOST_QUOTED = 200  # characters


@dataclass(frozen=True)
class Notice:
    """One line for the log. `event` is a word that stays the same, `message` is for people."""

    message: str
    level: Literal["info", "warning", "error"] = "info"
    event: str = "note"
    peer: str = ""
    address: str = ""

    def __str__(self) -> str:
        return f"{self.peer}: {self.message}" if self.peer else self.message


def quoted(words: str) -> str:
    """What somebody else said."""
    clipped = words if len(words) <= MOST_QUOTED else f"{words[: MOST_QUOTED - 1]}…"
    return f'"{"".join(map(_escaped, clipped))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return printable(character)


Kind = tuple[str, str]
"""A peer and an event."""


class RateLimit:
    """How often something of a kind may happen: `burst` times at once, then again every `seconds`.

    It reads no clock: whoever asks says what time it is.
    """

    def __init__(self, burst: int, seconds: float) -> None:
        self._burst = burst
        self._seconds = seconds
        self._kinds: dict[Kind, tuple[float, float, int]] = {}  # room, when, left out since

    def passes(self, kind: Kind, now: float) -> int | None:
        """How many were left out before this one; None if this is left out as well."""
        room, when, skipped = self._kinds.get(kind, (float(self._burst), now, 0))
        room = min(self._burst, room + (now - when) / self._seconds)
        if room < 1:
            self._kinds[kind] = (room, now, skipped + 1)
            return None
        self._kinds[kind] = (room - 1, now, 0)
        return skipped

    def left_out(self) -> Iterator[tuple[Kind, int]]:
        """Those of which nothing was told since."""
        return ((kind, skipped) for kind, (_, _, skipped) in self._kinds.items() if skipped)
