"""What is left of a run that is over: messages that somebody may still need. No secrets."""

# Rule: what comes late is written down unread, so it is counted: no link carries more than its run.

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from titan.errors import MessageError
from titan.network import Network
from titan.party.messages import END
from titan.party.standing import Standing
from titan.protocol import Plan
from titan.study.frames import Frame
from titan.study.journal import Journal


class Aftermath:
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
    def standing(self) -> Standing:
        return Standing("over", sorted({frame.peer for frame in self._served}))

    def start(self) -> list[Frame]:
        return self._served

    def receive(self, frame: Frame) -> list[Frame]:
        if frame.secret:
            raise MessageError("a mask for a run that is over")
        if frame.peer in self._ended or frame.sequence >= self._most[frame.peer]:
            raise MessageError(f"{frame.peer} said more than a run has to say")
        if frame.kind == END:
            self._ended.add(frame.peer)
        return []


def most_messages(network: Network, party: int, plans: Sequence[Plan]) -> dict[str, int]:
    """Sender → the most messages that it has for this party in a whole run.

    Those of the sums as planned; of every party a nonce and a digest; an answer and an end.
    """
    planned = Counter(
        sender
        for plan in plans
        for round_ in range(plan.recovery_rounds + 1)
        for sender, _ in plan.senders(party, round_)
    )
    told = 2 * len(network) + 2
    return {network.parties[p]: planned[p] + told for p in network.in_neighbours(party)}
