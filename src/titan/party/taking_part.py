"""Taking part in a study, from one's own rows to the answer: what `titan join` does.

ledger and journal begun or found again ─► links ─► sums ─► agreement ─► answer ─► secrets erased
                                                                        ─► stay while needed
"""

# Rule 1: nothing is dialled before the study, the rows, the journal and the ledger are in order.
# Rule 2: a party that does not take part tells others why not, unless the reason is in its rows.
# Rule 3: rows are read before the network is needed: TLS and whatever needs it is imported where
#         it is used, so that it may come while rows are read.
# Rule 4: a run is over when its secrets are erased. Until then a restart goes through all steps
#         again, since what others may still need is made from the secrets.

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import titan
from titan import files
from titan.errors import DataError, FileError, InputError, TitanError
from titan.joint import Task
from titan.joint.meeting import Parts
from titan.party.addresses import check_port
from titan.party.notices import Notice
from titan.party.preparing import (
    Prepare,
    Prepared,
    are_there,
    asked_columns,
    check_columns,
    mend,
    prepare,
    rounding_notes,
    rows_for,
)
from titan.party.proxies import Proxies
from titan.party.reasons import Reason, told_as
from titan.party.run import MAIN_TASK, Run
from titan.party.run_events import Watch
from titan.party.status_file import StatusFile
from titan.protocol.masking import fresh_key
from titan.results.result_file import NAME as RESULT
from titan.study import Identity, Report, Study, preflight
from titan.study.audit import JOURNAL, STUDY, TRANSCRIPT
from titan.study.database import explained
from titan.study.journal import Journal, RunState
from titan.study.kept_runs import open_journal
from titan.study.key_use import note_use
from titan.study.ledger import Ledger
from titan.study.vetoes import Vetoes

if TYPE_CHECKING:
    from titan.party.durable_session import DurableSession
    from titan.party.engine import Engine
    from titan.party.own_rows import OwnRows
    from titan.party.part_using import UsedPart
    from titan.party.run_to_answer import Outcome, Show
    from titan.study.differencing import LedgerQuestion

T = TypeVar("T")

_QUICK = 200_000
"""So many rows can be read again, for their leverage, while somebody waits to be asked."""


@dataclass(frozen=True)
class Choices:
    """How to take part; none of it changes the answer."""

    run: int = 1
    wait: float = 3600.0
    listen: str | None = None
    keep_journal: bool = False
    allow_differencing: bool = False
    proxy: str | None = field(default=None, repr=False)
    """As a URL, which may hold a password; without one the environment may name a proxy."""


