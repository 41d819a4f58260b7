"""One party in one sum, as a state machine: envelopes in, envelopes out.

    round 0        obfuscation: send a mask to every out-neighbour, add those that arrive; long ones
                   in pieces, whose numbers stand where other envelopes have their rounds
    rounds 1..R    recovery: whatever the plan's recovery sends and awaits

An agent enters a round, says what it has to say, and stays until everything it awaits in that
round has arrived; envelopes that come early are kept. So any engine that delivers each envelope
once, in any order, drives it, and the paper's synchronous rounds need no synchronised clocks.
"""

# Rule 1: nothing here reads a clock, a socket, a file or a random source of its own.
# Rule 2: an envelope that is refused changes nothing.
# Rule 3: there is a total, or there is an error; never a total that might be wrong.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from titan.errors import MessageError, RecoveryError
from titan.protocol.binding import Binding, SentMask
from titan.protocol.masking import MaskSource, mask
from titan.protocol.messages import Envelope, Kind
from titan.protocol.plan import Plan
from titan.protocol.recovery.interface import Key, Means, NoSeals, Recovery, Seals
from titan.ring import Residues


class Agent:
    """Party number `party` of the plan's network, with its secret input (limbs, d).

    Its masks cancel with those of parties that have the same `binding`.
    """

    def __init__(
        self,
        plan: Plan,
        party: int,
        secret: Residues,
        masks: MaskSource,
        binding: Binding,
        seals: Seals = NoSeals(),  # noqa: B008 - it has no state
    ) -> None:
        self.plan = plan
        self.party = party
        self.round = -1
        self.done = False
        self._failed = False
        plan.check_shape(secret.shape, (plan.ring.limbs, plan.dimension))
        one = plan.ring.from_ints([1])  # carried along: its total must be m
        self._hidden = np.append(secret, one, axis=1)  # step by step
        self._masks = masks
        self._binding = binding
        self._seals = seals
        self._recovery: Recovery | None = None
        self._senders = frozenset(plan.network.in_neighbours(party))
        pieces = range(len(plan.mask_pieces))
        self._masks_due = {(sender, piece) for sender in self._senders for piece in pieces}
        self._missing: set[Key] = set()
        self._inbox: defaultdict[int, dict[Key, Any]] = defaultdict(dict)

    def start(self) -> list[Envelope]:
        """The first envelopes: round 0."""
        if self.round >= 0:
            raise RuntimeError("an agent starts once")
        self.round = 0
        ways = product(
            range(len(self.plan.mask_pieces)), self.plan.network.out_neighbours(self.party)
        )
        return self._recover_if_masked(
            [self._mask_for(receiver, piece) for piece, receiver in ways]
        )

    def receive(self, envelope: Envelope) -> list[Envelope]:
        """Take one envelope; return those that are due because of it."""
        return self.take(envelope, self._read(envelope))

    def take(self, envelope: Envelope, content: Any) -> list[Envelope]:
        """The same for who has read its payload: `content` is what `plan.read` found in it.

        Only for an envelope of the plan: its sender sends something of its kind here in its round.
        """
        kind, sender, _, round_, _ = envelope
        key = sender, kind
        if self._failed:
            raise _failure()
        out = self._open() if kind is Kind.OPENED else []
        if self.done or (self._recovery is not None and self._recovery.needs_no_more):
            return []
        if kind is Kind.MASK:
            return self._take_mask(envelope, content)
        awaited = round_ == self.round and key in self._missing
        if not awaited and not self._comes_early(key, round_):
            raise self._unexpected(envelope)
        self._inbox[round_][key] = content
        if not awaited:
            return out
        self._missing.remove(key)
        return out if self._missing else self._advance(out)

    def _open(self) -> list[Envelope]:
        """Another party finds a checked sum falsified: this one shows what it sent, too, even if
        all seemed well. Who opens has heard everybody's sums over subsets, this party's among them.
        """
        if not self.challenge:
            raise MessageError("what was sent is opened before its time")
        recovery: Any = self._recovery
        recovery.open()
        out: list[Envelope] = []
        if self.done:
            self.done = False
            self._enter(self.round + 1, recovery, out)
        return out

    @property
    def total(self) -> Residues:
        """The sum of all secrets, (limbs, d). Raises unless it is certainly that."""
        if self._failed:
            raise _failure()
        if self._recovery is None or not self.done:
            raise RecoveryError("the sum is not recovered yet")
        return self.plan.without_carried_one(self._recovery.total())

    @property
    def counted(self) -> int:
        """What the carried 1s add up to: the number of parties, modulo 2^bits."""
        assert self._recovery is not None  # noqa: S101 - asked for after the run only
        return self.plan.ring.to_ints(self._recovery.total()[:, -1:])[0]

    @property
    def challenge(self) -> bytes:
        """Of a checked sum, once it is over: the same at all parties, it stands for what all told
        and for the total. Empty where nothing is checked."""
        return getattr(self._recovery, "challenge", b"")

    @property
    def awaited(self) -> frozenset[int]:
        """Whose envelopes it needs before it can leave this round."""
        return frozenset(sender for sender, _ in self._missing or self._masks_due)

    @property
    def unheard(self) -> frozenset[int]:
        """Whose word is missing in the check of a recovered sum; empty where none goes on."""
        return getattr(self._recovery, "unheard", frozenset())

    @property
    def numbers_held(self) -> int:
        """How many numbers the recovery keeps, in the paper's units."""
        return 0 if self._recovery is None else self._recovery.numbers_held

    # -- rounds -------------------------------------------------------------------------------

    def _take_mask(self, envelope: Envelope, sent: SentMask) -> list[Envelope]:
        """Added as it comes; it need not be kept."""
        _, sender, receiver, piece, _ = envelope
        if (sender, piece) not in self._masks_due:
            raise self._unexpected(envelope)
        self._masks_due.remove((sender, piece))
        for block, made in self._made(sent, (sender, receiver), piece):
            mask(self.plan.ring, self._hidden[:, block], received=[made], sent=())
        return self._recover_if_masked([])

    def _recover_if_masked(self, out: list[Envelope]) -> list[Envelope]:
        """The first round of recovery, once all masks were sent and have come."""
        if self._masks_due or self.round < 0:
            return out
        masked, self._hidden = self._hidden, self.plan.ring.zeros(0)  # it is the recovery's now
        means = Means(self._masks.seed, self._binding.context, self._seals)
        self._recovery = self.plan.scheme.begin(self.party, masked, means)
        self._enter(1, self._recovery, out)
        return self._advance(out)

    def _advance(self, out: list[Envelope]) -> list[Envelope]:
        """Go through rounds as long as nothing is missing; collect what is to be sent."""
        while not self._missing and not self.done:
            recovery = self._take_in(self._inbox.pop(self.round, {}))
            self._enter(self.round + 1, recovery, out)
        return out

    def _take_in(self, arrived: dict[Key, Any]) -> Recovery:
        """All that was awaited in this round; if it contradicts itself, the sum is lost."""
        assert self._recovery is not None  # noqa: S101 - its first round has begun
        try:
            for sender, kind in sorted(arrived):
                self._recovery.absorb(self.round, sender, kind, arrived[sender, kind])
        except RecoveryError:
            self._failed = True
            raise
        return self._recovery

    def _enter(self, round_: int, recovery: Recovery, out: list[Envelope]) -> None:
        if round_ > self.plan.scheme.most_rounds or recovery.finished:
            self.done = True
            self._inbox.clear()
            return
        self.round = round_
        for receiver, kind, payload in recovery.send(round_):
            out.append(Envelope(kind, self.party, receiver, round_, payload))
        self._missing = set(recovery.awaits(round_)) - self._inbox[round_].keys()

    def _mask_for(self, receiver: int, piece: int) -> Envelope:
        sent = self.plan.draw(self._masks, piece)
        for block, made in self._made(sent, (self.party, receiver), piece):
            mask(self.plan.ring, self._hidden[:, block], received=(), sent=[made])
        return Envelope(Kind.MASK, self.party, receiver, piece, self.plan.write(sent))

    def _made(
        self, sent: SentMask, edge: tuple[int, int], piece: int
    ) -> Iterator[tuple[slice, Residues]]:
        """Which entries are to be hidden with what."""
        part, ring = self.plan.mask_pieces[piece], self.plan.ring
        for block, made in self._binding.mask_blocks(sent, edge, ring, part.stop - part.start):
            yield slice(part.start + block.start, part.start + block.stop), made

    # -- refusals -----------------------------------------------------------------------------

    def _read(self, envelope: Envelope) -> Any:
        """What the envelope says, if a party following the plan could have sent it here."""
        kind, sender, receiver, round_, payload = envelope
        if receiver != self.party:
            raise MessageError(f"{envelope!r} reached {self!r}, not its receiver")
        if sender not in self._senders:
            raise MessageError(f"{envelope!r} came along a link that does not exist")
        if round_ > self.plan.last_round:
            raise MessageError(f"{envelope!r} is for a round that will not come")
        self.plan.scheme.check_addressed(envelope)
        return self.plan.read(kind, sender, round_, payload)

    def _unexpected(self, envelope: Envelope) -> MessageError:
        return MessageError(f"{envelope!r} was not expected in round {self.round}, or came twice")

    def _comes_early(self, key: Key, round_: int) -> bool:
        """Whether it is for a later round, in which the plan has it sent, and not here yet."""
        later = round_ > self.round and key not in self._inbox.get(round_, {})
        return later and key in self.plan.senders(self.party, round_)

    def __repr__(self) -> str:
        return f"<Agent {self.plan.network.parties[self.party]!r}, round {self.round}>"


def _failure() -> RecoveryError:
    return RecoveryError("this sum has failed", hint="start a new run with fresh masks")
