"""Several files are one party's rows: all of them, each once, with the same columns."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import titan
from titan.errors import DataError, FileError
from titan.moments import Model, collect, open_source, split_by

WHOLE = pa.table(
    {
        "y": np.arange(90) / 8,
        "a": np.arange(90) % 7,
        "year": [("2023", "2024", "2025")[i // 30] for i in range(90)],
    }
)
MODEL = Model("y ~ a + year")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As Hive writes them: the year is in the names of folders alone."""
    place = tmp_path / "rows"
    ds.write_dataset(WHOLE, place, format="parquet", partitioning=["year"],
                     partitioning_flavor="hive")  # fmt: skip
    (place / "_metadata").write_bytes(b"not rows")
    (place / "year=2024" / ".hidden.parquet").write_bytes(b"not rows")
    return place


def test_a_folder_is_the_rows_of_all_its_files(folder: Path) -> None:
    expected = collect(WHOLE, MODEL).moments
    for given in (folder, str(folder)):
        source = open_source(given)
        assert source.column_names == ("y", "a", "year")
        assert collect(source, MODEL).moments == expected
    assert list(split_by(open_source(folder), "year")) == ["2023", "2024", "2025"]


def test_what_polars_and_arrow_make_of_the_folder_is_the_same(folder: Path) -> None:
    expected = collect(WHOLE, MODEL).moments
    assert collect(ds.dataset(folder, partitioning="hive"), MODEL).moments == expected
    lazy = pl.scan_parquet(folder / "**/part*.parquet", hive_partitioning=True)
    assert collect(lazy, MODEL).moments == expected
    assert collect(lazy.filter(pl.col("a") > 2), MODEL).moments.rows < 90


def test_a_name_that_is_no_value_is_a_gap_and_one_in_code_is_decoded(tmp_path: Path) -> None:
    for name in ("g=__HIVE_DEFAULT_PARTITION__", "g=a%2Fb"):
        (tmp_path / name).mkdir()
        pq.write_table(WHOLE.slice(0, 10).select(["y"]), tmp_path / name / "x.parquet")
    blocks = list(open_source(tmp_path).batches(["g"]))
    assert [block.cells["g"].text().unique().to_pylist() for block in blocks] == [[None], ["a/b"]]


def test_a_column_of_the_file_is_not_replaced_by_its_folders_name(tmp_path: Path) -> None:
    (tmp_path / "year=1999").mkdir()
    pq.write_table(WHOLE, tmp_path / "year=1999" / "x.parquet")
    assert collect(tmp_path, MODEL).moments == collect(WHOLE, MODEL).moments


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Of several kinds, the columns in another order each."""
    thirds = [WHOLE.slice(start, 30) for start in (0, 30, 60)]
    pq.write_table(thirds[0], tmp_path / "a.parquet")
    for name, third, opened in (("b.csv", thirds[1], open), ("c.csv.gz", thirds[2], gzip.open)):
        lines = ["year,y,a", *(f"{r['year']},{r['y']},{r['a']}" for r in third.to_pylist())]
        with opened(tmp_path / name, "wt") as file:
            file.write("\n".join(lines))
    return tmp_path


def test_a_list_or_a_pattern_of_files_is_one_source(files: Path) -> None:
    expected = collect(WHOLE, MODEL).moments
    paths = [files / "b.csv", str(files / "a.parquet"), files / "c.csv.gz"]
    for given in (paths, tuple(paths), f"{files}/*", files / "?.*"):
        assert collect(open_source(given), MODEL).moments == expected
    fit = titan.fit(paths, formula="y ~ a + year", cov_type="HC0")
    assert fit.nobs == 90
    both = titan.fit([paths, [*paths]], "complete", formula="y ~ a + year")
    assert both.nobs == 180


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    pq.write_table(WHOLE, tmp_path / "a[1].parquet")
    pq.write_table(WHOLE.slice(0, 30), tmp_path / "a1.parquet")
    assert collect(tmp_path / "a[1].parquet", MODEL).moments.rows == 90


def test_files_with_other_columns_are_named(files: Path) -> None:
    (files / "d.csv").write_text("year,y,b\n2023,1,2\n")
    with pytest.raises(DataError, match=r"^d.csv has other columns than a.parquet: it lacks 'a'"):
        open_source(f"{files}/*")
    (files / "d.csv").write_text("76.83,53,1\n76.83,53,1\n")
    with pytest.raises(DataError, match=r"^d.csv has other columns than a.parquet \(all"):
        open_source(f"{files}/*")


def test_an_error_names_the_file_among_several(files: Path) -> None:
    with (files / "b.csv").open("a") as file:
        file.write("\n2024,oops,3\n")
    with pytest.raises(DataError, match=r'^b.csv, line 32, column "y": text where'):
        collect(open_source(f"{files}/*"), MODEL)
    with pytest.raises(DataError, match=r"^b.csv \(the table of 'p'\), line 32"):
        collect(open_source(f"{files}/*", label="the table of 'p'"), MODEL)


def test_empty_files_are_no_rows_and_no_error(files: Path, tmp_path: Path) -> None:
    (files / "d.csv").write_text("year,y,a\n")
    pq.write_table(WHOLE.slice(0, 0), files / "e.parquet")
    assert collect(open_source(f"{files}/*"), MODEL).moments == collect(WHOLE, MODEL).moments


NOTHING: list[tuple[str, type[Exception], str]] = [
    ("*.parquet", FileError, "no file matches"),
    ("none/*", FileError, "no file matches"),
    ("", FileError, "is a folder without Parquet files"),
    ("delta", DataError, "is a table of Delta, whose files are not all its rows"),
    ("iceberg", DataError, "is a table of Iceberg"),
]


@pytest.mark.parametrize(("given", "error", "message"), NOTHING)
def test_where_there_are_no_files_of_rows(
    given: str, error: Any, message: str, tmp_path: Path
) -> None:
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "iceberg" / "metadata").mkdir(parents=True)
    (tmp_path / "iceberg" / "metadata" / "version-hint.text").touch()
    with pytest.raises(error, match=message) as caught:
        open_source(str(tmp_path / given) if given else tmp_path)
    assert caught.value.hint


def test_a_lazy_frame_that_cannot_be_computed_quotes_no_cell(tmp_path: Path) -> None:
    lazy = pl.LazyFrame({"y": ["1", "secret"]}).with_columns(pl.col("y").cast(pl.Int64))
    with pytest.raises(DataError, match="the table cannot be computed") as caught:
        collect(lazy, Model("y ~ 1"))
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="cannot be computed"):
        open_source(pl.scan_parquet(tmp_path / "none.parquet"))
