"""Lies and ends that cross: who has all digests has the answer, and nobody honest is blamed."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from tests.party.given_sums import GivenSums
from tests.party.tables import NAMES, Table, checked_plans
from tests.party.test_restart_during_work import inject
from tests.party.test_told_differently import lying
from titan import Network
from titan.errors import CheckError, MessageError, PeerError, VetoError
from titan.party import messages
from titan.party.messages import AGREED, END, Enclosed
from titan.party.session import Session
from titan.party.signed_broadcast import Passed, SignedBroadcast
from titan.protocol import agent as agents


@pytest.fixture
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.party.tables.plans", checked_plans)


def opened_by_east(table: Table) -> bytes:
    """What east says to west where it finds the last sum wrong, though it does not."""
    sums = table.seats["east"].session.sums
    agent, west = sums.passed(1), NAMES.index("west")
    assert agent is not None
    (envelope,) = [each for each in agent._open() if each.receiver == west]
    return Enclosed(1, envelope).encode()


def others_are_done(table: Table) -> None:
    """All have an answer but west, who has told its digest and heard no other's yet."""

    def due() -> list[tuple[str, str]]:
        links = [(s, r) for s, r, _ in table.due()]
        return [
            (s, r)
            for s, r in links
            if r != "west"
            or messages.decode(s, 0, table.message(s, r)).frame.kind not in (AGREED, END)
        ]

    while links := due():
        for link in links:
            assert table.deliver(*link) == []
    assert all(seat.session.complete == (name != "west") for name, seat in table.seats.items())
    assert table.seats["west"].session.announced


@pytest.mark.usefixtures("_checked")
def test_who_has_all_digests_has_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """East (malicious) opens to west alone, late. North and south are honest and have an answer."""
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        others_are_done(table)
        inject(table, "east", "west", opened_by_east(table))
        west = table.seats["west"].session
        while not west.complete:
            for name in ("north", "south"):
                assert table.deliver(name, "west") == []
        # Its result says what the sums cost, and its transcript how many there were.
        short = len(west.totals), len(west.sums.challenges)
        for name in ("north", "south"):
            while any(link[:2] == (name, "west") for link in table.due()):
                assert table.deliver(name, "west") == []
        error = west.stopped
        found = table.seats["west"].journal.messages()
        last = [m for m in found if m.sender == "west" and m.kind == END]
        assert (short, str(error), len(last)) == ((2, 2), "None", 3)


@pytest.mark.usefixtures("_checked")
def test_nobody_is_named_who_stopped_because_of_a_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The total of sum 1 makes all stop (a veto, too few rows). East told west other sums."""

    def learn(self: GivenSums, n: int, known: object, total: object) -> object:
        raise VetoError("some party refuses")

    monkeypatch.setattr(GivenSums, "learn", learn)
    monkeypatch.setattr("tests.party.test_told_differently.VICTIM", NAMES.index("west"))
    with (
        patch.object(Session, "_summed", lying(0)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        table.run()
        # Secrets are erased, also where somebody never confirms the masks of which that total is.
        assert table.seats["north"].session.sums.masked
        error = table.seats["west"].session.stopped
        assert isinstance(error, CheckError)
        assert "north" not in error.named, error
        assert "south" not in error.named, error


@pytest.mark.usefixtures("_checked")
def test_nobody_is_named_who_saw_that_masks_do_not_cancel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """East keeps to all rules of the check, but its masks do not cancel; it needs no veto."""

    made = agents.Agent.__init__

    def spoiled(self: agents.Agent, *args: object, **more: object) -> None:
        made(self, *args, **more)  # type: ignore[arg-type]
        if self.party == NAMES.index("east"):
            self._hidden = self._hidden + self._hidden.dtype.type(1)

    monkeypatch.setattr(agents.Agent, "__init__", spoiled)
    with (
        patch.object(Session, "_summed", lying(0)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        table.run()
        for name in ("north", "south", "west"):
            error = table.seats[name].session.stopped
            named = error.named if isinstance(error, PeerError) else ()
            assert not {"north", "south", "west"} & set(named), (name, error)


def test_a_digest_of_31_bytes_costs_its_own_stream_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """North, honest, passes on those of east (malicious) and south in one message to west."""

    tell = SignedBroadcast.tell

    def short(self: SignedBroadcast, content: bytes) -> list[Passed]:
        east = self.kind == AGREED and self.party == NAMES.index("east")
        return tell(self, content[:31] if east else content)

    monkeypatch.setattr(SignedBroadcast, "tell", short)
    links = [("east", "north"), ("south", "north"), ("north", "west")]
    links += [("west", "east"), ("west", "south")]
    network = Network(links, parties=list(NAMES))
    with Table(tmp_path, network) as table:
        refused = []
        for _ in range(200):
            for sender, receiver, _ in table.due():
                refused += table.deliver(sender, receiver)
        by_honest = [each for each in refused if each.peer != "east"]
        assert by_honest == [], by_honest[0]
        assert refused, "of east's, whom the others wait for"


def test_an_empty_digest_is_no_last_message(tmp_path: Path) -> None:

    with Table(tmp_path) as table:
        table.run(lambda: table.seats["north"].session.everybody_is_here)
        north = table.seats["north"].session
        with pytest.raises(MessageError):
            north.receive(messages.decode("west", 99, bytes([17, 255])))
        assert not north._ended
