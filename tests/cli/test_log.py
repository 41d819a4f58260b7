"""The log of `join`: time, level and address where it goes to files, one object a line for
programs; and its options from TITAN_JOIN_… variables."""

from __future__ import annotations

import ast
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import titan as titan_package
from tests.cli.test_commands import titan
from tests.party.loopback import Gathering
from titan.cli import app, log
from titan.errors import UsageError
from titan.party.notices import Notice
from titan.party.processes import _environment

MANUAL = Path(__file__).parents[2] / "docs" / "administration.md"
NOTICE = Notice("nobody answers there yet", "warning", "link", "south", "192.0.2.7:7443")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture(autouse=True)
def _plain_afterwards() -> object:
    yield
    log.use("plain")


def told(capsys: pytest.CaptureFixture[str], form: str) -> str:
    log.use(form)
    log.tell(NOTICE)
    return capsys.readouterr().err


def test_what_a_line_looks_like(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "plain") == "titan: south: nobody answers there yet\n"
    text = rf"{TIME} warning titan: south \(192\.0\.2\.7:7443\): nobody answers there yet\n"
    assert re.fullmatch(text, told(capsys, "text"))
    found = json.loads(told(capsys, "json"))
    assert list(found) == ["time", "level", "event", "peer", "address", "message"]
    assert list(found.values())[1:] == [
        "warning", "link", "south", "192.0.2.7:7443", "nobody answers there yet",
    ]  # fmt: skip
    passed = datetime.now(UTC) - datetime.fromisoformat(found["time"])
    assert passed.total_seconds() >= 0


def test_every_event_is_in_the_manual() -> None:
    """Programs go by it, so one that is not there, or is more than a word, is of no use to them."""
    (row,) = re.findall(r"(?m)^\| `event` \|.*$", MANUAL.read_text("utf-8"))
    events = set[str]()
    for file in Path(titan_package.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            match call:
                case ast.Call(
                    func=ast.Name("Notice") | ast.Attribute(attr="tell_once"),
                    args=[_, _, ast.Constant(str(event)), *_],
                ):
                    events.add(event)
    assert len(events) > 12
    assert events <= set(re.findall(r"`(\w+)`", row)) - {"event"}


def test_a_stranger_has_an_address_and_is_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    notice = Notice("198.51.100.7: says nothing", "warning", "stranger", "", "198.51.100.7")
    log.use("text")
    log.tell(notice)
    text = rf"{TIME} warning titan: 198\.51\.100\.7: says nothing\n"
    assert re.fullmatch(text, capsys.readouterr().err)
    log.use("json")
    log.tell(notice)
    found = json.loads(capsys.readouterr().err)
    assert (found["peer"], found["address"]) == (None, "198.51.100.7")


def test_without_a_terminal_lines_have_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert log.use() == "text"
    with pytest.raises(UsageError, match="--log-format 'xml'"):
        log.use("xml")


def test_a_run_for_programs(tmp_path: Path) -> None:
    """Every line is an object, the error that ends it included."""
    g = Gathering(tmp_path)
    g.save()
    done = titan(*g.words("north", "--wait", 0.3, "--log-format", "json"), cwd=tmp_path)
    assert done.returncode == 75
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    events = {line["event"] for line in lines}
    assert events >= {"progress", "link", "error"}
    assert {line["level"] for line in lines} <= {"info", "warning", "error"}
    (link,) = [line for line in lines if line["event"] == "link"]
    assert (link["peer"], link["address"]) == ("east", g.identities["east"].card.address)
    assert lines[-1]["level"] == "error"
    assert lines[-1]["message"].startswith("nothing came for 0.3 seconds")
    assert lines[-1]["hint"].endswith("the same command goes on from here")
    after = titan("join", "nowhere.toml", *g.words("north")[2:], cwd=tmp_path)
    assert after.stderr.partition(" titan: error: ")[1], "the next command has its own choice"


def test_options_from_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = Gathering(tmp_path)
    g.save()
    given = {
        "STUDY": "study.toml", "AS": "north", "DATA": "north.csv", "KEY": "north.key",
        "YES": "1", "WAIT": "0.2", "RUNS": "elsewhere", "LOG_FORMAT": "json",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(f"TITAN_JOIN_{name}", value)
    done = titan("join", cwd=tmp_path)
    assert done.returncode == 75
    assert "nothing came for 0.2 seconds" in json.loads(done.stderr.splitlines()[-1])["message"]
    assert list((tmp_path / "elsewhere").glob("*-north"))
    assert "for 0.1 seconds" in titan("join", "--wait", 0.1, cwd=tmp_path).stderr


@pytest.mark.parametrize(("name", "value"), [("WAIT", "long"), ("WAIT", "-1"), ("LISTEN", "bad")])
def test_what_is_wrong_in_a_variable_is_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Nobody typed --wait: who reads the error has to find where it is from."""
    g = Gathering(tmp_path)
    g.save()
    monkeypatch.setenv(f"TITAN_JOIN_{name}", value)
    done = titan(*g.words("north"), cwd=tmp_path)
    assert done.returncode == 2
    assert f"TITAN_JOIN_{name}" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--wait", "abc"), "--wait"),
        (("--nonsense",), "--nonsense"),
        (("--run", "0"), "--run"),
        (("--wait",), "--wait"),
        (("--listen", "bad"), "--listen"),
    ],
)
@pytest.mark.parametrize("how", ["typed", "with =", "variable"])
def test_wrong_words_are_told_to_programs_as_other_errors_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, words: tuple[str, ...], said: str
) -> None:
    g = Gathering(tmp_path)
    g.save()
    form = {"typed": ["--log-format", "json"], "with =": ["--log-format=json"]}.get(how, [])
    if how == "variable":
        monkeypatch.setenv("TITAN_JOIN_LOG_FORMAT", "json")
    done = titan(*g.words("north"), *form, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    found = json.loads(line)
    assert (found["level"], found["event"]) == ("error", "error")
    assert said in found["message"] + found.get("hint", "")
    plain = titan(*g.words("north"), "--log-format", "text", *words, cwd=tmp_path)
    assert (plain.returncode, plain.stderr[0] != "{") == (2, True)


def test_variables_are_named_as_their_options_are() -> None:
    """--range was TITAN_STUDY_NEW_RANGE_, after what the parameter was called inside."""

    def check(command: Any) -> None:
        for each in getattr(command, "commands", {}).values():
            check(each)
        for each in getattr(command, "params", []):
            named = {f"--{each.name.replace('_', '-')}"} & {*each.opts, *each.secondary_opts}
            assert named or each.envvar or each.param_type_name == "argument", each.opts

    check(get_command(app))


def test_variables_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal's parties are not the one that the variables are meant for."""
    monkeypatch.setenv("TITAN_VERSION", "1.2")
    assert titan("--version").returncode == 0
    monkeypatch.setenv("TITAN_JOIN_SAVE", "answer.json")
    found = {name: value for name, value in _environment().items() if name.startswith("TITAN_")}
    assert found == {"TITAN_JOIN_LOG_FORMAT": "plain"}
