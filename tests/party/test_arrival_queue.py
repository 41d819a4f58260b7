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
from titan.party.wire import Role

MUCH = arrival_queue._MOST_UNCONFIRMED
NEVER = 1e6  # seconds


class Taker:
    """A session that takes everything from one neighbour, and keeps count."""

    def __init__(self) -> None:
        self.incoming = {"east": None}
        self.work = None
        self.taken = self.confirmed = self.syncs = 0
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

    @property
    def journal(self) -> Taker:
        return self

    def sync(self) -> None:
        self.syncs += 1
        if self.broken:
            raise FileError("the disk fails")

    def on_disk(self, accepted: dict[str, int]) -> set[str]:
        new = {"east"} if self.confirmed < accepted["east"] else set()
        self.confirmed = accepted["east"]
        return new


async def _at_once(work: Callable[[], None]) -> None:
    """In place of a thread: when it ends is not left to the machine."""
    work()


Story = Callable[[Taker, Callable[[int], None]], Coroutine[Any, Any, None]]


def _run(
    monkeypatch: pytest.MonkeyPatch, moment: float, story: Story, thread: Any = _at_once
) -> list[str]:
    """What was told."""
    told: list[str] = []
    monkeypatch.setattr(arrival_queue, "_MOMENT", moment)
    monkeypatch.setattr(arrival_queue, "to_thread", thread)

    async def run() -> None:
        durable, link = Taker(), LinkStatus("east", Role.RECEIVER)
        events = RunEvents(
            Watch(lambda notice: told.append(str(notice))), lambda: RunProgress("nowhere", [])
        )
        party = ArrivalQueue(cast("DurableSession", durable), {("east", "north"): link}, events)

        def add(size: int) -> None:
            party.add(Arrival("east", durable.taken, memoryview(bytes(size))))

        parts = party.run(), party.confirm_in_turn(), story(durable, add)
        tasks = [asyncio.ensure_future(each) for each in parts]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in tasks:
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
            for taken, size in enumerate((MUCH + 1, 10, 10), start=1):
                add(size)
                while durable.confirmed < taken:
                    await asyncio.sleep(0.001)

    _run(monkeypatch, 0.01, story)


def test_not_before_but_at_once_where_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        add(MUCH // 2)
        await _turns()
        assert (durable.taken, durable.confirmed) == (1, 0)
        add(MUCH // 2 + 1)
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


def test_what_comes_while_the_disk_is_waited_for_is_taken_and_confirmed_after_the_next_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a wait began with is all that it confirms."""
    begun, may_end = asyncio.Event(), asyncio.Semaphore(0)

    async def slow_disk(work: Callable[[], None]) -> None:
        begun.set()
        await may_end.acquire()
        work()

    async def story(durable: Taker, add: Callable[[int], None]) -> None:
        add(MUCH + 1)
        await begun.wait()
        add(MUCH + 1)
        await _turns()
        assert (durable.taken, durable.syncs, durable.confirmed) == (2, 0, 0)
        begun.clear()
        may_end.release()
        await begun.wait()
        assert (durable.syncs, durable.confirmed) == (1, 1)
        may_end.release()
        await _turns()
        assert (durable.syncs, durable.confirmed) == (2, 2)

    _run(monkeypatch, NEVER, story, slow_disk)


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
