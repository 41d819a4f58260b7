"""Attack 11: whoever gathers the study lowers its minima, or puts other cards into it.

The study is sound in itself, so that no check can find it. People can: what is below the default
stands first before `join` asks, and so does a party that was known by another key; the study's and
every party's fingerprint is there in groups that can be read over the telephone.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import Done, answer, titan
from tests.study.parties import identity
from tests.study.studies import NAMES, study
from tests.study.test_ledger import entry
from titan.cli.agreeing import agrees
from titan.cli.output import show_lowered
from titan.listing import in_groups
from titan.study import Study
from titan.study.known_keys import new_keys
from titan.study.ledger import Ledger
from titan.study.preflight import check

USUAL = study()
JOIN = ["join", "study.toml", "--as", "north", "--data", "rows.csv", "--key", "north.key"]
BELOW = "BELOW THE DEFAULT"
ANOTHER = "HAS ANOTHER KEY"


def asked(folder: Path, it: Study) -> Done:
    """What `join` shows before it asks; there is no terminal, so that it then ends."""
    it.save(folder / "study.toml", force=True)
    identity("north").save(folder, force=True)
    done = titan(*JOIN, cwd=folder)
    assert done.returncode == 1
    assert "there is no terminal to ask on" in done.stderr
    return done


def swapped(name: str) -> Study:
    """Somebody else's key under the name of a party."""
    other = identity(name, again=1).card
    cards = tuple(other if card.name == name else card for card in USUAL.parties)
    return replace(USUAL, parties=cards)


def met(folder: Path, *studies: Study) -> None:
    """The ledger of who has taken part in these."""
    with Ledger.open(folder / "north.ledger") as ledger:
        for at, it in enumerate(studies):
            parties = {card.name: card.fingerprint for card in it.parties}
            of: dict[str, Any] = {"study": it.digest, "parties": parties}
            ledger.record([entry(ledger, columns=[f"column {at}"], **of)])


def unwrapped(text: str) -> str:
    """As one line; a screen has 80 columns."""
    return " ".join(text.split())


# -- minima -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "said"),
    [
        ({"min_rows_party": 2, "min_cell": 3}, "a party may bring as few as 2 rows (default: 10)"),
        ({"min_cell": 1}, "cells of 1 row may be opened, and rows with a leverage of 1/1"),
        ({"min_cell": 0}, "NOTHING is checked (default: 3)"),
        ({"rows_per_parameter": 1}, "as few as 1 row for each parameter (default: 3)"),
        ({"precision": "exact"}, "are opened EXACTLY, to the last digit (default: 20)"),
        ({"precision": 21}, "are opened to 21 bits (default: 20)"),
        ({"policy": "safe-outputs", "min_cell": 3}, "cells of 3 rows may be opened"),
        (
            {"policy": "safe-outputs", "min_residual_df": 1},
            "residual degrees of freedom may be as few as 1 (default: 10)",
        ),
    ],
)
def test_what_is_lowered_stands_first(tmp_path: Path, lower: dict[str, Any], said: str) -> None:
    it = replace(USUAL, **lower) if "policy" not in lower else study(**lower)
    done = asked(tmp_path, it)
    before, title, _ = done.stdout.partition(f"\n{it.title}\n")
    assert title, "the rest comes after it"
    first, _, rule = before.partition("\n")
    assert first.startswith(BELOW)
    assert said in unwrapped(rule)
    found = answer("study", "check", "study.toml", cwd=tmp_path)
    assert [each["said"] for each in found["lowered"]] == [unwrapped(rule).removeprefix("- ")]
    shown = titan("study", "check", "study.toml", cwd=tmp_path).stdout
    assert shown.startswith(f"{before}\n")


def test_nothing_is_said_where_nothing_is_lowered(tmp_path: Path) -> None:
    for it in (USUAL, study(policy="safe-outputs", min_cell=12), replace(USUAL, precision=16)):
        done = asked(tmp_path, it)
        assert BELOW not in done.stdout
        assert done.stdout.startswith(it.title)
        assert answer("study", "check", "study.toml", cwd=tmp_path)["lowered"] == []


