"""titan rehearse: real processes, real TLS, and the answer of `titan fit` to the last bit."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.test_commands import answer, titan
from tests.study.parties import identity
from tests.study.studies import study
from titan.release import Dictionary, Number
from titan.study import Study, check
from titan.study.audit import audit
from titan.study.identity import on_loopback
from titan_lab import datasets

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
    decimals = Dictionary.of({"y": Number.read("-100", "100", "0.01")})
    it = study(NAMES, formula="y ~ a", columns=decimals, missing="drop", recovery="tree")
    it.save(tmp_path / "study.toml")
    (tmp_path / "keys").mkdir()
    (tmp_path / "rows").mkdir()
    for at, name in enumerate(NAMES):
        identity(name).save(tmp_path / "keys")
        lines = [f"{i * i % 11 + at}.{i:02},{i}" for i in range(12)]
        (tmp_path / "rows" / f"{name}.csv").write_text("\n".join(["y,a", *lines]) + "\n")
    return tmp_path


# -- what it gives ----------------------------------------------------------------------------


def test_the_answer_is_that_of_fit(rows: Path, rehearsed: Any) -> None:
    words = ["--party", "site", "--formula", FORMULA, "--network", "cycle", "--tau", 1]
    expected = answer("fit", "all.csv", *words, cwd=rows)
    assert set(rehearsed) == {*expected, "times", "folder"}
    cost = predicted(rows / "kept" / "study.toml")
    assert {key: rehearsed[key] for key in expected} == expected | {"cost": cost}
    assert json.loads((rows / "it.json").read_text()) == rehearsed


def predicted(study: Path) -> Any:
    """The cost of a study's sums, which are others than those of `titan fit`."""
    found = check(Study.load(study), datetime.now(UTC)).cost
    assert found is not None
    return json.loads(json.dumps(found.as_dict()))


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
    more = [Decimal(f"{i * i % 7}.{i:02}") for i in range(20)]
    gap = pa.table({"y": [Decimal("1.50"), None, *more], "a": [3, 4, *range(20)]})
    (studied / "rows" / "east.csv").unlink()
    parquet.write_table(gap, studied / "rows" / "east.parquet")
    (studied / "rows" / "stranger.csv").touch()
    words = ["rehearse", "study.toml", "--data", "rows", "--keys", "keys", "--out", "kept"]
    done = titan(*words, "--keep-journal", "--save", "it.json", cwd=studied)
    assert done.returncode == 0, done.stderr
    assert "titan: note: not read, because no party has this name: stranger.csv" in done.stderr
    assert "All 3 parties ended with the same answer" in done.stdout
    out = json.loads((studied / "it.json").read_text())
    files = ["rows/north.csv", "rows/east.parquet", "rows/south.csv"]
    expected = answer(
        "fit", *files, "--formula", "y ~ a", "--missing", "drop", "--recovery", "tree",
        "--tau", 1, cwd=studied,
    )  # fmt: skip
    cost = predicted(studied / "kept" / "study.toml")
    assert {key: out[key] for key in expected} == expected | {"cost": cost}
    assert out["dropped"] == 1
    copy, real = Study.load(studied / "kept" / "study.toml"), Study.load(studied / "study.toml")
    assert [c.fingerprint for c in copy.parties] == [c.fingerprint for c in real.parties]


# -- several questions ------------------------------------------------------------------------

ASKED = [
    "--ask", "regression: thalach ~ age + sex; name=main",
    "--ask", "ridge: thalach ~ age; alpha=1,10",
    "--ask", "solve: age, sex; response=thalach",
]  # fmt: skip


def test_several_questions_in_one_meeting(rows: Path) -> None:
    """Each answer is that of the question alone; the dictionary is made up from the rows."""
    words = ["--party", "site", "--network", "cycle", "--tau", 1]
    out = answer("rehearse", "all.csv", *words, *ASKED, "--out", "several", cwd=rows)
    assert list(out["questions"]) == ["main", "q2", "q3"]
    alone = answer("fit", "all.csv", *words, "--formula", FORMULA, cwd=rows)
    main = out["questions"]["main"]
    assert main["params"] == alone["params"]
    assert main["bse"] == pytest.approx(alone["bse"], rel=1e-12)
    it = Study.load(rows / "several" / "study.toml")
    assert list(it.columns) == ["age", "sex", "thalach"]
    assert it.columns["age"].kind == "number"
    assert [str(question) for question in it.questions] == [
        "regression: thalach ~ 1 + age + sex", "ridge: thalach ~ 1 + age; alphas 1, 10",
        "solve: age, sex; response thalach",
    ]  # fmt: skip


