"""Progress where there is no terminal: a line whenever something changes, but no flood of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from titan.party.notices import Notice
from titan.party.throttle import Throttle

if TYPE_CHECKING:
    from titan.party.run import RunProgress

_LINES, _SECONDS = 100, 1.0  # told at once, and then for each further one


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
