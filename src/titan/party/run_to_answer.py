"""One run at one party, from the first connection to the answer, and until nobody needs it more."""

# Rule 1: the answer is shown once, when everybody's digest of the sums is here and equal, and
#         secrets are erased. Whoever is slow to read it keeps nobody else waiting.
# Rule 2: once it is shown, nothing that happens to others turns success into failure.
# Rule 3: a run that stops without an answer is closed like any other; then its error is raised.

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import InitVar, dataclass, fields, is_dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import titan
from titan import files
from titan.canonical import finite
from titan.errors import CheckError, PeerError, ReleaseError, TitanError, VetoError
from titan.joint import Task
from titan.listing import listing
from titan.party.durable_session import DurableSession
from titan.party.engine import Engine
from titan.party.notices import Notice
from titan.party.run import OTHERS_MAY_HAVE_ANSWER
from titan.party.session import Session
from titan.party.signed_broadcast import Signatures
from titan.party.told_answer import check_told
from titan.protocol import Cost
from titan.release import evidence
from titan.release.evidence import as_told, with_refusal
from titan.results import Results, decode, encode
from titan.study import Report
from titan.study.journal import Journal, RunState
from titan.study.ledger import Ledger
from titan.study.transcript import NetworkFacts, Stopped, from_journal
from titan.study.vetoes import SAME_COLUMNS, Vetoes

if TYPE_CHECKING:
    from titan.party.taking_part import Party

OTHERS_HAVE_IT = "the others have the answer of this run: ask one of them for result.json"
IT_IS_HERE = 'the answer of this run is in "{folder}": titan show prints it'
_NOT_AGAIN = (
    "these columns are not asked again on these rows, nor on the other parties': agree on other "
    "columns, or all use other rows"
)
_GRACE = 5.0  # seconds to wait for a last message that nobody needs
_STOPPED = 30.0  # seconds without news, to serve what others need to see why this run stops
_STOPPED_AT_MOST = 120.0  # seconds, whatever news come: secrets are erased after it


@dataclass(frozen=True)
class Outcome:
    """What was found, and how it was come by."""

    results: Results
    folder: Path
    times: dict[str, float]
    started: float
    dropped: int | None = None
    """Own rows that were left out as incomplete, of the question that left out most; None where no
    question of the study leaves out rows as a whole."""
    unconfirmed: tuple[str, ...] = ()
    """Who had not confirmed everything when this party left."""
    bytes_written: int = 0
    refused: ReleaseError | None = None
    """Where a run that is over here was refused: what this party's people were told."""


def most_dropped(parts: Iterable[Any]) -> int | None:
    """The most rows that one of the questions left out; None where none of them counts that."""
    return max((part.dropped for part in parts if hasattr(part, "dropped")), default=None)


Show = Callable[[Outcome], None]
"""Called with what is known when the answer is certain, in a thread: it may wait for a reader."""


