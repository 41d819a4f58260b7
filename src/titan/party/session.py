"""A run as a state machine: messages in, messages out.

    nonces       everybody's random number is told to all, before any mask
    sums         one agent after the other; the run's identity is now the study, the run's number
                 and all nonces
    agreement    everybody's digest of the pooled sums is told to all; they must be equal
    answer       where the study names one party that solves, it tells all
    end          one last message along every link, also where the run stops without an answer

Like an agent, a session reads no clock, no socket and no random source, and given its keys and the
messages it received, it sends the same bytes again. That is all a restart needs. Within the sums
not even their order matters: along each link it sends the same messages in the same order.
"""

# Rule 1: a message that is refused (MessageError) changes nothing. Any other error ends the run.
# Rule 2: no mask leaves before all nonces are here.
# Rule 3: there are m equal digests, or there is no answer.
# Rule 4: nothing told to all is passed on between the own sums, so that it takes no message's turn.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from titan.errors import MessageError, PeerError, TitanError
from titan.joint import Task
from titan.party.agreement import contradiction, disagreement
from titan.party.messages import AGREED, ANSWER, END, LAST, NONCE, Enclosed, Received, Told
from titan.party.private_sums import PrivateSums, Work
from titan.party.ready import NOTHING, Ready, Wait
from titan.party.run import CONNECTING, MOST_ANSWER, Run, RunProgress, run_identity
from titan.party.signed_broadcast import Passed, SignedBroadcast, Signer
from titan.party.stops import STOPPED, Stop
from titan.protocol.masking import SEED_BYTES
from titan.ring import Residues
from titan.study.frames import Frame
from titan.study.run_state import lost_journal

_DIGEST_BYTES = 32


