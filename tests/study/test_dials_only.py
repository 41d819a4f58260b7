"""Parties that can only dial out say so on their cards, and a study lets them dial. If two of them
are neighbours in it, it is refused at once, by whoever makes it and whoever checks it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import answer, titan
from tests.party.loopback import NAMES as THREE
from tests.party.loopback import Gathering, answers_agree, run
from tests.study.parties import NOW, identity, save_cards
from tests.study.studies import NAMES, study
from tests.study.test_study_commands import CARDS, REST
from titan import Network
from titan.errors import FileError
from titan.study import Card, Link, Study, check


def only(*names: str, **changes: Any) -> Study:
    """A study in which these can only dial out."""
    given = study(**changes)
    parties = [replace(card, dials_only=card.name in names) for card in given.parties]
    return replace(given, parties=tuple(parties))


def problems(it: Study) -> list[str]:
    return [problem.message for problem in check(it, NOW).problems]


# -- on the card and in the file --------------------------------------------------------------


def test_a_card_says_so_and_is_read_back() -> None:
    card = replace(identity("north").card, dials_only=True)
    assert Card.parse(card.to_toml()) == card
    assert "dials_only = true" in card.to_toml()
    assert "dials_only" not in identity("north").card.to_toml()
    for wrong in ('"yes"', "1"):
        with pytest.raises(FileError, match=r"dials_only is .*, where true or false was expected"):
            Card.parse(card.to_toml().replace("dials_only = true", f"dials_only = {wrong}"))


def test_it_belongs_to_the_identity_of_a_study() -> None:
    it = only("north", links=(Link("north", "east"), Link("east", "south"), Link("south", "west"),
                              Link("west", "north", "pull")))  # fmt: skip
    assert Study.parse(it.to_toml()) == it
    assert problems(it) == []
    dialled = {card.name: card for card in study().parties}
    other = replace(it, parties=tuple(dialled[card.name] for card in it.parties))
    assert other.digest != it.digest


# -- what is checked --------------------------------------------------------------------------


def test_neighbours_that_can_both_only_dial_out_are_a_problem() -> None:
    links = (
        Link("north", "east"), Link("east", "south"), Link("south", "west", "pull"),
        Link("west", "north", "pull"), Link("north", "west"),
    )  # fmt: skip
    (found,) = check(only("north", "west", links=links), NOW).problems
    assert found.message == (
        "neighbours that can both only dial out: north and west; neither can dial the other"
    )
    assert "titan study new --network design" in found.hint


@pytest.mark.parametrize(("dial", "other"), [("push", "pull"), ("pull", "push")])
def test_a_link_that_waits_for_somebody_who_only_dials(dial: Any, other: str) -> None:
    link = Link("west", "north", dial)
    links = [link, Link("north", "east"), Link("east", "south"), Link("south", "west", "pull")]
    (found,) = check(only(link.listener, links=tuple(links)), NOW).problems
    assert found.message == f'"{link.dialler}" is to dial "{link.listener}", who can only dial out'
    assert found.hint == f'on the link from "west" to "north" say dial = "{other}"'


def test_where_nobody_dials_addresses_may_be_the_same() -> None:
    links = (
        Link("north", "east"), Link("east", "south", "pull"), Link("south", "west"),
        Link("west", "north", "pull"),
    )  # fmt: skip
    it = only("north", "south", links=links)
    same = [replace(card, address="gateway.example.org:1") for card in it.parties]
    north, _, south, _ = same
    it = replace(it, parties=(north, it.parties[1], south, it.parties[3]))
    assert problems(it) == []
    assert problems(replace(it, parties=tuple(same))) == ['"east" and "west" have the same address']


# -- on the command line ----------------------------------------------------------------------


def test_from_keys_to_a_study_without_such_neighbours(tmp_path: Path) -> None:
    save_cards(tmp_path, *NAMES)
    words = ["keys", "new", "--name", "north", "--dials-only", "--force"]
    keys = answer(*words, cwd=tmp_path)
    assert (keys["dials_only"], keys["address"]) == (True, None)
    assert "only dials out" in titan("keys", "show", "north.card", cwd=tmp_path).stdout
    made = titan("study", "new", *CARDS, *REST, "--dials-only", "east", cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    it = Study.load(tmp_path / "study.toml")
    assert not {("north", "east"), ("east", "north")} & set(it.network.edges)
    assert it.network.strongly_connected
    assert it.network.weak_connectivity >= 2
    assert {link.dialler for link in it.links} == {"north", "east"}
    checked = answer("study", "check", "study.toml", cwd=tmp_path)
    assert [party["dials_only"] for party in checked["parties"]] == [True, True, False, False]
    shown = titan("study", "check", "study.toml", cwd=tmp_path).stdout
    assert "north, only dials out, good until" in shown


def test_a_study_with_such_neighbours_is_not_made(tmp_path: Path) -> None:
    save_cards(tmp_path, *NAMES)
    told = "neighbours that can both only dial out: east and north; neither can dial the other"
    words = ["study", "new", *CARDS, *REST, "--dials-only", "north,east"]
    for network in ("cycle", "complete"):
        done = titan(*words, "--network", network, cwd=tmp_path)
        assert (done.returncode, told in done.stderr) == (1, True)
    none = titan(*words, "--dials-only", "south", cwd=tmp_path)
    assert none.returncode == 1
    assert "3 of 4 parties can only dial out" in none.stderr
    assert "let 1 more be dialled, or choose a smaller τ" in none.stderr
    nobody = titan(*words, "--dials-only", "nobody", cwd=tmp_path)
    assert "--dials-only nobody: there is no card of this party" in nobody.stderr
    assert not (tmp_path / "study.toml").exists()
    only("north", "east").save(tmp_path / "study.toml")
    checked = titan("study", "check", "study.toml", cwd=tmp_path)
    assert (checked.returncode, told in checked.stderr) == (1, True)


# -- and they take part -----------------------------------------------------------------------


def test_a_run_in_which_one_party_never_listens(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    links = (Link("north", "east"), Link("east", "south"), Link("south", "north", "pull"))
    parties = [replace(card, dials_only=card.name == "north") for card in g.study.parties]
    g.study = replace(g.study, links=links, parties=tuple(parties))

    async def story() -> None:
        nowhere = "192.0.2.7:1"  # where it could not listen
        outcomes = [g.joining(name, listen=nowhere if name == "north" else None) for name in THREE]
        for each in outcomes:
            await each

    run(story())
    answers_agree(g)
    assert Network.cycle(list(THREE)) == g.study.network
