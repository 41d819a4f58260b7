"""The sums of one run at one party: one agent after the other, each envelope read once."""

# Rule 1: an envelope that is refused (MessageError) changes nothing.
# Rule 2: no further sum begins before the computation has learned from the sums so far, and its
#         masks cancel only among parties that learned the same.
# Rule 3: what is made of rows may take long. Where whoever drives the session asks for that, `work`
#         makes it, in any thread, and `proceed` begins the sum; what comes meanwhile is kept.
# Rule 4: the payload of an envelope is read when it arrives, also where its sum is yet to begin.

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from titan.errors import CheckError, MessageError, RecoveryError, ReleaseError, TitanError
from titan.joint import Fold, Task
from titan.joint.task import described
from titan.party.messages import Enclosed
from titan.party.origin_signatures import OriginSignatures, read
from titan.party.run import Run
from titan.party.signed_broadcast import Signer
from titan.party.sum_seals import SumSeals
from titan.protocol import Agent, Binding, Envelope, Plan
from titan.protocol.masking import JournaledMasks, noise
from titan.protocol.messages import Kind
from titan.ring import Residues, Ring

Work = Callable[[], Residues | TitanError]
"""A party's secret for a sum, or why there is none."""


class _Read(NamedTuple):
    """An envelope, its signatures, and what its payload says."""

    enclosed: Enclosed
    content: Any


