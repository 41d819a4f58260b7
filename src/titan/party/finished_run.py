"""What is left of a run that is over: messages that somebody may still need. No secrets."""

# Rule: what comes late is written down unread, so it is counted: no link carries more than its run.

from __future__ import annotations

from collections.abc import Mapping

from titan.errors import MessageError
from titan.party.messages import END, Received
from titan.party.ready import NOTHING, Ready
from titan.party.run_progress import RunProgress
from titan.study.journal import Journal


class FinishedRun:
    """In place of a session: sends again what was kept, and takes what comes late as known.

    `most` is how many messages a whole run has from each sender.
    """

    def __init__(self, journal: Journal, most: Mapping[str, int]) -> None:
        self._served = list(journal.served())
        self._most = most
        self._ended: set[str] = set()
        state = journal.state
        self.nonces = {} if state is None else dict(state.nonces)

    @property
    def progress(self) -> RunProgress:
        return RunProgress("over", sorted({frame.peer for frame in self._served}))

    def start(self) -> Ready:
        return Ready(self._served)

    def receive(self, received: Received) -> Ready:
        frame = received.frame
        if frame.secret:
            raise MessageError("a mask for a run that is over")
        if frame.peer in self._ended or frame.sequence >= self._most[frame.peer]:
            raise MessageError(f"{frame.peer} said more than a run has to say")
        if frame.kind == END:
            self._ended.add(frame.peer)
        return NOTHING
