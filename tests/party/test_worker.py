"""A thread beside the loop: results and errors come back, and nobody waits for what was left."""

from __future__ import annotations

import asyncio
import threading

import pytest

from titan.party.worker import Worker


def test_what_work_returns_or_raises_comes_back_in_order() -> None:
    async def trial() -> None:
        worker, done = Worker(), []

        def wrong() -> None:
            done.append(1)
            raise ValueError("of no use")

        first = asyncio.ensure_future(worker.run(wrong))
        second = asyncio.ensure_future(worker.run(lambda: [*done, threading.current_thread()]))
        with pytest.raises(ValueError, match="of no use"):
            await first
        one, thread = await second
        assert one == 1
        assert isinstance(thread, threading.Thread)
        assert thread is not threading.current_thread()
        worker.close()
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive()

    asyncio.run(trial())


def test_who_is_cancelled_does_not_wait_and_the_next_is_served() -> None:
    goes_on, begun = threading.Event(), threading.Event()

    def long() -> str:
        begun.set()
        goes_on.wait(60)
        return "late"

    async def trial() -> None:
        worker = Worker()
        waiting = asyncio.ensure_future(worker.run(long))
        await asyncio.to_thread(begun.wait, 60)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        goes_on.set()
        assert await worker.run(lambda: "next") == "next"
        worker.close()

    asyncio.run(trial())


def test_a_loop_that_is_closed_is_not_told() -> None:
    goes_on, worker, threads = threading.Event(), Worker(), []

    def long() -> None:
        threads.append(threading.current_thread())
        goes_on.wait(60)

    async def trial() -> None:
        waiting = asyncio.ensure_future(worker.run(long))
        await asyncio.sleep(0)
        worker.close()
        waiting.cancel()

    asyncio.run(trial())
    goes_on.set()
    assert worker._thread is not None
    worker._thread.join(60)
    assert not worker._thread.is_alive()
