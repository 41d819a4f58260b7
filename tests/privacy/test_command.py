"""titan privacy: what it says, in text, JSON and pictures, and what it refuses."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import answer, titan


def test_sizes_and_names_in_text() -> None:
    done = titan("privacy", "cycle:5", "--tau", 2, "--limit", 3)
    assert done.returncode == 0
    assert "no 1 party learns anything but the pooled sum" in done.stdout
    assert "some 2 parties together learn more" in done.stdout
    assert "and there are more" in done.stdout
    assert done.stdout.count(";") == 3
    everything = titan("privacy", "cycle:5", "--tau", 2)
    assert "more (--limit)" not in everything.stdout
    assert everything.stdout.count(";") == 5
    assert "no 3 parties together" in titan("privacy", "complete:5").stdout
    assert "from the other" in titan("privacy", "cycle:2").stdout


def test_json_of_sizes() -> None:
    found = answer("privacy", "cycle:4", "--tau", 2)
    assert found["sizes"] == [{"size": 1, "harmless": True}, {"size": 2, "harmless": False}]
    assert [each["coalition"] for each in found["dangerous"]] == [["2", "4"], ["1", "3"]]
    assert found["more"] is False


def test_one_coalition() -> None:
    found = answer("privacy", "cycle:6", "--coalition", "1, 4")
    assert found["harmless"] is False
    assert found["components"] == [["2", "3"], ["5", "6"]]
    text = titan("privacy", "cycle:6", "--coalition", "1,4").stdout
    assert "learns the sum of 2, 3" in text
    assert answer("privacy", "cycle:6", "--coalition", "1,2")["harmless"] is True
    assert "nothing else" in titan("privacy", "cycle:6", "--coalition", "1,2").stdout
    last = answer("privacy", "complete:4", "--coalition", "1,2,3")
    assert (last["harmless"], last["components"]) == (False, [["4"]])
    both = answer("privacy", "cycle:6", "--coalition", "1,4", "--tau", 1)
    assert both["sizes"] == [{"size": 1, "harmless": True}]


@pytest.mark.parametrize(
    ("words", "said", "status"),
    [
        (["--coalition", "1,9"], 'no party "9"', 2),
        (["--coalition", "1,,2"], "empty name", 2),
        (["--coalition", "1,2,3,4,5"], "everybody", 2),
        (["--tau", 4], "at most one honest party", 1),
        (["--tau", -1], "number of colluding", 2),
    ],
)
def test_refusals(words: list[Any], said: str, status: int) -> None:
    done = titan("privacy", "cycle:5", *words)
    assert done.returncode == status
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words", [["cycle:6", "--coalition", "1,4"], ["cycle:6"], ["complete:5", "--coalition", "2"],
              ["cycle:80", "--tau", 2]],
)  # fmt: skip
def test_a_picture(words: list[str], tmp_path: Path) -> None:
    import_module("matplotlib")
    file = tmp_path / "network.png"
    done = titan("privacy", *words, "--plot", file)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size > 10_000
    again = titan("privacy", *words, "--plot", file)
    assert again.returncode == 1
    assert "--force" in again.stderr


def test_a_picture_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("matplotlib")
    done = titan("privacy", "cycle:5", "--plot", tmp_path / "network.nonsense")
    assert done.returncode == 2
    assert ".png or .svg" in done.stderr
    absent = titan("privacy", "cycle:5", "--plot", tmp_path / "no" / "network.png")
    assert "no directory" in absent.stderr


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path) -> None:
    done = titan("privacy", "cycle:5", "--plot", tmp_path / "network.png")
    assert done.returncode == 1
    assert "titan-consensus[plot]" in done.stderr
    assert not (tmp_path / "network.png").exists()
