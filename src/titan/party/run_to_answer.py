"""One run at one party, from the first connection to the answer, and until nobody needs it more."""

# Rule 1: the answer is shown once, when everybody's digest of the sums is here and equal.
# Rule 2: once it is shown, nothing that happens to others turns success into failure.
# Rule 3: a run that stops without an answer is closed like any other; then its error is raised.

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import titan
from titan.canonical import finite
from titan.errors import MessageError, TitanError
from titan.joint import Task
from titan.joint.task import described
from titan.party.durable_session import DurableSession
from titan.party.engine import Engine
from titan.party.links import Incoming, Outgoing
from titan.party.run import Run
from titan.party.session import Session
from titan.protocol import Cost
from titan.results import Results, decode, encode
from titan.study import Identity, Report, Study
from titan.study.journal import Journal, RunState
from titan.study.transcript import NetworkFacts, from_journal

if TYPE_CHECKING:
    from titan.party.taking_part import Party

Show = Callable[[Results], None]
_GRACE = 5.0  # seconds to wait for a last message that nobody needs
_STOPPED = 30.0  # seconds to serve what others need to see why this run stops


@dataclass(frozen=True)
class Outcome:
    """What was found, and how it was come by."""

    results: Results
    folder: Path
    times: dict[str, float]
    started: float
    dropped: int = 0
    unconfirmed: tuple[str, ...] = ()
    """Who had not confirmed everything when this party left."""
    bytes_written: int = 0


class RunToAnswer:
    """One run, from the first connection on."""

    def __init__(
        self,
        party: Party,
        report: Report,
        journal: Journal,
        state: RunState,
        task: Task,
        started: float,
    ) -> None:
        study, identity = party.study, party.identity
        network = study.network
        self._party = party
        self._report = report
        self._journal = journal
        self._task = task
        self._started = started
        self._times: dict[str, float] = {}
        self._wait = party.choices.wait
        self._run = Run(
            bytes.fromhex(study.digest),
            party.choices.run,
            network,
            network.index(identity.name),
            state.nonce,
            None if study.solver is None else network.index(study.solver),
        )
        self._session = Session(self._run, task, state.keys, Signatures(study, identity))
        most = self._session.largest_message
        self._durable = DurableSession(
            self._session,
            journal,
            {name: Outgoing() for name in receivers(network, identity.name)},
            {name: Incoming(most) for name in senders(network, identity.name)},
        )

    async def run(self, show: Show) -> Outcome:
        session, durable = self._session, self._durable
        plan = described(self._task.plans)
        async with self._party.engine(
            durable, self._run.nonce, plan, lambda: session.progress
        ) as engine:
            if await self._reaches_the_end(engine):
                results = await self._results()
                self._finish(results)
                engine.wake_senders()
                self._milestone("answered")
                show(results)
                self._forget()
                late = await stay(engine, durable, self._wait)
            else:
                await stay(engine, durable, min(self._wait, _STOPPED))
        if session.stopped is not None:  # raised when this party has left in good order
            self._end_without_answer(session.stopped)
            raise session.stopped
        return Outcome(
            results,
            self._party.folder,
            self._times,
            self._started,
            dropped_rows(self._task.part),
            late,
            engine.bytes_written,
        )

    async def _reaches_the_end(self, engine: Engine) -> bool:
        """Wait for everything that an answer needs; False if the run stops without one."""
        session = self._session
        if await self._until(engine, lambda: session.pooled or self._connected(engine)):
            self._milestone("connected")
        if await self._until(engine, lambda: session.pooled):
            self._milestone("pooled")
        return await self._until(engine, lambda: session.complete)

    async def _until(self, engine: Engine, condition: Callable[[], bool]) -> bool:
        """Wait for something; False if the run stops instead."""
        session = self._session
        await engine.until(lambda: session.stopped is not None or condition(), self._wait)
        return session.stopped is None

    def _end_without_answer(self, error: TitanError) -> None:
        """No restart would get any further. What others may still need is served as it is."""
        self._journal.finish(self._encoded(dict.fromkeys(self._names, error)), b"")
        state = self._journal.state
        assert state is not None  # noqa: S101 - it was begun
        self._party.write_files(state)
        self._forget()

    def _connected(self, engine: Engine) -> bool:
        """All links have been up and all parties heard of, unless nobody is needed any more."""
        return engine.connected and self._session.everybody_is_here

    def _milestone(self, name: str) -> None:
        self._times[name] = time.monotonic() - self._started

    @property
    def _names(self) -> list[str]:
        return [question.name for question in self._party.study.questions]

    async def _results(self) -> Results:
        """Solve, or take what the one who solves told; links go on meanwhile."""
        state = self._journal.state
        if state is not None and state.finished:
            return stored(state)
        told = self._session.answer
        if told is not None:
            return told_results(told, self._encoded({}), self._names)
        states = await asyncio.to_thread(self._session.find_answer)
        cost = self._cost
        outcomes = {
            name: each.error or with_cost(each.answer, cost)
            for name, each in zip(self._names, states, strict=True)
        }
        return decode(await asyncio.to_thread(self._encoded, outcomes))

    @property
    def _cost(self) -> Cost | None:
        """Of the sums that were made."""
        made = [plan.cost for plan in self._task.plans[: len(self._session.totals)]]
        return reduce(add, made) if made else None

    def _encoded(self, outcomes: Mapping[str, Any]) -> bytes:
        """What all parties learned, as it is kept: the same bytes at all of them."""
        study, run = self._party.study, self._party.choices.run
        cost, parties = self._cost, study.network.parties
        told = None if cost is None else cost.as_dict()
        return encode(Results(outcomes, study=study.digest, run=run, parties=parties, cost=told))

    def _finish(self, results: Results) -> None:
        """Keep the answer, tell it if that is this party's task, and sign what happened."""
        assert self._session.agreed is not None  # noqa: S101 - it is complete
        kept = encode(results)
        with self._journal.batch():  # what is told is signed too, and nothing without the other
            self._journal.agree(self._session.agreed)
            if self._run.solver == self._run.party:
                self._durable.write_down(self._session.tell_answer(kept))
            self._journal.finish(kept, self._transcript(results, kept))
        self._journal.sync()
        self._durable.release()
        state = self._journal.state
        assert state is not None  # noqa: S101 - it was begun
        self._party.write_files(state)  # the first ones, after a restart

    def _transcript(self, results: Results, kept: bytes) -> bytes:
        study, identity = self._party.study, self._party.identity
        connectivity = self._report.facts["weak_connectivity"] or study.tau + 1
        made = self._task.plans[: len(self._session.totals)]
        return from_journal(
            self._journal,
            sums=[(plan.scheme.name, plan.recovery_rounds) for plan in made],
            network=NetworkFacts(study.network.diameter, connectivity, study.tau),
            software=f"titan {titan.__version__}",
            certificate=identity.card.certificate,
            result=finite(results.to_dict()),
            result_sha256=hashlib.sha256(kept).hexdigest(),
        ).signed(identity.sign)

    def _forget(self) -> None:
        """Erase what is secret, unless somebody may still need a mask."""
        if self._session.agreed is not None:
            self._durable.masks_arrived()
        to_serve = self._durable.unacknowledged()
        needed = any(frame.secret for frame in to_serve)
        if not needed and not self._party.choices.keep_journal:
            self._journal.erase_secrets(to_serve)


