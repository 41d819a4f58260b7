"""The command line as people meet it: answers on stdout, errors in two lines, honest statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from titan import Network
from titan.cli import main


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def titan(*words: object, cwd: Path | None = None) -> Done:
    """The command in this process; that it also runs as a program is tested once, below."""
    out, err, status = StringIO(), StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["titan", *map(str, words)])
        patch.chdir(cwd or Path.cwd())
        try:
            main()
        except SystemExit as leave:
            status = int(leave.code or 0)
    return Done(status, out.getvalue(), err.getvalue())


def answer(*words: object, cwd: Path | None = None) -> Any:
    done = titan(*words, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def parties(tmp_path: Path) -> Path:
    for name, number in {"north": "12.5", "east": "0.1", "south": "-3e-1", "west": "7"}.items():
        (tmp_path / f"{name}.txt").write_text(number + "\n")
    return tmp_path


FILES = ["north.txt", "east.txt", "south.txt", "west.txt"]


def test_average_of_numbers(parties: Path) -> None:
    out = answer("average", *FILES, "--network", "cycle", "--tau", 1, cwd=parties)
    assert out["value"] == pytest.approx((12.5 + 0.1 - 0.3 + 7) / 4, rel=1e-15)
    assert out["total"] == pytest.approx(19.3, rel=1e-15)
    assert 0 < out["error_bound"] < 1e-15
    assert out["parties"] == ["north", "east", "south", "west"]
    assert set(out["cost"]["bytes_sent"]) == set(out["parties"])
    assert out["cost"]["rounds"] == out["cost"]["recovery_rounds"] + 1


def test_average_of_vectors_on_a_network_from_a_file(parties: Path) -> None:
    for name in FILES:
        (parties / name).write_text("1.5, 2,3\r\n")
    Network.cycle(["north", "east", "south", "west"]).to_csv(parties / "links.csv")
    for recovery in ("topk", "flood", "tree"):
        out = answer(
            "average", *FILES, "--network", "links.csv", "--recovery", recovery, cwd=parties
        )
        assert out["value"] == [1.5, 2, 3]
        assert out["recovery"] == recovery


def test_average_as_text(parties: Path) -> None:
    done = titan("average", *FILES, "--tau", 1, cwd=parties)
    assert done.returncode == 0
    assert "proven within" in done.stdout
    assert "4.825" in done.stdout
    assert done.stderr == "", "no progress bar in a pipe"


@pytest.mark.parametrize(
    ("words", "complaint", "status"),
    [
        (["north.txt", "nowhere.txt"], "nowhere.txt: no such file", 1),
        (["north.txt", "empty.txt"], "empty.txt holds no number", 1),
        (["north.txt", "text.csv"], "text.csv, line 2, field 1: not a decimal number", 1),
        (["north.txt", "binary.csv"], "binary.csv: not UTF-8 text", 1),
        (["north.txt"], "at least two parties", 2),
        (["north.txt", "north.csv"], "two files would both be party 'north'", 2),
        (["north.txt", "vector.csv"], "'vector' has 2 numbers and 'north' has 1", 1),
        (["north.txt", "east.txt", "--tau", "1"], "titan: error", 1),
        (["north.txt", "east.txt", "--network", "nowhere.csv"], "nowhere.csv", 1),
        (["north.txt", "east.txt", "--network", "links.csv"], "no input for south", 1),
        (["north.txt", "east.txt", "--recovery", "magic"], "--recovery 'magic' is unknown", 2),
        (["north.txt", "east.txt", "--rounds", "0"], "--rounds 0 is below", 2),
        (["north.txt", "east.txt", "-k", "9", "--recovery", "topk"], "--k 9 is outside 1..2", 2),
        (["north.txt", "huge.txt"], "'huge' does not fit", 1),
        (["north.txt", "east.txt", "--bound", "x"], "--bound: not a decimal number", 2),
        (
            ["north.txt", "matrix.csv"],
            "matrix.csv, line 1: a comma, and the file has several lines",
            1,
        ),
        (["north.txt", "comma.csv"], "comma.csv, line 1, field 2: not a decimal number", 1),
        (["north.txt", "."], "is a directory", 1),
        (["north.txt", "east.txt", "--bits", "100000000"], "bits cannot be made", 2),
        (
            ["north.txt", "bomb.txt"],
            "bomb.txt, line 1, field 1: a number of more than 400 digits",
            1,
        ),
    ],
)
def test_bad_input_to_average(parties: Path, words: list[str], complaint: str, status: int) -> None:
    (parties / "empty.txt").write_text("\n")
    (parties / "text.csv").write_text("1\nlots\n")
    (parties / "binary.csv").write_bytes(b"\xff\xfe\x00")
    (parties / "north.csv").write_text("1")
    (parties / "vector.csv").write_text("1,2")
    (parties / "huge.txt").write_text("1e40")
    (parties / "bomb.txt").write_text("1e999999999")
    (parties / "matrix.csv").write_text("1,2\n3,4\n")
    (parties / "comma.csv").write_text("1.5,\n")
    Network.cycle(["north", "east", "south"]).to_csv(parties / "links.csv")
    done = titan("average", *words, cwd=parties)
    assert done.returncode == status, done
    assert done.stdout == "", "no answer beside an error"
    assert complaint in done.stderr
    assert done.stderr.startswith("titan: error: ")
    assert "Traceback" not in done.stderr


def test_network_check_has_the_agreed_keys(tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    Network.kautz(12, 2).to_csv(file)
    out = answer("network", "check", file, "--tau", 1, "--entries", 100)
    net = Network.from_csv(file)
    assert out["strongly_connected"] is True
    assert out["diameter"] == net.diameter
    assert out["weak_connectivity"] == net.weak_connectivity
    assert out["max_tau"] == net.weak_connectivity - 1
    assert out["rounds"] > 1
    assert out["most_bytes_sent"] > 1600


def test_network_check_fails_where_a_condition_fails(tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    Network([("a", "b"), ("b", "c"), ("c", "b"), ("b", "a")]).to_csv(file)
    done = titan("network", "check", file, "--tau", 1, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["max_tau"] == 0
    assert "b" in done.stderr
    assert titan("network", "check", file, "--tau", 0).returncode == 0
    Network([("a", "b"), ("b", "c"), ("c", "b")]).to_csv(file)
    done = titan("network", "check", file, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["strongly_connected"] is False
    assert json.loads(done.stdout)["diameter"] is None
    assert "cannot reach" in done.stderr


def test_advice_is_something_to_type() -> None:
    done = titan("network", "check", "cycle:5", "--tau", 2)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("or take the one of: titan network design 5 --tau 2")


def test_network_check_of_a_malformed_file(tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    file.write_text("from,to\na,b\nb\n")
    done = titan("network", "check", file)
    assert done.returncode == 1
    assert "links.csv" in done.stderr
    assert "line 3" in done.stderr


def test_network_design_writes_what_check_accepts(tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    done = titan("network", "design", "north,east,south,west,centre", "--tau", 2, "--out", file)
    assert done.returncode == 0, done.stderr
    assert titan("network", "check", file, "--tau", 2).returncode == 0
    printed = titan("network", "design", 9, "--tau", 1)
    assert printed.stdout.startswith("from,to\n")
    file.write_text(printed.stdout)
    assert Network.from_csv(file).tolerates(1)
    assert answer("network", "design", 9, "--tau", 1)["weak_connectivity"] >= 2


def test_network_show() -> None:
    assert answer("network", "show", "cycle:3")["edges"] == [["1", "2"], ["2", "3"], ["3", "1"]]
    assert "2 -> 3" in titan("network", "show", "cycle:3").stdout
    assert "for example cycle:5" in titan("network", "show", "cycle").stderr


def test_demo_shows_real_numbers() -> None:
    out = answer("demo")
    assert out["difference"] == 0
    assert 0 < out["lstsq_difference"] < 1e-10
    assert sum(out["parties"].values()) == out["nobs"] == 854
    assert set(out["seen"]) == set(out["parties"]) - {out["seen_by"]}
    rows = out["seen"]["Zurich-Basel"]["rows"]
    assert rows["private"] == out["parties"]["Zurich-Basel"]
    assert int(rows["seen"], 16) != rows["private"] << 256, "masked, not as it is"
    assert answer("demo")["seen"] != out["seen"], "masks are fresh in every run"
    screen = titan("demo").stdout
    assert "what Budapest saw of it" in screen
    assert max(map(len, screen.splitlines())) <= 80
    assert len(screen.splitlines()) <= 40


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["average"],
        ["network"],
        ["network", "show"],
        ["network", "check"],
        ["network", "design"],
        ["demo"],
        ["fit"],
        ["solve"],
        ["moments"],
        ["reproduce"],
        ["reproduce", "figure2"],
        ["reproduce", "large"],
        ["reproduce", "nist"],
        ["reproduce", "tradeoff"],
    ],
)
def test_every_command_has_help_with_an_example(words: list[str]) -> None:
    done = titan(*words, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout
    if words not in ([], ["network"], ["reproduce"]):
        assert "Example:" in done.stdout


def test_it_is_a_program() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "titan", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("network", "show", "cycle:3").stdout.startswith("3 parties, 3 links")
    failed = run("network", "check", "nowhere.csv")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("titan: error: 'nowhere.csv' is neither")


def test_wrong_usage_is_status_2_and_version_is_told() -> None:
    assert titan("average", "--nonsense").returncode == 2
    assert titan("--version").stdout.startswith("titan 0.")