class Session:
    """One party in one run."""

    def __init__(self, run: Run, task: Task, keys: Sequence[bytes], signer: Signer) -> None:
        self.run = run
        self.plans = task.plans
        self._signer = signer
        self._network = run.network
        self.sums = PrivateSums(run, task, keys, signer)
        self._stopped: TitanError | None = None
        self._sequences = dict.fromkeys(self._network.out_neighbours(run.party), 0)
        two_nonces = partial(lost_journal, run=run.number)
        self._nonces = self._broadcast(NONCE, run.context, SEED_BYTES, two_nonces)
        self._digests: SignedBroadcast | None = None
        self._answers: SignedBroadcast | None = None
        self._own_digest = b""
        self._summing = False  # something of a sum has been said
        self.agreed: str | None = None
        self._identity = b""
        self._ended: dict[int, Told | None] = {}  # with what they said of the run's end
        self._end_of_all: Told | None = None  # what this party passes on of it

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
    def totals(self) -> list[Residues]:
        """Those of the sums that are over."""
        return self.sums.totals

    @property
    def stopped(self) -> TitanError | None:
        """Why there will be no answer; what was sent before is still served."""
        return self._stopped or self.sums.stopped

    @property
    def everybody_is_here(self) -> bool:
        return not self._nonces.missing

    @property
    def pooled(self) -> bool:
        """All sums are here, not yet compared with the others'."""
        return self.sums.done

    @property
    def complete(self) -> bool:
        """Everything is here that an answer needs."""
        if self.run.solver in (None, self.run.party):
            return self.agreed is not None
        return self.agreed is not None and self.answer is not None

    @property
    def progress(self) -> RunProgress:
        """How far it is, and for whom it waits."""
        if self.complete or self.stopped is not None:
            missing = set(self._network.in_neighbours(self.run.party)) - self._ended.keys()
            return RunProgress("end", self._names(missing))
        if self._digests is None:
            return RunProgress(CONNECTING, self._names(self._nonces.missing))
        if (agent := self.sums.agent) is not None:
            step = agent.plan.scheme.step(agent.round) if agent.round else "masks"
            sums, waiting = len(self.plans), self._names(agent.unheard or agent.awaited)
            return RunProgress.in_sum(len(self.totals), sums, step, waiting)
        if self.work is not None:
            return RunProgress.in_sum(len(self.totals), len(self.plans), "masks", ())
        if self._digests.missing or self.run.solver is None:
            return RunProgress("agreement", self._names(self._digests.missing))
        return RunProgress("answer", self._names([self.run.solver]))

    def _names(self, parties: Iterable[int]) -> list[str]:
        return [self._network.parties[party] for party in sorted(parties)]

    # -- messages -----------------------------------------------------------------------------

    def start(self) -> Ready:
        """The first messages: the own nonce."""
        return self._pass_on(NONCE, self._nonces.tell(self.run.nonce))

    def receive(self, received: Received) -> Ready:
        """Take one message; return those that are due because of it."""
        sender = self._network.index(received.frame.peer)
        if sender in self._ended:
            raise MessageError(f"{received.frame.peer} said more after its last message")
        over = self.stopped is not None
        out = self._unless_wrong(lambda: self._take(sender, received))
        return NOTHING if over else out + self._last_if_stopped()

    def _take(self, sender: int, received: Received) -> Ready:
        match received.content:
            case Enclosed() as enclosed:
                return self._summed(self.sums.take(sender, enclosed))
            case list() as told if received.frame.kind != END:
                return self._hear(sender, received.frame.kind, told)
            case ended:
                return self._end(sender, ended)

    def _unless_wrong(self, step: Callable[[], Ready]) -> Ready:
        """What another party did wrong ends the run of all, who hear of it; not a message alone.

        Where all is decided it changes nothing: whoever was found out could else put another reason
        in the place of the proof, or take back an answer that all have agreed on.
        """
        try:
            return step()
        except MessageError:
            raise
        except PeerError as error:
            if self.stopped is not None or self.agreed is not None:
                return NOTHING
            if self._nonces.missing:  # no last message is due yet
                raise
            self.halt(error)
            return NOTHING

    def stop(self, error: TitanError, told: Told | None = None) -> Ready:
        """End the run here, perhaps as somebody `told`, which is passed on; whoever drives this
        notes it among the messages, where it happens."""
        if self.complete or self.stopped is not None:
            return NOTHING
        self._end_of_all = told
        self.halt(error)
        return NOTHING if self._nonces.missing else self._last_messages()

    def halt(self, error: TitanError) -> None:
        """Go no further, and say nothing."""
        self._stopped = error
        self.sums.give_up()

    @property
    def announced(self) -> bool:
        """Whether others may have the answer: without this party's digest nobody has."""
        return bool(self._own_digest)

    @property
    def told(self) -> list[tuple[str, Told]]:
        """What was said to all of the sums, and heard here."""
        digests = self._digests.heard if self._digests is not None and self.announced else {}
        answers = self._answers.heard if self._answers is not None else {}
        return [
            *((AGREED, told) for told in digests.values()),
            *((ANSWER, told) for told in answers.values()),
        ]

    def tell_answer(self, answer: bytes) -> Ready:
        """At the one who solves: what it found."""
        assert self._answers is not None  # noqa: S101 - asked for once complete
        return self._pass_on(ANSWER, self._answers.tell(answer)) + self._last_messages()

    # -- told to all --------------------------------------------------------------------------

    def _broadcast(
        self, kind: str, context: bytes, most: int, contradiction: Callable[[str], TitanError]
    ) -> SignedBroadcast:
        network, party = self._network, self.run.party
        only = self.run.solver if kind == ANSWER else None
        return SignedBroadcast(
            kind, network, party, self._signer, context, most, contradiction, only
        )

    def _hear(self, sender: int, kind: str, told: Sequence[Told]) -> Ready:
        if kind == NONCE:
            return self._hear_nonces(sender, told)
        if kind == ANSWER and told[0].origin != self.run.solver:
            raise MessageError(f"an answer of party {told[0].origin}, who is not to solve")
        if kind == ANSWER and not self._own_digest:
            raise MessageError("an answer before this party could have agreed")
        if kind == AGREED and any(len(each.content) != _DIGEST_BYTES for each in told):
            raise MessageError("a digest that is too short or too long")
        broadcast = self._digests if kind == AGREED else self._answers
        if broadcast is None:  # its context is not known yet, so it cannot be checked
            raise MessageError(f"{kind} before the nonces of all are here")
        complete = self.complete
        out = self._pass_on(kind, broadcast.receive(sender, told))
        return out + (self._compare() if kind == AGREED else self._last_if_new(complete))

    def _hear_nonces(self, sender: int, told: Sequence[Told]) -> Ready:
        for each in told:
            if len(each.content) != SEED_BYTES:
                raise MessageError(f"a nonce of {len(each.content)} bytes")
        complete = not self._nonces.missing
        out = self._pass_on(NONCE, self._nonces.receive(sender, told))
        if not complete and not self._nonces.missing:
            out += self._begin()
        return out

    def _pass_on(self, kind: str, passed: Iterable[Passed]) -> Ready:
        """What is told to all is told once, and must be on the disk with what it follows from."""
        frames = [self._frame(to, kind, first.encode(kind, *more)) for to, (first, *more) in passed]
        return Ready(frames, Wait.FOR_ALL if frames else Wait.FOR_NOTHING)

    # -- sums ---------------------------------------------------------------------------------

    @property
    def work(self) -> Work | None:
        """What is to be made of the rows before the next sum begins: for `proceed`."""
        return self.sums.work

    def defer(self) -> None:
        """Leave what is made of rows to whoever drives this."""
        self.sums.deferred = True

    def proceed(self, secret: Residues | TitanError) -> Ready:
        """Begin the sum. Who ended meanwhile, and is needed in it, is missed now."""
        out = self._unless_wrong(lambda: self._summed(self.sums.proceed(secret)))
        return out + self._last_if_stopped()

    def _begin(self) -> Ready:
        """All nonces are here: this is the run, and its first sum begins."""
        heard = self._nonces.heard
        nonces = [heard[party].content for party in range(len(self._network))]
        identity = self._identity = run_identity(self.run.context, nonces)
        two_digests = contradiction("signed two different digests of the sum", self.run.number)
        two_answers = contradiction("told two different answers", self.run.number)
        self._digests = self._broadcast(AGREED, identity, _DIGEST_BYTES, two_digests)
        self._answers = self._broadcast(ANSWER, identity, MOST_ANSWER, two_answers)
        if (error := self._repeated(nonces)) is not None:
            self.halt(error)
            return NOTHING
        return self._summed(self.sums.begin(identity))

    def _repeated(self, nonces: Sequence[bytes]) -> PeerError | None:
        """A nonce is a party's own; who says another's after it wants something, or is ill."""
        same = [
            name
            for name, nonce in zip(self._network.parties, nonces, strict=True)
            if nonces.count(nonce) > 1
        ]
        if not same:
            return None
        return PeerError(
            f"the nonces of {' and '.join(same)} are not all different",
            named=same,
            hint=f"ask them why, then agree on run {self.run.number + 1}",
        )

    def _summed(self, enclosed: list[Enclosed]) -> Ready:
        """What the sums have to say waits for no disk: from other sums so far follow other masks.

        But for the first of it: without a note of it a journal proves that nothing made of the rows
        has left, so that they may be replaced. And what a party commits itself to.
        """
        frames, wait = [], Wait.FOR_NOTHING if self._summing else Wait.FOR_NOTES
        enclosed.reverse()
        while enclosed:  # each is let go when it is encoded: a vector is not there twice
            each = enclosed.pop()
            kind, _, receiver, round_, _ = each.envelope
            wait = max(wait, Wait.before(self.plans[each.number].scheme, kind, round_))
            body, digests = each.encode(), each.of_vectors
            frames.append(self._frame(receiver, kind.name, body, each.number, round_, digests))
        out = Ready(frames, wait if frames else Wait.FOR_NOTHING)
        self._summing |= bool(frames)
        return out + self._announce() if self.pooled and not self._own_digest else out

    # -- agreement and end --------------------------------------------------------------------

    def _announce(self) -> Ready:
        """All sums are here: tell everybody their digest."""
        assert self._digests is not None  # noqa: S101 - all nonces are here
        self._own_digest = self.sums.digest()
        return self._pass_on(AGREED, self._digests.tell(self._own_digest)) + self._compare()

    def _compare(self) -> Ready:
        """Once all digests are here: are they equal?"""
        assert self._digests is not None  # noqa: S101 - all nonces are here
        if self._digests.missing or self.agreed is not None:
            return NOTHING
        heard = {self._network.parties[p]: told.content for p, told in self._digests.heard.items()}
        checked = all(plan.scheme.checked for plan in self.plans)
        error = disagreement(heard, self.run.name, self.run.number, checked=checked)
        if error is not None:  # all must hear of it, so nothing is raised
            self._stopped = error
            return NOTHING
        self.agreed = self._own_digest.hex()
        self.sums.settle()
        return self._last_if_new(False)

    def _last_if_new(self, before: bool) -> Ready:
        """The last messages, once everything is complete; whoever solves sends them later."""
        if before or not self.complete or self.run.solver == self.run.party:
            return NOTHING
        return self._last_messages()

    def _last_messages(self) -> Ready:
        """Who says its last has everything, also after a power cut; or says who ended the run."""
        body = LAST
        if self.stopped is not None:
            own = Stop.because_of(self.stopped, self.run.party, self._network.parties)
            own = replace(own, cause=None) if self.sums.by_total else own
            told = self._end_of_all or own.told(self._signer, self._identity)
            body = told.encode(END)
        frames = [self._frame(receiver, END, body) for receiver in self._sequences]
        return Ready(frames, Wait.FOR_ALL)

    def _end(self, sender: int, told: Sequence[Told] | None) -> Ready:
        if self._nonces.missing:
            name = self._network.parties[sender]
            raise MessageError(f"{name} ended before everybody was there")
        stop = None if told is None else told[0]
        if stop is not None:
            self._read(stop)
        self._ended[sender] = stop
        return NOTHING

    def _read(self, told: Told) -> Stop:
        signed_as = (END, self._identity), (STOPPED, self.run.context)
        return Stop.heard(told, self._signer, len(self._network), *signed_as)

    # -- a run that ends without an answer ----------------------------------------------------

    def _last_if_stopped(self) -> Ready:
        """A stop is closed like an answer: one last message along every link, and none after."""
        if self.stopped is None and (left := self._ended.keys() & self._needed()):
            told = self._end_of_all = self._ended[min(left)]
            stop = Stop(min(left), min(left)) if told is None else self._read(told)
            self.sums.masked |= self.sums.checking
            self.halt(stop.error(self._network.parties, self.run.number, self.sums))
        return NOTHING if self.stopped is None else self._last_messages()

    def _needed(self) -> frozenset[int]:
        """Without whom this party does not get on; who has everything leaves nobody without it."""
        if self.complete:
            return frozenset()
        if self.sums.agent is not None:
            return self.sums.agent.awaited
        if not self._own_digest:
            return frozenset()
        return frozenset(self._network.in_neighbours(self.run.party))

    def _frame(
        self,
        receiver: int,
        kind: str,
        body: bytes,
        sum_: int | None = None,
        round_: int = 0,
        of_vectors: bytes = b"",
    ) -> Frame:
        sequence = self._sequences[receiver]
        self._sequences[receiver] += 1
        peer = self._network.parties[receiver]
        return Frame(peer, sequence, kind, body, sum_, round_, of_vectors)