@dataclass(frozen=True)
class Party:
    """Who takes part in which study, with which rows, and where it keeps what."""

    study: Study
    identity: Identity
    rows: Any
    """For all questions, or for each by its name: anything that `rows_for` takes."""
    folder: Path
    ledger: Path
    choices: Choices = Choices()
    watch: Watch = field(default_factory=Watch)
    key: Path | None = None
    """Where its key lies, if in a file: that it was used is noted beside it or the ledger."""
    part: UsedPart | None = field(default=None, repr=False)
    """What was made of the rows before, where they lie; `rows` are then of its making."""
    prepared: Prepared | None = field(default=None, repr=False)
    """What `look` has made of the rows."""
    meanwhile: Callable[[], None] = field(default=lambda: None, repr=False)
    """Called when rows begin to be read, for what can be done beside it."""

    def take_part(self, show: Show) -> Outcome:
        """Take part to the end; `show` is called with the answer as soon as it is certain."""

        async def work() -> Outcome:
            asyncio.current_task().set_name(MAIN_TASK)  # type: ignore[union-attr]
            return await self.join(show)

        return _run(work())

    async def join(self, show: Show) -> Outcome:
        """The same, inside an event loop."""
        started = time.monotonic()
        try:
            with told_as(Reason.STUDY):
                report = checked(self.study)
            # of a name that is mistyped nothing is told: the others wait, and it is typed again
            with told_as(Reason.FILE) if are_there(self.rows) else nullcontext():
                rows = rows_for(self.study, self.rows)
                check_columns(self.study, rows)
            return await replace(self, rows=rows)._join(report, show, started)
        except TitanError as error:
            if error.to_others:
                await self.stay_away(Reason(error.to_others))
            raise

    async def _join(self, report: Report, show: Show, started: float) -> Outcome:
        if not self._begun_as(lambda state: state.erased):
            await self._check_port()  # where it cannot listen, nothing is begun
        with files.attempt("made", self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        named = self.study.digest, self.choices.run, self.identity.name
        journal = open_journal(
            self.folder, lambda text: self.watch.tell(Notice(text, "error", "journal"))
        )
        with journal, StatusFile(self.folder, *named) as it:
            party = replace(self, watch=it.watched(self.watch))
            outcome = await party._with(journal, report, show, started)
            it.ended(outcome.results)
            return outcome

    async def _with(self, journal: Journal, report: Report, show: Show, started: float) -> Outcome:
        state = journal.state
        if state is not None and state.erased:
            from titan.party.run_again import show_again

            return await show_again(self, journal, state, show, started)
        task, state, vetoes = self._begin(journal)
        from titan.party.run_to_answer import RunToAnswer

        work = RunToAnswer(self, report, journal, state, task, vetoes, started)
        return await work.run(show)

    async def _check_port(self) -> None:
        if any(link.listener == self.identity.name for link in self.study.links):
            await check_port(self.listen)

    @property
    def over(self) -> bool:
        """Whether the run is over here; not where another process is at it."""
        return self._begun_as(lambda state: state.erased, if_busy=False)

    def look(self) -> tuple[Party, OwnRows]:
        """At the own rows, before anybody is asked: nothing is sent, nothing is written.

        The party that is returned goes on with what was read. Of a run that is over nothing more
        depends on them.
        """
        from titan.party.own_rows import OwnRows, look

        party = self
        if self._begun_as(lambda state: state.erased):
            return self, OwnRows()

        def prepare(rows: Any) -> Parts:
            nonlocal party
            found = replace(self, rows=rows)._prepared()
            party = replace(self, rows=rows, prepared=found)
            if found.parts is None:
                assert found.refusal is not None  # noqa: S101 - else there are parts
                raise found.refusal
            return found.parts

        found = look(self.study, self.rows, prepare, most=_QUICK)
        return party, found

    def checked(self) -> Report:
        """The preflight's report, for who has to agree; its first problem as an error."""
        try:
            return checked(self.study)
        except TitanError:
            _run(self.stay_away(Reason.STUDY))
            raise

    def decline(self) -> bool:
        """This party's people do not want to: whether others could be told."""
        return _run(self.stay_away(Reason.DECLINED))

    async def stay_away(self, reason: Reason) -> bool:
        """Tell the neighbours that are there that this party does not take part.

        False if it has begun: then nothing is told, since the same command can go on.
        """
        if self._begun_as(lambda state: True):
            return False
        self._tell(f"telling the others that {self.identity.name} does not take part")
        from titan.party.attendance import Absentee

        absentee = Absentee(self.study, self.identity, self.choices.run, reason, self.proxies)
        await absentee.tell(self.listen)
        return True

    def _begun_as(self, wanted: Callable[[RunState], bool], *, if_busy: bool = True) -> bool:
        """Whether the run has begun, and is in such a state, or (`if_busy`) in another process."""
        path = self.folder / JOURNAL
        if not path.exists():
            return False
        try:
            with Journal.open(path) as journal:
                return journal.state is not None and wanted(journal.state)
        except FileError:
            return if_busy

    def _tell(self, message: str) -> None:
        self.watch.tell(Notice(message))

    # -- before anything leaves ---------------------------------------------------------------

    def _begin(self, journal: Journal) -> tuple[Task, RunState, Vetoes]:
        """In the ledger and in the journal, or in neither: what one refuses binds no run."""
        study, run = self.study, self.choices.run
        prepared = self._prepared()
        task, entries, key = prepared.task(study), prepared.entries, prepared.key
        if prepared.refusal is not None:
            self._tell(f"this party refuses: {prepared.refusal.message}")
        for note in rounding_notes(study, prepared.parts or {}):
            self._tell(note)
        digests = [d for each in entries for d in (each.rows.fingerprint, b"%d" % each.own.finer)]
        data_digest, unsent = journal.keyed_digest(digests), journal.nothing_left()
        with Ledger.open(self.ledger, key) as ledger, ledger.batch(), journal.batch():
            if unsent and journal.replace_data(data_digest):
                self._tell(  # digests of rows are keyed by the ledger
                    "other rows than before, or another ledger: nothing had been sent, so these "
                    "count now"
                )
            state = journal.begin(
                study=study.digest,
                run=run,
                party=self.identity.name,
                parties=study.network.parties,
                nonce=fresh_key(),
                keys=[fresh_key() for _ in task.plans],
                data_digest=data_digest,
                software=titan.__version__,
            )
            if state.software != titan.__version__:
                self.watch.tell(
                    Notice(
                        f"begun by titan {state.software}; this is {titan.__version__}", "warning"
                    )
                )
            over = ledger.is_over(study.digest, run) and not state.finished
            if over:
                how = f"run {run} is over at {self.identity.name}, as its ledger knows, and the "
                journal.note_put_back(how + "journal is lost, or was put back to an earlier state")
            with explained(self.ledger, Ledger.what):  # or the journal reports it as its own
                if unsent and not over:
                    ledger.forget_other_rows(study.digest, run, state.nonce, entries)
                vetoes = self._record(ledger, entries, state.nonce)
        if self.key is not None:
            note_use(self.key, self.ledger, self.identity.card.fingerprint)
        if prepared.refusal is not None:  # where the ledger refuses, it is told who stays away
            self._tell("the others will learn only that some party does")
        return task, state, vetoes

    def _record(self, ledger: Ledger, entries: Sequence[LedgerQuestion], nonce: bytes) -> Vetoes:
        study = self.study
        with told_as(Reason.LEDGER):
            if not entries:  # rows that cannot be used at all are in no sum
                return ledger.record_refusal(study.digest, self.choices.run, asked_columns(study))
            return ledger.record(
                entries,
                allow_differencing=self.choices.allow_differencing,
                nonce=nonce,
                date=datetime.now(UTC).date().isoformat(),
            )

    def _prepared(self) -> Prepared:
        """Of the own rows, unless they were read before and the ledger is as it was then."""
        before, asked = self.prepared, list[str]()
        if before is not None and not self.ledger.exists():
            return before
        key = (self.part or Ledger).key_for(self.ledger)
        if self.ledger.exists() and not self.choices.allow_differencing:
            with Ledger.open(self.ledger, key) as ledger:
                asked = ledger.asked(self.study.digest, self.choices.run)
        if before is not None and (before.key, before.asked) == (key, asked):
            return before
        self.meanwhile()
        try:
            return Prepared.of(self.study, self.choices.run, self.rows, key, asked, self.make)
        except (DataError, FileError) as error:
            mend(error, self.study)
            raise

    @property
    def make(self) -> Prepare:
        """Makes parts and entries of the own rows."""
        return prepare if self.part is None else self.part.prepare

    # -- the network --------------------------------------------------------------------------

    @property
    def listen(self) -> str:
        """Where to listen: as the study says, unless this party does."""
        return self.choices.listen or self.identity.card.address

    @property
    def proxies(self) -> Proxies:
        return Proxies.of(self.choices.proxy, os.environ)

    def run(self, state: RunState) -> Run:
        study, network = self.study, self.study.network
        return Run(
            bytes.fromhex(study.digest),
            self.choices.run,
            network,
            network.index(self.identity.name),
            state.nonce,
            None if study.solver is None else network.index(study.solver),
        )

    def engine(self, durable: DurableSession) -> Engine:
        from titan.party.engine import Engine

        parts = self.study, self.identity, durable, self.listen, self.watch
        engine = Engine(*parts, self.proxies)
        if durable.put_back is not None and self.ledger.exists():
            with Ledger.open(self.ledger) as ledger:
                engine.lost.recall(ledger.said(self.study.digest, self.choices.run))
        return engine

    @property
    def kept_answer(self) -> bytes | None:
        """What the folder has as the answer of this run, signed by this party."""
        from titan.party.kept_answer import kept_answer

        return kept_answer(self.folder, self.study, self.choices.run, self.identity.name)

    def write_files(self, state: RunState) -> None:
        """What was learned and what was signed, as the journal has them, and what was asked."""
        asked = self.study.to_toml().encode()
        if self.kept_answer not in (None, state.result):
            return  # of a journal that was lost since: a new one does not take its answer's place
        kept = ((RESULT, state.result), (TRANSCRIPT, state.transcript), (STUDY, asked))
        for name, content in kept:
            path = self.folder / name
            if content and not (path.exists() and path.read_bytes() == content):
                files.write(path, content, mode=0o600, force=True)


def checked(study: Study) -> Report:
    """The preflight's report; its first problem as an error."""
    report = preflight.check(study, datetime.now(UTC))
    if not report.ok:
        problem = report.problems[0]
        raise InputError(f"the study cannot be joined: {problem.message}", hint=problem.hint)
    return report


def run_folder(runs: Path, study: Study, run: int, name: str) -> Path:
    """Where a party keeps a run."""
    return runs / f"{study.digest[:12]}-run{run}-{name}"


def _run(work: Coroutine[Any, Any, T]) -> T:
    """In an event loop that watches sockets; that of Windows would not."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(work)