class PrivateSums:
    """One party's part in all sums of a run."""

    def __init__(self, run: Run, task: Task, keys: Sequence[bytes], signer: Signer) -> None:
        self.totals: list[Residues] = []
        self.challenges: list[bytes] = []
        """Of the checked ones, what the check hung on; empty for the others."""
        self.agent: Agent | None = None
        self.stopped: TitanError | None = None
        """Why there will be no further total."""
        self._run = run
        self._plans = task.plans
        self._part = task.part
        self._fold: Fold[Any, Any, Any] = Fold(task.computation)
        self._keys = keys
        self._signer = signer
        self._identity = b""
        self._binding: Callable[[], Binding] = Binding.begin
        self._signatures: OriginSignatures | None = None
        self._waiting: dict[int, list[_Read]] = {}  # for a sum to come
        self.deferred = False
        """Leave the secrets to whoever drives this."""
        self._due = False  # the secret of the next sum
        self._taken: set[tuple[int, Kind, int, int]] = set()  # sum, kind, sender, round
        self._passed: list[Agent | None] = []  # those of the sums that are over and were checked
        self._reopened: list[tuple[Residues, bytes]] = []  # their totals, and what they hung on
        self.told_later = False
        """Whether a later total may have stopped others, when this party went back to a sum."""
        self._given_up = False
        self.settled = False
        """All have agreed on the totals, so none of them is opened any more."""
        self.by_total = False
        """It stopped because of a total, as all do who have it."""
        self.masked = False
        """It stopped in a sum whose masks all parties have on their disks: in a checked one they
        wait for that before they commit themselves."""

    @property
    def done(self) -> bool:
        """An answer may come before the last sum."""
        return self._fold.over

    @property
    def checking(self) -> bool:
        """A sum was recovered, and all tell each other what shows whether it is right."""
        return self.agent is not None and bool(self.agent.unheard)

    @property
    def opening(self) -> bool:
        """A sum was found falsified, and all show what they sent."""
        return self.agent is not None and self.agent.round > self.agent.plan.recovery_rounds

    @property
    def refusal(self) -> ReleaseError | None:
        """Why this party entered a veto: for its owner alone."""
        return self._fold.refusal

    @property
    def known(self) -> Any:
        """What everybody knows so far."""
        return self._fold.known

    def answer(self) -> Any:
        """From the totals; it may take a while."""
        return self._fold.answer()

    def begin(self, identity: bytes) -> list[Enclosed]:
        """The first sum of the run that `identity` stands for; what is to be sent."""
        self._identity = identity
        self._binding = partial(first_binding, identity, self._plans)
        return self._next()

    def take(self, sender: int, enclosed: Enclosed) -> list[Enclosed]:
        """An envelope for this sum, a later one, or one that is over here but not there."""
        number, envelope, current = enclosed.number, enclosed.envelope, len(self.totals)
        over = self.done and not self._reopened
        if number >= (current if over else len(self._plans)):
            raise MessageError(f"an envelope for sum {number + 1}, which will not come")
        if envelope.sender != sender:
            name = self._run.network.parties[sender]
            raise MessageError(f"{envelope!r} came from {name}")
        place = (number, envelope.kind, sender, envelope.round)
        self._check_planned(self._plans[number], envelope)
        if place in self._taken:
            raise MessageError(f"{envelope!r} came twice")
        found = _Read(enclosed, read(self._plans[number], envelope, enclosed.signatures))
        if envelope.kind is Kind.OPENED and not self._given_up:
            self._reopen(number)
        out: list[Enclosed] = []
        current = len(self.totals)
        if number == current and self.agent is not None:
            out = self._feed(found)
        elif number >= current:
            self._waiting.setdefault(number, []).append(found)
        self._taken.add(place)
        return out

    def _reopen(self, number: int) -> None:
        """Some party finds a sum falsified that seemed all right here: back to it, as long as not
        all have agreed. Of several that are opened, all parties come back to the first."""
        if self.settled or (number == len(self.totals) and self.agent is not None):
            return
        agent = self.passed(number)
        if agent is None:
            raise MessageError(f"what was sent in sum {number + 1} is opened out of its time")
        if not self._reopened:  # else it leaves sums only that were all right here
            self.told_later = self._others_may_be_stopped
        over = zip(self.totals[number:], self.challenges[number:], strict=True)
        self._reopened = [*over, *self._reopened]
        del self.totals[number:], self.challenges[number:], self._passed[number:]
        self.agent, self._due = agent, False
        self._signatures = self._signatures_of(number)

    @property
    def _others_may_be_stopped(self) -> bool:
        """By a total that does not stop this party: that of the sum under way, if it has told what
        they need for it; or those of sums that are over, while it makes the next secret of them."""
        if self.agent is None:
            return self._due
        return bool(self.agent.challenge) or not self.agent.plan.scheme.checked

    def passed(self, number: int) -> Agent | None:
        """That of a checked sum which is over here."""
        return self._passed[number] if number < len(self.totals) else None

    @property
    def reopened(self) -> bool:
        """A sum is opened that was all right here, and whose total did not stop this party."""
        return bool(self._reopened)

    def settle(self) -> None:
        """All have agreed on the totals: none of them is opened any more, nor was any rightly."""
        self.settled = True
        for total, challenge in self._reopened:
            self.totals.append(total)
            self.challenges.append(challenge)
            self.agent = self._signatures = None
        self._reopened.clear()

    def give_up(self) -> None:
        """No sum goes on; what still comes is judged as before, and leads to nothing."""
        self._given_up = True
        self._due = False
        self.agent = self._signatures = None

    def digest(self) -> bytes:
        """Of all totals as they are used, whatever happened to them since they came."""
        binding = first_binding(self._identity, self._plans)
        for plan, total in zip(self._plans, self.totals, strict=False):
            binding = binding.after(plan.ring, total)
        return binding.chain

    # -- one sum ------------------------------------------------------------------------------

    def _next(self) -> list[Enclosed]:
        if self.done:
            return []
        self._due = True
        return [] if self.deferred else self.proceed(self._secret())

    @property
    def work(self) -> Work | None:
        """What is to be made of the rows before the next sum begins, if anything is."""
        return self._secret if self._due else None

    def _secret(self) -> Residues | TitanError:
        """Of the next sum; nothing that it depends on changes before `proceed`."""
        key, binding = self._keys[len(self.totals)], self._binding
        words = cache(lambda: noise(key, binding().chain))
        try:
            secret = self._fold.secret(self._part, lambda count: words().words(count))
        except TitanError as error:
            return error
        binding()  # `proceed` needs it, where nobody can wait for a long total to be hashed
        return secret

    def proceed(self, secret: Residues | TitanError) -> list[Enclosed]:
        """Begin the sum with what `work` made; not where meanwhile the sum before it was opened."""
        if not self._due:
            return []
        self._due = False
        if isinstance(secret, TitanError):
            self.stopped, self.by_total = secret, secret.of_totals
            self.give_up()
            return []
        number, run = len(self.totals), self._run
        plan, key = self._plans[number], self._keys[number]
        self._signatures = self._signatures_of(number)
        binding = self._binding()
        masks = JournaledMasks(key, binding.chain)
        seals = SumSeals(run.party, self._signer, self._context(number))
        self.agent = Agent(plan, run.party, secret, masks, binding, seals)
        out = self._enclose(self.agent.start())
        for found in self._waiting.pop(number, []):
            out += self._feed_kept(found)
        return out

    def _context(self, number: int) -> bytes:
        """What everything that is signed in a sum is signed for."""
        return self._identity + bytes([number])

    def _signatures_of(self, number: int) -> OriginSignatures:
        run, plan = self._run, self._plans[number]
        context = self._context(number)
        return OriginSignatures(run.network, plan, run.party, self._signer, context)

    def _feed_kept(self, found: _Read) -> list[Enclosed]:
        """What came before its sum began was taken then; it is too late to refuse it alone."""
        if found.enclosed.number < len(self.totals):
            return []  # the sum came out without it
        try:
            return self._feed(found)
        except MessageError as error:
            name = self._run.network.parties[found.enclosed.envelope.sender]
            raise RecoveryError(
                f"{name} sent early what does not fit: {error.message}",
                named=[name],
                hint="start a new run",
            ) from None

    def _feed(self, found: _Read) -> list[Enclosed]:
        assert self.agent is not None  # noqa: S101 - the sum is running
        assert self._signatures is not None  # noqa: S101
        self._signatures.check(found.enclosed, found.content)
        try:
            out = self._enclose(self.agent.take(found.enclosed.envelope, found.content))
        except CheckError as error:  # somebody is named; the others learn that this party stops
            self.stopped = error
            self.give_up()
            return []
        if not self.agent.done:
            return out
        try:
            total = self.agent.total
        except RecoveryError as error:  # all parties see the same
            self.stopped, self.by_total = error, not isinstance(error, CheckError)
            self.masked = self.agent.plan.scheme.checked
            self.give_up()
            return out
        self.totals.append(total)
        self.challenges.append(self.agent.challenge)
        self._passed.append(self.agent if self.agent.challenge else None)
        plan = self.agent.plan
        self._binding = cache(partial(_after, self._binding, plan.ring, total))
        self.agent = self._signatures = None
        try:
            self._fold.learn(total)
        except TitanError as error:  # the others see the same total, and stop here too
            self.stopped, self.by_total, self.masked = error, True, plan.scheme.checked
            self.give_up()
            return out
        return out + self._next()

    def _enclose(self, envelopes: Iterable[Envelope]) -> list[Enclosed]:
        assert self._signatures is not None  # noqa: S101 - the sum is running
        number, signatures = len(self.totals), self._signatures
        return [signatures.enclose(number, each) for each in envelopes]

    def _check_planned(self, plan: Plan, envelope: Envelope) -> None:
        """Whether the plan has this sender send something of this kind here in this round."""
        kind, sender, receiver, round_, _ = envelope
        if receiver != self._run.party or round_ > plan.last_round:
            raise MessageError(f"{envelope!r} is for somebody else or for no round")
        if (sender, kind) not in plan.senders(self._run.party, round_):
            raise MessageError(f"{envelope!r} is not planned")
        plan.scheme.check_addressed(envelope)


def _after(before: Callable[[], Binding], ring: Ring, total: Residues) -> Binding:
    """Made when the next sum needs it: a long total takes a while, and others wait for it."""
    return before().after(ring, total)


def first_binding(identity: bytes, plans: Sequence[Plan]) -> Binding:
    """c_0: which run it is, and how its sums are made. After the last sum, parties compare c_n."""
    return Binding.begin(identity, hashlib.sha256(described(plans).encode()).digest())
