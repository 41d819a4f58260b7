"""Who has come and who will not, as parties tell each other beside the run's messages.

Both are for those who wait. That a party has come is passed on so that only who is missing is
named; nobody computes with it. That a party does not take part ends the run of all who hear of it:
each passes it on before it leaves.
"""

# Rule 1: an absence counts under its party's own signature for this study and run, and only while
#         nothing of the run has come from that party: what has begun goes on.
# Rule 2: its reason is quoted as that party's words.
# Rule 3: nothing of this is kept: when everybody comes after all, the same run goes on.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from titan.errors import AbsentError, MessageError
from titan.party import wire
from titan.party.link_status import LinkStatuses
from titan.party.run_events import RunEvents
from titan.party.run_progress import CONNECTING, RunProgress
from titan.party.wire import Absence, Here
from titan.study import Identity, Study

DOES_NOT_TAKE_PART = "does not take part"


class Attendance:
    """What one party knows of the others' coming; `begun` says who has told its nonce."""

    def __init__(
        self,
        study: Study,
        run: int,
        me: str,
        links: LinkStatuses,
        events: RunEvents,
        begun: Callable[[], Collection[str]],
    ) -> None:
        self._study = study
        self._run = run
        self._names = study.network.parties
        self._links = links
        self._events = events
        self._begun = begun
        self._came = {me}

    def came(self, names: Iterable[str]) -> None:
        """Somebody has; those who wait with this party are told."""
        new = set(names) - self._came
        if new:
            self._came |= new
            for link in self._links.values():
                link.wake.set()
            self._events.progressed()

    def unknown_to(self, told: set[str]) -> Here | None:
        """Who else has come than those that somebody was `told` of."""
        if len(told) == len(self._names):
            return None
        new = (self._came | set(self._begun())) - told
        return Here(tuple(sorted(map(self._names.index, new)))) if new else None

    def names(self, here: Here) -> list[str]:
        return [self._names[party] for party in here.parties]

    def take(self, chunk: Here | Absence) -> None:
        """What a neighbour says, of itself or of others."""
        most = max(chunk.parties) if isinstance(chunk, Here) else chunk.party
        if most >= len(self._names):
            raise MessageError(f"something said of party {most}")
        if isinstance(chunk, Here):
            self.came(self.names(chunk))
            return
        name = self._names[chunk.party]
        signed = _data(self._study, self._run, chunk.party, chunk.reason)
        if not self._study.parties[chunk.party].verify(chunk.signature, signed):
            raise MessageError(f"an absence that {name} did not sign for this run")
        if name in self._begun():
            raise MessageError(f"an absence of {name}, who has begun")
        self._events.last_words = wire.encode(chunk)
        self._events.fail(
            AbsentError(
                f'{name} {DOES_NOT_TAKE_PART}: "{chunk.reason}"',
                hint=f"talk to {name}; if it comes after all, the same command takes part again",
            )
        )

    def named(self, progress: RunProgress) -> RunProgress:
        """While the parties come, for whom it waits is who is not there."""
        if progress.phase != CONNECTING:
            return progress
        up = {link.peer for link in self._links.values() if link.up}
        gone = {link.peer for link in self._links.values()} - up
        missing = [n for n in progress.waiting if n in gone or n not in self._came]
        return RunProgress(CONNECTING, missing or progress.waiting)


def absence(study: Study, identity: Identity, run: int, reason: str) -> Absence:
    """Signed, as this party tells it."""
    me = study.network.index(identity.name)
    return Absence(me, identity.sign(_data(study, run, me, reason)), reason)


def _data(study: Study, run: int, party: int, reason: str) -> bytes:
    numbers = run.to_bytes(4, "little") + party.to_bytes(4, "little")
    return b"titan ABSENCE\n" + bytes.fromhex(study.digest) + numbers + reason.encode()