@dataclass(frozen=True)
class Signatures:
    """Signs with the identity, checks with the study's cards."""

    study: Study
    identity: Identity

    def sign(self, data: bytes) -> bytes:
        return self.identity.sign(data)

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool:
        return self.study.parties[party].verify(signature, data)


async def stay(
    engine: Engine, durable: DurableSession, wait: float, grace: float = _GRACE
) -> tuple[str, ...]:
    """Stay until the others have all they need; who has not, when the waiting is over."""
    try:
        await engine.until(lambda: not durable.needed(), wait)
        await engine.until(lambda: engine.closed, min(wait, grace))
    except TitanError:
        pass
    return tuple(sorted({frame.peer for frame in durable.needed()}))


def with_cost(answer: Any, cost: Cost | None) -> Any:
    """The answer with what its sums cost, those that travelled with them included."""
    known = {field.name for field in fields(answer)} if is_dataclass(answer) else set()
    return replace(answer, cost=cost) if "cost" in known else answer


def told_results(data: bytes, frame: bytes, names: Sequence[str]) -> Results:
    """What the party that solves for all told; another party's bytes, so MessageError.

    `frame` are no results of this run: study, run, parties and cost must be those.
    """
    try:
        told, known = decode(data), decode(frame)
    except TitanError:
        raise MessageError("the answer that was told cannot be read") from None
    for key in ("study", "run", "parties", "cost"):
        if getattr(told, key) != getattr(known, key):
            raise MessageError(f"the answer that was told is that of another {key}")
    if told.names != tuple(names):
        raise MessageError("the answer that was told is that of other questions")
    return told


def stored(state: RunState) -> Results:
    assert state.result is not None  # noqa: S101 - it is finished
    return decode(state.result)


def dropped_rows(parts: Mapping[str, Any]) -> int:
    """How many of the own rows were left out as incomplete, for one question or another."""
    return max(getattr(part, "dropped", 0) for part in parts.values())


def receivers(network: titan.Network, name: str) -> Iterator[str]:
    return (network.parties[party] for party in network.out_neighbours(network.index(name)))


def senders(network: titan.Network, name: str) -> Iterator[str]:
    return (network.parties[party] for party in network.in_neighbours(network.index(name)))