def test_the_policy_and_its_minima_are_shown(tmp_path: Path) -> None:
    done = asked(tmp_path, study(policy="safe-outputs", precision=16, cells="local"))
    shown = unwrapped(done.stdout)
    assert "safe-outputs" in shown
    assert "10 per party, 40 in all, 3 per parameter, 10 in a cell" in shown
    assert "rounded to 16 bits" in shown
    assert "local" in shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_in_red_on_a_terminal_and_plain_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    lowered = check(replace(USUAL, min_cell=1), datetime.now(UTC)).facts["lowered"]
    for screen, coloured in ((Terminal(), True), (io.StringIO(), False)):
        with redirect_stdout(screen):
            show_lowered(lowered)
        assert all(
            line.startswith("\x1b[1;31m") is coloured for line in screen.getvalue().splitlines()
        )
        assert ("\x1b" in screen.getvalue()) is coloured


def test_the_question_itself_says_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stood first may have left the screen."""
    questions: list[str] = []

    def confirm(text: str) -> bool:
        questions.append(text)
        return False

    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr(sys, "stdin", Terminal())
    east = {"east": [identity("east").card.fingerprint]}
    for it in (USUAL, replace(USUAL, min_cell=1), replace(swapped("east"), min_cell=1)):
        assert not agrees(it, check(it, datetime.now(UTC)), identity("north"), east)
    assert questions == [
        "Take part?",
        "Take part, although 1 rule is below the default?",
        "Take part, although east has another key and 1 rule is below the default?",
    ]


# -- cards ------------------------------------------------------------------------------------


def test_fingerprints_can_be_read_over_the_telephone(tmp_path: Path) -> None:
    shown = unwrapped(asked(tmp_path, USUAL).stdout)
    assert in_groups("0123456789ab") == "0123 4567 89ab"
    for fingerprint in (USUAL.digest, *(card.fingerprint for card in USUAL.parties)):
        assert in_groups(fingerprint) in shown
    own = unwrapped(titan("keys", "show", "north.card", cwd=tmp_path).stdout)
    assert in_groups(identity("north").card.fingerprint) in own
    assert "Call the other parties" in shown
    changed = unwrapped(asked(tmp_path, swapped("east")).stdout)
    assert in_groups(USUAL.digest) not in changed, "one fingerprint covers all cards and rules"


def test_a_known_name_with_a_new_key_is_flagged(tmp_path: Path) -> None:
    met(tmp_path, USUAL)
    assert ANOTHER not in asked(tmp_path, USUAL).stdout
    first, *rest = asked(tmp_path, swapped("east")).stdout.splitlines()
    assert first.startswith(f"east {ANOTHER}")
    shown = " ".join(" ".join([first, *rest]).split())
    assert in_groups(identity("east").card.fingerprint) in shown, "the one it had"
    assert "east, east.example.org:7443 (ANOTHER KEY than before)" in shown
    assert "west, west.example.org:7443 (the same key as in an earlier study)" in shown
    assert "north, north.example.org:7443 (this is you)" in shown


def test_who_was_never_met_is_said_to_be_new(tmp_path: Path) -> None:
    shown = asked(tmp_path, swapped("east")).stdout
    assert ANOTHER not in shown
    assert shown.count("(not met before)") == len(NAMES) - 1
    assert not (tmp_path / "north.ledger").exists(), "asking writes nothing"


def test_a_key_that_was_known_at_any_time_is_not_new(tmp_path: Path) -> None:
    met(tmp_path, USUAL, swapped("east"))
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        known = ledger.known_keys()
    keys = [each.card.fingerprint for each in (identity("east"), identity("east", again=1))]
    assert known["east"] == keys, "the latest last"
    for it in (USUAL, swapped("east")):
        assert new_keys(it, known) == {}
    assert new_keys(swapped("west"), known) == {"west": identity("west").card.fingerprint}


def test_without_asking_a_new_key_is_told_all_the_same(tmp_path: Path) -> None:
    met(tmp_path, USUAL)
    swapped("east").save(tmp_path / "study.toml")
    identity("north").save(tmp_path)
    done = titan(*JOIN, "--yes", "--wait", "0.1", "--listen", "127.0.0.1:1", cwd=tmp_path)
    assert done.returncode != 0, "there are no rows, and nobody to reach"
    assert "warning: east has another key than in earlier studies" in done.stderr
