"""A run as a state machine: messages in, messages out.

    nonces       everybody's random number is told to all, before any mask
    sums         one agent after the other; the run's identity is now the study, the run's number
                 and all nonces
    agreement    everybody's digest of the pooled sums is told to all; they must be equal
    answer       where the study names one party that solves, it tells all
    end          one last message along every link

Like an agent, a session reads no clock, no socket and no random source, and given its keys and the
messages it received, it sends the same bytes again. That is all a restart needs. Within the sums
not even their order matters: along each link it sends the same messages in the same order.
"""

# Rule 1: a message that is refused (MessageError) changes nothing. Any other error ends the run.
# Rule 2: no mask leaves before all nonces are here; no further sum begins before its job has looked
#         at the sums so far.
# Rule 3: there are m equal digests, or there is no answer.
# Rule 4: nothing told to all is passed on between the own sums, so that it takes no message's turn.

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from titan.errors import MessageError, PeerError, RecoveryError, TitanError
from titan.network import Network
from titan.party.gossip import Gossip, Passed, Signer
from titan.party.messages import AGREED, ANSWER, END, LAST, NONCE, Told, enclosed, opened
from titan.party.standing import Standing
from titan.party.vouching import Vouching, check_form
from titan.protocol import Agent, Envelope, Plan
from titan.protocol.masking import SEED_BYTES, JournaledMasks
from titan.protocol.messages import HEADER_BYTES, Kind
from titan.ring import Residues
from titan.study.frames import Frame
from titan.study.signatures import SIGNATURE_BYTES

_DIGEST_BYTES = 32
_MOST_ANSWER = 1 << 26
_OVERHEAD = 256  # heads and one signature


class Job(Protocol):
    """What is summed: known to all are the plans, to its party alone the secrets."""

    @property
    def plans(self) -> Sequence[Plan]: ...

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues:
        """The input of sum `number`, given the totals so far; refuses to go on by raising."""
        ...


@dataclass(frozen=True)
class Run:
    """Which run of which study this is, and as whom."""

    study: bytes  # its digest
    number: int
    network: Network
    party: int
    nonce: bytes = field(repr=False)
    solver: int | None = None

    @property
    def context(self) -> bytes:
        return self.study + self.number.to_bytes(4, "little")


