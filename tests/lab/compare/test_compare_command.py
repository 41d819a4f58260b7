"""titan compare: the library's answers on the command line."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.cli.test_commands import answer, titan
from titan import Network
from titan_lab import compare


def test_list_names_every_method_with_reference_and_requirements() -> None:
    out = answer("compare", "--list")
    assert [m["name"] for m in out["methods"]] == [m.about.name for m in compare.METHODS]
    extra = next(m for m in out["methods"] if m["name"] == "extra")
    assert "SIAM" in extra["reference"]
    assert extra["requires"]["undirected"] is True
    assert extra["installed"] is True
    assert "small" in out["problems"]
    text = titan("compare", "--list").stdout
    assert all(m["name"] in text for m in out["methods"])


def test_a_comparison(tmp_path: Path) -> None:
    words = ["--methods", "titan-flood,push-diging,fixed-point", "--problem", "small", "--seed", 5]
    out = answer("compare", *words, "--no-tune", "--csv", tmp_path / "table.csv")
    flood, diging, fixed = out["records"]
    assert (flood["status"], flood["rounds"]) == ("reached", 10)
    problem = compare.problem("small", 5)
    same = compare.run(
        problem, Network.cycle(problem.parties), ["push-diging"], tune=False, seed=5
    )["push-diging"]
    assert diging["rounds"] == same.rounds
    assert fixed["status"] == "refused"
    with (tmp_path / "table.csv").open() as lines:
        assert [row["method"] for row in csv.DictReader(lines)] == [
            "titan-flood",
            "push-diging",
            "fixed-point",
        ]


def test_the_table_says_what_was_refused_and_what_was_made_undirected() -> None:
    done = titan(
        "compare", "--methods", "extra,fixed-point", "--no-tune", "--budget", 20, "--seed", 5
    )
    assert done.returncode == 0
    assert "extra*" in done.stdout
    assert "every link both ways" in done.stdout
    assert "fixed-point: refused: needs a square system" in done.stdout
    directed = titan("compare", "--methods", "extra", "--directed")
    assert "extra: refused: needs an undirected network" in directed.stdout


def test_a_network_from_a_file_in_any_order(tmp_path: Path) -> None:
    file = tmp_path / "net.csv"
    file.write_text("from,to\n5,4\n4,3\n3,2\n2,1\n1,5\n")
    out = answer("compare", "--methods", "faim", "--network", file)
    assert out["records"][0]["status"] == "reached"


def test_bad_words_are_refused_before_anything_runs(tmp_path: Path) -> None:
    for words, says in (
        (["--methods", "extra,exta"], 'no method "exta"'),
        (["--methods", ","], "no method is named"),
        (["--problem", "smal"], 'no problem "smal"'),
        (["--network", "cycel"], "neither a file nor a family"),
        (["--network", "cycle:4"], "'cycle:4' is not a network of the 5 parties here"),
        (["--tolerance", "-1"], "tolerance"),
        (["--csv", tmp_path / "none" / "t.csv"], "no directory"),
    ):
        done = titan("compare", *words)
        assert done.returncode == (1 if says == "no directory" else 2)
        assert says in done.stderr
        assert done.stdout == ""
