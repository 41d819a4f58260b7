"""That a run has ended is told before all are there, too; also by who died before it could."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, run, until
from tests.party.simulated_party import Process
from tests.party.test_come_back import KilledError
from tests.party.test_lost_vectors import started
from tests.party.test_put_back import NAMES
from tests.party.test_session_rules import deliver
from tests.party.test_who_stopped import EAST
from titan.errors import PeerError
from titan.party import run_to_answer
from titan.party.durable_session import DurableSession
from titan.party.messages import AGREED, Told


def test_who_died_with_the_news_tells_it_when_it_is_back(tmp_path: Path) -> None:
    """East has not come, so west alone finds out that north's journal is lost."""
    g, confirmed, died = Gathering(tmp_path, names=NAMES), list[str](), list[str]()
    stop, acknowledged = DurableSession.stop, DurableSession.acknowledged

    def stopping(self: DurableSession, *told: Any) -> None:
        stop(self, *told)
        if self.session.run.name == "west" and not died:
            died.append("west")
            raise KilledError

    def hearing(self: DurableSession, peer: str, next_: int) -> bool:
        if self.session.run.name == "west" and peer == "north" and next_ > 0:
            confirmed.append(peer)
        return acknowledged(self, peer, next_)

    async def trial() -> None:
        south, west, north = (g.joining(name) for name in ("south", "west", "north"))
        await until(lambda: bool(confirmed))
        north.cancel()
        await asyncio.wait((north,))
        shutil.rmtree(g.run_folder("north"))
        north = g.joining("north", wait=5.0)
        await asyncio.wait((west,))
        assert isinstance(west.exception(), KilledError)
        west = g.joining("west")
        await asyncio.wait((west,))
        assert isinstance(west.exception(), PeerError)
        with pytest.raises(PeerError, match="west ended the run because of north"):
            await asyncio.wait_for(south, 20.0)  # else it would wait in vain
        with pytest.raises(PeerError, match="north lost its journal"):
            await north

    with (
        patch.object(DurableSession, "stop", stopping),
        patch.object(DurableSession, "acknowledged", hearing),
        patch.object(run_to_answer, "_STOPPED", 1.0),
        patch.object(run_to_answer, "_GRACE", 1.0),
    ):
        run(trial())


def test_because_of_whom_a_run_ended_is_known_when_it_is_over(tmp_path: Path) -> None:
    """Where a party is lost since, that is not why."""
    north, *others = parties = started(tmp_path)
    deliver(parties, held=("south", "north"))
    north.durable.stop("south", PeerError("south ended the run", named=["south", "east"]))
    north.journal.finish(b"no answer", b"")
    north.journal.give_up("never told")
    north.die()
    again = Process(north.place, Random(0), lambda _: None)
    assert again.session is None, "it is over"
    assert isinstance(again.durable.session.stopped, PeerError)
    assert again.durable.session.stopped.named == ("south", "east")
    for each in (again, *others):
        each.die()


def test_a_run_that_is_over_knows_words_of_who_sends_nothing_here(tmp_path: Path) -> None:
    """Who only receives from this party, and lost its journal, passes on what others said."""
    parties = started(tmp_path)
    deliver(parties, held=("south", "north"))
    it = next(each for each in parties if each.durable.outgoing.keys() - each.durable.incoming)
    (peer, *_) = it.durable.outgoing.keys() - it.durable.incoming
    word = Told(EAST, bytes(64), bytes(32)).encode(AGREED)
    it.journal.record_incoming(it.journal.beside(peer, AGREED, word))
    it.journal.finish(b"an answer", b"")
    it.journal.give_up("never told")
    it.die()
    again = Process(it.place, Random(0), lambda _: None)
    assert again.session is None, "it is over"
    for each in (again, *filter(lambda each: each is not it, parties)):
        each.die()
