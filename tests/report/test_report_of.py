"""Invariant: a report of anything that was kept says what is known and what is not, gives nobody's
reasons away, and writes over nothing unasked; what is not a result ends in two lines."""

from __future__ import annotations

import json
import os
import re
import stat
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

import titan as library
from tests.cli.test_commands import answer, titan
from tests.party.loopback import NAMES, Gathering, run
from tests.party.test_veto import LEVELS, ends, of_one_party, too_few, two_far_away
from tests.report.parsed import Element, parsed
from titan.errors import RankError
from titan.network import Network
from titan.report import run_sections
from titan.report.answers import tables_of
from titan.report.network_picture import network_picture
from titan.results import Result, Results
from titan.results.result_file import sealed

NET = library.Network.cycle(["north", "east", "south"])
ODD = "<script>alert(1)</script>"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    library.average({"north": 1.5, "east": 2.0, "south": 4.0}, NET, tau=1).save(tmp_path / "a.json")
    return tmp_path


def page_of(folder: Path, *words: object) -> Element:
    done = titan("report", *words, "--out", "r.html", "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    return parsed((folder / "r.html").read_text(encoding="utf-8"))


# -- results alone ----------------------------------------------------------------------------


def test_of_a_saved_result_the_answers_and_that_the_rest_is_unknown(saved: Path) -> None:
    told = answer("report", "a.json", "--out", "r.html", cwd=saved)
    assert told["study"] is None
    assert "the network, the checks and the signatures" in told["left_out"][0]
    found = parsed((saved / "r.html").read_text(encoding="utf-8"))
    assert told["left_out"][0] in found.one("section", id="unknown").text
    assert 2.5 in found.one("section", id="answer-1").numbers
    assert {str(e.attributes["id"]) for e in found.all("section")} == {
        "answers", "answer-1", "cost", "unknown",
    }  # fmt: skip
    assert stat.S_IMODE((saved / "r.html").stat().st_mode) == 0o644


@dataclass(frozen=True)
class Histogram(Result, kind="one that reports do not know"):
    """A kind that the report has no table for."""

    told: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.told

    to_state = to_dict

    @classmethod
    def from_state(cls, state: Any, cost: Any = None) -> Histogram:
        return cls(state)


def test_a_kind_that_is_not_known_is_shown_by_its_shape(tmp_path: Path) -> None:
    whole = {
        "nobs": 12, "edges": [0.5, 1.5, 2.5], "note": ODD, "nothing": None, "sure": True,
        "counts": {"a": {"low": 1, "high": 2.25}, ODD: {"low": 3, "high": 4.75}},
        "series": {"a": [1.125] * 9, "b": [2.5] * 9}, "many": list(map(float, range(20, 40))),
        "deep": {"a": {"b": {"c": [{"d": 7.5}, {"d": 8.5}]}}},
    }  # fmt: skip
    Results({"h": Histogram(whole)}).save(tmp_path / "h.json")
    found = page_of(tmp_path, "h.json").one("section", id="answer-1")
    assert {12, 0.5, 1.5, 2.5, 1, 2.25, 3, 4.75, 1.125, 7.5, 8.5, *range(20, 40)} <= {
        *found.numbers
    }
    assert ODD in found.text
    assert not list(found.all("script"))


def test_what_has_params_has_coefficients_with_intervals_and_its_own_columns() -> None:
    """As a Cox regression will."""
    names = ("age", "arm[T.b]")
    numbers = {key: dict(zip(names, pair, strict=True)) for key, pair in {
        "params": (0.25, -0.5), "bse": (0.125, 0.25), "error_bound": (1e-9, 1e-9),
        "tvalues": (2.0, -2.0), "pvalues": (0.0455, 0.0455), "hazard_ratio": (1.284, 0.6065),
    }.items()}  # fmt: skip
    limits = {"conf_int": {"age": [0.005, 0.495], "arm[T.b]": [-0.99, -0.01]}}
    text = "".join(tables_of("cox", numbers | limits | {"nobs": 300, "events": 120}))
    found = parsed(text)
    (heads, rows), *_ = found.tables()
    assert heads == ["", "estimate", "standard error", "z", "p", "95 % from", "to", "hazard_ratio",
                     "interval"]  # fmt: skip
    assert [cell.numbers for cell in rows["age"][1:8]] == [
        [0.25], [0.125], [2.0], [0.0455], [0.005], [0.495], [1.284],
    ]  # fmt: skip
    assert {300, 120} <= {*found.numbers}


@pytest.mark.parametrize("value", [1.5, [1.5, 2.5], [[1.5, 2.5], [3.5, 4.5]], {"a": 1.5, ODD: 2.5}])
def test_averages_of_every_shape(value: Any) -> None:
    told = {"value": value, "total": value, "error_bound": value, "bits": 128, "recovery": "tree"}
    found = parsed("".join(tables_of("average", told)))
    plain = list(value.values()) if isinstance(value, dict) else value
    assert set(np.ravel(plain).tolist()) <= {*found.numbers}


def test_a_regression_a_lasso_and_a_question_that_failed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = {"y": rng.integers(0, 50, 40), "a": rng.integers(0, 9, 40), "b": rng.integers(0, 9, 40)}
    fit = library.fit(rows, formula="y ~ a + b")
    failed = RankError("no rank")
    found: dict[str, Any] = {"main": fit, "lasso": fit.lasso_path(count=3), "none": failed}
    Results(found).save(tmp_path / "r.json")
    page = page_of(tmp_path, "r.json")
    assert float(fit.params["a"]) in page.one("section", id="answer-1").numbers
    coefs = fit.lasso_path(count=3).coefs.ravel().tolist()
    assert set(coefs) <= {*page.one("section", id="answer-2").numbers}
    assert "no answer to this question: no rank" in page.one("section", id="answer-3").text
    assert "No answer was found to none." in page.one("header").text


def test_names_of_parties_are_text_in_the_picture() -> None:
    names = [ODD, '"><b>', "a" * 200]
    picture = network_picture(Network.cycle(names), [ODD])
    assert picture is not None
    found = parsed(picture)
    assert [each.children[0] for each in found.all("title")][1:] == names
    assert {each.name for each in found.all()} == {
        "svg", "title", "g", "line", "polygon", "circle", "text",
    }  # fmt: skip
    assert len([e for e in found.all("g") if e.attributes.get("class") == "party marked"]) == 1
    assert network_picture(Network.cycle(301)) is None
    assert network_picture(Network.cycle(300)) is not None


# -- runs without an answer -------------------------------------------------------------------


def told(found: Element, name: str) -> dict[str, str]:
    """Section by section, without the reporting party's name and the time it took."""
    sections = {str(each.attributes["id"]): each.text for each in found.all("section")}
    del sections["cost"], sections["parties"]
    return {key: text.replace(f"Kept by {name} ", "") for key, text in sections.items()}


@pytest.mark.parametrize(("why", "formula"), [(too_few, "y ~ x"), (of_one_party, LEVELS),
                                              (two_far_away, "y ~ x")])  # fmt: skip
def test_a_veto_is_reported_alike_by_who_refused_and_by_others(
    tmp_path: Path, why: Any, formula: str
) -> None:
    """Who refuses, and why, stands in that party's own files alone."""
    g = Gathering(tmp_path, changes={"formula": formula})
    why(g, "east")
    errors = run(ends(g))
    g.study.save(tmp_path / "study.toml")
    found = {name: page_of(tmp_path, g.run_folder(name)) for name in NAMES}
    for name in NAMES:
        assert "There is no answer: a party refuses to go on" in found[name].one("header").text
        assert told(found[name], name) == told(found["north"], "north")
    assert errors["east"].message not in found["east"].text
    assert errors["east"].message != errors["north"].message


# -- what cannot be reported ------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Gathering:
    g = Gathering(tmp_path_factory.mktemp("finished"))
    run(g.all())
    return g


@pytest.fixture
def over(finished: Gathering, tmp_path: Path) -> Gathering:
    """Its files, to be altered."""
    for name in NAMES:
        copytree(finished.run_folder(name), tmp_path / f"{name}-run1")
    found = copy(finished)
    found.folder = tmp_path
    return found


def refused(folder: Path, *words: object, status: int = 1) -> str:
    done = titan("report", *words, cwd=folder)
    assert done.returncode == status, done.stdout
    assert "Traceback" not in done.stderr
    assert not (folder / "r.html").exists()
    return done.stderr


def test_what_is_no_run_or_not_over(saved: Path, over: Gathering) -> None:
    north = over.run_folder("north")
    (saved / "empty").mkdir()
    (saved / "notes.txt").write_text("hello")
    (saved / "runs").mkdir()
    (saved / "runs" / "one").symlink_to(north)
    (saved / "begun").mkdir()
    (saved / "begun" / "journal.db").touch()
    for where, message in (
        ("empty", "holds no results"),
        ("runs", "give one of the runs in it, such as runs/one"),
        ("begun", "is not over: it has no result.json yet"),
        ("begun", "titan runs list begun says whether the same titan join goes on with it"),
        ("absent", "cannot be read"),
        ("notes.txt", "is not a valid file of results"),
    ):
        assert message in refused(saved, where, "--out", "r.html")
    whole = json.loads((saved / "a.json").read_bytes())
    (saved / "later.json").write_bytes(sealed(whole | {"format": 2}))
    assert "it has format 2, this program reads 1" in refused(
        saved, "later.json", "--out", "r.html"
    )


def test_evidence_of_another_run_or_of_a_later_format(over: Gathering) -> None:
    north, words = over.run_folder("north"), ("--out", "r.html")
    path = north / "evidence.json"
    kept = json.loads(path.read_text())
    for changed, message in (
        (kept | {"format": 2}, "its format is 2"),
        (kept | {"run": 2}, "is of another run than"),
        (kept | {"checks": [{"rule": "x"}]}, "must have exactly the fields"),
        (kept | {"checks": 5}, "where a list should be"),
        ([], "where fields should be"),
    ):
        path.write_text(json.dumps(changed))
        assert message in refused(over.folder, north, *words)
    path.write_text("[" * 100_000)
    assert "is not valid" in refused(over.folder, north, *words)
    path.unlink()
    page = page_of(over.folder, north)
    assert "The checks: the run left no evidence.json." in page.text


def test_the_study_is_found_given_or_said_to_be_missing(over: Gathering, tmp_path: Path) -> None:
    north = over.run_folder("north")
    kept = north / "study.toml"
    assert "Who took part" in page_of(tmp_path, north).one("nav").text
    elsewhere = tmp_path / "apart.toml"
    kept.rename(elsewhere)
    (tmp_path / "other.toml").write_text("format = 99")
    replace(over.study, tau=0, title="Another").save(tmp_path / "a.toml")
    beside = page_of(tmp_path, north)
    assert (beside.one("h1").text, "τ = 1" in beside.text) == (over.study.title, True)
    elsewhere.rename(tmp_path / "gone")
    page = page_of(tmp_path, north)
    assert "the study's file was not beside the run" in page.one("section", id="unknown").text
    assert "the links themselves are in the study's file" in page.one("section", id="network").text
    assert not list(page.one("section", id="network").all("svg"))
    assert "κ = 2" in page_of(tmp_path, north, "--study", "gone").text
    (tmp_path / "r.html").unlink()
    said = refused(tmp_path, north, "--out", "r.html", "--study", "a.toml")
    assert "a study that was edited is another study" in said


def test_a_result_that_was_altered_is_not_reported(over: Gathering) -> None:
    north = over.run_folder("north")
    whole = json.loads((north / "result.json").read_bytes())
    (north / "result.json").write_bytes(sealed(whole | {"run": 2}))
    assert "is not the file that" in refused(over.folder, north, "--out", "r.html")


# -- where it goes ----------------------------------------------------------------------------


def test_nothing_is_written_over_unasked(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (saved / "r.html").write_text("mine")
    words = ("report", "a.json", "--out", "r.html")
    done = titan(*words, cwd=saved)
    assert done.returncode == 1
    assert "r.html exists already" in done.stderr
    assert "hint: --force replaces it" in done.stderr
    monkeypatch.setattr("titan.cli.output.at_terminal", lambda: True)
    for said, kept in ((False, True), (True, False)):
        monkeypatch.setattr("typer.confirm", lambda *_, said=said, **__: said)
        done = titan(*words, cwd=saved)
        assert (done.returncode, (saved / "r.html").read_text() == "mine") == (int(kept), kept)
    (saved / "r.html").write_text("mine")
    assert titan(*words, "--force", cwd=saved).returncode == 0
    assert (saved / "r.html").read_text() != "mine"


def test_places_where_it_cannot_go(saved: Path) -> None:
    before = (saved / "a.json").read_bytes()
    (saved / "folder.html").mkdir()
    (saved / "a.html").hardlink_to(saved / "a.json")
    for out, message, status in (
        ("r.txt", "does not end in .html", 2),
        ("no/r.html", "there is no directory no", 1),
        ("folder.html", "it is a directory", 1),
    ):
        assert message in refused(saved, "a.json", "--out", out, status=status)
    over = refused(saved, "a.html", "--out", "a.html", "--force", status=2)
    assert "is one of the inputs" in over
    if os.geteuid():
        (saved / "shut").mkdir(mode=0o500)
        assert "permission denied" in refused(saved, "a.json", "--out", "shut/r.html")
    assert (saved / "a.json").read_bytes() == before


# -- PDF --------------------------------------------------------------------------------------


def program(folder: Path, name: str, lines: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
    (folder / name).chmod(0o755)


PRINTS = """
for word in "$@"; do case "$word" in --print-to-pdf=*) out="${word#*=}";; esac; done
printf '%%PDF-1.4 %s' "$*" > "$out"
"""


def test_a_browser_prints_it(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(saved, "chromium", PRINTS)
    monkeypatch.setenv("PATH", f"{saved}:/usr/bin:/bin")
    told = answer("report", "a.json", "--out", "r.html", "--pdf", cwd=saved)
    assert (told["report"], told["pdf"]) == ("r.html", "r.pdf")
    printed = (saved / "r.pdf").read_text()
    assert printed.startswith("%PDF-")
    for word in ("--headless", "--disable-background-networking", "--user-data-dir=", "file://"):
        assert word in printed
    assert ("--no-sandbox" in printed) is (os.geteuid() == 0)


def test_no_browser_or_one_that_fails(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("a.json", "--out", "r.html", "--pdf")
    monkeypatch.setenv("PATH", str(saved))
    monkeypatch.setattr("titan.report.pdf._ELSEWHERE", ())
    said = refused(saved, *words)
    assert "a PDF is printed by a browser, and none is installed here" in said
    assert "there is no program 'lynx'" in refused(saved, *words, "--browser", "lynx")
    assert "goes with --pdf" in refused(saved, *words[:3], "--browser", "lynx", status=2)
    monkeypatch.setenv("PATH", f"{saved}:/usr/bin:/bin")
    for lines, message in (("exit 3", "status 3 and no PDF"), (f"{PRINTS}\ntrue > $out", "no PDF")):
        program(saved, "chromium", lines)
        done = titan("report", *words, "--force", cwd=saved)
        assert done.returncode == 1
        assert message in done.stderr
        assert "the page itself is written" in done.stderr
        assert (saved / "r.html").exists()
        assert not (saved / "r.pdf").exists()


def test_every_check_of_a_study_has_words() -> None:
    """A check that is told by its key alone is a riddle to a data steward."""
    source = Path(library.__file__).parent
    rules = {
        rule
        for file in source.rglob("*.py")
        for rule in re.findall(r'\bCheck\("([a-z_]+)"', file.read_text("utf-8"))
    }
    assert {"leverage", "at_risk"} <= rules
    assert rules - {"veto"} <= run_sections._RULES.keys()
