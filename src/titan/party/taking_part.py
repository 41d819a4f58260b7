"""Taking part in a study, from one's own rows to the answer: what `titan join` does.

ledger and journal begun or found again ─► links ─► sums ─► agreement ─► answer ─► secrets erased
                                                                        ─► stay while needed
"""

# Rule 1: nothing is dialled before the study, the rows, the journal and the ledger are in order.
# Rule 2: the answer is shown once, when everybody's digest of the sums is here and equal.
# Rule 3: once it is shown, nothing that happens to others turns success into failure.
# Rule 4: a run is over when its secrets are erased. Until then a restart goes through all steps
#         again, since what others may still need is made from the secrets.

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import titan
from titan.errors import FileError, InputError, TitanError
from titan.moments import Collected, Source, collect, moments_file
from titan.party.aftermath import Aftermath, most_messages
from titan.party.desk import Desk
from titan.party.engine import Engine, Watch
from titan.party.entry import entry_of
from titan.party.greeting import Greeting
from titan.party.job import Answer, StudyJob, described
from titan.party.links import Incoming, Outgoing
from titan.party.session import Run, Session
from titan.protocol.masking import fresh_key
from titan.study import Identity, Report, Study, files, preflight
from titan.study.journal import Journal
from titan.study.ledger import Ledger
from titan.study.run_state import RunState
from titan.study.transcript import NetworkFacts, from_journal

JOURNAL, TRANSCRIPT = "journal.db", "transcript.json"
_GRACE = 5.0  # seconds to wait for a last message that nobody needs
_STOPPED = 30.0  # seconds to serve what others need to see why this run stops


@dataclass(frozen=True)
class Choices:
    """How to take part; none of it changes the answer."""

    run: int = 1
    wait: float = 3600.0
    listen: str | None = None
    keep_journal: bool = False
    allow_differencing: bool = False


@dataclass(frozen=True)
class Outcome:
    """The answer, and how it was come by."""

    answer: Answer
    folder: Path
    times: dict[str, float]
    started: float
    dropped: int = 0
    unconfirmed: tuple[str, ...] = ()
    """Who had not confirmed everything when this party left."""
    bytes_written: int = 0


