"""What is acknowledged is on the disk, and the answer is before it is shown."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from tests.party.loopback import Gathering, answers_agree, run
from titan.errors import FileError
from titan.party import wire
from titan.party.arrival_queue import ArrivalQueue
from titan.party.attendance import Attendance
from titan.party.conversation import Conversation
from titan.party.durable_session import DurableSession
from titan.party.engine import Engine
from titan.party.lost_journals import LostJournals
from titan.party.run import RunProgress
from titan.party.run_events import LinkStatus, RunEvents, Watch
from titan.party.streams import Stream
from titan.party.wire import Ack, Role
from titan.study.journal import Journal, RunState


class Counts:
    """A session that has taken five messages, of which the disk has three."""

    accepted: ClassVar = {"east": 5}
    confirmed: ClassVar = {"east": 3}


class Written(list[bytes]):
    """A stream that keeps what is written to it."""

    async def write(self, chunk: bytes) -> None:
        self.append(chunk)


def _events() -> RunEvents:
    return RunEvents(Watch(), lambda: RunProgress("nowhere", []))


def test_what_the_disk_does_not_have_is_not_acknowledged() -> None:
    link, stream = LinkStatus("east", Role.RECEIVER), Written()
    link.leave()
    conversation = Conversation(
        link,
        cast("Stream", stream),
        cast("DurableSession", Counts()),
        cast("ArrivalQueue", None),
        _events(),
        cast("Attendance", None),
        cast("LostJournals", None),
    )
    asyncio.run(conversation._send_acks())
    assert [wire.decode(chunk) for chunk in stream] == [Ack(3)]


class Last:
    """A queue and connections at the end of a run: what is asked of them, in order."""

    def __init__(self, disk_fails: bool = False) -> None:
        self.asked: list[str] = []
        self._fails = disk_fails

    def confirm(self) -> None:
        self.asked.append("confirm")
        if self._fails:
            raise FileError("the disk fails")

    async def close(self) -> None:
        self.asked.append("close")


async def _leave(last: Last, events: RunEvents, failed: type[BaseException] | None = None) -> None:
    engine = object.__new__(Engine)
    engine._links, engine._tasks, engine._events = [], [], events
    engine._queue = engine._connections = cast("Any", last)
    await engine.__aexit__(failed, None, None)


def test_whoever_leaves_confirms_what_it_took() -> None:
    last = Last()
    asyncio.run(_leave(last, _events()))
    assert last.asked == ["confirm", "close"]


def test_whoever_fails_confirms_nothing_more() -> None:
    """If its disk failed, the next wait for it would seem to succeed."""
    last, events = Last(), _events()
    asyncio.run(_leave(last, events, FileError))
    events.fail(FileError("the disk fails"))
    asyncio.run(_leave(last, events))
    assert last.asked == ["close", "close"]


def test_a_disk_that_fails_at_the_end_takes_nothing_back() -> None:
    last = Last(disk_fails=True)
    asyncio.run(_leave(last, _events()))
    assert last.asked == ["confirm", "close"]


def test_the_answer_is_on_the_disk_before_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: set[Path] = set()
    finish, sync = Journal.finish, Journal.sync

    def finishing(journal: Journal, *rest: Any) -> RunState:
        waiting.add(journal.path)
        return finish(journal, *rest)

    def syncing(journal: Journal) -> None:
        if not journal._batch.depth:
            waiting.discard(journal.path)
        sync(journal)

    class Shown(dict[str, Any]):
        def __setitem__(self, name: str, answer: Any) -> None:
            assert g.run_folder(name) / "journal.db" not in waiting
            super().__setitem__(name, answer)

    monkeypatch.setattr(Journal, "finish", finishing)
    monkeypatch.setattr(Journal, "sync", syncing)
    g = Gathering(tmp_path, shown=Shown())
    run(g.all())
    answers_agree(g)
