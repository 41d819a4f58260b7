"""titan rehearse: real processes, real TLS, and the answer of `titan fit` to the last bit."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.test_commands import answer, titan
from tests.study.parties import identity
from tests.study.studies import study
from titan import datasets
from titan.study import Study
from titan.study.addresses import on_loopback
from titan.study.audit import audit

HEART = datasets.path("heart_disease")
FORMULA = "thalach ~ age + sex"
NAMES = ("north", "east", "south")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """45 rows of the heart data in one file, and 15 for each of three parties."""
    folder = tmp_path_factory.mktemp("rows")
    header, *lines = HEART.read_text().splitlines()[:46]
    marked = [f"{NAMES[at % 3]},{line}" for at, line in enumerate(lines)]
    (folder / "all.csv").write_text("\n".join([f"site,{header}", *marked]) + "\n")
    return folder


@pytest.fixture(scope="module")
def rehearsed(rows: Path) -> Any:
    words = ["--party", "site", "--formula", FORMULA, "--network", "cycle", "--tau", 1]
    return answer("rehearse", "all.csv", *words, "--out", "kept", "--save", "it.json", cwd=rows)


@pytest.fixture
def studied(tmp_path: Path, rows: Path) -> Path:
    """study.toml with its parties' keys, and a folder of their rows."""
    it = study(NAMES, formula="y ~ a", ranges=(), missing="drop", recovery="tree")
    it.save(tmp_path / "study.toml")
    (tmp_path / "keys").mkdir()
    (tmp_path / "rows").mkdir()
    for at, name in enumerate(NAMES):
        identity(name).save(tmp_path / "keys")
        lines = [f"{i * i % 11 + at}.{i},{i}" for i in range(12)]
        (tmp_path / "rows" / f"{name}.csv").write_text("\n".join(["y,a", *lines]) + "\n")
    return tmp_path


# -- what it gives ----------------------------------------------------------------------------


def test_the_answer_is_that_of_fit(rows: Path, rehearsed: Any) -> None:
    words = ["--party", "site", "--formula", FORMULA, "--network", "cycle", "--tau", 1]
    expected = answer("fit", "all.csv", *words, cwd=rows)
    assert set(rehearsed) == {*expected, "times", "folder"}
    assert {key: rehearsed[key] for key in expected} == expected
    assert json.loads((rows / "it.json").read_text()) == rehearsed


def test_times_are_on_one_clock(rehearsed: Any) -> None:
    times = rehearsed["times"]
    assert set(times) == set(NAMES)
    for each in times.values():
        assert 0 < each["connected"] <= each["pooled"] <= each["answered"]
    all_connected = max(each["connected"] for each in times.values())
    assert all(each["pooled"] >= all_connected for each in times.values())


def test_what_is_kept_can_be_audited_and_verified(rows: Path, rehearsed: Any) -> None:
    kept = rows / "kept"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    it = Study.load(kept / "study.toml")
    assert it.network.parties == NAMES
    for name in NAMES:
        (run,) = (kept / "runs" / name).iterdir()
        found = audit(run)
        assert (found.study, found.party, found.finished) == (it.digest, name, True)
        assert found.bytes_sent >= rehearsed["cost"]["bytes_sent"][name]
        said = answer("verify", run / "transcript.json", "--study", kept / "study.toml")
        assert said["verified"]
        assert said["result"]["params"] == rehearsed["params"]
        assert answer("audit", run)["messages"] == len(found.sent)


def test_a_real_run_does_not_keep_its_masks(studied: Path) -> None:
    words = ["--as", "north", "--data", "rows/north.csv", "--key", "keys/north.key", "--yes"]
    done = titan("join", "study.toml", *words, "--keep-journal", cwd=studied)
    assert done.returncode == 1
    assert "would leave the masks of a real run on the disk" in done.stderr
    assert not (studied / "runs").exists()


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("127.0.0.1:7443", True), ("127.8.0.1:1", True), ("[::1]:7443", True),
        ("localhost:7443", True), ("north.example.org:7443", False), ("192.0.2.7:7443", False),
        ("[2001:db8::7]:7443", False), ("localhost.example.org:7443", False),
    ],
)  # fmt: skip
def test_which_addresses_are_on_this_machine(address: str, here: bool) -> None:
    assert on_loopback(address) is here


