"""Checked sums in which one party lies: what it sends is altered on its way out."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from titan import Network
from titan.errors import MessageError, RecoveryError
from titan.protocol import IN_ONE_PROCESS, Agent, Envelope, Kind, Plan, RecoveryName, SystemMasks
from titan.protocol.checked import Checked
from titan.protocol.checking import CheckedState
from titan.protocol.claims import SignedStream
from titan.protocol.recovery.interface import SEAL_BYTES
from titan.ring import Residues, Ring

RELAYED = {"tree": frozenset({Kind.PARTIAL, Kind.TOTAL}), "topk": frozenset({Kind.LIST})}
RECOVERIES: list[RecoveryName] = ["tree", "topk"]
COMPLETE, CYCLE = Network.complete(list("0123")), Network.cycle(list("0123"))
Lie = Callable[[Envelope], Envelope]
Begun = Callable[[int, CheckedState], None]


def truth(envelope: Envelope) -> Envelope:
    return envelope


def nothing(party: int, state: CheckedState) -> None:
    pass


@dataclass(frozen=True)
class TestSeals:
    """Signatures that take no time; here nobody makes another's, though anybody could."""

    __test__ = False
    party: int

    def sign(self, kind: Kind, content: bytes) -> bytes:
        return _seal(self.party, kind, content)

    def signed(self, kind: Kind, origin: int, content: bytes, seal: bytes) -> bool:
        return seal == _seal(origin, kind, content)


def _seal(party: int, kind: Kind, content: bytes) -> bytes:
    return hashlib.sha512(f"{party} {kind.name} ".encode() + content).digest()


@dataclass
class Played:
    """Everybody's agent after a run, and what they raised when something arrived."""

    agents: list[Agent]
    raised: dict[int, RecoveryError] = field(default_factory=dict)

    def end(self, party: int) -> Residues | RecoveryError:
        """Its total, or why it has none."""
        if party in self.raised:
            return self.raised[party]
        try:
            return self.agents[party].total
        except RecoveryError as error:
            return error


def checked(network: Network, bits: int, d: int, recovery: RecoveryName, **choices: int) -> Plan:
    return Plan.make(network, Ring(bits), d, recovery=recovery, relays="checked", **choices)  # type: ignore[arg-type]


def agents(plan: Plan, secrets: list[list[int]]) -> list[Agent]:
    ring = plan.ring
    return [
        Agent(plan, p, ring.from_ints(own), SystemMasks(), IN_ONE_PROCESS, TestSeals(p))
        for p, own in enumerate(secrets)
    ]


def play(
    parties: list[Agent],
    rng: random.Random,
    lie: Lie = truth,
    begun: Begun = nothing,
) -> Played:
    """Deliver everything, in any order. `lie` alters envelopes in the order they were sent, `begun`
    a party's state once its vector is masked."""
    played = Played(parties)
    waiting: list[Envelope] = []
    new: set[int] = set(range(len(parties)))

    def post(envelopes: list[Envelope]) -> None:
        for party in list(new):
            if isinstance(state := parties[party]._recovery, CheckedState):
                new.remove(party)
                begun(party, state)
        waiting.extend(lie(each) for each in envelopes)

    for agent in parties:
        post(agent.start())
    while waiting:
        at = rng.randrange(len(waiting))
        waiting[at], waiting[-1] = waiting[-1], waiting[at]
        envelope = waiting.pop()
        try:
            post(parties[envelope.receiver].receive(envelope))
        except RecoveryError as error:
            played.raised.setdefault(envelope.receiver, error)
    return played


@dataclass
class Relay:
    """Flips one bit of the number `at` of what this party sends of these kinds, and signs that."""

    plan: Plan
    party: int
    kinds: frozenset[Kind]
    at: int
    rng: random.Random
    altered: Envelope | None = None
    _streams: dict[tuple[int, Kind], list[bytes]] = field(default_factory=dict)

    def __call__(self, envelope: Envelope) -> Envelope:
        kind, sender, receiver, round_, payload = envelope
        if sender != self.party or kind not in self.kinds:
            return envelope
        scheme = self.plan.scheme
        assert isinstance(scheme, Checked)
        sealed = scheme.tail_bytes(kind, sender)
        body = bytes(payload)[: len(payload) - sealed]
        self.at -= 1
        if self.at < 0 and self.altered is None:
            body = self._flipped(envelope, body, bytes(sealed))
        self._streams.setdefault((receiver, kind), []).append(body)
        if not sealed or self.altered is None:
            return envelope._replace(payload=body + bytes(payload)[len(body) :])
        tail = bytes(sealed)
        if scheme.within.ends(kind, sender, round_):
            whole = hashlib.sha256(b"".join(self._streams[receiver, kind])).digest()
            inputs = bytes(payload)[len(body) : -SEAL_BYTES]
            made = SignedStream(whole, inputs, b"")
            tail = inputs + TestSeals(sender).sign(kind, made.signed)
        return envelope._replace(payload=body + tail)

    def _flipped(self, envelope: Envelope, body: bytes, seal: bytes) -> bytes:
        """With one bit flipped that can be one: of few bits not every number is a residue."""
        for _ in range(50):
            other = bytearray(body)
            other[self.rng.randrange(len(body))] ^= 1 << self.rng.randrange(8)
            try:
                self.plan.read(envelope.kind, envelope.sender, envelope.round, bytes(other) + seal)
            except MessageError:
                continue
            self.altered = envelope
            return bytes(other)
        return body


def strongly_connected(rng: random.Random, most: int, least: int = 2) -> Network:
    """A cycle through all in some order, and links besides."""
    m = rng.randrange(least, most + 1)
    order = rng.sample(range(m), m)
    links = {(a, b) for a, b in zip(order, order[1:] + order[:1], strict=True)}
    share = rng.random()
    links |= {(a, b) for a in range(m) for b in range(m) if a != b and rng.random() < share}
    return Network(sorted(links), parties=list(range(m)))


def random_secrets(rng: random.Random, plan: Plan) -> list[list[int]]:
    return [
        [rng.randrange(plan.ring.modulus) for _ in range(plan.dimension)]
        for _ in plan.network.parties
    ]
