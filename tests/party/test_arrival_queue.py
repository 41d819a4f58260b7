"""When what was taken in is confirmed: later and together, but not too late and not too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from titan.errors import FileError
from titan.party import arrival_queue
from titan.party.arrival_queue import ArrivalQueue
from titan.party.durable_session import Arrival, DurableSession, Refused
from titan.party.run import RunProgress
from titan.party.run_events import LinkStatus, RunEvents, Watch
from titan.party.wire import MOST_CHUNK, Role

NEVER = 1e6  # seconds


class Taker:
    """A session that takes everything from one neighbour, and keeps count."""

    def __init__(self) -> None:
        self.incoming = {"east": None}
        self.work = None
        self.taken = self.confirmed = 0
        self.ended = self.broken = self.refuses = False

    def accept(self, arrivals: list[Arrival]) -> list[Refused]:
        if self.refuses:
            return [Refused("east", arrival.number, "no") for arrival in arrivals]
        self.taken += len(arrivals)
        return []

    @property
    def accepted(self) -> dict[str, int]:
        return {"east": self.taken}

    def heard_all(self, _: str) -> bool:
        return self.ended

    def take_written_to(self) -> set[str]:
        return set()

    def confirm(self) -> set[str]:
        if self.broken:
            raise FileError("the disk fails")
        new = {"east"} if self.confirmed < self.taken else set()
        self.confirmed = self.taken
        return new


Story = Callable[[Taker, Callable[[int], None]], Coroutine[Any, Any, None]]


def _run(monkeypatch: pytest.MonkeyPatch, moment: float, story: Story) -> list[str]:
    """What was told."""
    told: list[str] = []
    monkeypatch.setattr(arrival_queue, "_MOMENT", moment)

    async def run() -> None:
        durable, link = Taker(), LinkStatus("east", Role.RECEIVER)
        events = RunEvents(Watch(told.append), lambda: RunProgress("nowhere", []))
        party = ArrivalQueue(cast("DurableSession", durable), {("east", "north"): link}, events)

        def add(size: int) -> None:
            party.add(Arrival("east", durable.taken, memoryview(bytes(size))))

        both = [asyncio.ensure_future(each) for each in (party.run(), story(durable, add))]
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for each in both:
            each.cancel()
        for each in done:
            each.result()

    asyncio.run(run())
    return told


async def _turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_message_is_confirmed_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        async with asyncio.timeout(20):
            for taken, size in enumerate((MOST_CHUNK + 1, 10, 10), start=1):
                add(size)
                while durable.confirmed < taken:
                    await asyncio.sleep(0.001)

    _run(monkeypatch, 0.01, story)


def test_not_before_but_at_once_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        add(MOST_CHUNK // 2)
        await _turns()
        assert (durable.taken, durable.confirmed) == (1, 0)
        add(MOST_CHUNK // 2 + 1)
        await _turns()
        assert durable.confirmed == 2
        add(10)
        await _turns()
        assert (durable.taken, durable.confirmed) == (3, 2), "it counts from the last confirmation"

    _run(monkeypatch, NEVER, story)


def test_who_has_ended_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        durable.ended = True
        add(2)
        await _turns()
        assert durable.confirmed == 1

    _run(monkeypatch, NEVER, story)


def test_a_disk_that_fails_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        durable.broken = True
        add(10)
        await asyncio.sleep(60)

    with pytest.raises(FileError, match="the disk fails"):
        _run(monkeypatch, 0.0, story)


def test_the_same_refused_again_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        durable.refuses = True
        for _ in range(3):
            add(10)
            await _turns()

    assert _run(monkeypatch, NEVER, story) == ["east: message 0 refused: no"]