@dataclass
class RunToAnswer:
    """One run, from the first connection on."""

    party: Party
    report: Report
    journal: Journal
    state: InitVar[RunState]
    task: Task
    vetoes: Vetoes
    """Those of earlier runs, as this party's ledger has them."""
    started: float

    def __post_init__(self, state: RunState) -> None:
        signatures = Signatures(self.party.study, self.party.identity)
        self._times: dict[str, float] = {}
        self._before = state
        self._disbelieved: PeerError | None = None
        self._wait = self.party.choices.wait
        self._run = self.party.run(state)
        self._session = Session(self._run, self.task, self.journal.mask_keys(), signatures)
        self._durable = DurableSession(self._session, self.journal, deferred=True)

    async def run(self, show: Show) -> Outcome:
        session, durable = self._session, self._durable
        async with self.party.engine(durable) as engine:
            results = await self._answered(engine)
            if results is not None:
                self._finish(results)
                engine.wake_senders()
                self._milestone("answered")
                self._note_over(engine.lost.own_words)
                self._forget()
                self.party.watch.answered()
                outcome = self._outcome(results, engine.bytes_written)
                showing = asyncio.ensure_future(asyncio.to_thread(show, outcome))
                late = await stay(engine, durable, self._wait)
            else:
                self._count_veto()  # before anything else: who dies now has seen it
                await stay(engine, durable, min(self._wait, _STOPPED), stopped=True)
                if durable.put_back is not None:
                    durable.put_back.hint = self._who_has_it(engine.lost.verdict)
        if results is None:  # why not is raised when this party has left in good order
            stopped = session.stopped or self._disbelieved
            assert stopped is not None  # noqa: S101
            self._end_without_answer(stopped)
            raise self._at_home(stopped)
        await showing
        return replace(outcome, unconfirmed=late, bytes_written=engine.bytes_written)

    def _who_has_it(self, verdict: bool | None) -> str:
        """What helps a party that cannot go on; `verdict` is what others said of an answer."""
        if self.party.kept_answer is not None:
            return IT_IS_HERE.format(folder=self.party.folder)
        if verdict:
            return OTHERS_HAVE_IT
        following = self._run.number + 1
        if verdict is None:
            return OTHERS_MAY_HAVE_ANSWER.format(next=following)
        return f"agree with the others on run {following}"

    def _outcome(self, results: Results, bytes_written: int) -> Outcome:
        return Outcome(
            results,
            self.party.folder,
            self._times,
            self.started,
            most_dropped(self.task.part.values()),
            bytes_written=bytes_written,
        )

    async def _answered(self, engine: Engine) -> Results | None:
        """The answer; None if the run ends without one, or with one that cannot be right."""
        if not await self._reaches_the_end(engine):
            return None
        try:
            return await asyncio.to_thread(self._results)
        except PeerError as error:
            self._disbelieved = error
            return None

    async def _reaches_the_end(self, engine: Engine) -> bool:
        """Wait for everything that an answer needs; False if the run stops without one."""
        session = self._session
        if await self._until(
            engine, lambda: session.pooled or (engine.connected and session.everybody_is_here)
        ):
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
        refused = self._at_home(error)
        if self.party.kept_answer is None:
            self._write_evidence(refused if isinstance(refused, ReleaseError) else None)
        kept = self._encoded(dict.fromkeys(self._names, error))
        signed = self._transcript({}, kept, error) if isinstance(error, CheckError) else b""
        self.party.write_files(self.journal.finish(kept, signed))
        self._note_over()
        self._forget()

    def _note_over(self, said: Sequence[bytes] = ()) -> None:
        """Outside of the journal, too: it may be put back to a time when this was not so."""
        self.journal.sync()
        if self.party.ledger.exists():
            with Ledger.open(self.party.ledger) as ledger:
                ledger.note_over(self.party.study.digest, self._run.number, said)

    def _count_veto(self) -> None:
        study, run = self.party.study, self.party.choices.run
        if isinstance(self._session.stopped, VetoError) and self.party.ledger.exists():
            with Ledger.open(self.party.ledger) as ledger:
                ledger.mark_vetoed(study.digest, run, kept=self._kept_columns)

    @property
    def _kept_columns(self) -> bool:
        """Whether this party refused, and before any sum of its columns was made."""
        stage = self.party.study.meeting.stages[len(self._session.totals) - 1]
        return self._session.sums.refusal is not None and stage < 2

    def _write_evidence(self, refusal: ReleaseError | None = None) -> None:
        """What was checked, for whoever has to answer for it here."""
        study = self.party.study
        checks = study.meeting.evidence(self._session.sums.known)
        checks = with_refusal(checks, refusal, (SAME_COLUMNS, self.vetoes.most))
        told = {
            "format": evidence.FORMAT,
            "study": study.digest,
            "run": self.party.choices.run,
            "party": self.party.identity.name,
            "release": study.content()["release"],
            "refused": None if refusal is None else as_told(refusal),
            "checks": [check.as_dict() for check in checks],
        }
        text = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False)
        path = self.party.folder / evidence.NAME
        files.write(path, f"{text}\n".encode(), mode=0o600, force=True)

    def _at_home(self, stopped: TitanError) -> TitanError:
        """What the owner of the rows is told: why it was this party that refused, if it was."""
        if not isinstance(stopped, VetoError):
            return stopped
        refusal, over = self._session.sums.refusal, self.vetoes.ended
        told = copy(stopped if refusal is None else refusal)
        if refusal is None:
            told.message += f": {self.vetoes}"
            told.hint = _NOT_AGAIN if over else told.hint
            return told
        then = _NOT_AGAIN if over else "then agree on the next run (--run 2, 3, …)"
        told.hint += f"; {then}; this was {self.vetoes}: the other parties learned only that some "
        told.hint += "party refuses"
        if not over:
            told.hint += f", and after {SAME_COLUMNS} vetoes these columns are not asked again on "
            told.hint += "their rows either"
        return told

    def _milestone(self, name: str) -> None:
        self._times[name] = time.monotonic() - self.started

    @property
    def _names(self) -> list[str]:
        return [question.name for question in self.party.study.questions]

    def _results(self) -> Results:
        """Solve, and compare with what the one who solves told. It may take a while."""
        if self._before.transcript:
            return stored(self._before)
        states = self._session.sums.answer()
        outcomes = {
            name: each.error or with_cost(each.answer, self._cost)
            for name, each in zip(self._names, states, strict=True)
        }
        own, run = decode(self._encoded(outcomes)), self._run
        if (told := self._session.answer) is not None and run.solver is not None:
            check_told(told, own, run.network.parties[run.solver], run.number)
        return own

    @property
    def _cost(self) -> Cost | None:
        """Of the sums that were made."""
        made = [plan.cost for plan in self.task.plans[: len(self._session.totals)]]
        return reduce(add, made) if made else None

    def _encoded(self, outcomes: Mapping[str, Any]) -> bytes:
        """What all parties learned, as it is kept: the same bytes at all of them."""
        study, run = self.party.study, self.party.choices.run
        cost, parties = self._cost, study.network.parties
        told = None if cost is None else cost.as_dict()
        return encode(Results(outcomes, study=study.digest, run=run, parties=parties, cost=told))

    def _finish(self, results: Results) -> None:
        """Keep the answer, tell it if that is this party's task, and sign what happened."""
        assert self._session.agreed is not None  # noqa: S101 - it is complete
        kept = encode(results)
        with self.journal.batch():  # what is told is signed too, and nothing without the other
            self.journal.agree(self._session.agreed)
            if self._run.solver == self._run.party:
                self._durable.write_down(self._session.tell_answer(kept))
            told = finite(results.to_dict())
            state = self.journal.finish(kept, self._transcript(told, kept))
        self.journal.sync()
        self._durable.release()
        self._write_evidence()
        self.party.write_files(state)  # the first ones, after a restart

    def _transcript(
        self, result: Mapping[str, Any], kept: bytes, stopped: CheckError | None = None
    ) -> bytes:
        """What happened, signed; also where a sum was falsified, and by whom."""
        study, identity, checks = (
            self.party.study,
            self.party.identity,
            self._session.sums.challenges,
        )
        connectivity = self.report.facts["weak_connectivity"] or study.tau + 1
        made = self.task.plans[: len(checks) + (stopped is not None)]
        return from_journal(
            self.journal,
            sums=[
                (plan.scheme.name, plan.recovery_rounds, check)
                for plan, check in zip(made, [*checks, b""], strict=False)
            ],
            network=NetworkFacts(study.network.diameter, connectivity, study.tau),
            software=f"titan {titan.__version__}",
            certificate=identity.card.certificate,
            result=result,
            result_sha256=hashlib.sha256(kept).hexdigest(),
            stopped=None if stopped is None else Stopped(stopped.message, stopped.named),
        ).signed(identity.sign)

    def _forget(self) -> None:
        """Erase what is secret, unless somebody may still need a mask."""
        settled = self._session.agreed is not None or self._session.sums.masked
        self._durable.masks_arrived(everywhere=settled)
        to_serve = self._durable.unacknowledged()
        unsure = sorted({frame.peer for frame in to_serve if frame.secret})
        if unsure:
            text = f"not confirmed by {listing(unsure)}: the masks that were sent there are kept; "
            text += "the same command tries again, and titan runs clean erases them"
            self.party.watch.tell(Notice(text, "warning", "unconfirmed"))
        elif not self.party.choices.keep_journal:
            self.journal.erase_secrets(to_serve)


async def stay(
    engine: Engine, durable: DurableSession, wait: float, *, stopped: bool = False
) -> tuple[str, ...]:
    """Stay until the others have all they need; who has not, when the waiting is over.

    Where there is no answer, whoever went before its last message was confirmed keeps its masks
    until it is: this party stays for it.
    """
    with suppress(TitanError, TimeoutError):
        async with asyncio.timeout(_STOPPED_AT_MOST if stopped else None):
            await engine.until(lambda: not durable.needed(), wait)
            if stopped:
                await engine.until(lambda: engine.left_in_order, wait)
            last = _GRACE if durable.put_back is None else _STOPPED
            await engine.until(lambda: engine.closed, min(wait, last))
    return tuple(sorted({frame.peer for frame in durable.needed()}))


def with_cost(answer: Any, cost: Cost | None) -> Any:
    """The answer with what its sums cost, those that travelled with them included."""
    known = {field.name for field in fields(answer)} if is_dataclass(answer) else set()
    return replace(answer, cost=cost) if "cost" in known else answer


def stored(state: RunState) -> Results:
    assert state.result is not None  # noqa: S101 - it is finished
    return decode(state.result)
