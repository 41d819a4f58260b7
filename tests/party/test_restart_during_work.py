"""A restart while rows are worked on, whatever came meanwhile: the same messages, the same end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.tables import NAMES, Codes, Table, checked_plans
from tests.party.test_told_differently import lying
from titan import Network
from titan.errors import CheckError, PeerError, TitanError
from titan.party.durable_session import Arrival
from titan.party.messages import AGREED, END, Enclosed, Told
from titan.party.session import Session
from titan.party.signed_broadcast import signed_data
from titan.party.stops import Stop
from titan.protocol import Envelope, Kind
from titan.ring import Residues


def inject(table: Table, sender: str, receiver: str, body: bytes) -> None:
    """An attacker's next message along a link, in place of what it should have sent."""
    durable = table.seats[receiver].durable
    number = durable.accepted[sender]
    durable.incoming[sender].expected = number + 1
    assert durable.accept([Arrival(sender, number, memoryview(body))]) == []


def comes_back(table: Table, name: str) -> None:
    def sent() -> list[tuple[object, ...]]:
        found = table.seats[name].journal.messages()
        return [(m.receiver, m.kind, m.sum, m.round) for m in found if m.sender == name]

    before = sent(), str(table.seats[name].session.stopped)
    table.leave(name)
    table.sit(name, deferred=True)
    assert (sent(), str(table.seats[name].session.stopped)) == before


def works(table: Table, name: str, sums: int) -> Callable[[], Residues | TitanError]:
    """As real runs do: it makes what it enters in a thread. Now it is at it."""
    seat = table.seats[name]
    seat.durable.deferred = True
    for _ in range(sums):
        table.run(lambda: seat.durable.work is not None)
        seat.durable.proceed(seat.durable.work())  # type: ignore[misc]
    table.run(lambda: seat.durable.work is not None)
    work = seat.durable.work
    assert work is not None
    return work


def test_restart_after_a_sum_was_opened_during_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.party.tables.plans", checked_plans)
    with (
        patch.object(Session, "_summed", lying(0)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        works(table, "north", 1)
        table.run()
        assert isinstance(table.seats["north"].session.stopped, CheckError)
        comes_back(table, "north")


def test_restart_after_a_contradiction_during_work(tmp_path: Path) -> None:
    with Table(tmp_path) as table:  # flood, a cycle: west → north
        works(table, "north", 0)
        session = table.seats["north"].session
        west = NAMES.index("west")
        for digest in (bytes(32), b"\1" * 32):
            data = signed_data(AGREED, session._identity, west, digest)
            inject(
                table, "west", "north", Told(west, Codes(west).sign(data), digest).encode(AGREED)
            )
        assert session.stopped is not None
        comes_back(table, "north")


def test_restart_after_a_stop_during_work(tmp_path: Path) -> None:
    """For example: a neighbour's journal is found lost (`LostJournals._stop`)."""
    with Table(tmp_path) as table:
        works(table, "north", 0)
        table.seats["north"].durable.stop("east", PeerError("its journal is lost"))
        comes_back(table, "north")


def test_restart_after_two_ends_during_work(tmp_path: Path) -> None:
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        work = works(table, "north", 0)
        north = table.seats["north"]
        for name in ("west", "east"):
            party = NAMES.index(name)
            told = Stop(party, party).told(Codes(party), north.session._identity)
            inject(table, name, "north", told.encode(END))
        north.durable.proceed(work())
        assert north.session.stopped is not None
        comes_back(table, "north")


def test_restart_after_an_early_forged_vector_during_work(tmp_path: Path) -> None:
    with Table(tmp_path) as table:
        work = works(table, "north", 0)
        north = table.seats["north"]
        north_, west = NAMES.index("north"), NAMES.index("west")
        scheme: Any = table.plans[0].scheme
        ((_, _, payload),) = scheme.telling.write(west, 1, {west: bytes(scheme.telling.size)})
        envelope = Envelope(Kind.MASKED, west, north_, 1, payload)
        inject(table, "west", "north", Enclosed(0, envelope, bytes(64)).encode())
        north.durable.proceed(work())
        assert isinstance(north.session.stopped, CheckError)
        comes_back(table, "north")
