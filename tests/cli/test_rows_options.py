"""Rows of files, folders, patterns and queries give one answer; what cannot be meant is refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_commands import answer, titan

duckdb = pytest.importorskip("duckdb", reason="needs the extra sql: DuckDB")

TABLE = pa.table(
    {
        "y": [(7 * i + i * i) % 13 / 4 for i in range(120)],
        "a": [i % 11 for i in range(120)],
        "site": [("n", "e", "s")[i % 3] for i in range(120)],
    }
)
MODEL = ("--formula", "y ~ a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    for at in range(3):
        pq.write_table(TABLE.slice(40 * at, 40), tmp_path / "rows" / f"{at}.parquet")
    pq.write_table(TABLE, tmp_path / "all.parquet")
    with duckdb.connect(str(tmp_path / "d.db")) as connection:
        connection.register("given", TABLE)
        connection.execute("create table visits as select * from given")
    return tmp_path


GIVEN: dict[str, tuple[str, ...]] = {
    "a folder": ("rows",),
    "a pattern": ("rows/*.parquet",),
    "a query": ("--sql", "select * from visits", "--from", "duckdb:d.db"),
    "a query to files": ("--sql", "from 'rows/*.parquet'", "--from", "duckdb:"),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_the_answer_is_that_of_one_file(kind: str, folder: Path) -> None:
    expected = answer("fit", "all.parquet", *MODEL, cwd=folder)
    assert answer("fit", *GIVEN[kind], *MODEL, cwd=folder) == expected
    told = answer("moments", *GIVEN[kind], *MODEL, "--out", "x.moments", cwd=folder)
    assert told["rows"] == 120
    assert answer("fit", "x.moments", cwd=folder)["params"] == expected["params"]


def test_a_query_is_divided_among_parties_and_a_pattern_is_called_like_its_folder(
    folder: Path,
) -> None:
    divided = answer("fit", *GIVEN["a query"], "--party", "site", *MODEL, cwd=folder)
    assert divided["parties"] == ["n", "e", "s"]
    words = ("rows/*.parquet", "all.parquet", *MODEL, "--allow-small")
    assert answer("fit", *words, cwd=folder)["parties"] == ["rows", "all"]


def test_the_database_may_be_in_a_variable_that_other_commands_pass_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TITAN_FROM", "duckdb:d.db")
    query = answer("fit", "--sql", "select * from visits", *MODEL, cwd=folder)
    assert query == answer("fit", "all.parquet", *MODEL, cwd=folder)


WRONG: list[tuple[str, str, int, str]] = [
    ("fit all.parquet --sql x --from duckdb:d.db", "FILE and --sql are both given", 2, "one or"),
    ("fit", "no rows are given: FILE is missing", 2, "--sql and --from"),
    ("moments", "no rows are given: FILE is missing", 2, "--sql and --from"),
    ("fit --sql x", "--sql needs to know whom to ask", 2, "--from duckdb:FILE"),
    ("fit all.parquet --from duckdb:d.db", "--from is given without --sql", 2, "--sql"),
    ("fit --sql x --from duckdb:d.db --scheduler tcp://h:1", "--scheduler reads files", 2, "one"),
    ("fit --sql x --from mysql://u:secret@h/d", "mysql:// is not a database", 2, "duckdb:FILE"),
    ("fit --sql x --from duckdb:none.db", "there is no database none.db", 1, "duckdb:FILE"),
    ("fit --sql selec --from duckdb:d.db", "cannot be asked on duckdb:d.db", 1, "correct it"),
    ("fit none/*.parquet", "no file matches none/*.parquet", 1, "quotes"),
    ("moments --sql x --from duckdb:d.db", "a query needs a name for its sum", 2, "--out"),
    ("moments rows/*.parquet", "several files need a name for their sum", 2, "--out"),
    ("fit all.parquet --scheduler nonsense", "is not the address of a Dask", 2, "tcp://"),
]


@pytest.mark.parametrize(("words", "problem", "status", "hint"), WRONG)
def test_bad_input(words: str, problem: str, status: int, hint: str, folder: Path) -> None:
    done = titan(*words.split(" "), *MODEL, cwd=folder)
    assert (done.returncode, done.stdout) == (status, "")
    error, advice = done.stderr.splitlines()
    assert error.startswith("titan: error: ")
    assert problem in error
    assert hint in advice
    assert "secret" not in done.stderr


def test_a_scheduler_that_is_not_there_may_come_later(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        done = titan("fit", "all.parquet", *MODEL, "--scheduler", address, cwd=folder)
    assert done.returncode == 75
    assert f"there is no Dask scheduler at {address}" in done.stderr
