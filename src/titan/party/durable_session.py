"""A session, its journal and its links together; still without a socket.

That something arrived is written down before anything leaves that follows from it, and the whole of
it before it is acknowledged. A process that dies at any moment is made again from its journal: the
session replays what had arrived, what is missing of it comes again, and it makes the same messages
with the same numbers.

A wait for the disk serves many messages. It comes before messages are acknowledged, and before
anything leaves of which the session says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import titan
from titan.errors import DamagedError, MessageError, PeerError, TitanError
from titan.party import messages
from titan.party.links import Incoming, Outgoing
from titan.party.messages import END, Received, Told
from titan.party.private_sums import Work
from titan.party.ready import NOTHING, Ready, Wait
from titan.party.run import Run, RunProgress
from titan.protocol import Plan
from titan.ring import Residues
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.kinds import MASK, STOP, WORK
from titan.study.run_state import SaidBeforeError


class Receiver(Protocol):
    """A session, or what is left of one."""

    run: Run
    plans: Sequence[Plan]

    def start(self) -> Ready: ...

    def receive(self, received: Received) -> Ready: ...

    @property
    def work(self) -> Work | None: ...

    def defer(self) -> None: ...

    def proceed(self, secret: Residues | TitanError) -> Ready: ...

    def stop(self, error: TitanError, told: Told | None = None) -> Ready: ...

    def halt(self, error: TitanError) -> None: ...

    @property
    def announced(self) -> bool: ...

    @property
    def complete(self) -> bool: ...

    @property
    def stopped(self) -> TitanError | None: ...

    @property
    def told(self) -> list[tuple[str, Told]]: ...

    @property
    def nonces(self) -> dict[str, bytes]: ...

    @property
    def progress(self) -> RunProgress: ...


@dataclass(frozen=True)
class Arrival:
    """A whole message that came along the link from `peer`."""

    peer: str
    number: int
    message: memoryview = field(repr=False)


@dataclass(frozen=True)
class Refused:
    """A message that was not taken, and why."""

    peer: str
    number: int
    reason: str


class DurableSession:
    """Takes messages in, writes them down, and releases what follows from them.

    What is made of rows it makes at once, unless it is `deferred`: then whoever drives this does.
    """

    def __init__(self, session: Receiver, journal: Journal, *, deferred: bool = False) -> None:
        run, sizes = session.run, session.run.largest_messages(session.plans)
        erased = journal.state is not None and journal.state.erased  # what was confirmed is gone
        first = {name: journal.acknowledged_by(name) + 1 if erased else 0 for name in run.receivers}
        self.session = session
        self.journal = journal
        self.deferred = deferred
        session.defer()  # where it proceeds is noted, so that a replay does in the same place
        self.outgoing = {name: Outgoing(number) for name, number in first.items()}
        most = max(sizes.values())
        self.incoming = {
            name: Incoming(most, journal.received_from(name), sizes) for name in run.senders
        }
        self.refused = 0
        self.lost: set[str] = set()
        """Neighbours that cannot go on: nobody waits for them, and nothing is kept for them."""
        self.put_back: PeerError | None = None
        """Why this party itself cannot go on."""
        self.stopped_by: Told | None = None
        """What somebody else said, beside the messages, where that ended the run here."""
        self._known: set[str] = set()
        self._ended: set[str] = set()  # to whom the last message was released
        self._ended_by: set[str] = set()  # and by whom
        self._due: list[Frame] = []  # written down, in a transaction that may not have ended
        self._wait = Wait.FOR_NOTHING  # before they leave
        self._failed: BaseException | None = None  # in a transaction: the session has gone ahead
        self.gave_up: Callable[[], None] = lambda: None
        """Called when this party finds that it cannot go on."""
        self._written_to: set[str] = set()  # for whom something was released
        lost = None if journal.state is None else journal.state.put_back
        try:
            self._replay()
        except DamagedError as error:
            self._due.clear()
            lost = lost or error.message
        if lost is not None:
            self.give_up(lost)
        self.release()
        for peer, link in self.outgoing.items():
            if self.put_back is None:  # else it may not even know what it has sent
                link.resume(journal.acknowledged_by(peer) + 1)
        self.accepted = {peer: source.expected for peer, source in self.incoming.items()}
        """Peer → all messages from it below this number are written down."""
        journal.sync()  # an earlier process may not have
        self.confirmed = dict(self.accepted)
        """Peer → all messages from it below this number are on disk, and may be acknowledged."""

    def _replay(self) -> None:
        self.journal.check_whole()
        with self.journal.batch():
            self.write_down(self.session.start())
            for frame in self.journal.incoming():
                self._receive(Received(frame), again=True)
            self._work_at_once()
            self._note_nonces()

    def _work_at_once(self) -> None:
        while not self.deferred and (work := self.session.work) is not None:
            self._proceed(work())

    def _proceed(self, secret: Residues | TitanError) -> None:
        if self.session.work is not None:  # else the sum before it was opened meanwhile
            self.journal.record_incoming(self.journal.beside(self.session.run.name, WORK, b""))
            self.write_down(self.session.proceed(secret))

    def accept(self, arrivals: Iterable[Arrival]) -> list[Refused]:
        """Take messages in, in one transaction; what is returned was refused and changed nothing.

        Any error raised here ends the run: nothing of these messages is acknowledged, and nothing
        that follows from them is sent, though links may be open for a while yet.
        """
        refused, accepted = [], dict(self.accepted)
        with self._together():
            for arrival in arrivals:
                if arrival.number != accepted[arrival.peer]:
                    continue  # it follows a message that was refused, and will come again
                try:
                    self._receive(messages.decode(arrival.peer, arrival.number, arrival.message))
                except MessageError as error:
                    self.incoming[arrival.peer].rewind(arrival.number)
                    refused.append(Refused(arrival.peer, arrival.number, error.message))
                else:
                    accepted[arrival.peer] += 1
            self._note_nonces()
        if self.put_back is not None:  # it found out
            return refused
        self.accepted = accepted
        self.release()
        self.refused += len(refused)
        return refused

    @contextmanager
    def _together(self) -> Iterator[None]:
        """In one transaction. Where it fails nothing of it is due, and there will be no other.

        After a kill or a power cut the session may be behind what it has said. If then something
        else comes than came before, or an end, it would contradict itself: it cannot go on.
        """
        if self._failed is not None:
            raise self._failed
        try:
            with self.journal.batch():
                yield
        except SaidBeforeError as error:
            self._nothing_is_due()
            if error.software != titan.__version__:  # that version may go on
                self._failed = error
                raise
            run = self.session.run
            self.give_up(
                f"{run.name} cannot go on with run {run.number}: it would say something else than "
                "before it was cut short"
            )
        except BaseException as error:
            self._nothing_is_due()
            self._failed = error
            raise

    def _nothing_is_due(self) -> None:
        self._due.clear()
        self._wait = Wait.FOR_NOTHING

    @property
    def work(self) -> Work | None:
        """What the session has to make of rows before it can go on: in any thread."""
        return self.session.work

    def proceed(self, secret: Residues | TitanError) -> None:
        """Go on with what `work` made: written down, then released."""
        with self._together():
            self._proceed(secret)
        self.release()

    def _receive(self, received: Received, *, again: bool = False) -> None:
        if received.frame.kind == WORK:
            work = self.session.work
            self.write_down(NOTHING if work is None else self.session.proceed(work()))
            return
        if received.frame.kind == STOP:
            message, named, hint, *said = json.loads(bytes(received.frame.body))
            self.stopped_by = Told.decode(bytes.fromhex(said[0])) if said else None
            error = PeerError(message, named=named, hint=hint)
            due = self.session.stop(error, self.stopped_by)
        else:
            due = self.session.receive(received)
        if not again:
            self.journal.record_incoming(received.frame)
        self.write_down(due)
        if received.frame.kind == END:
            self._ended_by.add(received.frame.peer)
        if not again:
            self._work_at_once()

    # -- beside the numbered messages ---------------------------------------------------------

    def hear(self, peer: str, kind: str, told: Told) -> None:
        """What somebody said to all, passed on by `peer`, who cannot go on."""
        self._take_beside(self.journal.beside(peer, kind, told.encode(kind)))

    def stop(self, peer: str, error: PeerError, told: Told | None = None) -> None:
        """End the run because of what `peer` said, or what somebody `told` through it; so does
        every restart, at the same place."""
        said = [told.encode(END).hex()] if told else []
        text = json.dumps([error.message, error.named, error.hint, *said])
        self._take_beside(self.journal.beside(peer, STOP, text.encode()))

    def _take_beside(self, frame: Frame) -> None:
        """MessageError where it is refused: then it has changed nothing, and the run goes on."""
        refused: MessageError | None = None
        with self._together():
            try:
                self._receive(Received(frame))
            except MessageError as error:
                refused = error
            else:
                self._wait = Wait.FOR_ALL
        self.release()
        if refused is not None:
            raise refused

    def give_up(self, how: str) -> None:
        """This party's journal is lost, or an earlier state of itself: nothing more is sent."""
        hint = f"agree with the others on run {self.session.run.number + 1}"
        self.put_back = PeerError(how, hint=hint)
        self.journal.note_put_back(how)
        self.session.halt(self.put_back)
        self.gave_up()

    def confirm(self) -> set[str]:
        """Wait for the disk; from whom messages are confirmed now that were not before."""
        accepted = self.accepted
        if accepted != self.confirmed:
            self.journal.sync()
        return self.on_disk(accepted)

    def on_disk(self, accepted: Mapping[str, int]) -> set[str]:
        """The same for who has waited: what was `accepted` when a `sync` of the journal began."""
        new = {p for p, number in accepted.items() if number > self.confirmed[p]}
        self.confirmed = {p: max(number, self.confirmed[p]) for p, number in accepted.items()}
        return new

    def said_all(self, peer: str) -> bool:
        """Nothing more will be sent to `peer`, and it has confirmed everything."""
        return peer in self._ended and not self.outgoing[peer]

    def keep_confirmations(self) -> None:
        """In a run without an answer: put on the disk what others have confirmed.

        They may leave when they are told that nothing more comes, and would not confirm it again
        after a restart. An answer needs none of this: it says itself that all have their masks.
        """
        if self.session.stopped is not None:
            self.journal.keep_acknowledged()

    def is_unsure(self, peer: str) -> bool:
        """Nothing more will be sent to `peer`, and it has not confirmed everything."""
        return peer in self._ended and bool(self.outgoing[peer])

    def has_ended(self, peer: str) -> bool:
        """Nothing more will be sent to `peer`."""
        return peer in self._ended

    def heard_all(self, peer: str) -> bool:
        """Nothing more will come from `peer`."""
        return peer in self._ended_by

    def write_down(self, ready: Ready) -> None:
        """In a batch of the journal: note what is to be sent, for `release` after it."""
        for frame in ready.frames:
            self.journal.sending(frame)
            self._due.append(frame)
        self._wait = max(self._wait, ready.wait)

    def release(self) -> None:
        """After the batch: what was written down may leave."""
        if self._wait is Wait.FOR_ALL:
            self.journal.sync()
        elif self._wait is Wait.FOR_NOTES:
            self.journal.sync_rows()
        self._wait = Wait.FOR_NOTHING
        for frame in self._due:
            self.outgoing[frame.peer].add(frame)
            self._written_to.add(frame.peer)
            if frame.kind == END:
                self._ended.add(frame.peer)
        self._due.clear()

    def take_written_to(self) -> set[str]:
        """For whom something was released since this was asked last."""
        fresh, self._written_to = self._written_to, set()
        return fresh

    def acknowledged(self, peer: str, next_: int) -> bool:
        """`peer` has all messages below `next_`; whether that was not known."""
        new = self.outgoing[peer].acknowledged(next_)
        if new:
            self.journal.acknowledged(peer, next_ - 1)
        return new

    def masks_arrived(self, *, everywhere: bool) -> None:
        """All have agreed, so the masks are on their disks, whatever was acknowledged; or at least
        those who have said their last need none any more."""
        for peer, link in self.outgoing.items():
            masks = [frame.sequence for frame in link.waiting if frame.kind == MASK]
            if masks and (everywhere or peer in self._ended_by):
                self.acknowledged(peer, masks[-1] + 1)

    def unacknowledged(self) -> list[Frame]:
        """Own messages not acknowledged yet, but for parties that cannot go on."""
        if self.put_back is not None:
            return []
        return [
            frame
            for peer, link in self.outgoing.items()
            if peer not in self.lost
            for frame in link.waiting
        ]

    def needed(self) -> list[Frame]:
        """Those of them that somebody may be waiting for.

        Who has said its last has everything; and nobody waits for the last of another.
        """
        return [
            frame
            for frame in self.unacknowledged()
            if frame.kind != END and frame.peer not in self._ended_by
        ]

    def _note_nonces(self) -> None:
        for name, nonce in self.session.nonces.items():
            if name not in self._known:
                self.journal.set_nonce(name, nonce)
                self._known.add(name)
