"""Who ends a run because of a total is not named for it; who only says so is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.given_sums import GivenSums
from tests.party.tables import NAMES, Codes, Table, checked_plans, plans
from tests.party.test_late_lies import opened
from tests.party.test_restart_during_work import inject
from titan import Network
from titan.errors import CheckError, InputError
from titan.party import messages
from titan.party.messages import END
from titan.party.stops import Stop

EAST = NAMES.index("east")
NETWORK = Network.complete(list(NAMES))


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.party.tables.plans", checked_plans)


def stopping() -> InputError:
    """What all find who have the first total, when they make what they enter next."""
    error = InputError("the totals are out of all range")
    error.of_totals = True
    return error


def run_but(table: Table, held: Callable[[str, int | None], bool]) -> None:
    """Until nothing is left but what east says to north from then on."""

    def waits(sender: str, receiver: str) -> bool:
        if (sender, receiver) != ("east", "north"):
            return False
        frame = messages.decode(sender, 0, table.message(sender, receiver)).frame
        return held(frame.kind, frame.sum)

    while due := [(s, r) for s, r, _ in table.due() if not waits(s, r)]:
        for link in due:
            assert table.deliver(*link) == []


def assert_nobody_is_named(table: Table) -> None:
    error = table.seats["north"].session.stopped
    assert isinstance(error, CheckError), error
    assert "ended the run because of a total" in error.message
    assert error.named == ()
    assert error.hint == "find out why before you agree on run 2"


@pytest.mark.parametrize("last", ["SUMMED", "MASKED"], ids=["checked", "not checked"])
def test_nobody_is_named_who_was_stopped_by_a_later_total(
    tmp_path: Path, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """East keeps its last word in sum 2 from north, and opens sum 1 to it. Sum 2 is a veto: all who
    have it end the run, and north, which is back in sum 1, hears them."""
    if last == "MASKED":
        both = [checked_plans(NETWORK)[0], plans(NETWORK)[1]]
        monkeypatch.setattr("tests.party.tables.plans", lambda *_: both)

    def learn(self: GivenSums, n: int, known: Any, total: Any) -> Any:
        if n == 1:
            raise InputError("some party refuses")
        return (*known, total)

    with (
        patch.object(GivenSums, "learn", learn),
        Table(tmp_path, NETWORK) as table,
    ):
        run_but(table, lambda kind, sum_: (kind, sum_) == (last, 1))
        assert table.seats["north"].session.stopped is None
        inject(table, "east", "north", opened(table, "east", "north"))
        assert_nobody_is_named(table)


def test_nobody_is_named_who_was_stopped_before_the_next_sum(tmp_path: Path) -> None:
    """The same between two sums: the totals do not let anybody make what it enters next."""
    with Table(tmp_path, NETWORK, stop=stopping) as table:
        run_but(table, lambda kind, sum_: (kind, sum_) == ("SUMMED", 0))
        assert table.seats["south"].session.sums.by_total
        inject(table, "east", "north", opened(table, "east", "north"))
        inject(table, "east", "north", table.message("east", "north"))
        assert_nobody_is_named(table)


def test_who_was_stopped_before_the_next_sum_goes_back_to_none(tmp_path: Path) -> None:
    """What is opened to it then changes nothing: it has said its last, and counts its totals."""
    with Table(tmp_path, NETWORK, stop=stopping) as table:
        north, east = (table.seats[name].session for name in ("north", "east"))
        table.run(lambda: north.stopped is not None and east.stopped is not None)
        why = north.stopped
        inject(table, "east", "north", opened(table, "east", "north"))
        assert (len(north.totals), north.sums.agent, north.stopped) == (1, None, why)


def test_nobody_is_named_while_this_party_works(tmp_path: Path) -> None:
    """North is yet to find out what stopped the others, and is taken back to the sum before."""
    with Table(tmp_path, NETWORK, stop=stopping) as table:
        north = table.seats["north"]
        north.durable.deferred = True
        table.run(lambda: north.durable.work is not None and len(north.session.totals) == 0)
        north.durable.proceed(north.durable.work())  # type: ignore[misc]
        run_but(table, lambda kind, _: kind == END)
        assert north.durable.work is not None
        inject(table, "east", "north", opened(table, "east", "north"))
        assert_nobody_is_named(table)


def test_who_says_so_of_sums_that_were_all_right_is_named(tmp_path: Path) -> None:
    """West opens the second sum and then the first. North had both: no total stops anybody."""
    with Table(tmp_path, NETWORK) as table:
        north = table.seats["north"].session
        table.run(lambda: len(north.totals) == 2)
        for number in (1, 0):
            inject(table, "west", "north", opened(table, "west", "north", number))
        told = Stop(EAST, None).told(Codes(EAST), north._identity)
        inject(table, "east", "north", told.encode(END))
        assert isinstance(north.stopped, CheckError), north.stopped
        assert north.stopped.named == ("east",)