class Session:
    """One party in one run."""

    def __init__(self, run: Run, job: Job, keys: Sequence[bytes], signer: Signer) -> None:
        self.run = run
        self.totals: list[Residues] = []
        self.agreed: str | None = None
        self.stopped: TitanError | None = None
        """Why there will be no answer; what was sent before is still served."""
        self._job = job
        self._keys = keys
        self._signer = signer
        self._network = run.network
        self._sequences = dict.fromkeys(self._network.out_neighbours(run.party), 0)
        self._nonces = self._gossip(NONCE, run.context, SEED_BYTES, self._lost_journal)
        self._digests: Gossip | None = None
        self._held: list[Passed] = []  # digests that came before the own one
        self._answers: Gossip | None = None
        self._identity = self._own_digest = b""
        self._so_far = digest_of_sums(b"")
        self._agent: Agent | None = None
        self._vouching: Vouching | None = None
        self._waiting: dict[int, list[tuple[Envelope, bytes]]] = {}  # for a sum to come
        self._taken: set[tuple[int, Kind, int, int]] = set()  # sum, kind, sender, round
        self._ended: set[int] = set()

    # -- what can be asked --------------------------------------------------------------------

    @property
    def nonces(self) -> dict[str, bytes]:
        """Party → its nonce, as far as heard."""
        names = self._network.parties
        return {names[origin]: told.content for origin, told in self._nonces.heard.items()}

    @property
    def answer(self) -> bytes | None:
        """What the party that solves for all told."""
        if self._answers is None or self.run.solver is None:
            return None
        told = self._answers.heard.get(self.run.solver)
        return None if told is None else told.content

    @property
    def everybody_is_here(self) -> bool:
        return not self._nonces.missing

    @property
    def pooled(self) -> bool:
        """All sums are here, not yet compared with the others'."""
        return len(self.totals) == len(self._job.plans)

    @property
    def complete(self) -> bool:
        """Everything is here that an answer needs."""
        if self.run.solver in (None, self.run.party):
            return self.agreed is not None
        return self.agreed is not None and self.answer is not None

    @property
    def ended(self) -> bool:
        """All in-neighbours have said their last."""
        return self._ended == set(self._network.in_neighbours(self.run.party))

    @property
    def largest_message(self) -> int:
        """No message of this run is longer, in bytes."""
        sizes = [_MOST_ANSWER if self.run.solver is not None else 0]
        for plan in self._job.plans:
            recovery = int(plan.scheme.traffic().payload_bytes.max())
            sizes.append(max(plan.mask_bytes, recovery) + HEADER_BYTES)
        return max(sizes) + len(self._network) * SIGNATURE_BYTES + _OVERHEAD

    @property
    def standing(self) -> Standing:
        """How far it is, and for whom it waits."""
        names = self._network.parties
        if self._agent is not None:
            agent, sums = self._agent, len(self._job.plans)
            waiting = sorted(names[party] for party in agent.awaited)
            where = (agent.round, agent.plan.recovery_rounds)
            return Standing.in_sum(len(self.totals), sums, *where, waiting)
        if not self.totals:
            return Standing("connecting", [names[party] for party in self._nonces.missing])
        if self._digests is not None and self._digests.missing:
            return Standing("agreement", [names[party] for party in self._digests.missing])
        if not self.complete and self.run.solver is not None:
            return Standing("answer", [names[self.run.solver]])
        missing = set(self._network.in_neighbours(self.run.party)) - self._ended
        return Standing("end", [names[party] for party in sorted(missing)])

    # -- messages -----------------------------------------------------------------------------

    def start(self) -> list[Frame]:
        """The first messages: the own nonce."""
        return self._pass_on(NONCE, self._nonces.tell(self.run.nonce))

    def receive(self, frame: Frame) -> list[Frame]:
        """Take one message; return those that are due because of it."""
        sender = self._network.index(frame.peer)
        if sender in self._ended:
            raise MessageError(f"{frame.peer} said more after its last message")
        if frame.kind == END:
            return self._end(sender, frame)
        if frame.sum is None:
            return self._hear(sender, frame.kind, Told.decode(frame.body))
        return self._take(sender, frame)

    def tell_answer(self, answer: bytes) -> list[Frame]:
        """At the one who solves: what it found."""
        assert self._answers is not None  # noqa: S101 - asked for once complete
        return [*self._pass_on(ANSWER, self._answers.tell(answer)), *self._last_messages()]

    # -- told to all --------------------------------------------------------------------------

    def _gossip(
        self, kind: str, context: bytes, most: int, contradiction: Callable[[str], TitanError]
    ) -> Gossip:
        return Gossip(
            kind,
            self._network,
            self.run.party,
            self._signer,
            context,
            most=most,
            contradiction=contradiction,
        )

    def _hear(self, sender: int, kind: str, told: Told) -> list[Frame]:
        if kind == NONCE:
            return self._hear_nonce(sender, told)
        if kind == ANSWER and told.origin != self.run.solver:
            raise MessageError(f"an answer of party {told.origin}, who is not to solve")
        if kind == ANSWER and not self._own_digest:
            raise MessageError("an answer before this party could have agreed")
        gossip = self._digests if kind == AGREED else self._answers
        if gossip is None:  # its context is not known yet, so it cannot be checked
            raise MessageError(f"{kind} before the nonces of all are here")
        complete, passed = self.complete, gossip.receive(sender, told)
        if kind == AGREED and not self._own_digest:
            self._held += passed
            return []
        out = self._pass_on(kind, passed)
        return out + (self._compare() if kind == AGREED else self._last_if_new(complete))

    def _hear_nonce(self, sender: int, told: Told) -> list[Frame]:
        if len(told.content) != SEED_BYTES:
            raise MessageError(f"a nonce of {len(told.content)} bytes")
        complete = not self._nonces.missing
        out = self._pass_on(NONCE, self._nonces.receive(sender, told))
        if not complete and not self._nonces.missing:
            out += self._begin()
        return out

    def _pass_on(self, kind: str, passed: Iterable[Passed]) -> list[Frame]:
        return [self._frame(item.receiver, kind, item.told.encode(kind)) for item in passed]

    def _lost_journal(self, name: str) -> PeerError:
        return PeerError(
            f"{name} lost its journal; agree on run {self.run.number + 1}",
            hint=f"going on would pair old masks with new ones and expose {name}",
        )

    # -- sums ---------------------------------------------------------------------------------

    def _begin(self) -> list[Frame]:
        """All nonces are here: this is the run, and its first sum begins."""
        heard = self._nonces.heard
        nonces = [heard[party].content for party in range(len(self._network))]
        self._refuse_repeated(nonces)
        self._identity = run_identity(self.run.context, nonces)
        self._so_far = digest_of_sums(self._identity)
        self._digests = self._gossip(AGREED, self._identity, _DIGEST_BYTES, _two_digests)
        self._answers = self._gossip(ANSWER, self._identity, _MOST_ANSWER, _two_answers)
        return self._next_sum()

    def _refuse_repeated(self, nonces: Sequence[bytes]) -> None:
        """A nonce is a party's own; who says another's after it wants something, or is ill."""
        same = [
            name
            for name, nonce in zip(self._network.parties, nonces, strict=True)
            if nonces.count(nonce) > 1
        ]
        if same:
            raise PeerError(
                f"the nonces of {' and '.join(same)} are not all different",
                hint=f"ask them why, then agree on run {self.run.number + 1}",
            )

    def _next_sum(self) -> list[Frame]:
        number, party = len(self.totals), self.run.party
        if number == len(self._job.plans):
            return self._announce()
        plan = self._job.plans[number]
        try:
            secret = self._job.secret(number, self.totals)
        except TitanError as error:
            self.stopped = error
            return []
        context = self._identity + bytes([number])
        self._vouching = Vouching(self._network, plan, party, self._signer, context)
        masks = JournaledMasks(self._keys[number], self._so_far.digest())
        self._agent = Agent(plan, party, secret, masks)
        out = self._enclose(self._agent.start())
        for envelope, behind in self._waiting.pop(number, []):
            out += self._feed_kept(number, envelope, behind)
        return out

    def _take(self, sender: int, frame: Frame) -> list[Frame]:
        """An envelope for this sum, a later one, or one that is over here but not there."""
        number, current = frame.sum, len(self.totals)
        assert number is not None  # noqa: S101 - asked before
        envelope, behind = opened(frame.body)
        if number >= len(self._job.plans):
            raise MessageError(f"an envelope for sum {number + 1}, which will not come")
        if envelope.sender != sender:
            raise MessageError(f"{envelope!r} came from {frame.peer}")
        plan, place = self._job.plans[number], (number, envelope.kind, sender, envelope.round)
        self._check_planned(plan, envelope)
        if place in self._taken:
            raise MessageError(f"{envelope!r} came twice")
        out: list[Frame] = []
        if number == current and self._agent is not None:
            out = self._feed(number, envelope, behind)
        else:
            check_form(plan, envelope, behind)
            if number >= current:
                self._waiting.setdefault(number, []).append((envelope, bytes(behind)))
        self._taken.add(place)
        return out

    def _check_planned(self, plan: Plan, envelope: Envelope) -> None:
        """Whether the plan has this sender send something of this kind here in this round."""
        kind, sender, receiver, round_, _ = envelope
        if receiver != self.run.party or round_ > plan.recovery_rounds:
            raise MessageError(f"{envelope!r} is for somebody else or for no round")
        if (sender, kind) not in plan.senders(self.run.party, round_):
            raise MessageError(f"{envelope!r} is not planned")

    def _feed_kept(self, number: int, envelope: Envelope, behind: bytes) -> list[Frame]:
        """What came before its sum began was taken then; it is too late to refuse it alone."""
        try:
            return self._feed(number, envelope, behind)
        except MessageError as error:
            name = self._network.parties[envelope.sender]
            raise RecoveryError(
                f"{name} sent early what does not fit: {error.message}", hint="start a new run"
            ) from None

    def _feed(self, number: int, envelope: Envelope, behind: bytes | memoryview) -> list[Frame]:
        if number < len(self.totals):
            return []  # it was kept, and the sum came out without it
        assert self._agent is not None  # noqa: S101 - the sum is running
        assert self._vouching is not None  # noqa: S101
        self._vouching.check(envelope, behind)
        out = self._enclose(self._agent.receive(envelope))
        if not self._agent.done:
            return out
        self.totals.append(self._agent.total)
        self._so_far.update(self._agent.plan.ring.to_bytes(self._agent.total))
        self._agent = self._vouching = None
        return out + self._next_sum()

    def _enclose(self, envelopes: Iterable[Envelope]) -> list[Frame]:
        assert self._vouching is not None  # noqa: S101 - the sum is running
        number = len(self.totals)
        return [
            self._frame(
                envelope.receiver,
                envelope.kind.name,
                enclosed(number, envelope, self._vouching.signatures(envelope)),
                number,
                envelope.round,
            )
            for envelope in envelopes
        ]

    # -- agreement and end --------------------------------------------------------------------

    def _announce(self) -> list[Frame]:
        """All sums are here: tell everybody their digest."""
        assert self._digests is not None  # noqa: S101 - all nonces are here
        code = digest_of_sums(self._identity)  # of what is used, whatever happened to it since
        for plan, total in zip(self._job.plans, self.totals, strict=True):
            code.update(plan.ring.to_bytes(total))
        self._own_digest = code.digest()
        passed = [*self._digests.tell(self._own_digest), *self._held]
        return self._pass_on(AGREED, passed) + self._compare()

    def _compare(self) -> list[Frame]:
        """Once all digests are here: are they equal?"""
        assert self._digests is not None  # noqa: S101 - all nonces are here
        if self._digests.missing or self.agreed is not None:
            return []
        heard = {self._network.parties[p]: told.content for p, told in self._digests.heard.items()}
        others = [name for name, digest in heard.items() if digest != self._own_digest]
        if others:  # the others must hear of it too, so this is no error yet
            self.stopped = RecoveryError(
                f"the pooled sums differ from those of {', '.join(sorted(others))}",
                hint="there is no answer; start a new run",
            )
            return []
        self.agreed = self._own_digest.hex()
        return self._last_if_new(False)

    def _last_if_new(self, before: bool) -> list[Frame]:
        """The last messages, once everything is complete; whoever solves sends them later."""
        if before or not self.complete or self.run.solver == self.run.party:
            return []
        return self._last_messages()

    def _last_messages(self) -> list[Frame]:
        return [self._frame(receiver, END, LAST) for receiver in self._sequences]

    def _end(self, sender: int, frame: Frame) -> list[Frame]:
        if self._nonces.missing:
            raise MessageError(f"{frame.peer} ended before everybody was there")
        self._ended.add(sender)
        return []

    def _frame(
        self, receiver: int, kind: str, body: bytes, sum_: int | None = None, round_: int = 0
    ) -> Frame:
        sequence = self._sequences[receiver]
        self._sequences[receiver] += 1
        return Frame(self._network.parties[receiver], sequence, kind, body, sum_, round_)


def run_identity(context: bytes, nonces: Iterable[bytes]) -> bytes:
    """Which run this is: that of these nonces, in the order of the parties, and of no others."""
    return hashlib.sha256(b"titan run\n" + context + b"".join(nonces)).digest()


def digest_of_sums(identity: bytes) -> hashlib._Hash:
    """Of no sums yet; each total is added to it. That of all sums is what the parties compare."""
    return hashlib.sha256(b"titan pooled sums\n" + identity)


def _two_digests(name: str) -> RecoveryError:
    return RecoveryError(f"{name} signed two different digests of the sum", hint="start a new run")


def _two_answers(name: str) -> RecoveryError:
    return RecoveryError(f"{name} told two different answers", hint="start a new run")