def test_one_question_fails_and_the_other_is_answered(rows: Path) -> None:
    asked = ["--ask", "regression: thalach ~ age + I(2 * age); name=bad", "--ask", "describe: age"]
    words = ["rehearse", "all.csv", "--party", "site", *asked, "--out", "partly", "--json"]
    done = titan(*words, cwd=rows)
    assert done.returncode == 1
    found = json.loads(done.stdout)["questions"]
    assert "exactly dependent" in found["bad"]["error"]
    assert found["q2"]["nobs"] == 45
    assert "bad: columns 'age', 'I(2 * age)' are exactly dependent" in done.stderr
    shown = titan("show", "partly", cwd=rows)
    assert (shown.returncode, "Table 1: 45 rows" in shown.stdout) == (1, True)


def test_a_system_of_all_columns(tmp_path: Path) -> None:
    """Without names the last column is b, as in `titan solve`; the column of parties is neither."""
    lines = [f"{i % 5}.{i % 7},{NAMES[i % 3]},{i * i % 13},{i % 4}" for i in range(45)]
    (tmp_path / "all.csv").write_text("\n".join(["c,site,a,b", *lines]) + "\n")
    words = ["--party", "site", "--ask", "solve", "--out", "kept"]
    out = answer("rehearse", "all.csv", *words, cwd=tmp_path)
    (question,) = Study.load(tmp_path / "kept" / "study.toml").questions
    assert question.options == {"columns": ("c", "a"), "response": "b"}
    for name in NAMES:
        own = [line.replace(f"{name},", "") for line in lines if name in line]
        (tmp_path / f"{name}.csv").write_text("\n".join(["c,a,b", *own]) + "\n")
    alone = answer("solve", *(f"{name}.csv" for name in NAMES), cwd=tmp_path)
    assert out["x"] == alone["x"]


def test_a_description_needs_no_dictionary(rows: Path) -> None:
    """Columns without names are all but that of the parties, each as its values have it.

    Odd blood pressures are rare: of 15 rows not every party has one, so they are put on tens.
    """
    words = ["--party", "site", "--ask", "describe; name=table", "--missing", "drop"]
    words += ["--range", "trestbps=0:300", "--step", "trestbps=10"]
    out = answer("rehearse", "all.csv", *words, "--out", "described", cwd=rows)
    it = Study.load(rows / "described" / "study.toml")
    assert it.questions[0].name == "table"
    assert "site" not in it.columns
    assert it.columns["hospital"].kind == "category"
    assert out["columns"]["age"]["count"] == 45


def test_an_average_of_all_numbers(tmp_path: Path) -> None:
    lines = ["site,income,people,note", "a,10.5,3,x", "b,2.25,9,y", "c,7,1,z"]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    words = ["--party", "site", "--ask", "average", "--allow-small", "--out", "kept"]
    out = answer("rehearse", "all.csv", *words, cwd=tmp_path)
    (question,) = Study.load(tmp_path / "kept" / "study.toml").questions
    assert question.options == {"columns": ("income", "people")}
    assert out["total"] == {"income": 19.75, "people": 13.0}


def test_what_is_said_of_columns_is_what_is_used(rows: Path) -> None:
    words = ["--party", "site", "--ask", "regression: thalach ~ age", "--range", "age=0:120"]
    words += ["--step", "age=10", "--range", "thalach=0:300", "--step", "thalach=1"]
    out = answer("rehearse", "all.csv", *words, cwd=rows)
    exact = answer("fit", "all.csv", *words[:2], "--formula", "thalach ~ age", cwd=rows)
    assert out["params"]["age"] != exact["params"]["age"], "ages were rounded to tens"
    done = titan(
        "rehearse", "all.csv", *words[:4], "--range", "age=0:30", "--step", "age=1", cwd=rows
    )
    assert done.returncode == 3
    assert "a value outside the study's range, 0 to 30" in done.stderr
    assert done.stderr.count("learned only that some party refuses") == 1


