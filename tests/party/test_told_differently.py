"""A party that tells two others different sums over subsets: one finds the sum false, one does not.

Nobody waits for the other then: all show what they were told, and name who told two things.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, run
from tests.party.tables import NAMES, Table
from titan import Network
from titan.errors import CheckError
from titan.party.messages import Enclosed, decode
from titan.party.ready import Ready
from titan.party.session import Session
from titan.protocol import Kind, Plan
from titan.protocol.recovery.interface import SEAL_BYTES
from titan.ring import Ring
from titan.study.verified import verify

LIAR, VICTIM = 1, 2


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def plans(network: Network, *_: object) -> list[Plan]:
        return [Plan.make(network, Ring(64), 3, recovery="tree", relays="checked")] * 2

    monkeypatch.setattr("tests.party.tables.plans", plans)


def lying(number: int) -> Callable[[Session, Iterable[Enclosed]], Ready]:
    """In this sum the liar tells the victim other sums than all others, and signs them."""
    summed = Session._summed

    def other(session: Session, enclosed: Iterable[Enclosed]) -> Ready:
        return summed(session, [_altered(session, each, number) for each in enclosed])

    return other


def _altered(session: Session, enclosed: Enclosed, number: int) -> Enclosed:
    kind, sender, receiver, _, payload = envelope = enclosed.envelope
    if (enclosed.number, kind, sender, receiver) != (number, Kind.SUMMED, LIAR, VICTIM):
        return enclosed
    assert session.sums.agent is not None
    head, item = bytes(payload[:8]), bytes(payload[8:])
    if head != struct.pack("<II", 1, LIAR):
        return enclosed  # it passes on what others told
    content = item[:40] + bytes([item[40] ^ 1]) + item[41:-SEAL_BYTES]
    signed = head + content + session.sums.agent._seals.sign(kind, content)
    return Enclosed(number, envelope._replace(payload=signed))


def until_west_is_opened_to(table: Table) -> None:
    """What north and east tell west comes late, as far as south can do without."""
    held = ("SUMMED",)
    while "OPENED" not in kinds_to_west(table):
        due = [
            link
            for *link, _ in table.due()
            if link not in (["north", "west"], ["east", "west"])
            or decode(link[0], 0, table.message(*link)).frame.kind not in held
        ]
        assert due
        for link in due:
            assert table.deliver(*link) == []


def kinds_to_west(table: Table) -> list[str]:
    found = table.seats["west"].journal.messages()
    return [m.kind for m in found if m.receiver == "west" and m.sender == "south"]


@pytest.mark.parametrize("slow", [False, True])
def test_in_an_earlier_sum_all_end(tmp_path: Path, slow: bool) -> None:
    """Also where the victim is quicker, and opens before others have all sums."""
    with (
        patch.object(Session, "_summed", lying(0)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        if slow:
            until_west_is_opened_to(table)
        table.run()
        assert_named(table)


def assert_named(table: Table) -> None:
    """By everybody else: who saw nothing wrong shows what it sent as soon as another does."""
    for name, seat in table.seats.items():
        error = seat.session.stopped
        if name != NAMES[LIAR]:
            assert isinstance(error, CheckError), (name, error)
            assert error.named == (NAMES[LIAR],)
            assert "told different parties different things (SUMMED)" in error.message
        assert seat.session.agreed is None


def test_what_was_made_for_a_sum_that_does_not_begin_is_dropped(tmp_path: Path) -> None:
    """North works on its second sum in a thread when it hears that the first was falsified.

    That work must not become the input of the first one: its masks would hide two inputs.
    """
    with (
        patch.object(Session, "_summed", lying(0)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        north = table.seats["north"]
        north.durable.deferred = True
        table.run(lambda: north.durable.work is not None)  # the first sum
        north.durable.proceed(north.durable.work())  # type: ignore[misc]
        table.run(lambda: north.durable.work is not None)
        late = north.durable.work()  # type: ignore[misc]
        table.run(lambda: north.session.sums.opening or north.session.stopped is not None)
        sent = len(north.journal.messages())
        north.durable.proceed(late)
        assert len(north.journal.messages()) == sent
        table.run()
        assert_named(table)


def test_in_the_last_sum_nobody_has_an_answer(tmp_path: Path) -> None:
    with (
        patch.object(Session, "_summed", lying(1)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        table.run()
        assert_named(table)


def test_what_is_signed_then_can_be_verified(tmp_path: Path) -> None:
    """Of real parties, some of whom have begun the next sum."""
    g = Gathering(
        tmp_path, network=Network.complete(["north", "east", "south"]), changes={"recovery": "tree"}
    )
    with patch.object(Session, "_summed", lying(0)):
        found = run(g.errors())
    assert {name for name, error in found.items() if isinstance(error, CheckError)} >= {
        "north",
        "south",
    }
    for name in ("north", "south"):
        told = verify(g.run_folder(name) / "transcript.json").transcript
        assert told.stopped is not None
        assert told.stopped.named == ("east",)
        assert len(told.sums) == 1
