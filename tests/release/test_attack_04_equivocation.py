"""Attack 4: one active party shows a victim's peers another first sum than the victim.

In the two sums that find their own scale, the second is divided by what the first opened. Shown a
huge diagonal, the peers put zeros into the second sum; the victim, shown the true one, puts its own
part in, and alone. All read it, and that the first sums differ comes out afterwards.

Masks are bound at both ends to the totals so far, so the victim's and its peers' do not cancel.
Everything runs through sessions with real signatures; the attacker is the root of `tree`, or signs
two vectors in `flood` on a complete graph, where nobody passes the other one on.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.study.parties import identity
from titan import Network
from titan.joint import Task
from titan.joint.equations import Found, Opened
from titan.leastsquares import column_scales
from titan.moments import Moments
from titan.party import messages
from titan.party.messages import Enclosed
from titan.party.private_sums import first_binding
from titan.party.run import Run, run_identity
from titan.party.session import Session
from titan.protocol import Binding, Kind, MaskMode, Plan, RecoveryName
from titan.protocol.binding import SentMask
from titan.protocol.masking import SEED_BYTES
from titan.ring import Residues, Ring
from titan.study.certificates import SIGNATURE_BYTES
from titan.study.frames import Frame

NAMES = ("evil", "victim", "peer", "other")
EVIL, VICTIM, *PEERS = range(4)
COLUMNS = ("a", "b", "c", "y")
BITS = 128
STUDY = bytes(range(32))
HUGE = 1 << 256 + 240  # on a diagonal: its root is 2^120, and 2^126 / 2^240 of anything is nothing


@dataclass(frozen=True)
class Model:
    """The two sums of least squares, as any method's."""

    equations: Found

    @property
    def sums(self) -> Any:
        return self.equations.sums

    def prepare(self, rows: Any) -> Any:
        return rows

    def begin(self) -> Opened:
        return Opened()

    def secret(self, n: int, known: Opened, part: Moments) -> Residues:
        return self.equations.secret(n, known, part, "somebody")

    def learn(self, n: int, known: Opened, total: Residues) -> Opened:
        return self.equations.learn(n, known, total)

    def answer(self, known: Opened) -> Any:
        return known.pooled


@dataclass(frozen=True)
class Signed:
    """Real signatures, checked against real cards."""

    party: int

    def sign(self, data: bytes) -> bytes:
        return identity(NAMES[self.party]).sign(data)

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool:
        return identity(NAMES[party]).card.verify(signature, data)


def moments(party: int) -> Moments:
    rng = Random(party)
    rows = [[1, rng.randrange(18, 90), rng.randrange(90, 200), rng.randrange(2)] for _ in range(25)]
    triangle = [sum(r[j] * r[k] for r in rows) for j in range(4) for k in range(j + 1)]
    return Moments.of_integers(COLUMNS, ((0, 0),) * 4, 25, triangle)


