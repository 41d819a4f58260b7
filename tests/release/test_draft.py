"""A dictionary made up from rows fits these rows, and says what a person would say of them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from titan.errors import DataError
from titan.moments import Model, collect, open_source
from titan.release import Category, Flag, Number
from titan.release.draft import draft
from titan_lab import datasets


def drafted(**columns: Any) -> Any:
    return draft([open_source(columns)])


def test_kinds_follow_from_the_values(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("age,kg,sex,code,big\n41,60.50,m,0,1e3\n,71.25,f,1,2e3\n38,NA,m,0,5\n")
    found = draft([open_source(file)])
    assert dict(found) == {
        "age": Number.read("38", "41", "1"),
        "kg": Number.read("60.5", "71.25", "0.01"),
        "sex": Category(("f", "m")),
        "code": Number.read("0", "1", "1"),
        "big": Number.read("5", "2000", "1"),
    }


def test_doubles_are_their_shortest_decimals(tmp_path: Path) -> None:
    table = pa.table({
        "x": [37.2, -0.05], "b": [True, False], "d": [Decimal("1.50"), Decimal("2.00")],
        "f": pa.array([0.1, 0.2], pa.float32()),
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "rows.parquet")
    found = draft([open_source(tmp_path / "rows.parquet")])
    assert found["x"] == Number.read("-0.05", "37.2", "0.01")
    assert found["f"] == Number.read("0.1", "0.2", "0.1")
    assert found["b"] == Flag()
    assert found["d"] == Number.read("1.5", "2", "0.01")
    assert drafted(x=["", "NA"])["x"] == Number.read("0", "0", "1"), "no value at all"


def test_several_sources_are_one() -> None:
    tables = [{"x": [1, 5], "s": ["b", "a"]}, {"x": ["0.5", "2"], "s": ["c", "a"]}]
    found = draft(map(open_source, tables))
    assert found["x"] == Number.read("0.5", "5", "0.1")
    assert found["s"] == Category(("a", "b", "c"))
    assert list(draft(map(open_source, tables), ["s"])) == ["s"]


def test_the_rows_fit_what_is_made_up_of_them() -> None:
    source = open_source(datasets.path("heart_disease"))
    found = draft([source], ["age", "sex", "thalach", "oldpeak"])
    model = Model("thalach ~ age + sex + oldpeak")
    placed = collect(source, model, missing="drop", check=found.place)
    assert placed.rounded == {}
    exact = collect(source, model, missing="drop")
    n = len(model.names)
    assert all(
        placed.moments.fraction(j, k) == exact.moments.fraction(j, k)
        for j in range(n)
        for k in range(n)
    )


def test_doubles_of_any_digits_fit() -> None:
    rows = {name: np.random.default_rng(1).normal(size=50) for name in "xy"}
    found = draft([open_source(rows)])
    placed = collect(rows, Model("y ~ x"), check=found.place)
    assert placed.rounded == {}
    assert placed.moments.fraction(1, 0) == sum(Fraction(repr(float(x))) for x in rows["x"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "high"], 'row 1 .*column "x": text where a number was expected'),
        ([f"n{i}" for i in range(10_001)], "10001 levels"),
        (["a\nb", "c"], "is not one line of visible text"),
    ],
)
def test_what_cannot_be_described(values: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        drafted(x=values)


def test_what_cannot_be_described_may_be_left_out() -> None:
    rows = {"x": ["1", "high"], "y": ["1", "2"], "z": ["a\nb", ""]}
    assert list(draft([open_source(rows)], lenient=True)) == ["y"]
    assert list(draft([open_source(rows)], [])) == []


def test_words_in_one_source_and_numbers_in_another() -> None:
    tables = [{"x": ["1", "2"]}, {"x": ["a", "b"]}]
    with pytest.raises(DataError, match="numbers in one table and words in another"):
        draft(map(open_source, tables))
