"""A whole run in one process, on a network that does its worst: no sockets, no clock, one seed.

Sessions with journals in files are driven by a scheduler that draws what happens next: a link comes
up or is cut; a chunk arrives late, twice, or before the one ahead of it; rubbish arrives; a party
is killed between any two steps or around any commit, and later made again from its journal; its
power is cut, and what it has not waited for is lost; one that has its answer leaves though others
still need it, and has to be asked back, to stay until nothing is under way. Faults are drawn until
they are used up; then everybody must come to the end.
"""

# Rule 1: what a killed party had in memory is gone, long messages that it has not synced among it;
#         what it had committed is there. After a power cut, what it had synced is.
# Rule 2: the simulation remembers every message by its link and number, apart from the journals:
#         a number never carries other bytes, sent or only put out.
# Rule 3: whoever is made again has taken in at least what it had acknowledged, and still owes what
#         was not acknowledged to it, and nothing else.
# Rule 4: rubbish must be refused; it is never taken and then found out.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any

from tests.party.simulated_party import ANSWER, KilledError, Place, Process, Vectors
from titan import Network
from titan.errors import MessageError
from titan.party import wire
from titan.party.durable_session import Arrival
from titan.party.links import Incoming
from titan.party.wire import Ack, Hello, Piece, Role
from titan.protocol import Envelope, MaskMode, Plan, RecoveryName
from titan.protocol.messages import Kind
from titan.ring import Ring
from titan.study.frames import Frame
from titan.study.journal import Journal

RING = Ring(64)
MOST_STEPS = 50_000
Link = tuple[int, int]
Step = tuple[Callable[..., None], Any]


@dataclass(frozen=True)
class Setting:
    """What is run; the seed decides everything else."""

    network: Network
    recovery: RecoveryName = "tree"
    masks: MaskMode = "sent"
    solver: int | None = None
    sums: int = 2
    deferred: bool = False
    """Secrets are made apart, and messages come meanwhile."""
    stops: bool = False
    """Before the last sum, at every party."""


@dataclass
class Counts:
    """How much of each may happen still, or has happened."""

    kills: int = 0
    power_cuts: int = 0
    cuts: int = 0
    duplicates: int = 0
    swaps: int = 0
    rubbish: int = 0
    desertions: int = 0

    def add(self, other: Counts) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


def some_faults(rng: Random) -> Counts:
    return Counts(
        kills=rng.randint(0, 5),
        power_cuts=rng.randint(0, 3),
        cuts=rng.randint(0, 8),
        duplicates=rng.randint(0, 12),
        swaps=rng.randint(0, 6),
        rubbish=rng.randint(0, 6),
        desertions=rng.randint(0, 2),
    )


@dataclass
class Connection:
    """Encoded chunks under way, either way; a connection that is cut loses them."""

    next: int
    """The number of the message that its sender sends next."""
    told: int = -1
    """Up to where its receiver has acknowledged."""
    pieces: deque[bytes] = field(default_factory=deque)
    acks: deque[bytes] = field(default_factory=deque)