@dataclass
class Attacked:
    """A run in which the first sum that the peers are shown is not the true one."""

    recovery: RecoveryName
    masks: MaskMode = "sent"
    lies: bool = True
    sessions: list[Session] = field(default_factory=list)
    opened: list[Residues] = field(default_factory=list)
    """Every total of a second sum that somebody got, the carried 1s last, good or not."""
    keys: dict[tuple[int, int], SentMask] = field(default_factory=dict)
    """What went along each link in the second sum."""

    def __post_init__(self) -> None:
        self.model = Model(Found(COLUMNS, 4, BITS, "solution"))
        self.network = Network.complete(list(NAMES))
        self.plans = [
            Plan.make(
                self.network, sum_.ring, sum_.entries, recovery=self.recovery, masks=self.masks
            )
            for sum_ in self.model.sums
        ]
        for party in range(4):
            run = Run(STUDY, 1, self.network, party, _fixed("nonce", party))
            keys = [_fixed("key", party, n) for n in range(2)]
            task = Task(self.model, self.plans, moments(party))
            self.sessions.append(Session(run, task, keys, Signed(party)))
        self._play()

    def _play(self) -> None:
        checked = Plan.without_carried_one

        def spying(plan: Plan, total: Residues) -> Residues:
            if plan is self.plans[1]:
                self.opened.append(total)
            return checked(plan, total)

        waiting: deque[tuple[int, Frame]] = deque()
        with patch.object(Plan, "without_carried_one", spying):
            for party, session in enumerate(self.sessions):
                waiting.extend((party, frame) for frame in session.start().frames)
            while waiting:
                sender, frame = waiting.popleft()
                receiver = self.network.index(frame.peer)
                body = self._told(sender, receiver, frame)
                arrived = messages.decode(NAMES[sender], frame.sequence, body)
                ready = self.sessions[receiver].receive(arrived)
                waiting.extend((receiver, each) for each in ready.frames)

    def _told(self, sender: int, receiver: int, frame: Frame) -> Any:
        """The message, but for what the attacker tells its victim's peers of the first sum."""
        if (frame.sum, frame.kind) == (1, Kind.MASK.name):
            sent = Enclosed.decode(frame.body).envelope.payload
            self.keys[sender, receiver] = self.plans[1].read(Kind.MASK, sender, 0, sent)
        lie = {"flood": Kind.MASKED, "tree": Kind.TOTAL}[self.recovery]
        told = (frame.sum, frame.kind) == (0, lie.name)
        if not (self.lies and sender == EVIL and receiver in PEERS and told):
            return frame.body
        enclosed = Enclosed.decode(frame.body)
        payload, at = bytes(enclosed.envelope.payload), 8 if lie is Kind.MASKED else 0
        plan = self.plans[0]
        vector = plan.ring.from_bytes(payload[at:], plan.entries).copy()
        more = plan.ring.from_ints([HUGE] * 3 + [0] * (plan.entries - 3))
        changed = plan.ring.to_bytes(plan.ring.add_into(vector, more))
        behind = self._signature(changed) if lie is Kind.MASKED else b""
        envelope = enclosed.envelope._replace(payload=payload[:at] + changed)
        return replace(enclosed, envelope=envelope, signatures=behind).encode()

    def _signature(self, vector: bytes) -> bytes:
        context = _identity() + bytes([0])
        digest = hashlib.sha256(vector).digest()
        found = Signed(EVIL).sign(b"titan MASKED\n" + context + bytes(4) + digest)
        assert len(found) == SIGNATURE_BYTES
        return found

    # -- what there is to read ---------------------------------------------------------------

    def scaled(self, party: int) -> list[int]:
        """A party's part of the second sum at the true scale."""
        opened = self.model.learn(0, Opened(), self.sessions[EVIL].totals[0])
        assert max(column_scales(opened.diagonal)) < 20, "the attacker shows itself the true one"
        return Ring(BITS).to_signed(self.model.secret(1, opened, moments(party)))

    def read(self, known: Iterable[tuple[int, int]] = ()) -> list[list[int]]:
        """What the totals of the second sum show, without the attacker's own part, to somebody who
        has the keys of these links and makes up for what did not cancel there."""
        ring, plan = Ring(BITS), self.plans[1]
        rest = ring.from_ints([-x for x in [*self.scaled(EVIL), 0]])
        for edge in known:
            sender, receiver = (
                self.bound_to(party).mask(self.keys[edge], edge, ring, plan.entries)
                for party in edge
            )
            ring.subtract_into(ring.add_into(rest, sender), receiver)
        return [ring.to_signed(ring.add_into(rest.copy(), each)[:, :-1]) for each in self.opened]

    def bound_to(self, party: int) -> Binding:
        """What a party's masks are bound to in the second sum: to the first as it was shown it."""
        first = self.sessions[party].totals[0]
        return first_binding(_identity(), self.plans).after(self.plans[0].ring, first)

    @property
    def stopped(self) -> list[str]:
        return [s.stopped.message if s.stopped else "" for s in self.sessions]


def _fixed(*words: object) -> bytes:
    return hashlib.sha256(repr(words).encode()).digest()