def test_a_study_with_its_own_keys_parquet_and_gaps(studied: Path) -> None:
    gap = pa.table({"y": [1.5, None, *range(20)], "a": [3, 4, *range(20)]})
    (studied / "rows" / "east.csv").unlink()
    parquet.write_table(gap, studied / "rows" / "east.parquet")
    (studied / "rows" / "stranger.csv").touch()
    words = ["rehearse", "study.toml", "--data", "rows", "--keys", "keys", "--out", "kept"]
    done = titan(*words, "--keep-journal", "--save", "it.json", cwd=studied)
    assert done.returncode == 0, done.stderr
    assert "titan: note: not read, for no party is called so: stranger.csv" in done.stderr
    assert "All 3 parties ended with the same answer" in done.stdout
    out = json.loads((studied / "it.json").read_text())
    files = ["rows/north.csv", "rows/east.parquet", "rows/south.csv"]
    expected = answer(
        "fit", *files, "--formula", "y ~ a", "--missing", "drop", "--recovery", "tree",
        "--tau", 1, cwd=studied,
    )  # fmt: skip
    assert {key: out[key] for key in expected} == expected
    assert out["dropped"] == 1
    copy, real = Study.load(studied / "kept" / "study.toml"), Study.load(studied / "study.toml")
    assert [c.fingerprint for c in copy.parties] == [c.fingerprint for c in real.parties]


# -- what it refuses --------------------------------------------------------------------------


def test_a_party_whose_rows_are_refused(studied: Path) -> None:
    with (studied / "rows" / "east.csv").open("a") as file:
        file.write("1,high\n")
    done = titan("rehearse", "study.toml", "--data", "rows", cwd=studied)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'titan: error: "east": east.csv, line 14, column "a"' in done.stderr


def test_too_few_rows_are_refused_by_name(studied: Path) -> None:
    file = studied / "rows" / "south.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:4]) + "\n")
    done = titan("rehearse", "study.toml", "--data", "rows", cwd=studied)
    assert done.returncode == 1
    assert 'titan: error: "south"' in done.stderr


def test_missing_files_and_wrong_folders(studied: Path) -> None:
    words = ["rehearse", "study.toml", "--data"]
    (studied / "rows" / "south.csv").rename(studied / "rows" / "sout.csv")
    done = titan(*words, "rows", cwd=studied)
    assert done.returncode == 1
    assert 'rows has no file of "south"' in done.stderr
    assert "these belong to no party of the study: sout.csv" in done.stderr
    (studied / "empty").mkdir()
    assert 'no file of "north", "east"' in titan(*words, "empty", cwd=studied).stderr
    assert "absent is no directory" in titan(*words, "absent", cwd=studied).stderr
    (studied / "rows" / "sout.csv").rename(studied / "rows" / "south.csv")
    (studied / "keys" / "east.key").unlink()
    done = titan(*words, "rows", "--keys", "keys", cwd=studied)
    assert 'no key of "east"' in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["study.toml"], "--data DIR"),
        (["rows/north.csv"], "--party COLUMN"),
        (["study.toml", "--data", "rows", "--party", "x"], "both --data and --party"),
        (["study.toml", "--data", "rows", "--tau", 2], "--tau beside a study"),
        (["study.toml", "--data", "rows", "--min-rows", 2], "--min-rows beside a study"),
        (["study.toml", "--data", "rows", "--network", "cycle"], "--network beside a study"),
        (["rows/north.csv", "--party", "a"], "no model is given"),
        (["rows/north.csv", "--party", "b", "--formula", "y ~ a"], 'no column "b"'),
        (["rows/north.csv", "--party", "a", "--formula", "y ~ a", "--tau", 30], "τ = 30"),
        (["rows/north.csv", "--party", "a", "--formula", "y ~ a", "--network", "x.csv"], "x.csv"),
        (["rows/north.csv", "--party", "a", "--formula", "y ~"], "formula"),
        (["absent.toml", "--data", "rows"], "absent.toml: no such file"),
        (["absent.csv", "--party", "a", "--formula", "y ~ a"], "absent.csv cannot be read"),
        (["study.toml", "--data", "rows", "--out", "rows"], "rows is not empty"),
        (["study.toml", "--data", "rows", "--keep-journal"], "--keep-journal without --out"),
        (["study.toml", "--data", "rows", "--save", "study.toml"], "one of the inputs"),
    ],
)
def test_what_is_refused_before_anything_starts(
    studied: Path, words: list[object], message: str
) -> None:
    done = titan("rehearse", *words, cwd=studied)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.startswith("titan: error: ")
