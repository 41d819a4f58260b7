"""The same command for a run that is over here: its answer again, and what the others miss."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from titan.errors import DataError, InputError, PeerError, ReleaseError
from titan.party.durable_session import DurableSession
from titan.party.finished_run import FinishedRun
from titan.party.notices import Notice
from titan.party.run_to_answer import Outcome, Show, stay, stored
from titan.release.evidence import refusal_in
from titan.study.journal import Journal, RunState
from titan.study.ledger import Ledger

if TYPE_CHECKING:
    from titan.party.taking_part import Party


async def show_again(
    party: Party, journal: Journal, state: RunState, show: Show, started: float
) -> Outcome:
    """The run is over here: show its answer again, and give the others what they miss."""
    if state.result is None:
        await _tell_given_up(party, journal, state)
    _refuse_other_rows(party)
    party.write_files(state)
    outcome = Outcome(stored(state), party.folder, {}, started, refused=refusal_in(party.folder))
    party.watch.answered()
    showing = asyncio.ensure_future(asyncio.to_thread(show, outcome))
    durable = _durable(party, journal, state)
    # Where all was confirmed somebody may still be waiting, behind a journal that was put back.
    # Nobody is known to: then it is no error that another run listens here by now.
    with suppress(PeerError) if not durable.unacknowledged() else nullcontext():
        async with party.engine(durable) as engine:
            late = await stay(engine, durable, party.choices.wait)
        outcome = replace(outcome, unconfirmed=late)
    await showing
    return outcome


def _durable(party: Party, journal: Journal, state: RunState) -> DurableSession:
    rest = FinishedRun(party.run(state), party.study.plans, journal)
    return DurableSession(rest, journal)


async def _tell_given_up(party: Party, journal: Journal, state: RunState) -> NoReturn:
    """This party does not go on with the run; those who wait for it are told so."""
    durable = _durable(party, journal, state)
    assert durable.put_back is not None  # noqa: S101 - it was given up
    party.watch.tell(Notice(durable.put_back.message, "error", "over"))
    async with party.engine(durable) as engine:
        await stay(engine, durable, party.choices.wait)
    raise durable.put_back


def _refuse_other_rows(party: Party) -> None:
    """The answer of a run that is over is not that of other rows.

    Its journal has forgotten the rows. The ledger has not: it must know what was used, and
    keeps it on this machine under a key of its own. Only what the model reads counts.
    """
    run, same = party.choices.run, None
    if party.ledger.exists():
        with Ledger.open(party.ledger) as ledger:
            same = _has_rows_of_then(party, ledger)
    if same is None:
        text = "the ledger does not know this run: its rows may have been others"
        party.watch.tell(Notice(text))
    elif not same:
        raise InputError(
            f"run {run} of this study is over, and its rows were different ones",
            hint=f"agree with the others on run {run + 1} (--run {run + 1}) to ask again; with "
            "the rows of then this command shows its answer",
        )


def _has_rows_of_then(party: Party, ledger: Ledger) -> bool | None:
    """None where the ledger does not know; rows that could not be used it never saw."""
    study, run = party.study, party.choices.run
    refused = ledger.refused(study.digest, run)
    try:
        _, entries = party.make(study, run, party.rows, ledger.row_key, ())
    except ReleaseError:
        return refused
    except DataError:
        return False
    found = [ledger.has_rows_of(entry) for entry in entries]
    return False if refused else None if None in found else all(found)