def _identity() -> bytes:
    nonces = [_fixed("nonce", party) for party in range(4)]
    return run_identity(STUDY + (1).to_bytes(4, "little"), nonces)


@contextmanager
def masks_bound_to_nothing() -> Iterator[None]:
    """As before: whatever was opened, both ends make the same of a key."""
    key = Binding._key
    constant = Binding(bytes(SEED_BYTES))
    with patch.object(Binding, "_key", lambda self, *given: key(constant, *given)):
        yield


WAYS = pytest.mark.parametrize(
    ("recovery", "masks"), [("flood", "sent"), ("tree", "sent"), ("flood", "seeded")]
)


@WAYS
def test_without_the_binding_the_victim_is_read(recovery: RecoveryName, masks: MaskMode) -> None:
    """The control: this is the attack, and it works; agreement fails when all is told."""
    with masks_bound_to_nothing():
        run = Attacked(recovery, masks)
    assert run.read() == [run.scaled(VICTIM)] * 4
    assert all("the pooled sums differ" in why for why in run.stopped)
    unit = [x << 2 + a + b for x, (a, b) in zip(run.read()[0], _scales(run), strict=True)]
    gram = moments(VICTIM)
    assert [x >> BITS for x in unit] == _off_diagonal(gram), "AᵀA itself, to the last digit"


@WAYS
def test_with_it_the_second_sum_is_noise(recovery: RecoveryName, masks: MaskMode) -> None:
    run = Attacked(recovery, masks)
    assert all("masks did not cancel" in why for why in run.stopped)
    assert [len(session.totals) for session in run.sessions] == [1] * 4
    assert len(run.opened) == 4
    own = [edge for edge in run.keys if EVIL in edge]
    assert (len(own), len(run.keys)) == (6, 12)
    for read in [*run.read(), *run.read(own)]:  # as it is, and put right as far as it can be
        for hidden in (run.scaled(VICTIM), [0] * 3):
            apart = [(x - y) % 2**BITS for x, y in zip(read, hidden, strict=True)]
            assert all(2**90 < each < 2**BITS - 2**90 for each in apart), "one in 2^37 is not"
    between = [edge for edge in run.keys if VICTIM in edge and EVIL not in edge]
    assert len(between) == 4
    assert run.read(own + between) == [run.scaled(VICTIM)] * 4, "nothing else hides the victim"
    for lost in between:
        assert run.read([edge for edge in own + between if edge != lost])[0] != run.scaled(VICTIM)


@WAYS
def test_who_does_not_lie_gets_the_sum(recovery: RecoveryName, masks: MaskMode) -> None:
    run = Attacked(recovery, masks, lies=False)
    assert run.stopped == [""] * 4
    assert all(session.agreed for session in run.sessions)
    others = zip(*(run.scaled(party) for party in (VICTIM, *PEERS)), strict=True)
    assert run.read() == [[sum(column) for column in others]] * 4


def test_the_first_binding_has_the_run_and_the_plans() -> None:
    """So nonces, runs or plans that differ make the first sum noise already."""
    small, large = (Plan.make(Network.complete(3), Ring(64), d) for d in (3, 4))
    found = [
        first_binding(run_identity(context, nonces), plans).chain
        for context in (STUDY + bytes(4), STUDY + b"\1\0\0\0", bytes(36))
        for nonces in ([_fixed(1), _fixed(2)], [_fixed(2), _fixed(1)])
        for plans in ([small], [large], [small, large], [large, small])
    ]
    assert len(set(found)) == len(found) == 24


def _scales(run: Attacked) -> list[tuple[int, int]]:
    opened = run.model.learn(0, Opened(), run.sessions[EVIL].totals[0])
    a, b, c = column_scales(opened.diagonal)
    return [(a, b), (a, c), (b, c)]


def _off_diagonal(gram: Moments) -> list[int]:
    whole = Ring(BITS).to_signed(gram.fixed_point(Ring(BITS), 0, [(0, 1), (0, 2), (1, 2)], [0] * 4))
    return [int(x) for x in whole]
