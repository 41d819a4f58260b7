"""The rows of a query are read as those of a file, again if need be; no secret is shown."""

from __future__ import annotations

import socket
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import titan
from titan.errors import BusyError, DataError, FileError, InputError, TitanError
from titan.moments import Model, collect, open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.moments.same_rows import SameRows
from titan.moments.sql import Query

duckdb = pytest.importorskip("duckdb", reason="needs the extra sql: DuckDB")
pytest.importorskip("adbc_driver_sqlite", reason="needs the extra sql: ADBC's SQLite")

ROWS = [(i / 8, i % 7, ("f", "m")[i % 2]) for i in range(300)]
TABLE = pa.table(dict(zip(("y", "a", "sex"), zip(*ROWS, strict=True), strict=True)))
MODEL = Model("y ~ a + C(sex, levels=['f', 'm'])")
ALL = "select * from visits"


@pytest.fixture
def databases(tmp_path: Path) -> dict[str, str]:
    with sqlite3.connect(tmp_path / "s.db") as lite:
        lite.execute("create table visits (y real, a integer, sex text)")
        lite.executemany("insert into visits values (?, ?, ?)", ROWS)
    lite.close()
    with duckdb.connect(str(tmp_path / "d.db")) as duck:
        duck.register("rows", TABLE)
        duck.execute("create table visits as select * from rows")
    return {kind: f"{kind}:{tmp_path}/{kind[0]}.db" for kind in ("sqlite", "duckdb")}


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_has_the_rows_that_its_table_has(kind: str, databases: dict[str, str]) -> None:
    query = Query(ALL, databases[kind])
    assert open_source(query).column_names == ("y", "a", "sex")
    assert collect(query, MODEL) == collect(TABLE, MODEL)
    fit = titan.fit(query, formula="y ~ a", cov_type="HC1")  # which reads twice
    assert dict(fit.bse) == dict(titan.fit(TABLE, formula="y ~ a", cov_type="HC1").bse)


def test_the_rows_of_a_query_that_changed_are_refused(databases: dict[str, str]) -> None:
    source = SameRows(open_source(Query(ALL, databases["sqlite"])), bytes(32))
    reading = CollectMoments(ModelRows(MODEL))
    assert read(source, reading) == read(source, reading)
    with sqlite3.connect(databases["sqlite"].removeprefix("sqlite:")) as lite:
        lite.execute("update visits set a = 6 where y = 0")
    lite.close()
    with pytest.raises(DataError, match="changed since it was first read"):
        read(source, reading)


def test_duckdb_without_a_file_reads_the_files_that_a_query_names(tmp_path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(TABLE, tmp_path / "v.parquet")
    query = Query(f"from '{tmp_path}/*.parquet'", "duckdb:")
    assert collect(query, MODEL) == collect(TABLE, MODEL)


def test_a_relation_is_read_as_often_as_it_is_asked(databases: dict[str, str]) -> None:
    with duckdb.connect(databases["duckdb"].removeprefix("duckdb:"), read_only=True) as duck:
        source = open_source(duck.sql(ALL))
        for _ in range(2):
            assert collect(source, MODEL) == collect(TABLE, MODEL)
        broken = duck.sql("select cast(sex || 'secret' as integer) as y from visits")
        with pytest.raises(DataError, match="cannot be read") as caught:
            collect(broken, Model("y ~ 1"))
        assert "secret" not in str(caught.value)


def test_decimals_and_long_integers_are_exact(databases: dict[str, str]) -> None:
    text = "select 0.1::decimal(9, 1) y, 12345678901234567890123::hugeint a"
    found = collect(Query(text, "duckdb:"), Model("y ~ a - 1")).moments
    assert found.fraction(1, 1).limit_denominator() * 100 == 1
    assert found.fraction(0, 0) == 12345678901234567890123**2


WRONG: list[tuple[str, str, type[TitanError], str]] = [
    ("selec 1", "duckdb", InputError, 'cannot be asked on .*syntax error at or near "selec"'),
    ("selec 1", "sqlite", InputError, "cannot be asked on .*syntax error"),
    ("select nope from visits", "duckdb", InputError, 'cannot be asked on .*column "nope"'),
    ("select nope from visits", "sqlite", InputError, "no such column: nope"),
    ("update visits set a = 1", "duckdb", InputError, "the query is not one select"),
    ("select 1; select 2", "duckdb", InputError, "the query is not one select"),
    ("copy visits to 'x.csv'", "duckdb", InputError, "the query is not one select"),
    ("update visits set a = 1", "sqlite", DataError, "failed while its rows were read"),
    ("select y, a from query", "duckdb", InputError, "Table with name query does not exist"),
    ("select y as a, a from visits", "duckdb", DataError, 'two columns called "a"'),
]


@pytest.mark.parametrize(("text", "kind", "error", "message"), WRONG)
def test_queries_that_cannot_be_asked(
    text: str, kind: str, error: Any, message: str, databases: dict[str, str]
) -> None:
    with pytest.raises(error, match=message):
        collect(open_source(Query(text, databases[kind])), Model("y ~ a"))
    assert collect(Query(ALL, databases[kind]), MODEL) == collect(TABLE, MODEL), "nothing changed"


def test_what_fails_in_a_row_quotes_none(databases: dict[str, str]) -> None:
    for kind, text in (
        ("duckdb", "select cast(sex || 'secret' as integer) as y, a from visits"),
        ("sqlite", "select a as y, a from visits union all select 'secret', 1"),
    ):
        with pytest.raises(DataError) as caught:
            collect(Query(text, databases[kind]), Model("y ~ a"))
        assert "secret" not in str(caught.value)


def test_databases_that_are_not_there(tmp_path: Path, databases: dict[str, str]) -> None:
    (tmp_path / "junk.db").write_bytes(b"junk" * 1000)
    for scheme in ("duckdb", "sqlite"):
        with pytest.raises(FileError, match=f"there is no database {tmp_path}/none.db"):
            open_source(Query("select 1", f"{scheme}:{tmp_path}/none.db"))
        with pytest.raises(TitanError, match="not a database"):
            open_source(Query("select 1", f"{scheme}:{tmp_path}/junk.db"))
    for nothing in ("", "rows.db", "mysql://host/x", "user:secret@host"):
        with pytest.raises(InputError) as caught:
            Query("select 1", nothing)
        assert "secret" not in repr(caught.value)
        assert "duckdb:FILE" in caught.value.hint


def test_no_password_is_shown() -> None:
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra sql: PostgreSQL")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        query = Query(
            "select 'secret'", f"postgresql://me:secret@127.0.0.1:{port}/x?password=secret"
        )
        assert "secret" not in repr(query)
        assert "me" not in repr(query)
        with pytest.raises(
            FileError, match=f"^postgresql://127.0.0.1:{port}/x cannot be"
        ) as caught:
            open_source(query)
    assert "secret" not in str(caught.value) + repr(caught.value.__context__)


def test_a_database_that_another_process_writes_is_busy(databases: dict[str, str]) -> None:
    import subprocess
    import sys

    file = databases["duckdb"].removeprefix("duckdb:")
    holding = f"import duckdb; c = duckdb.connect({file!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(BusyError, match="another process has"):
            open_source(Query(ALL, databases["duckdb"]))
        other.communicate(b"\n")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match="DuckDB is not installed") as caught:
        open_source(Query("select 1", "duckdb:"))
    assert "titan-consensus[sql]" in caught.value.hint
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="Dask is not installed") as caught:
        open_source(TABLE, executor="tcp://127.0.0.1:1")
    assert "titan-consensus[dask]" in caught.value.hint
