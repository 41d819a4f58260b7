"""While a party makes its part of a sum, however long that takes, its links go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import NAMES, Gathering, Patience, answers_agree, run, until
from titan.errors import DataError, PeerError
from titan.party import arrival_queue
from titan.party.arrival_queue import ArrivalQueue
from titan.party.private_sums import PrivateSums

SECONDS = 20.0  # at most, where nothing goes on


class Work:
    """That of east for its second sum, which is done when it is told so."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun, self.done = threading.Event(), threading.Event()
        self.in_time = False
        self._error = error

    def patched(self) -> Any:
        secret = PrivateSums._secret

        def slow(sums: PrivateSums) -> Any:
            if sums._run.name == "east" and len(sums.totals) == 1:
                self.begun.set()
                self.in_time = self.done.wait(SECONDS)
                if self._error is not None:
                    raise self._error
            return secret(sums)

        return patch.object(PrivateSums, "_secret", slow)


def watched(taken: dict[str, int]) -> Any:
    """How many messages of each peer east has confirmed to it."""
    acknowledge = ArrivalQueue._acknowledge

    def noted(self: ArrivalQueue, peers: Iterable[str]) -> None:
        acknowledge(self, peers)
        if self._durable.session.run.name == "east":
            taken.update(self._durable.confirmed)

    return patch.object(ArrivalQueue, "_acknowledge", noted)


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_messages_are_taken_and_confirmed_while_a_party_works(
    tmp_path: Path, recovery: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrival_queue, "_BREATH", 0.01)
    g, work, taken = Gathering(tmp_path, changes={"recovery": recovery}), Work(), dict[str, int]()

    async def story() -> None:
        parties = [g.joining(name) for name in NAMES]
        await until(work.begun.is_set)
        before = taken.get("north", 0)
        await until(lambda: taken.get("north", 0) > before)
        assert g.phases["east"][-1].startswith("sum 2 of 3: masks")
        work.done.set()
        await asyncio.gather(*parties)

    with work.patched(), watched(taken):
        run(story())
    assert work.in_time, "the event loop did not wait for the work"
    answers_agree(g)


def test_own_work_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A party that works for longer than it would wait for others does not give up on them."""
    monkeypatch.setattr(arrival_queue, "_BREATH", 0.01)
    said, done, made = 0, threading.Event(), list[object]()

    class Durable:
        @property
        def work(self) -> Any:
            return (lambda: done.wait(SECONDS)) if not made else None

        def proceed(self, secret: object) -> None:
            made.append(secret)

        def take_written_to(self) -> set[str]:
            return set()

    class Events:
        def more_is_coming(self) -> None:
            nonlocal said
            said += 1
            if said == 3:
                done.set()

        def progressed(self) -> None:
            assert made

    async def story() -> None:
        durable: Any = Durable()
        events: Any = Events()
        queue = ArrivalQueue(durable, {}, events)
        queue._work_is_due.set()
        working = asyncio.ensure_future(queue.work())
        await until(lambda: bool(made))
        working.cancel()

    run(story())
    assert made == [True], "it went on because it was said that it goes on"


@pytest.mark.parametrize("error", [DataError("the rows changed"), ZeroDivisionError("a mistake")])
def test_what_fails_in_the_thread_ends_the_run(tmp_path: Path, error: Exception) -> None:
    g, work, patience = Gathering(tmp_path), Work(error), Patience()
    work.done.set()

    async def story() -> list[Any]:
        parties = [g.joining(name) for name in NAMES]
        await asyncio.wait(parties[1:2])
        patience.give_up("north", "south")
        return await asyncio.gather(*parties, return_exceptions=True)

    with work.patched(), patience.patched():
        north, east, south = run(story())
    assert east is error
    assert all(isinstance(each, PeerError) for each in (north, south))
    assert not g.shown
