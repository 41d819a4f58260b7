"""Exit status: 0 answered, 1 never, 2 wrong usage, 3 a rule of release, 75 the same again later."""

from __future__ import annotations

import errno
import inspect
import json
import os
import re
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from unittest.mock import patch

import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import NAMES, Gathering, run
from titan import errors, files
from titan.errors import FullError, RankError, ReleaseError, TitanError, WaitError
from titan.party.taking_part import Party
from titan.results import Results, decode, encode
from titan.study.audit import JOURNAL
from titan.study.journal import Journal


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    """Every class, under its parent, with its exit status."""
    found: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if match := re.fullmatch(r"    ([│├└─ ]*)(\w+Error)\b(.*?)(?:\s+(\d+))?", line):
            depth, name, status = len(match[1]) // 4, match[2], match[4]
            cls = getattr(errors, name)
            found[depth] = name
            parent = getattr(errors, found[depth - 1]) if depth else Exception
            assert cls.__bases__[0] is parent
            assert cls.exit_status == int(status or parent.exit_status)
    classes = {name for name, _ in inspect.getmembers(errors, inspect.isclass) if "Error" in name}
    drawn = set(re.findall(r"(?m)^    [│├└─ ]*(\w+Error)\b", errors.__doc__ or ""))
    assert drawn == classes


def test_nobody_comes(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.save()
    done = titan(*g.words("north", "--wait", 0.3), cwd=tmp_path)
    assert done.returncode == 75
    assert "the same command goes on from here" in done.stderr


def test_interrupted(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.save()
    with patch.object(Party, "take_part", side_effect=KeyboardInterrupt):
        done = titan(*g.words("north"), cwd=tmp_path)
    assert done.returncode == 75
    assert "the same command continues from here" in done.stderr


def test_another_process_has_the_journal(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.save()
    folder = tmp_path / "runs" / f"{g.study.digest[:12]}-run1-north"
    folder.mkdir(mode=0o700, parents=True)
    with Journal.open(folder / JOURNAL):
        done = titan(*g.words("north"), cwd=tmp_path)
    assert done.returncode == 75
    assert "another process is using the journal" in done.stderr


def test_too_few_rows_of_ones_own(tmp_path: Path) -> None:
    """A party refuses, which is its vote: all end with the same status; --json says what it may."""
    g = Gathering(tmp_path, changes={"min_rows_party": 12})
    lines = (tmp_path / "north.csv").read_text().splitlines()
    g.write("north", "\n".join(lines[:-1]) + "\n")
    g.save()
    joined = [
        Popen(
            [sys.executable, "-m", "titan", *map(str, g.words(name, "--json"))],
            cwd=tmp_path, stdout=PIPE, stderr=PIPE, text=True,
        )
        for name in NAMES
    ]  # fmt: skip
    said = [process.communicate() for process in joined]
    assert [process.returncode for process in joined] == [3, 3, 3]
    told = [json.loads(out)["refused"]["rule"] for out, _ in said]
    assert told == ["rows_per_party", "veto", "veto"]
    assert "'north.csv' has 11 rows" in said[0][1]
    assert "north" not in said[1][1].partition("error:")[2]


def test_what_the_ledger_refuses(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.save()
    assert titan(*g.words("north", "--wait", 0.3), cwd=tmp_path).returncode == 75
    rows = (tmp_path / "north.csv").read_text()
    g.write("north", "".join(rows.splitlines(keepends=True)[:-1]))
    done = titan(*g.words("north", "--run", 2), cwd=tmp_path)
    assert done.returncode == 3
    assert "only a few of this party's rows differ" in done.stderr
    assert "--allow-differencing" in done.stderr
    assert "ended without an answer only what it had opened is known" in done.stderr


def test_too_few_rows_in_all_here_and_when_it_is_asked_again(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"min_rows_total": 40})
    assert {type(each) for each in run(g.errors()).values()} == {ReleaseError}
    again = run(g.join("north")).results.errors["q1"]
    assert isinstance(again, ReleaseError), "what is stored keeps its kind"


@pytest.mark.parametrize(
    "more",
    [
        ("--listen", "nowhere"),
        ("--as", "nobody"),
        ("--save", "north.csv"),
        ("--data", "q7=north.csv"),
        ("--run", 0),
    ],
    ids=lambda more: more[0],
)
def test_wrong_usage_of_an_option(tmp_path: Path, more: tuple[object, ...]) -> None:
    """Nothing is begun: a supervisor need not try again, nor look at the study."""
    g = Gathering(tmp_path)
    g.save()
    done = titan(*g.words("north", *more), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert not (tmp_path / "runs").exists()


def test_no_room_on_the_disk(tmp_path: Path) -> None:
    """The same command goes on when there is."""
    with Journal.open(tmp_path / JOURNAL) as journal:
        journal._all("PRAGMA max_page_count = 1")
        with pytest.raises(FullError, match="disk is full") as full, journal.batch():
            journal._do("UPDATE journal SET result = ?", bytes(1 << 20))
        assert full.value.exit_status == 75
    with pytest.raises(FullError, match="no space left"), files.attempt("written", "it"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_wrong_usage_and_a_wrong_file(tmp_path: Path) -> None:
    assert titan("join", "--no-such-option").returncode == 2
    assert titan("join", "absent.toml", "--as", "a", "--data", "a", "--key", "k").returncode == 1


@pytest.mark.parametrize("kind", [TitanError, RankError, ReleaseError, WaitError])
def test_an_answer_that_failed_keeps_whether_a_rule_refused(kind: type[TitanError]) -> None:
    told = decode(encode(Results({"main": kind("no", hint="x")}))).errors["main"]
    assert type(told) is (TitanError if kind is WaitError else kind)
