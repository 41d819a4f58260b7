"""In place of a session when the run is over, without secrets: sends again what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from titan.errors import MessageError, PeerError, TitanError
from titan.party.messages import AGREED, ANSWER, END, Received, Told
from titan.party.private_sums import Work
from titan.party.ready import NOTHING, Ready
from titan.party.run import Run, RunProgress
from titan.protocol import Plan
from titan.ring import Residues
from titan.study.journal import Journal


class FinishedRun:
    """What comes late is written down unread, so it is counted: no more than a run has."""

    def __init__(self, run: Run, plans: Sequence[Plan], journal: Journal) -> None:
        self.run = run
        self.plans = plans
        self._served = list(journal.served())
        self._most = run.most_messages(plans)
        self._ended: set[str] = set()
        state = journal.state
        self.nonces = {} if state is None else dict(state.nonces)
        digests, answers = _heard(journal, AGREED), _heard(journal, ANSWER)
        self.told = [(AGREED, each) for each in digests] + [(ANSWER, each) for each in answers]
        agreed = state is not None and state.agreed is not None
        self.complete = agreed or len(digests) == len(run.network) - 1
        over = PeerError("this run ended without an answer")
        self.stopped: TitanError | None = None if self.complete else over

    @property
    def progress(self) -> RunProgress:
        return RunProgress("over", sorted({frame.peer for frame in self._served}))

    work: Work | None = None
    announced = True

    def defer(self) -> None:
        pass

    def stop(self, error: TitanError, told: Told | None = None) -> Ready:
        """As it was noted: because of whom the run ended."""
        self.stopped = None if self.complete else error
        return NOTHING

    def halt(self, error: TitanError) -> None:
        pass

    def start(self) -> Ready:
        return Ready(self._served)

    def proceed(self, secret: Residues | TitanError) -> Ready:
        raise RuntimeError("a run that is over makes nothing of rows")

    def receive(self, received: Received) -> Ready:
        frame = received.frame
        if frame.sequence < 0:  # it came beside the messages, perhaps from who sends none here
            return NOTHING
        if frame.secret:
            raise MessageError("a mask for a run that is over")
        if frame.peer in self._ended or frame.sequence >= self._most[frame.peer]:
            raise MessageError(f"{frame.peer} said more than a run has to say")
        if frame.kind == END:
            self._ended.add(frame.peer)
        return NOTHING


def _heard(journal: Journal, kind: str) -> list[Told]:
    """What others have told all, each of it once."""
    told = (Told.decode_all(kind, frame.body) for frame in journal.incoming(kind))
    return list(dict.fromkeys(chain.from_iterable(told)))
