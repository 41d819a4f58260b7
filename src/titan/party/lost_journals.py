"""A party whose journal was put back to an earlier state: found out, told, and outlived by others.

A backup was restored, or a snapshot, or a disk forgot what it had promised. The numbers on a link
show it. A receiver says what it expects next, a sender what the receiver has confirmed; nobody
confirms what its disk does not have. So who expects what it once confirmed has lost it, and cannot
go on: nobody has those messages any more.

What becomes of the run? Without a party's digest of the sums nobody has an answer. Who has not told
it stops when it hears of this, and with it all others. Who has told it must not stop alone, since
others may have the answer by now; what it is missing are signed words (digests, the answer of the
one who solves) that others have. As every way leads through a neighbour of the lost party or not
through that party at all, it is enough that this one passes on, between its neighbours, what they
have heard; or that one of them has stopped. If none of those it sends to has its own digest, it has
told it to nobody, and says itself that the run has stopped; unless it had the answer before its
journal was lost: then its ledger has what it said, and it says that again. The same goes for the
answer, if it is the one who solves.
"""

# Rule 1: who has told its digest stops only when somebody says that it has stopped.
# Rule 2: what is passed on counts under the signature of who said it. It is written down, like a
#         message, where it is taken.
# Rule 3: that a journal is lost is believed of who says it of itself, or shows it by its numbers.
#         That the own one is, of a neighbour whose numbers did not fit from the first: a journal is
#         not put back under the process that has it.
# Rule 4: who says that somebody else is why it stopped is named beside that one: nobody but the
#         two can know which is right. So it is passed on as it was said.

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.durable_session import DurableSession
from titan.party.finished_run import FinishedRun
from titan.party.messages import AGREED, ANSWER, Told
from titan.party.run import run_identity
from titan.party.run_events import LinkStatus, LinkStatuses, RunEvents
from titan.party.signed_broadcast import Signatures, signed_data
from titan.party.stops import STOPPED, Stop
from titan.party.wire import MOST_WORD, Hello, Refusal, Role, What, Word
from titan.study import Identity, Study
from titan.study.run_state import cannot_go_on, journal_put_back, lost_journal

_KINDS = {AGREED: What.AGREED, ANSWER: What.ANSWER}
_NAMES = {what: kind for kind, what in _KINDS.items()}
_LONG = b"\0"
"""In place of an answer that is too long to be passed on."""


