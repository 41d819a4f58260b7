"""Transcripts of a falsified run: nobody's words are taken for everybody's.

Honest parties may tell differently who it was; then all versions are shown, each as its party's
own. What no two honest parties can tell of one run is a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import NAMES, Gathering, run
from tests.party.test_cross_check import told_of_an_end
from tests.party.test_told_differently import lying
from tests.study.parties import identity
from titan import Network
from titan.errors import CheckError
from titan.listing import listing
from titan.party.session import Session
from titan.party.stops import Stop
from titan.study.cross_check import CrossCheck, cross_check
from titan.study.transcript import Stopped, Transcript
from titan.study.verified import Facts, verify

NORTH, EAST, SOUTH = range(3)
FOUND = "the sum was falsified, so there is no answer: the total is not the sum of what the parties"
BLAME = Stopped(f"{FOUND} put in: south told wrong sums of its vector", ("south", "east"))
BY_EAST = ("east",)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Gathering:
    """East lied in the last sum: all stopped in the third and name it."""
    network = Network.complete([*NAMES])
    folder = tmp_path_factory.mktemp("falsified")
    g = Gathering(folder, network=network, changes={"recovery": "tree"})
    with patch.object(Session, "_summed", lying(2)):
        run(g.errors())
    g.save()
    return g


@pytest.fixture
def told(kept: Gathering) -> list[Transcript]:
    found = [verify(kept.run_folder(name) / "transcript.json").transcript for name in NAMES]
    assert [len(t.sums) for t in found] == [3, 3, 3]
    assert [t.stopped and t.stopped.named for t in found] == [BY_EAST] * 3
    return found


def checked(told: Sequence[Transcript]) -> CrossCheck:
    return cross_check(Facts(t, "") for t in told)


def stopped(t: Transcript, why: Stopped) -> Transcript:
    return replace(t, stopped=why)


def stopped_in(t: Transcript, number: int) -> Transcript:
    """Sums are counted from one."""
    *over, last = t.sums[:number]
    return replace(t, sums=(*over, replace(last, check=None)))


def test_what_all_tell_alike_is_shown_once(told: list[Transcript]) -> None:
    found = checked(told)
    assert found.differences == ()
    assert "all 3 transcripts agree, and both ends" in str(found)
    assert [str(found).count(f"\n{each}: ") for each in ("no answer", "named")] == [1, 1]
    assert " says: " not in str(found)


def test_who_blames_another_differs_from_the_one_it_blames(told: list[Transcript]) -> None:
    told[EAST] = stopped(told[EAST], BLAME)
    found = checked(told)
    assert {(d.about, d.parties) for d in found.differences} == {
        ("who is named", ("north", "east")),
        ("who is named", ("east", "south")),
    }
    assert {d.told for d in found.differences} == {
        ("east", "east, south"),
        ("east, south", "east"),
    }
    for party in NAMES:
        assert f"\n{party} says: no answer: " in str(found)
    assert f"\neast says: no answer: {BLAME.why}\neast names: {listing(BLAME.named)}; " in str(
        found
    )
    assert "transcripts agree" not in str(found)


def test_a_party_that_denies_what_another_says_it_found(told: list[Transcript]) -> None:
    """North blames east and south, and south names east alone."""
    told[NORTH] = stopped(told[NORTH], replace(BLAME, named=("south", "east")))
    about = [(d.about, d.parties) for d in checked(told).differences]
    assert about == [("who is named", ("north", "south"))]


HONEST: dict[str, Callable[[list[Transcript]], None]] = {}


def honest(pair: Callable[[list[Transcript]], None]) -> Callable[[list[Transcript]], None]:
    HONEST[pair.__name__] = pair
    return pair


@honest
def told_by_who_found_it_out(told: list[Transcript]) -> None:
    told[SOUTH] = stopped(told[SOUTH], told_of_an_end("north", "east"))


@honest
def told_that_it_is_the_reason_itself(told: list[Transcript]) -> None:
    """South says that it ended the run because of east, which cannot know why."""
    told[EAST] = stopped(told[EAST], told_of_an_end("south", "east"))


@honest
def found_out_in_two_ways(told: list[Transcript]) -> None:
    told[SOUTH] = stopped(told[SOUTH], Stopped("east did not sign what it sent", BY_EAST))


@honest
def two_liars_of_whom_one_showed_itself_to_one_party_only(told: list[Transcript]) -> None:
    told[SOUTH] = stopped(told[SOUTH], Stopped("north and east did", ("north", "east")))
    del told[NORTH]  # what it tells is a lie


@honest
def nobody_can_be_named(told: list[Transcript]) -> None:
    told[SOUTH] = stopped(told[SOUTH], Stopped(f"{FOUND} put in", ()))


@honest
def stopped_in_the_sum_before(told: list[Transcript]) -> None:
    told[SOUTH] = stopped_in(told[SOUTH], 2)


@honest
def an_earlier_sum_was_opened_again_and_one_had_ended_by_then(told: list[Transcript]) -> None:
    """Only who is told of an end can be so far apart from others: all go back together."""
    told[SOUTH] = stopped(stopped_in(told[SOUTH], 1), told_of_an_end("north", "east"))


@pytest.mark.parametrize("pair", HONEST)
def test_what_honest_parties_may_tell_differently_is_shown_and_is_no_difference(
    told: list[Transcript], pair: str
) -> None:
    HONEST[pair](told)
    found = checked(told)
    said = str(found)
    assert found.differences == ()
    assert ("all 3 transcripts agree" in said) == (pair == "found_out_in_two_ways")
    assert ("honest parties may differ in that" in said) == (pair != "found_out_in_two_ways")
    for t in told:
        assert t.stopped is not None
        assert said.count(f"{t.party} says: no answer: {t.stopped.why}") == 1
        assert f"{t.party} names: " in said
        assert f"it tells of {len(t.sums)} sum" in said
    assert not [line for line in said.splitlines() if line.startswith(("no answer", "named:"))]


@pytest.mark.parametrize("opening", [False, True])
@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("stop", [Stop(SOUTH, EAST), Stop(SOUTH, SOUTH), Stop(SOUTH, None)])
def test_whoever_is_told_of_an_end_blames_nobody(
    told: list[Transcript], stop: Stop, opening: bool, reopened: bool
) -> None:
    """In all words that a party has for it."""
    sums: Any = SimpleNamespace(
        totals=[], done=False, checking=True, opening=opening, reopened=reopened, told_later=False
    )
    error = stop.error([*NAMES], 1, sums)
    assert isinstance(error, CheckError)
    told[EAST] = stopped(stopped_in(told[EAST], 1), Stopped(error.message, error.named))
    about = {d.about for d in checked(told).differences}
    assert about == ({"who is named"} if error.named == ("south",) else set()), "nobody in common"


@pytest.mark.parametrize(
    "why",
    [
        BLAME.why + "; south ended the run because of east",
        "sum 1 could not be checked: south ended the run because of north, of which it told wrong "
        "sums, before everybody had told what it knew",
        "sum 1 was falsified, and north ended the run because of east before all had shown what "
        "they sent",
    ],
)
def test_nobody_blames_another_in_such_words(told: list[Transcript], why: str) -> None:
    told[EAST] = stopped(told[EAST], replace(BLAME, why=why))
    assert {d.about for d in checked(told).differences} == {"who is named"}


def test_sums_that_are_left_out_are_noticed(told: list[Transcript]) -> None:
    """All found it out themselves, so they did in one sum or in the next."""
    told[EAST] = stopped_in(told[EAST], 1)
    found = checked(told)
    assert [(d.about, d.told) for d in found.differences] == [
        ("the number of sums", ("3", "1")),
        ("the number of sums", ("1", "3")),
    ]


@pytest.mark.parametrize("named", [BY_EAST, ()])
@pytest.mark.parametrize("who", ["south ended the run", "east told wrong sums", "east and south"])
def test_who_names_another_than_its_words_was_not_told_of_an_end(
    told: list[Transcript], named: tuple[str, ...], who: str
) -> None:
    """So it may leave out no more sums than who found it out."""
    why = f"sum 1 could not be checked: {who} before everybody had told what it knew"
    told[SOUTH] = stopped(stopped_in(told[SOUTH], 1), Stopped(why, named))
    assert {d.about for d in checked(told).differences} == {"the number of sums"}


def save(g: Gathering, t: Transcript) -> Path:
    path = g.folder / "other.json"
    path.write_bytes(t.signed(identity(t.party).sign))
    return path


def test_the_command(kept: Gathering, told: list[Transcript]) -> None:
    runs = [kept.run_folder(name) for name in NAMES]
    assert titan("verify", *runs).returncode == 0
    blaming = titan("verify", save(kept, stopped(told[EAST], BLAME)), runs[NORTH], runs[SOUTH])
    assert blaming.returncode == 1
    assert f"east says: no answer: {BLAME.why}" in blaming.stdout
    assert "differ in 2 things" in blaming.stderr
    words = stopped(told[SOUTH], told_of_an_end("north", "east"))
    apart = titan("verify", runs[NORTH], runs[EAST], save(kept, words))
    assert (apart.returncode, apart.stderr) == (0, "")
    assert "honest parties may differ in that" in apart.stdout
