"""What a party says after it was found out, or after all is decided, changes nothing any more."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from tests.party.tables import NAMES, Codes, Table, checked_plans, fixed
from tests.party.test_restart_during_work import inject
from tests.party.test_told_differently import lying
from titan import Network
from titan.errors import CheckError
from titan.party import messages
from titan.party.messages import AGREED, END, Enclosed, Told
from titan.party.session import Session
from titan.party.signed_broadcast import signed_data
from titan.party.stops import Stop

EAST = NAMES.index("east")


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.party.tables.plans", checked_plans)


def digest_of_east(table: Table, content: bytes) -> bytes:
    """Any that it likes to sign."""
    run = table.seats["north"].session._identity
    signature = Codes(EAST).sign(signed_data(AGREED, run, EAST, content))
    return Told(EAST, signature, content).encode(AGREED)


def test_who_was_found_out_cannot_replace_the_proof(tmp_path: Path) -> None:
    """East falsifies a sum and is named. Before the others leave it signs two digests, too, for
    which there is no transcript."""
    with (
        patch.object(Session, "_summed", lying(0)),
        Table(tmp_path, Network.complete(list(NAMES))) as table,
    ):
        south = table.seats["south"].session
        table.run(lambda: isinstance(south.stopped, CheckError))
        for word in ("one", "another"):
            inject(table, "east", "south", digest_of_east(table, fixed(word)))
        assert isinstance(south.stopped, CheckError), south.stopped
        assert "east told different parties different things (SUMMED)" in south.stopped.message


def test_who_has_the_answer_does_not_lose_it_again(tmp_path: Path) -> None:
    """East signs a second digest when the run is over; everybody's last message has left."""
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        south = table.seats["south"]
        table.run(lambda: south.session.complete)
        inject(table, "east", "south", digest_of_east(table, fixed("another")))
        assert south.session.stopped is None
        last = [m for m in south.journal.messages() if m.sender == "south" and m.kind == END]
        assert len(last) == 3


@pytest.mark.parametrize("reopened", [False, True])
def test_who_refuses_to_reveal_is_named_whatever_it_says(tmp_path: Path, reopened: bool) -> None:
    """'Because of a total' is said by who has it, and has told all that others need to have it."""
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        south, north = table.seats["south"].session, table.seats["north"].session
        if reopened:  # all was well, and no total stopped anybody
            table.run(lambda: len(south.totals) == len(north.totals) == 1)
            inject(table, "west", "north", opened(table, "west", "north"))
            while "OPENED" not in {m.kind for m in table.seats["south"].journal.messages()}:
                table.deliver("north", "south")
        else:
            table.run_without("east", "REVEALED")
        told = Stop(EAST, None).told(Codes(EAST), north._identity)
        inject(table, "east", "south", told.encode(END))
        assert isinstance(south.stopped, CheckError), south.stopped
        assert south.stopped.named == ("east",)


def opened(table: Table, sender: str, receiver: str, number: int = 0) -> bytes:
    """What a party says where it finds a sum wrong, though it was not."""
    sums, to = table.seats[sender].session.sums, NAMES.index(receiver)
    agent = sums.passed(number)
    assert agent is not None
    (envelope,) = [each for each in agent._open() if each.receiver == to]
    return Enclosed(number, envelope).encode()


def test_whoever_is_further_comes_back_too(tmp_path: Path) -> None:
    """East keeps west in the second sum, and opens the first to it: all others are done with both.
    They show what they sent, as west does, and nobody waits for anybody."""

    def held(sender: str, receiver: str) -> bool:
        if (sender, receiver) != ("east", "west"):
            return False
        frame = messages.decode(sender, 0, table.message(sender, receiver)).frame
        return (frame.kind, frame.sum) == ("SUMMED", 1)

    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        while due := [(s, r) for s, r, _ in table.due() if not held(s, r)]:
            for link in due:
                assert table.deliver(*link) == []
        assert [len(seat.session.totals) for seat in table.seats.values()] == [2, 2, 2, 1]
        inject(table, "east", "west", opened(table, "east", "west"))
        while due := [(s, r) for s, r, _ in table.due() if (s, r) != ("east", "west")]:
            for link in due:
                assert table.deliver(*link) == []
        for name in ("north", "south", "west"):
            error = table.seats[name].session.stopped
            assert isinstance(error, CheckError), (name, error)
            assert not {"north", "south", "west"} & {*error.named}