class World:
    """The parties, the links, and what may still go wrong."""

    def __init__(self, setting: Setting, seed: int, folder: Path) -> None:
        self.rng = Random(seed)
        self.network = network = setting.network
        self.setting = setting
        self.left = some_faults(self.rng)
        self.haste = 10 ** self.rng.uniform(-3, 0)  # faults all at once, or all through the run
        self.power = 10 ** self.rng.uniform(-3, -1)
        self.eagerness = 10 ** self.rng.uniform(-2, 0)  # to acknowledge, and so to have it on disk
        self.happened = Counts()
        self.refused = 0
        plans = [
            Plan.make(network, RING, 2, recovery=setting.recovery, masks=setting.masks)
            for _ in range(setting.sums)
        ]
        drawn = [[self._numbers() for _ in plans] for _ in network.parties]
        self.expected = [
            [sum(c) % RING.modulus for c in zip(*n, strict=True)] for n in zip(*drawn, strict=True)
        ]
        self.places = [
            Place(
                party,
                network,
                Vectors(
                    plans, [RING.from_ints(n) for n in own], len(plans) - 1 if setting.stops else -1
                ),
                setting.solver,
                folder,
                setting.deferred,
            )
            for party, own in enumerate(drawn)
        ]
        self.links = [(a, b) for a in range(len(network)) for b in network.out_neighbours(a)]
        self.living: dict[int, Process] = {}
        self.away: set[int] = set()
        self.asked: set[int] = set()  # back, to stay while anything is under way
        self.forgetful: set[int] = set()  # who was killed or has had a power cut
        self.concluded: set[int] = set()
        self.connections: dict[Link, Connection] = {}
        self.seen: dict[tuple[Link, int], bytes] = {}
        self.released: dict[tuple[int, str, int], Frame] = {}
        self.acknowledged: dict[Link, int] = {}

    def _numbers(self) -> list[int]:
        return [self.rng.randrange(RING.modulus) for _ in range(2)]

    # -- the scheduler ------------------------------------------------------------------------

    def run(self) -> None:
        """To the end; AssertionError where somebody does not reach it."""
        for _ in range(MOST_STEPS):
            steps = list(self._steps()) or list(self._acknowledgements())
            if steps:
                step, what = self.rng.choice(steps)
                step(what)
            elif len(self.concluded) < len(self.places):
                assert self.away, "somebody waits, though nobody is away and nothing is under way"
                self.asked |= self.away  # to join again
                self.away.clear()
            else:
                break
        else:
            raise AssertionError("no end in sight")
        for process in self.living.values():
            process.journal.close()

    def _steps(self) -> Iterator[Step]:
        for party in range(len(self.places)):
            process = self.living.get(party)
            if process is not None:
                yield from self._steps_of(party, process)
            elif party not in self.away:
                yield self._start, party
        for link in self.links:
            connection = self.connections.get(link)
            if connection is not None:
                yield from self._steps_along(link, connection)
            elif link[0] in self.living and link[1] in self.living and not self._lags(link):
                yield self._connect, link

    def _lags(self, link: Link) -> bool:
        """Whether messages that the sender had made before its end are not made again yet."""
        sender, receiver = self._ends(link)
        expected = receiver.durable.incoming[sender.name].expected
        return link[0] in self.forgetful and expected > sender.durable.outgoing[receiver.name].next

    def _steps_of(self, party: int, process: Process) -> Iterator[Step]:
        if process.arrivals:
            yield self._accept, party
        if process.durable.work is not None and (not process.arrivals or self.rng.random() < 0.1):
            yield self._work, party
        if process.complete or process.stopped:
            yield self._conclude, party
        if not process.needed and not process.arrivals and party not in self.asked:
            yield self._leave, party
        elif self.left.desertions and process.concluded:
            yield self._desert, party
        if self._draws("kills"):
            yield self._kill, party
        if self.left.power_cuts and self.rng.random() < self.power:
            yield self._cut_power, party

    def _steps_along(self, link: Link, connection: Connection) -> Iterator[Step]:
        sender, receiver = self._ends(link)
        if connection.next < sender.durable.outgoing[receiver.name].next:
            yield self._send, link
        if connection.pieces:
            yield self._deliver, link
        if self.rng.random() < self.eagerness:
            yield from self._acknowledgement(link, connection)
        if connection.acks:
            yield self._hear, link
        if self._draws("cuts", 0.3):
            yield self._cut_link, link

    def _acknowledgements(self) -> Iterator[Step]:
        for link, connection in self.connections.items():
            yield from self._acknowledgement(link, connection)

    def _acknowledgement(self, link: Link, connection: Connection) -> Iterator[Step]:
        sender, receiver = self._ends(link)
        if receiver.durable.accepted[sender.name] > connection.told:
            yield self._acknowledge, link

    def _draws(self, fault: str, chance: float = 1.0) -> bool:
        return getattr(self.left, fault) > 0 and self.rng.random() < chance * self.haste

    def _note(self, fault: str) -> None:
        for counts, change in ((self.left, -1), (self.happened, 1)):
            setattr(counts, fault, getattr(counts, fault) + change)

    def _ends(self, link: Link) -> tuple[Process, Process]:
        return self.living[link[0]], self.living[link[1]]

    # -- processes ----------------------------------------------------------------------------

    def _start(self, party: int) -> None:
        try:
            self.living[party] = Process(self.places[party], self.rng, self._arm)
        except KilledError:
            self._note("kills")
            return
        process = self.living[party]
        process.journal.__dict__.pop("_commit", None)
        if process.concluded:
            self.concluded.add(party)
        self._check_restart(process)
        self._check_numbers(process)

    def _check_restart(self, process: Process) -> None:
        durable = process.durable
        assert len(durable.unacknowledged()) == sum(map(len, durable.outgoing.values()))
        for peer, source in durable.incoming.items():
            link = self.network.index(peer), process.place.party
            assert source.expected == durable.accepted[peer] >= self.acknowledged.get(link, 0)

    def _check_numbers(self, process: Process) -> None:
        """A number is used for one message, whether that was sent yet or not."""
        for frame in process.durable.unacknowledged():
            place = process.place.party, frame.peer, frame.sequence
            known = self.released.setdefault(place, frame)
            assert (known.kind, bytes(known.body)) == (frame.kind, bytes(frame.body))

    def _accept(self, party: int) -> None:
        process = self.living[party]
        arrivals, process.arrivals = process.arrivals, []
        with_kill = self._under_threat(process)
        refused = with_kill(lambda: process.durable.accept(arrivals))
        for each in refused or []:
            self.refused += 1
            self._cut((self.network.index(each.peer), party))
        if party in self.living:
            self._check_numbers(process)

    def _work(self, party: int) -> None:
        process = self.living[party]
        work = process.durable.work
        assert work is not None
        made = work()
        self._under_threat(process)(lambda: process.durable.proceed(made))
        if party in self.living:
            self._check_numbers(process)

    def _conclude(self, party: int) -> None:
        process = self.living[party]
        assert process.session is not None
        if self.setting.stops:
            assert str(process.session.stopped) == "too few rows in all"
            assert len(process.session.totals) == self.setting.sums - 1
            self._under_threat(process)(lambda: process.give_up(self._perhaps_killed))
            self.concluded |= {party} if process.concluded else set()
            return
        found = [RING.to_ints(total) for total in process.session.totals]
        assert found == self.expected
        if self.setting.solver not in (None, party):
            assert process.session.answer == ANSWER
        self._under_threat(process)(lambda: process.conclude(self._perhaps_killed))
        if process.concluded:
            self.concluded.add(party)

    def _under_threat(self, process: Process) -> Callable[[Callable[[], Any]], Any]:
        """Runs something that the process may not survive."""

        def run(work: Callable[[], Any]) -> Any:
            self._arm(process.journal)
            try:
                return work()
            except KilledError:
                self._kill(process.place.party)
                return None
            finally:
                process.journal.__dict__.pop("_commit", None)

        return run

    def _arm(self, journal: Journal) -> None:
        """Perhaps have the process killed just before or just after its next commit."""
        if not self._draws("kills"):
            return
        before, commit = self.rng.random() < 0.5, journal._commit

        def kill() -> None:
            if not before:
                commit()
            raise KilledError

        journal._commit = kill  # type: ignore[method-assign]

    def _perhaps_killed(self) -> None:
        if self.left.kills > 0 and self.rng.random() < 0.1:
            raise KilledError

    def _kill(self, party: int) -> None:
        self._note("kills")
        self.living.pop(party).die()
        self.forgetful.add(party)  # of long messages it kept the rows alone
        self._cut_all(party)

    def _cut_power(self, party: int) -> None:
        """What was not waited for, the disk does not have."""
        self._note("power_cuts")
        self.living.pop(party).lose_power(rows_are_there=self.rng.random() < 0.5, rng=self.rng)
        self.forgetful.add(party)
        self._cut_all(party)

    def _leave(self, party: int) -> None:
        self.living.pop(party).journal.close()
        self._cut_all(party)
        self.away.add(party)

    def _desert(self, party: int) -> None:
        """It has its answer, and stops waiting for the others."""
        self._note("desertions")
        self._leave(party)

    # -- links --------------------------------------------------------------------------------

    def _connect(self, link: Link) -> None:
        sender, receiver = self._ends(link)
        incoming = receiver.durable.incoming[sender.name]
        incoming.restart()
        asks = sender.handshake.hello(Role.SENDER, receiver.name)
        tells = receiver.handshake.hello(Role.RECEIVER, sender.name, incoming.expected)
        for hello, at, role in ((asks, receiver, Role.RECEIVER), (tells, sender, Role.SENDER)):
            heard = wire.decode(wire.encode(hello))
            assert isinstance(heard, Hello)
            assert at.handshake.refusal(heard, hello.name, role, at.journal) is None
        outgoing = sender.durable.outgoing[receiver.name]
        self.connections[link] = Connection(outgoing.start(tells.expects))

    def _cut_link(self, link: Link) -> None:
        self._note("cuts")
        self._cut(link)

    def _cut(self, link: Link) -> None:
        self.connections.pop(link, None)

    def _cut_all(self, party: int) -> None:
        for link in self.links:
            if party in link:
                self._cut(link)

    def _send(self, link: Link) -> None:
        sender, receiver = self._ends(link)
        connection = self.connections[link]
        outgoing, number = sender.durable.outgoing[receiver.name], connection.next
        connection.next += 1
        if number < outgoing.first:
            return
        chunks = [b"".join(parts) for parts in outgoing.chunks(number)]
        assert self.seen.setdefault((link, number), b"".join(chunks)) == b"".join(chunks)
        for chunk in chunks:
            connection.pieces.append(chunk)
            if self._draws("duplicates"):
                self._note("duplicates")
                connection.pieces.append(chunk)
            if len(connection.pieces) > 1 and self._draws("swaps"):
                self._note("swaps")
                last, before = connection.pieces.pop(), connection.pieces.pop()
                connection.pieces.extend((last, before))

    def _deliver(self, link: Link) -> None:
        if self._draws("rubbish"):
            self._note("rubbish")
            self._deliver_rubbish(link)
            return
        try:
            self._take(link, self.connections[link].pieces.popleft())
        except MessageError:
            self._cut(link)

    def _take(self, link: Link, chunk: bytes) -> None:
        sender, receiver = self._ends(link)
        piece, incoming = wire.decode(chunk), receiver.durable.incoming[sender.name]
        if not isinstance(piece, Piece):
            raise MessageError("no piece")
        number, message = incoming.expected, incoming.take(piece)
        if message is not None:
            receiver.arrivals.append(Arrival(sender.name, number, message))

    def _acknowledge(self, link: Link) -> None:
        sender, receiver = self._ends(link)
        connection = self.connections[link]
        receiver.durable.confirm()
        connection.told = self.acknowledged[link] = receiver.durable.confirmed[sender.name]
        connection.acks.append(wire.encode(Ack(connection.told)))

    def _hear(self, link: Link) -> None:
        sender, receiver = self._ends(link)
        ack = wire.decode(self.connections[link].acks.popleft())
        assert isinstance(ack, Ack)
        sender.durable.acknowledged(receiver.name, ack.next)

    # -- rubbish ------------------------------------------------------------------------------

    def _deliver_rubbish(self, link: Link) -> None:
        """Something that nobody following the protocol would send now: it must be refused."""
        sender, receiver = self._ends(link)
        incoming = receiver.durable.incoming[sender.name]
        chunk = self._rubbish(link, incoming)
        before = incoming.refused
        try:
            self._take(link, chunk)
        except MessageError:
            self._cut(link)
            return
        if incoming.refused == before:  # it is a whole message, for the session to judge
            self._judge(link)

    def _judge(self, link: Link) -> None:
        """Whatever waits at the receiver is taken in; the last message must be refused."""
        _, receiver = self._ends(link)
        last = receiver.arrivals[-1]
        arrivals, receiver.arrivals = receiver.arrivals, []
        found = receiver.durable.accept(arrivals)
        if receiver.session is not None:  # else it is over here, and nothing is read any more
            assert (last.peer, last.number) in [(each.peer, each.number) for each in found]
        for each in found:
            self.refused += 1
            self._cut((self.network.index(each.peer), link[1]))

    def _rubbish(self, link: Link, incoming: Incoming) -> bytes:
        number, rng = incoming.expected, self.rng
        return rng.choice(
            (
                lambda: rng.randbytes(rng.randint(0, 60)),
                lambda: wire.encode(Ack(number)),
                lambda: wire.encode(Piece(number + 3, 5, 0, b"later")),
                lambda: wire.encode(Piece(max(0, number - 1), 5, 0, b"again")),
                lambda: wire.encode(_piece(number, rng.randbytes(rng.randint(1, 60)))),
                lambda: wire.encode(_piece(number, b"\x13\xffmore than an end")),
                lambda: wire.encode(_piece(number, self._misplaced(link))),
            )
        )()

    def _misplaced(self, link: Link) -> bytes:
        """A message with an envelope that is wrong in one way."""
        a, b = link
        sum_, last = self.rng.randrange(self.setting.sums), self.setting.sums - 1
        mask = bytes(32 + (RING.width * 3 if self.setting.masks == "sent" else 0))
        place, envelope, behind = self.rng.choice(
            (
                (sum_, Envelope(Kind.MASK, b, b, 0, mask), b""),
                (sum_, Envelope(Kind.MASK, a, a, 0, mask), b""),
                (sum_, Envelope(Kind.MASK, a, b, 1, mask), b""),
                (sum_, Envelope(Kind.MASK, a, b, 0, mask + b"\0"), b""),
                (sum_, Envelope(Kind.RESULT, a, b, 1, b"a result"), b""),
                (last + 1, Envelope(Kind.MASK, a, b, 0, mask), b""),
                (sum_, Envelope(Kind.MASK, a, b, 0, mask), b"signature"),
                (last, Envelope(Kind.MASKED, a, b, 1, bytes(4)), b"signature"),
            )
        )
        return bytes([envelope.kind, place]) + envelope.encode() + behind


def _piece(number: int, message: bytes) -> Piece:
    return Piece(number, len(message), 0, message)
