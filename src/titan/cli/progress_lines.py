"""How far a run is: on a terminal who is here and what it waits for, elsewhere a line when that
changes, but no flood of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from titan.listing import listing
from titan.party.notices import Notice
from titan.party.throttle import Throttle

if TYPE_CHECKING:
    from titan.party.run import RunProgress

_NAMED = 8  # parties
_LINES, _SECONDS = 100, 1.0  # told at once, and then for each further one


def live_text(progress: RunProgress, parties: Sequence[str], me: str) -> str:
    """Two lines: which sum, which round and for whom it waits; and who is here."""
    here = [f"{name} (you)" if name == me else name for name in progress.here]
    everybody = len(here) == len(parties)
    count = f"all {len(parties)}" if everybody else f"{len(here)} of {len(parties)}"
    return f"{progress}\n  here: {count}: {listing(here, _NAMED)}"


class ProgressLines:
    """Told what has changed; where that is too often, what is so after a while.

    A neighbour that comes and goes, or a recovery of thousands of rounds, changes it all the time.
    """

    def __init__(self, tell: Callable[[Notice], None]) -> None:
        self._last = ""
        self._tell = Throttle[str](lambda t: tell(Notice(t, event="progress")), _LINES, _SECONDS)

    def __call__(self, progress: RunProgress) -> None:
        if str(progress) != self._last:
            self._last = str(progress)
            self._tell(self._last)