# -- what it refuses --------------------------------------------------------------------------


def test_a_party_whose_rows_are_refused(studied: Path) -> None:
    with (studied / "rows" / "east.csv").open("a") as file:
        file.write("1,high\n")
    done = titan("rehearse", "study.toml", "--data", "rows", cwd=studied)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'titan: error: "east": east.csv, line 14, column "a"' in done.stderr


def test_a_file_that_does_not_fit_is_named(studied: Path) -> None:
    """By its own party, whatever the others say of it."""
    (studied / "rows" / "east.csv").write_text("y,b\n" + "1,2\n" * 12)
    done = titan("rehearse", "study.toml", "--data", "rows", cwd=studied)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'titan: error: "east": east.csv has no column "a"' in done.stderr


def test_too_few_rows_are_refused_by_name(studied: Path) -> None:
    file = studied / "rows" / "south.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:4]) + "\n")
    done = titan("rehearse", "study.toml", "--data", "rows", cwd=studied)
    assert done.returncode == 3
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
    assert "absent is not a directory" in titan(*words, "absent", cwd=studied).stderr
    (studied / "rows" / "sout.csv").rename(studied / "rows" / "south.csv")
    (studied / "keys" / "east.key").unlink()
    done = titan(*words, "rows", "--keys", "keys", cwd=studied)
    assert 'no key of "east"' in done.stderr


@pytest.mark.parametrize(
    ("words", "message", "status"),
    [
        (["study.toml"], "--data DIR", 2),
        (["rows/north.csv"], "--party COLUMN", 2),
        (["study.toml", "--data", "rows", "--party", "x"], "both --data and --party", 2),
        (["study.toml", "--data", "rows", "--tau", 2], "--tau cannot go with a study", 2),
        (["study.toml", "--data", "rows", "--min-rows", 2], "--min-rows cannot go with a study", 2),
        (
            ["study.toml", "--data", "rows", "--network", "cycle"],
            "--network cannot go with a study",
            2,
        ),
        (["rows/north.csv", "--party", "a"], "no model is given", 2),
        (["rows/north.csv", "--party", "b", "--formula", "y ~ a"], 'no column "b"', 1),
        (["rows/north.csv", "--party", "a", "--formula", "y ~ a", "--tau", 30], "τ = 30", 1),
        (
            ["rows/north.csv", "--party", "a", "--formula", "y ~ a", "--network", "x.csv"],
            "x.csv",
            1,
        ),
        (["rows/north.csv", "--party", "a", "--formula", "y ~"], "formula", 2),
        (["study.toml", "--data", "rows", "--ask", "solve"], "--ask cannot go with a study", 2),
        (["study.toml", "--data", "rows", "--flag", "a"], "--flag cannot go with a study", 2),
        (["rows/north.csv", "--party", "a", "--ask", "guess"], "no question of kind 'guess'", 2),
        (["rows/north.csv", "--party", "a", "--ask", "solve: z"], 'no column "z"', 1),
        (["absent.toml", "--data", "rows"], "absent.toml cannot be read: no such file", 1),
        (["absent.csv", "--party", "a", "--formula", "y ~ a"], "absent.csv cannot be read", 1),
        (["study.toml", "--data", "rows", "--out", "rows"], "rows is not empty", 1),
        (["study.toml", "--data", "rows", "--keep-journal"], "--keep-journal without --out", 2),
        (["study.toml", "--data", "rows", "--save", "study.toml"], "one of the inputs", 2),
    ],
)
def test_what_is_refused_before_anything_starts(
    studied: Path, words: list[object], message: str, status: int
) -> None:
    done = titan("rehearse", *words, cwd=studied)
    assert done.returncode == status
    assert message in done.stderr
    assert done.stderr.startswith("titan: error: ")
