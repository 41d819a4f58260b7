"""What is left of a run that is over: messages that somebody may still need. No secrets."""

from __future__ import annotations

from titan.errors import MessageError
from titan.party.standing import Standing
from titan.study.frames import Frame
from titan.study.journal import Journal


class Aftermath:
    """In place of a session: sends again what was kept, and takes what comes late as known."""

    def __init__(self, journal: Journal) -> None:
        self._served = list(journal.served())
        state = journal.state
        self.nonces = {} if state is None else dict(state.nonces)

    @property
    def standing(self) -> Standing:
        return Standing("over", sorted({frame.peer for frame in self._served}))

    def start(self) -> list[Frame]:
        return self._served

    def receive(self, frame: Frame) -> list[Frame]:
        if frame.secret:
            raise MessageError("a mask for a run that is over")
        return []
