"""Parties around one table: sessions and journals joined by wire, but by no socket.

Every chunk that travels is real and is kept. Inputs are small integers; signatures are keyed codes,
since a run of the real ones has tests of its own and these tests make thousands.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from tests.party.given_sums import task
from titan import Network
from titan.errors import TitanError
from titan.party import messages, wire
from titan.party.durable_session import Arrival, DurableSession, Refused
from titan.party.links import Incoming
from titan.party.run import Run
from titan.party.session import Session
from titan.protocol import Plan, RecoveryName
from titan.ring import Residues, Ring
from titan.study import database
from titan.study.journal import Journal

NAMES = ("north", "east", "south", "west")
STUDY = bytes(range(32))
INPUTS = [[1000 * party + entry for entry in range(3)] for party in range(4)]
TOTALS = [[sum(column) for column in zip(*INPUTS, strict=True)] for _ in range(2)]


def fixed(*words: object) -> bytes:
    """32 bytes that follow from the words."""
    return hashlib.sha256(repr(words).encode()).digest()


@dataclass(frozen=True)
class Codes:
    """A stand-in for signatures: 64 bytes that only whoever has the party's word can make."""

    party: int

    def sign(self, data: bytes) -> bytes:
        return hmac.digest(fixed("signer", self.party), data, "sha512")

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool:
        return hmac.compare_digest(signature, Codes(party).sign(data))


@dataclass
class Whole:
    """Two sums of the same three numbers; `stop` is asked before the second."""

    plans: Sequence[Plan]
    party: int
    stop: Callable[[], TitanError | None] = lambda: None

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues:
        error = self.stop() if number else None
        if error is not None:
            raise error
        return self.plans[number].ring.from_ints(INPUTS[self.party])


def plans(network: Network, recovery: RecoveryName = "flood", bits: int = 64) -> list[Plan]:
    k = 2 if recovery == "topk" else None
    made = Plan.make(network, Ring(bits), 3, recovery=recovery, k=k)
    return [made, made]


def checked_plans(network: Network, *_: object) -> list[Plan]:
    return [Plan.make(network, Ring(64), 3, recovery="tree", relays="checked")] * 2


def session(
    party: int,
    network: Network,
    of: Sequence[Plan],
    *,
    solver: int | None = None,
    nonce: bytes | None = None,
    stop: Callable[[], TitanError | None] = lambda: None,
) -> Session:
    run = Run(STUDY, 1, network, party, nonce or fixed("nonce", party), solver)
    keys = [fixed("key", party, number) for number in range(len(of))]
    return Session(run, task(Whole(of, party, stop)), keys, Codes(party))


@dataclass
class Seat:
    """One party at the table."""

    session: Session
    durable: DurableSession
    journal: Journal


@dataclass
class Table:
    """All parties; `chunks` has everything that travelled, by link."""

    folder: Path
    network: Network = field(default_factory=lambda: Network.cycle(list(NAMES)))
    recovery: RecoveryName = "flood"
    bits: int = 64
    solver: int | None = None
    stop: Callable[[], TitanError | None] = lambda: None
    chunks: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)
    seats: dict[str, Seat] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plans = plans(self.network, self.recovery, self.bits)
        for name in self.network.parties:
            self.sit(name)

    def sit(self, name: str, nonce: bytes | None = None, *, deferred: bool = False) -> Seat:
        """Sit down, or come back after a crash."""
        party = self.network.index(name)
        new = session(
            party, self.network, self.plans, solver=self.solver, nonce=nonce, stop=self.stop
        )
        path = self.folder / f"{name}.db"
        journal = _opened(path)
        journal.begin(
            study=STUDY.hex(), run=1, party=name, parties=self.network.parties,
            nonce=new.run.nonce, keys=[fixed("key", party, n) for n in range(2)],
            data_digest=journal.keyed_digest([repr(INPUTS[party]).encode()]),
        )  # fmt: skip
        self.seats[name] = Seat(new, DurableSession(new, journal, deferred=deferred), journal)
        return self.seats[name]

    def leave(self, name: str) -> None:
        """As a crash does: nothing in memory survives."""
        self.seats.pop(name).journal.close()

    def close(self) -> None:
        for name in list(self.seats):
            self.leave(name)

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- traffic ------------------------------------------------------------------------------

    def due(self) -> list[tuple[str, str, int]]:
        """Links with something to deliver, and its number."""
        return [
            (name, peer, link.first)
            for name, seat in self.seats.items()
            for peer, link in seat.durable.outgoing.items()
            if len(link) and peer in self.seats
        ]

    def message(self, sender: str, receiver: str) -> bytes:
        """The next message of a link, whole."""
        link = self.seats[sender].durable.outgoing[receiver]
        taken = Incoming(1 << 40, link.first)
        for chunk in map(b"".join, link.chunks(link.first)):
            piece = wire.decode(chunk)
            assert isinstance(piece, wire.Piece)
            message = taken.take(piece)
        assert message is not None
        return bytes(message)

    def deliver(self, sender: str, receiver: str) -> list[Refused]:
        """One message along a link, and its acknowledgement if it was taken."""
        mine, theirs = self.seats[sender].durable, self.seats[receiver].durable
        link = mine.outgoing[receiver]
        number = link.first
        done: memoryview | None = None
        for chunk in map(b"".join, link.chunks(number)):
            self.chunks.setdefault((sender, receiver), []).append(chunk)
            piece = wire.decode(chunk)
            assert isinstance(piece, wire.Piece)
            done = theirs.incoming[sender].take(piece)
        refused = theirs.accept([Arrival(sender, number, done)]) if done is not None else []
        mine.acknowledged(receiver, theirs.accepted[sender])
        return refused

    def run_without(self, sender: str, *kinds: str) -> None:
        """Deliver until nothing is left but what `sender` says from the first of these kinds on."""
        while due := [link for *link, _ in self.due() if not self._held(link, sender, kinds)]:
            for link in due:
                assert self.deliver(*link) == []

    def _held(self, link: Sequence[str], sender: str, kinds: Sequence[str]) -> bool:
        held = link[0] == sender
        return held and messages.decode(sender, 0, self.message(*link)).frame.kind in kinds

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Deliver until nothing is left, or something holds; nothing may be refused."""
        while not until() and (due := self.due()):
            for sender, receiver, _ in due:
                if until():
                    return
                assert self.deliver(sender, receiver) == []

    def totals(self, name: str) -> list[list[int]]:
        ring = self.plans[0].ring
        return [ring.to_ints(total) for total in self.seats[name].session.totals]


def _opened(path: Path) -> Journal:
    """Nothing waits for the disk: no power is cut here, and thousands of messages are taken."""

    def settle(connection: sqlite3.Connection, exclusive: bool) -> None:
        database_settle(connection, exclusive)
        connection.execute("PRAGMA synchronous = OFF")

    database_settle = database._settle
    with (
        patch.object(database, "_settle", settle),
        patch.object(database, "sync_folder", lambda _: None),
    ):
        return Journal.open(path)
