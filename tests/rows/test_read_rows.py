"""What is missing is counted and refused, or dropped and reported; weights and models hold."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.batches import read_rows

from titan.errors import DataError
from titan.moments.model import Model
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import open_source
from titan_lab import datasets

NAN, NONE = float("nan"), None
GAPS: dict[str, Any] = {
    "pandas": pd.DataFrame(
        {"y": [1, NAN, 3, 4], "a": [1, NAN, NAN, 2], "s": ["u", "v", "u", NONE]}
    ),
    "polars": pl.DataFrame(
        {"y": [1, NONE, 3, 4], "a": [1.0, NAN, NONE, 2.0], "s": ["u", "v", "u", NONE]}
    ),
    "arrow": pa.table({"y": [1, NONE, 3, 4], "a": [1, NONE, NONE, 2], "s": ["u", "v", "u", NONE]}),
    "objects": {"y": [1, NONE, 3, 4], "a": [1, NAN, NONE, 2], "s": ["u", "v", "u", NONE]},
    "csv": "y,a,s,unused\n1,1,u,\n,NA,v,\n3,nan,u,x\n4,2,,y\n",
}
MODEL = Model("y ~ a + C(s, levels=['u', 'v'])")


def opened(kind: str, folder: Path) -> Any:
    if kind != "csv":
        return GAPS[kind]
    path = folder / "rows.csv"
    path.write_text(GAPS[kind])
    return path


@pytest.mark.parametrize("kind", GAPS)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_missing_values_are_refused_with_counts_over_all_rows(
    tmp_path: Path, kind: str, size: int
) -> None:
    with pytest.raises(DataError, match='2 missing in "a", 1 in "y", 1 in "s"') as caught:
        list(read_rows(opened(kind, tmp_path), MODEL, batch_rows=size))
    assert 'missing="drop"' in caught.value.hint


@pytest.mark.parametrize("kind", GAPS)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_incomplete_rows_are_dropped_on_request_and_counted(
    tmp_path: Path, kind: str, size: int
) -> None:
    batches = list(read_rows(opened(kind, tmp_path), MODEL, missing="drop", batch_rows=size))
    assert sum(batch.rows for batch in batches) == 1
    source = open_source(opened(kind, tmp_path))
    found = source.each_block(
        ModelRows(MODEL, "drop").batch, columns=MODEL.columns_needed, size=size
    )
    assert sum(count.dropped for _, count in found) == 3
    [kept] = [batch for batch in batches if batch.rows]
    assert [column.fractions() for column in kept.columns] == [[1], [1], [0], [1]]


def test_nothing_more_is_given_out_once_a_value_is_missing() -> None:
    batches = read_rows({"y": [1, 2, NONE, 4, 5]}, Model("y ~ 1"), batch_rows=1)
    assert [next(batches).rows, next(batches).rows] == [1, 1]
    with pytest.raises(DataError, match='1 missing in "y"'):
        next(batches)


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(DataError, match="no complete rows"):
        list(read_rows({"y": [NONE], "a": [1]}, Model("y ~ a"), missing="drop"))
    with pytest.raises(DataError, match='where "refuse" or "drop" was expected'):
        read_rows({"y": [1]}, Model("y ~ 1"), missing="ignore")  # type: ignore[arg-type]


def test_an_infinite_value_is_an_error_even_where_rows_are_dropped() -> None:
    with pytest.raises(DataError, match="an infinite number"):
        list(read_rows({"y": [1.0, NAN, np.inf]}, Model("y ~ 1"), missing="drop"))


def test_missing_columns_are_refused_before_any_row_is_read() -> None:
    with pytest.raises(DataError, match='no column "b" nor "w"'):
        read_rows({"y": [1], "a": [2]}, Model("y ~ a + b", weights="w"))


def test_weights_come_with_each_batch() -> None:
    data = {"y": [1, 2, 3], "w": ["0.5", NONE, "2"]}
    [batch] = read_rows(data, Model("y ~ 1", weights="w"), missing="drop")
    assert batch.weights is not None
    assert batch.weights.fractions() == [Fraction(1, 2), 2]
    assert next(read_rows(data, Model("y ~ 1"))).weights is None
    with pytest.raises(DataError, match=r'row 1 .*column "w": a negative weight'):
        list(read_rows({"y": [1, 2], "w": [1, -1]}, Model("y ~ 1", weights="w")))


def test_functions_name_the_row_where_they_have_no_value() -> None:
    with pytest.raises(DataError, match=r"row 2 .*in log\(a\): log of a number that is not"):
        list(read_rows({"y": [1, 2, 3], "a": [1, 2, 0]}, Model("y ~ log(a)"), batch_rows=1))


def test_no_value_is_ever_shown() -> None:
    data = {"y": [123456, 654321], "a": ["987.654", "1"]}
    for batch in read_rows(data, Model("y ~ a + I(a * y)", weights="a")):
        shown = repr(batch) + repr(batch.columns) + repr(batch.weights)
        assert not any(value in shown for value in ("123456", "654321", "987", "654"))


def test_filip_is_read_exactly_from_its_decimal_text() -> None:
    """Raw powers to the tenth of ten-digit decimals: hundreds of bits, and none of them lost."""
    data = datasets.nist("Filip")
    [batch] = read_rows(data.path, Model("y ~ poly(x, 10, raw=True)"))
    lines = [line.split(",") for line in data.path.read_text().split()[1:]]
    x = [Fraction(line[1]) for line in lines]
    assert batch.columns[-1].fractions() == [Fraction(line[0]) for line in lines]
    assert [c.fractions() for c in batch.columns[:-1]] == [[v**k for v in x] for k in range(11)]


@pytest.mark.parametrize("name", datasets.nist_names())
def test_every_reference_data_set_can_be_read(name: str) -> None:
    data = datasets.nist(name)
    header = data.path.read_text().split()[0].split(",")
    [batch] = read_rows(data.path, Model.from_columns("y", header[1:]))
    assert batch.rows == data.facts["observations"]


def test_many_columns_make_smaller_batches() -> None:
    rows = 20_000
    levels = ", ".join(map(str, range(1000)))
    data = {"y": np.arange(rows), "k": np.arange(rows) % 1000}
    model = Model(f"y ~ C(k, levels=[{levels}])")
    sizes = [batch.rows for batch in _first(read_rows(data, model), 2)]
    assert max(sizes) * len(model.names) <= 1 << 22


def _first(batches: Any, count: int) -> list[Batch]:
    return [next(batches) for _ in range(count)]