@dataclass
class LostJournals:
    """What one party knows of journals that are lost or were put back, its own or a neighbour's."""

    study: Study
    identity: Identity
    durable: DurableSession
    links: LinkStatuses
    events: RunEvents
    wake: Callable[[], None]
    """Something was released."""
    _words: dict[tuple[str, What, int], Word] = field(default_factory=dict)
    """At the party that cannot go on: by neighbour, kind and origin."""
    _reported: set[str] = field(default_factory=set)
    refusals: dict[str, Refusal] = field(default_factory=dict)
    """What neighbours are told that began this run before."""
    ahead: set[str] = field(default_factory=set)
    """Who expects more than this party knows to have sent; after a restart it soon will."""
    _fitted: set[LinkStatus] = field(default_factory=set)
    """Where the other end had this party's word, since this process began, for no more than it
    has."""

    def __post_init__(self) -> None:
        self.durable.gave_up = self._tell_given_up
        if self.here is None and self.durable.session.stopped is not None:  # before a restart
            self._say_at_last()

    @property
    def here(self) -> PeerError | None:
        """Why this party cannot go on."""
        return self.durable.put_back

    def concerns(self, link: LinkStatus, hello: Hello) -> bool:
        """Whether one end of this link cannot go on, so that nothing but words goes along it."""
        peer, durable = link.peer, self.durable
        if self.here is None and link.role is Role.SENDER:
            if hello.expects < durable.outgoing[peer].first:
                self.note(peer)
            self.ahead.add(peer)
            if hello.expects <= durable.outgoing[peer].next:
                self.ahead.remove(peer)
            ended, last = self._ended(peer), durable.outgoing[peer].next - 1
            if hello.expects <= durable.outgoing[peer].given or (ended and hello.expects <= last):
                self._fitted.add(link)
            elif link not in self._fitted and ended:
                run = durable.session.run
                self.give_up(
                    f"{run.name} had said more in run {run.number} before it was cut short"
                )
        elif self.here is None and hello.expects <= durable.incoming[peer].expected:
            self._fitted.add(link)
        elif self.here is None and link in self._fitted:
            raise MessageError(f"{hello.expects} messages are said to be confirmed, and are not")
        elif self.here is None:
            self.give_up(self._how(peer, hello.expects))
        return self.here is not None or peer in durable.lost

    def _ended(self, peer: str) -> bool:
        """The run stopped here: who has heard more before a restart than was made again would
        wait in vain for a last message, whose number it knows as another's."""
        session = self.durable.session
        over = isinstance(session, FinishedRun)
        return session.stopped is not None and not over and self.durable.has_ended(peer)

    def _how(self, peer: str, confirmed: int) -> str:
        """In words, that this party once had more from `peer` than now."""
        run, incoming = self.durable.session.run, self.durable.incoming
        if not any(link.expected for link in incoming.values()):
            return lost_journal(run.name, run.number).message
        how = journal_put_back(run.name, run.number).message
        own = incoming[peer].expected
        return f"{how} ({peer} says it had its word for {confirmed} messages, and it has {own})"

    def give_up(self, how: str) -> None:
        """This party itself cannot go on."""
        if self.here is None:
            self.durable.give_up(how)

    def _tell_given_up(self) -> None:
        if self.here is not None:
            self.events.tell_once(self.durable.session.run.name, self.here.message)
            self._begin_words(list(self.links.values()))

    def note(self, peer: str, error: PeerError | None = None) -> None:
        """A neighbour cannot go on with this run."""
        if peer in self.durable.lost:
            return
        self.durable.lost.add(peer)
        run, session = self.durable.session.run, self.durable.session
        error = error or journal_put_back(peer, run.number)
        self.events.tell_once(peer, error.message)
        if not session.announced and session.stopped is None:
            self._stop(peer, error)
        self._begin_words([link for link in self.links.values() if link.peer == peer])

    def _begin_words(self, links: Iterable[LinkStatus]) -> None:
        """What goes along them is over; new streams are for words."""
        for link in links:
            if link.conversation is not asyncio.current_task():  # that one knows
                link.break_off("one end cannot go on")
        self._changed()

    def hear_of(self, peer: str) -> None:
        """`peer` says that it cannot go on."""
        self.note(peer, cannot_go_on(peer, self.durable.session.run.number))

    def refuse(self, peer: str, refusal: Refusal) -> None:
        """`peer` began this run before, with another nonce; it is told so, with a proof."""
        self.refusals[peer] = refusal
        self.note(peer, lost_journal(peer, self.durable.session.run.number))

    def hear_stop(self, peer: str, word: Word) -> None:
        """That somebody has stopped, from a neighbour that leaves before any last message is due.

        Who has told its digest waits for the last message, as ever.
        """
        session = self.durable.session
        if word.what is What.STOPPED and not session.announced and session.stopped is None:
            self._hear(peer, word)

    def _stop(self, peer: str, error: PeerError, told: Told | None = None) -> None:
        self.durable.stop(peer, error, told)
        self._say_at_last()

    def _say_at_last(self) -> None:
        """That the run stopped here, to those to whom no last message is due yet."""
        session = self.durable.session
        if len(session.nonces) < len(session.run.network):
            self.events.last_words = wire.encode(self._own_stop())

    def _changed(self) -> None:
        self.wake()
        for link in self.links.values():
            link.wake.set()
        self.events.progressed()

    # -- words --------------------------------------------------------------------------------

    def words(self, peer: str) -> list[Word]:
        """What `peer`, or whoever it passes it on to, may be missing."""
        if self.here is not None:
            return [
                w
                for (giver, _, _), w in self._words.items()
                if giver != peer and w.content != _LONG
            ]
        session = self.durable.session
        if session.stopped is not None and not session.complete:
            return [self._own_stop()]
        return self._told

    @property
    def _told(self) -> list[Word]:
        """An answer that is too long to be passed on is at least known to be there."""
        session = self.durable.session
        told = [Word(_KINDS[k], t.origin, t.signature, t.content) for k, t in session.told]
        if isinstance(session, FinishedRun):
            told += self._said_again()
        return [
            word if len(word.content) <= MOST_WORD else replace(word, content=_LONG)
            for word in told
        ]

    @property
    def own_words(self) -> list[bytes]:
        """What this party itself said of the sums: for `recall`, should its journal be lost."""
        me = self.durable.session.run.party
        return [wire.encode(word) for word in self._told if word.party == me]

    def recall(self, words: Iterable[bytes]) -> None:
        """At the party that cannot go on: what it had said when it had the answer."""
        name = self.durable.session.run.name
        for word in map(wire.decode, words):
            if isinstance(word, Word):
                self._words[name, word.what, word.party] = word

    def reported(self, peer: str) -> None:
        """`peer` has said all that it has. Has nobody what only this party could tell: its digest
        and, if it solves, the answer?"""
        run = self.durable.session.run
        self._reported.add(peer)
        if self.here is None or not self._reported.issuperset(run.receivers):
            return
        own = {What.AGREED, What.ANSWER} if run.solver == run.party else {What.AGREED}
        if not own <= {what for _, what, party in self._words if party == run.party}:
            self._words[run.name, What.STOPPED, run.party] = self._own_stop()
            self._changed()

    def _own_stop(self) -> Word:
        """Because of whom the run ended here; or as it was heard, where that ended it."""
        run, told = self.durable.session.run, self.durable.stopped_by
        if self.here is not None or told is None:
            stop = Stop(run.party, run.network.index(self._cause))
            told = stop.told(self._signatures, run.context, STOPPED)
        return Word(What.STOPPED, told.origin, told.signature, told.content)

    @property
    def _cause(self) -> str:
        """Whom the error names, first of all a neighbour whose journal is lost; or nobody else."""
        run, error = self.durable.session.run, self.durable.session.stopped
        if self.here is not None:
            return run.name
        named = error.named if isinstance(error, PeerError) else ()
        lost = [name for name in named if name in self.durable.lost]
        return (*lost, *named, run.name)[0]

    @property
    def _signatures(self) -> Signatures:
        return Signatures(self.study, self.identity)

    def _read_stop(self, word: Word) -> tuple[Stop, Told]:
        """MessageError unless who is said to have ended the run has signed it."""
        run, told = self.durable.session.run, Told(word.party, word.signature, word.content)
        signed_as = STOPPED, run.context
        return Stop.heard(told, self._signatures, len(run.network), signed_as), told

    def _said_again(self) -> list[Word]:
        """The own words of a run that is over: signatures come out the same."""
        state, run = self.durable.journal.state, self.durable.session.run
        if state is None or state.agreed is None:
            return []
        identity = run_identity(run.context, [state.nonces[n] for n in run.network.parties])
        said = {AGREED: bytes.fromhex(state.agreed)}
        if run.solver == run.party and state.result is not None:
            said[ANSWER] = state.result
        return [self._signed(kind, identity, content) for kind, content in said.items()]

    def _signed(self, kind: str, identity: bytes, content: bytes) -> Word:
        me = self.durable.session.run.party
        data = signed_data(kind, identity, me, content)
        return Word(_KINDS[kind], me, self.identity.sign(data), content)

    def take(self, peer: str, word: Word) -> None:
        """From a neighbour at the party that cannot go on, or from that one."""
        session = self.durable.session
        if word.party >= len(session.run.network):
            raise MessageError(f"a word of party {word.party}")
        if self.here is not None:
            if word.what is What.STOPPED:
                self._read_stop(word)
            if (peer, word.what, word.party) not in self._words:
                self._words[peer, word.what, word.party] = word
                self._note_settled(peer)
                self._changed()
        elif peer not in self.durable.lost:
            raise MessageError("a word from a party that can go on")
        elif session.stopped is None and not session.complete:
            try:
                self._hear(peer, word)
            except MessageError as error:  # who passes it on cannot check it; others may follow
                self.events.tell_once(peer, f"a word was refused: {error.message}", "message")

    def _hear(self, peer: str, word: Word) -> None:
        session, run = self.durable.session, self.durable.session.run
        if word.party >= len(run.network):
            raise MessageError(f"a word of party {word.party}")
        if word.what is What.STOPPED:
            stop, told = self._read_stop(word)
            name = run.network.parties[stop.origin]
            hint = f"there is no answer here: agree on run {run.number + 1}"
            error = stop.without_answer(run.network.parties, hint)
            if stop.origin == stop.cause and name == peer and peer in self.durable.lost:
                error = cannot_go_on(name, run.number)
            self._stop(peer, error, told)
        else:
            kind = _NAMES[word.what]
            if any((k, t.origin) == (kind, word.party) for k, t in session.told):
                return
            self.durable.hear(peer, kind, Told(word.party, word.signature, word.content))
        self._changed()

    # -- how it ends --------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Nothing that is said along such a link would change anything more here."""
        session = self.durable.session
        if self.here is None:
            return session.stopped is not None or session.complete
        return self.verdict is not None

    @property
    def verdict(self) -> bool | None:
        """At the party that cannot go on: whether the others have an answer, if that is clear."""
        me = self.durable.session.run.name
        said = [
            (what, party)
            for (giver, what, party), word in self._words.items()
            if giver != me or word.content != _LONG  # which others may not have
        ]
        return self._verdict(set(said))

    def _verdict(self, said: set[tuple[What, int]]) -> bool | None:
        kinds = [what for what, _ in said]
        if What.STOPPED in kinds:
            return False
        run = self.durable.session.run
        answered = run.solver is None or What.ANSWER in kinds
        return True if kinds.count(What.AGREED) == len(run.network) and answered else None

    def _note_settled(self, peer: str) -> None:
        """Who has everything may leave; nobody waits for it then."""
        said = {(what, party) for giver, what, party in self._words if giver == peer}
        if self._verdict(said) is not None:
            for link in self.links.values():
                link.closed |= link.peer == peer

    @property
    def hint(self) -> str:
        """What to do about it, for who waits in vain; empty where there is nothing of the kind."""
        if self.ahead:
            names, run = " and ".join(sorted(self.ahead)), self.durable.session.run
            return (
                f"{names} had more from {run.name} than its journal knows: if that was put back "
                f"to an earlier state (from a backup?), agree on run {run.number + 1}, or ask the "
                "others for the answer; else the same command goes on from here"
            )
        if not self.durable.lost or not self.durable.session.announced:
            return ""
        names = " and ".join(sorted(self.durable.lost))
        return (
            f"the journal of {names} is lost or was put back. Others may have the answer: "
            f"who has it gives the same command again, so does {names}, and then this party"
        )
