"""A party's rows may be anywhere: its parts and its ledger are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.executors import Elsewhere
from tests.party.test_preparing import COLUMNS, HEADER, ROWS, STUDY
from titan.errors import FileError, WorkersError
from titan.moments import open_source
from titan.moments.sql import Query
from titan.party.own_rows import look
from titan.party.preparing import are_there, prepare, rows_for
from titan.party.reasons import Reason, told_as
from titan.study.ledger import Ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "north.csv").write_text("\n".join([HEADER, *ROWS]) + "\n")
    kept = csv.ConvertOptions(column_types={"y": pa.decimal128(9, 2)})
    table = csv.read_csv(tmp_path / "north.csv", convert_options=kept)
    (tmp_path / "rows").mkdir()
    for at in range(3):
        parquet.write_table(table.slice(20 * at, 20), tmp_path / "rows" / f"{at}.parquet")
    return tmp_path


def everywhere(folder: Path) -> dict[str, Any]:
    return {
        "folder": folder / "rows",
        "pattern": f"{folder}/rows/*.parquet",
        "list": [folder / "rows" / f"{at}.parquet" for at in (2, 0, 1)],
        "elsewhere": open_source(folder / "rows", executor=Elsewhere()),
        "query": Query(f"from '{folder}/rows/*.parquet'", "duckdb:"),
    }


@pytest.mark.parametrize("kind", ["folder", "pattern", "list", "elsewhere", "query"])
def test_parts_and_digests_are_those_of_one_file(kind: str, folder: Path, ledger: Ledger) -> None:
    pytest.importorskip("duckdb", reason="needs the extra sql: DuckDB")
    assert set(COLUMNS.content()) <= set(HEADER.split(","))
    expected, [kept] = prepare(STUDY, 1, open_source(folder / "north.csv"), ledger.row_key)
    data = everywhere(folder)[kind]
    rows = rows_for(STUDY, data)
    parts, [entry] = prepare(STUDY, 1, rows, ledger.row_key)
    assert parts["q1"].moments == expected["q1"].moments
    assert entry.rows.fingerprint == kept.rows.fingerprint
    assert look(STUDY, data).outcome == look(STUDY, folder / "north.csv").outcome


def test_files_that_are_there_and_names_that_are_mistyped(folder: Path) -> None:
    for data in list(everywhere(folder).values())[:3]:
        assert are_there(data)
        assert are_there({"q1": data})
    for nothing in (folder / "none.csv", f"{folder}/none/*", [folder / "none.csv"]):
        assert not are_there(nothing)
    with pytest.raises(FileError):
        rows_for(STUDY, f"{folder}/none/*")


def test_of_workers_that_are_not_there_others_are_not_told() -> None:
    """The file may be right: the same command goes on when they are back."""
    with pytest.raises(WorkersError) as caught, told_as(Reason.FILE):
        raise WorkersError("there is no Dask scheduler")
    assert not caught.value.to_others
    with pytest.raises(FileError) as told, told_as(Reason.FILE):
        raise FileError("it is damaged")
    assert told.value.to_others == Reason.FILE