@dataclass(frozen=True)
class Party:
    """Who takes part in which study, with which rows, and where it keeps what."""

    study: Study
    identity: Identity
    source: Source
    folder: Path
    ledger: Path
    choices: Choices = Choices()
    watch: Watch = field(default_factory=Watch)

    def take_part(self, show: Callable[[Answer], None]) -> Outcome:
        """Take part to the end; `show` is called with the answer as soon as it is certain."""
        return asyncio.run(self.join(show))

    async def join(self, show: Callable[[Answer], None]) -> Outcome:
        """The same, inside an event loop."""
        started = time.monotonic()
        report = checked(self.study)
        make_private(self.folder)
        with Journal.open(self.folder / JOURNAL) as journal:
            state = journal.state
            if state is not None and state.erased:
                return await self._serve(journal, show, started)
            collected = self._collect()
            state = self._begin(journal, collected)
            work = _Work(self, report, journal, state, collected, started)
            return await work.run(show)

    # -- before anything leaves ---------------------------------------------------------------

    def _collect(self) -> Collected:
        study = self.study
        found = collect(self.source, study.model, missing=study.missing, check=study.check_rows)
        rows, name = found.moments.rows, self.identity.name
        study.limits.check_own(rows, name, weightless=found.weightless)
        StudyJob(study, name, found.moments).secret(0, ())  # numbers too large are found out now
        return found

    def _begin(self, journal: Journal, collected: Collected) -> RunState:
        """In the ledger and in the journal, or in neither: what one refuses binds no run."""
        with Ledger.open(self.ledger) as ledger:
            entry = entry_of(self.study, self.choices.run, self.source, ledger)
            with ledger.batch(), journal.batch():
                state = self._begin_journal(journal, collected)
                ledger.record(entry, allow_differencing=self.choices.allow_differencing)
        return state

    def _begin_journal(self, journal: Journal, collected: Collected) -> RunState:
        sums = 2 if self.study.parameters > 1 else 1
        return journal.begin(
            study=self.study.digest,
            run=self.choices.run,
            party=self.identity.name,
            parties=self.study.network.parties,
            nonce=fresh_key(),
            keys=[fresh_key() for _ in range(sums)],
            data_digest=journal.keyed_digest([moments_file.encode(collected.moments)]),
        )

    # -- the network --------------------------------------------------------------------------

    @property
    def listen(self) -> str:
        """Where to listen: a card's host may be a name that others know this machine by."""
        if self.choices.listen is not None:
            return self.choices.listen
        host, _, port = self.identity.card.address.rpartition(":")
        literal = host.startswith("[") or host.replace(".", "").isdecimal()
        return f"{host if literal else '0.0.0.0'}:{port}"  # noqa: S104 - to be reached is its task

    def engine(self, desk: Desk, nonce: bytes, plan: str, standing: Callable[[], Any]) -> Engine:
        study = self.study
        greeting = Greeting(
            bytes.fromhex(study.digest), self.choices.run, self.identity.name, nonce, plan
        )
        return Engine(
            study,
            self.identity,
            desk,
            greeting,
            listen=self.listen,
            watch=self.watch,
            standing=standing,
        )

    async def _serve(
        self, journal: Journal, show: Callable[[Answer], None], started: float
    ) -> Outcome:
        """The run is over here: show its answer again, and give the others what they miss."""
        state = journal.state
        assert state is not None  # noqa: S101 - it is finished
        answer = _stored_answer(state)
        if state.transcript:
            self._write_transcript(state.transcript)
        show(answer)
        network, me = self.study.network, self.identity.name
        outgoing = {
            name: Outgoing(journal.acknowledged_by(name) + 1) for name in _receivers(network, me)
        }
        plans = StudyJob.plans_of(self.study)
        rest = Aftermath(journal, most_messages(network, network.index(me), plans))
        most = max(plan.cost.bytes_sent.largest for plan in plans) + (1 << 20)
        incoming = {name: Incoming(most) for name in _senders(network, me)}
        desk = Desk(rest, journal, outgoing, incoming)
        late: tuple[str, ...] = ()
        if desk.needed():
            async with self.engine(desk, state.nonce, described(plans), lambda: rest.standing) as e:
                late = await _stay(e, desk, self.choices.wait)
        return Outcome(answer, self.folder, {}, started, 0, late)

    def _write_transcript(self, transcript: bytes) -> None:
        path = self.folder / TRANSCRIPT
        if not path.exists() or path.read_bytes() != transcript:
            files.write(path, transcript, mode=0o600, force=True)


