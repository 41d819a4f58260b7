"""Names and words of others, in whatever file, reach a terminal short, in lines that print."""

from __future__ import annotations

import copy
import hashlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.cli.test_commands import titan
from tests.party.test_status import begun
from tests.results.test_altered import small_fit
from tests.study.parties import identity
from tests.study.studies import study
from titan.canonical import canonical
from titan.cli import log
from titan.errors import TitanError
from titan.joint.kinds import Question
from titan.party.notices import Notice
from titan.release import Category, Dictionary, Flag, Number
from titan.results import decode, encode
from titan.study import Card, Study
from titan.study.audit import STATUS

ODD = ("evil\x1b[2J\ntitan: error: x", "\u202egnp", "y" * 5000)
MOST = 700  # characters of a line

COLUMNS = Dictionary.of(
    {
        "age": Number.read("0", "120", "1"),
        "sex": Category(("f", "m")),
        "died": Flag(),
        "months": Number.read("0", "400", "1"),
    }
)
ASKED = (
    Question("regression", "main", (("formula", "age ~ sex"),)),
    Question("describe", "", (("columns", ("age", "sex")),)),
    Question("survival", "", (("time", "months"), ("event", "died"), ("by", ("sex",)))),
    Question("ridge", "", (("formula", "age ~ sex"), ("alphas", ("1",)))),
)


def altered(tree: Any, odd: str, whole: Any = None) -> Iterator[Any]:
    """One text or name of a field after the other is another one."""
    whole = tree if whole is None else whole
    places = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for place, value in [*places]:
        before = copy.copy(tree)
        if isinstance(value, dict | list):
            yield from altered(value, odd, whole)
        else:
            tree[place] = odd
            yield whole
            tree[place] = value
        if isinstance(tree, dict):
            tree[odd] = tree.pop(place)
            yield whole
            tree.clear()
            tree.update(before)


def check(error: TitanError) -> None:
    for text in (error.message, error.hint):
        assert text.isprintable(), repr(text)
        assert len(text) < MOST, text[:200]


@pytest.mark.parametrize("odd", ODD)
def test_a_study_and_a_card(odd: str) -> None:
    good = study(columns=COLUMNS, questions=ASKED)
    refused = 0
    for tree, read in (
        (tomllib.loads(good.to_toml()), Study.parse),
        (tomllib.loads(identity("north").card.to_toml()), Card.parse),
    ):
        for whole in altered(tree, odd):
            try:
                read(tomli_w.dumps(whole), "file.toml")
            except TitanError as error:
                refused += 1
                check(error)
    assert refused > 80


@pytest.mark.parametrize("odd", ODD)
def test_a_file_of_results(odd: str) -> None:
    """Whoever writes one can seal it. What was fitted here may have any name, and is escaped."""
    tree, read = json.loads(encode(small_fit())), 0
    for whole in altered(tree, odd):
        rest = {key: value for key, value in whole.items() if key != "sha256"}
        digest = hashlib.sha256(canonical(rest)).hexdigest()
        try:
            found = decode(canonical(rest | {"sha256": digest}), "result.json")
        except TitanError as error:
            check(error)
        else:
            read += 1
            lines = [line for entry in found.entries for line in entry.summary.split("\n")]
            assert all(map(str.isprintable, lines))
            assert not [line for line in lines if line.startswith("titan: error")]
            assert (found.study or "").isprintable()
    assert read


@pytest.mark.parametrize("form", log.FORMATS)
def test_no_line_of_the_log_is_two(capsys: pytest.CaptureFixture[str], form: str) -> None:
    log.use(form)
    try:
        log.tell(Notice(ODD[0], "warning", "link", "south"))
        log.tell_error(ODD[1], ODD[0])
    finally:
        log.use("plain")
    lines = capsys.readouterr().err.split("\n")
    assert len(lines) == (3 if form == "json" else 4)
    assert all(map(str.isprintable, lines))
    assert "\\x1b[2J" in (json.loads(lines[0])["message"] if form == "json" else lines[0])


@pytest.mark.parametrize("key", ["party", "phase", "host", "waiting"])
def test_a_status_that_does_not_print_is_unreadable(tmp_path: Path, key: str) -> None:
    begun(tmp_path, "a")
    path = tmp_path / "a" / STATUS
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {key: [ODD[0]] if key == "waiting" else ODD[0]}))
    done = titan("status", tmp_path)
    assert "unreadable" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
