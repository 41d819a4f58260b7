"""Whose digests differ: no honest party alone is named; others may have the answer all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, run
from tests.party.tables import NAMES, Codes, Table, checked_plans, fixed
from tests.party.test_late_lies import digest_of_east, opened
from tests.party.test_restart_during_work import inject
from titan import Network
from titan.errors import PeerError
from titan.party.agreement import disagreement
from titan.party.messages import AGREED, ANSWER, END, Told
from titan.party.session import Session
from titan.party.signed_broadcast import Passed, signed_data
from titan.party.stops import Stop

MAY_HAVE_IT = (
    "others may have the answer of this run: ask them for result.json; if nobody has it, agree on "
    "run 2"
)


def digests(word: str) -> dict[str, bytes]:
    """Of north, east, south and west: a letter each."""
    return {name: letter.encode() for name, letter in zip(NAMES, word, strict=False)}


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("aaaa", None),
        ("abaa", ["east"]),
        ("abba", ["east", "south"]),
        ("abca", ["east", "south"]),
        ("abcd", ["east", "south", "west"]),
        ("abbb", []),  # it may be north's own memory
        ("ab", ["east"]),
    ],
)
def test_who_is_named_by_north(word: str, named: list[str] | None) -> None:
    """Of checked sums, all that differ; never where all others agree. Of other sums, nobody."""
    for checked in (True, False):
        error = disagreement(digests(word), "north", 1, checked=checked)
        if named is None:
            assert error is None
            continue
        assert error is not None
        assert [*error.named] == (named if checked else [])
        assert error.hint.endswith(MAY_HAVE_IT)
        assert error.hint.startswith("ask") == bool(error.named)


def test_of_several_the_last_message_names_one_beside_its_own_party() -> None:
    """So that those who only hear of it ask both ends."""
    error = disagreement(digests("abba"), "north", 1, checked=True)
    assert error is not None
    assert Stop.because_of(error, 0, NAMES).named(NAMES) == ["north", "east"]


@pytest.mark.parametrize("checked", [True, False])
def test_everybody_names_who_told_a_false_digest_of_checked_sums(
    tmp_path: Path, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """East tells it to south alone, which passes it on, and nothing to the others yet."""
    if checked:
        monkeypatch.setattr("tests.party.tables.plans", checked_plans)
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        table.run_without("east", AGREED)
        inject(table, "east", "south", digest_of_east(table, fixed("another")))
        table.run_without("east", AGREED)
        for name in ("north", "south", "west"):
            error = table.seats[name].session.stopped
            assert isinstance(error, PeerError), (name, error)
            assert ("east" in error.named) == checked, (name, error)
            assert error.hint.endswith(MAY_HAVE_IT)


def test_who_is_told_of_an_end_when_all_sums_are_over(tmp_path: Path) -> None:
    """East tells the others its digest, and south that it has ended."""
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        table.run_without("east", AGREED)
        south = table.seats["south"].session
        told = Stop(1, 1).told(Codes(1), south._identity)
        inject(table, "east", "south", told.encode(END))
        assert isinstance(south.stopped, PeerError)
        assert south.stopped.named == ("east",)
        assert south.stopped.hint == f"ask east why; {MAY_HAVE_IT}"


def test_while_a_sum_is_opened_nobody_is_said_to_have_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """East opens the last sum to south, and west ends the run: then there is none to ask for."""
    monkeypatch.setattr("tests.party.tables.plans", checked_plans)
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        table.run_without("east", AGREED)
        south = table.seats["south"].session
        inject(table, "east", "south", opened(table, "east", "south", len(south.totals) - 1))
        inject(table, "west", "south", Stop(3, 3).told(Codes(3), south._identity).encode(END))
        assert isinstance(south.stopped, PeerError)
        assert south.stopped.hint == "ask west why; then agree on run 2"


def to_south(kind: str) -> Callable[[Session, str, Iterable[Passed]], Any]:
    """East tells south alone something else of this kind."""
    pass_on = Session._pass_on

    def other(self: Session, what: str, passed: Iterable[Passed]) -> Any:
        if (self.run.name, what) != ("east", kind):
            return pass_on(self, what, passed)
        return pass_on(self, what, [(to, [altered(self, to, it) for it in s]) for to, s in passed])

    def altered(self: Session, to: int, told: Told) -> Told:
        if told.origin != self.run.party or self._network.parties[to] != "south":
            return told
        content = bytes(32) if kind == AGREED else told.content[:-1]
        data = signed_data(kind, self._identity, told.origin, content)
        return Told(told.origin, self._signer.sign(data), content)

    return other


@pytest.mark.parametrize(("kind", "more"), [(AGREED, {}), (ANSWER, {"solver": "east"})])
def test_who_is_lied_to_is_told_that_others_may_have_the_answer(
    tmp_path: Path, kind: str, more: dict[str, str]
) -> None:
    """North and east do have it."""
    network = Network.complete(["north", "east", "south"])
    g = Gathering(tmp_path, network=network, changes={"recovery": "tree", **more})
    with patch.object(Session, "_pass_on", to_south(kind)):
        found = run(g.ends(wait=6))
    error = found.pop("south")
    assert isinstance(error, PeerError), error
    assert error.named == ("east",)
    assert error.hint == f"ask east why; {MAY_HAVE_IT}"
    for name, outcome in found.items():
        assert not isinstance(outcome, BaseException), (name, outcome)
        assert (g.run_folder(name) / "result.json").exists()
