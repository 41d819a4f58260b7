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
from collections.abc import Iterator
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
from titan.party.run import Run, run_identity
from titan.party.session import Session
from titan.protocol import Binding, Kind, MaskMode, Plan, RecoveryName
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
        """What the attacker sends its victim's peers in the last round of the first sum."""
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
        nonces = [_fixed("nonce", party) for party in range(4)]
        context = run_identity(STUDY + (1).to_bytes(4, "little"), nonces) + bytes([0])
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

    def read(self) -> list[list[int]]:
        """All that the totals of the second sum show, without the attacker's own part."""
        own = self.scaled(EVIL)
        totals = [Ring(BITS).to_signed(total[:, :-1]) for total in self.opened]
        return [[t - x for t, x in zip(total, own, strict=True)] for total in totals]

    @property
    def stopped(self) -> list[str]:
        return [s.stopped.message if s.stopped else "" for s in self.sessions]


def _fixed(*words: object) -> bytes:
    return hashlib.sha256(repr(words).encode()).digest()


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
    for read in run.read():
        for hidden in (run.scaled(VICTIM), [0] * 3):
            apart = [(x - y) % 2**BITS for x, y in zip(read, hidden, strict=True)]
            assert all(2**90 < each < 2**BITS - 2**90 for each in apart), "one in 2^37 is not"


@WAYS
def test_who_does_not_lie_gets_the_sum(recovery: RecoveryName, masks: MaskMode) -> None:
    run = Attacked(recovery, masks, lies=False)
    assert run.stopped == [""] * 4
    assert all(session.agreed for session in run.sessions)
    others = zip(*(run.scaled(party) for party in (VICTIM, *PEERS)), strict=True)
    assert run.read() == [[sum(column) for column in others]] * 4


def _scales(run: Attacked) -> list[tuple[int, int]]:
    opened = run.model.learn(0, Opened(), run.sessions[EVIL].totals[0])
    a, b, c = column_scales(opened.diagonal)
    return [(a, b), (a, c), (b, c)]


def _off_diagonal(gram: Moments) -> list[int]:
    whole = Ring(BITS).to_signed(gram.fixed_point(Ring(BITS), 0, [(0, 1), (0, 2), (1, 2)], [0] * 4))
    return [int(x) for x in whole]