class _Work:
    """One run, from the first connection on."""

    def __init__(
        self,
        party: Party,
        report: Report,
        journal: Journal,
        state: RunState,
        collected: Collected,
        started: float,
    ) -> None:
        study, identity = party.study, party.identity
        network = study.network
        self._party = party
        self._report = report
        self._journal = journal
        self._collected = collected
        self._started = started
        self._times: dict[str, float] = {}
        self._wait = party.choices.wait
        self._job = StudyJob(study, identity.name, collected.moments)
        self._run = Run(
            bytes.fromhex(study.digest),
            party.choices.run,
            network,
            network.index(identity.name),
            state.nonce,
            None if study.solver is None else network.index(study.solver),
        )
        self._session = Session(self._run, self._job, state.keys, Signatures(study, identity))
        most = self._session.largest_message
        self._desk = Desk(
            self._session,
            journal,
            {name: Outgoing() for name in _receivers(network, identity.name)},
            {name: Incoming(most) for name in _senders(network, identity.name)},
        )

    async def run(self, show: Callable[[Answer], None]) -> Outcome:
        session, desk = self._session, self._desk
        plan = described(self._job.plans)
        async with self._party.engine(
            desk, self._run.nonce, plan, lambda: session.standing
        ) as engine:
            await self._until(engine, lambda: session.pooled or self._connected(engine))
            self._milestone("connected")
            await self._until(engine, lambda: session.pooled)
            self._milestone("pooled")
            await self._until(engine, lambda: session.complete)
            answer = await self._answer()
            self._finish(answer)
            engine.stir()
            self._milestone("answered")
            show(answer)
            self._forget()
            late = await _stay(engine, desk, self._wait)
        return Outcome(
            answer,
            self._party.folder,
            self._times,
            self._started,
            self._collected.dropped,
            late,
            engine.bytes_written,
        )

    async def _until(self, engine: Engine, condition: Callable[[], bool]) -> None:
        """Wait for something, unless the job stops: then raise its error, once others know."""
        session = self._session
        await engine.until(lambda: condition() or session.stopped is not None, self._wait)
        if session.stopped is not None:
            await _stay(engine, self._desk, min(self._wait, _STOPPED), grace=0.0)
            self._end_without_answer(session.stopped)
            raise session.stopped

    def _end_without_answer(self, error: TitanError) -> None:
        """All parties see the same sums and stop at the same place: nothing is to be resumed."""
        answer = Answer.failed(error)
        self._journal.finish({"result": answer.result, "summary": ""}, b"")
        self._forget()

    def _connected(self, engine: Engine) -> bool:
        """All links have been up and all parties heard of, unless nobody is needed any more."""
        return engine.connected and self._session.everybody_is_here

    def _milestone(self, name: str) -> None:
        self._times[name] = time.monotonic() - self._started

    async def _answer(self) -> Answer:
        """Solve, or take what the one who solves told; links go on meanwhile."""
        state = self._journal.state
        if state is not None and state.finished:
            return _stored_answer(state)
        told = self._session.answer
        if told is not None:
            return Answer.decode(told)
        try:
            return await asyncio.to_thread(self._job.answer, self._session.totals)
        except TitanError as error:
            return Answer.failed(error)

    def _finish(self, answer: Answer) -> None:
        """Keep the answer, tell it if that is this party's task, and sign what happened."""
        assert self._session.agreed is not None  # noqa: S101 - it is complete
        with self._journal.batch():  # what is told is signed too, and nothing without the other
            self._journal.agree(self._session.agreed)
            if self._run.solver == self._run.party:
                self._desk.write_down(self._session.tell_answer(answer.encode()))
            transcript = self._transcript(answer)
            self._journal.finish({"result": answer.result, "summary": answer.summary}, transcript)
        self._journal.sync()
        self._desk.release()
        state = self._journal.state
        assert state is not None  # noqa: S101 - it was begun
        self._party._write_transcript(state.transcript or b"")  # the first one, after a restart

    def _transcript(self, answer: Answer) -> bytes:
        study, identity = self._party.study, self._party.identity
        connectivity = self._report.facts["weak_connectivity"] or study.tau + 1
        return from_journal(
            self._journal,
            sums=[(plan.scheme.name, plan.recovery_rounds) for plan in self._job.plans],
            network=NetworkFacts(study.network.diameter, connectivity, study.tau),
            software=f"titan {titan.__version__}",
            certificate=identity.card.certificate,
            result=answer.result,
        ).signed(identity.sign)

    def _forget(self) -> None:
        """Everybody has the sums, so nobody needs a mask: erase what is secret."""
        self._desk.masks_arrived()
        if not self._party.choices.keep_journal:
            self._journal.erase_secrets(self._desk.unacknowledged())


@dataclass(frozen=True)
class Signatures:
    """Signs with the identity, checks with the study's cards."""

    study: Study
    identity: Identity

    def sign(self, data: bytes) -> bytes:
        return self.identity.sign(data)

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool:
        return self.study.parties[party].verify(signature, data)


async def _stay(engine: Engine, desk: Desk, wait: float, grace: float = _GRACE) -> tuple[str, ...]:
    """Stay until the others have all they need; who has not, when the waiting is over."""
    try:
        await engine.until(lambda: not desk.needed(), wait)
        await engine.until(lambda: engine.closed, min(wait, grace))
    except TitanError:
        pass
    return tuple(sorted({frame.peer for frame in desk.needed()}))


def _stored_answer(state: RunState) -> Answer:
    assert state.result is not None  # noqa: S101 - it is finished
    return Answer(state.result["result"], state.result["summary"])


def _receivers(network: titan.Network, name: str) -> Iterator[str]:
    return (network.parties[party] for party in network.out_neighbours(network.index(name)))


def _senders(network: titan.Network, name: str) -> Iterator[str]:
    return (network.parties[party] for party in network.in_neighbours(network.index(name)))


def checked(study: Study) -> Report:
    """The preflight's report; its first problem as an error."""
    report = preflight.check(study, datetime.now(UTC))
    if not report.ok:
        problem = report.problems[0]
        raise InputError(f"the study cannot be joined: {problem.message}", hint=problem.hint)
    return report


def make_private(folder: Path) -> None:
    """A folder for its owner alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise FileError(f"{folder}: {(error.strerror or 'cannot be made').lower()}") from None
