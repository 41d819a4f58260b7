"""A source that must not change: every pass sees the rows that the first one saw, or fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batches import scores
from tests.counted import Counted

from titan.errors import DataError
from titan.moments import Model, collect, open_source
from titan.moments.collecting import CollectMoments, CollectScores
from titan.moments.reading import Reading, read, read_all
from titan.moments.rows import ModelRows
from titan.moments.same_rows import SameRows
from titan.moments.sources import Block

KEY = bytes(range(32))
ROWS = [["1", "2", "u"], ["3", "5", "v"], ["4", "4", "u"], ["2", "3", "v"]]
MODEL = ModelRows(Model("y ~ a"))


@dataclass(frozen=True)
class Columns(Reading[int, int]):
    """How many rows there are; only what is read of them matters here."""

    wanted: tuple[str, ...]
    most: int = 3

    @property
    def columns(self) -> Sequence[str]:
        return self.wanted

    @property
    def size(self) -> int:
        return self.most

    def block(self, rows: Block) -> int:
        return rows.rows


def write(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.write_text("\n".join(",".join(row) for row in [["y", "a", "g"], *rows]) + "\n")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(tmp_path / "rows.csv", ROWS)
    return tmp_path / "rows.csv"


def test_the_same_rows_may_be_read_any_number_of_times(file: Path) -> None:
    source, x = SameRows(open_source(file), KEY), (1, 2)
    for _ in range(2):
        assert read(source, CollectMoments(MODEL)) == collect(file, MODEL.model)
    found = read(source, CollectScores(MODEL, x))  # type: ignore[arg-type]
    assert found == scores(file, MODEL.model, x)  # type: ignore[arg-type]


def changed(at: int, column: int, cell: str) -> list[list[str]]:
    rows = [list(row) for row in ROWS]
    rows[at][column] = cell
    return rows


OTHERS: dict[str, list[list[str]]] = {
    "a cell": changed(1, 1, "6"),
    "a digit that says nothing": changed(1, 1, "5.0"),
    "a row more": [*ROWS, ROWS[0]],
    "a row less": ROWS[1:],
    "a row twice for another": [ROWS[0], *ROWS[:3]],
    "swapped between rows": [["1", "5", "u"], ["3", "2", "v"], *ROWS[2:]],
    "swapped between columns": [["2", "1", "u"], *ROWS[1:]],
    "no rows": [],
}


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_other_rows_are_refused(file: Path, rows: list[list[str]], size: int) -> None:
    source = SameRows(open_source(file), KEY)
    read(source, Columns(("y", "a")))
    write(file, rows)
    with pytest.raises(DataError, match=r"^rows\.csv changed since it was first read") as caught:
        source.map_blocks(len_of, add, columns=("y", "a"), size=size)
    assert "leave the data alone" in caught.value.hint
    write(file, ROWS)
    assert read(source, Columns(("y", "a"))) == 4, "the first pass counts, not the last"


def len_of(block: Block) -> int:
    return block.rows


def add(a: int, b: int) -> int:
    return a + b


def test_what_was_empty_must_stay_so(file: Path) -> None:
    write(file, [])
    source = SameRows(open_source(file), KEY)
    assert source.map_blocks(len_of, add, columns=["y"]) is None
    write(file, ROWS)
    with pytest.raises(DataError, match="changed since"):
        source.map_blocks(len_of, add, columns=["y"])


@given(st.permutations(range(30)), st.integers(1, 31), st.integers(1, 31))
def test_order_and_blocks_do_not_matter(order: list[int], one: int, other: int) -> None:
    columns: dict[str, Any] = {"y": np.arange(30) / 7, "a": [f"text {n}" for n in range(30)]}
    table = pa.table(columns)
    source = SameRows(open_source(table), KEY)
    source.map_blocks(len_of, add, columns=("y", "a"), size=one)
    source.source = open_source(table.take(order))
    assert source.map_blocks(len_of, add, columns=("a", "y"), size=other) == 30


def test_a_list_of_mixed_values_is_the_same_in_any_blocks() -> None:
    """Blocks without a whole number are Arrow's, others are Python's."""
    source = SameRows(open_source({"y": [0.5, 1.5, None, 2, 2.5, "3", float("nan")]}), KEY)
    for size in (100, 1, 2, 3):
        assert source.map_blocks(len_of, add, columns=["y"], size=size) == 7


# -- passes over other columns ----------------------------------------------------------------


def test_columns_beside_those_read_may_change(file: Path) -> None:
    source = SameRows(open_source(file), KEY)
    read(source, Columns(("y", "a")))
    write(file, changed(0, 2, "w"))
    read(source, Columns(("a", "y")))


@pytest.mark.parametrize(
    ("first", "second", "read_columns"),
    [
        (("y", "a", "g"), ("y", "a"), {"y", "a", "g"}),  # part of it: all is read to compare
        (("y",), ("y", "a"), {"y", "a"}),
        (("y", "a"), ("g",), {"y", "a", "g"}),
    ],
)
def test_every_pass_is_compared_with_an_earlier_one(
    file: Path, first: tuple[str, ...], second: tuple[str, ...], read_columns: set[str]
) -> None:
    counted = Counted(open_source(file))
    source = SameRows(counted, KEY)
    read(source, Columns(first))
    assert read(source, Columns(second)) == 4
    assert counted.passes == [set(first), read_columns]
    source = SameRows(counted, KEY)
    read(source, Columns(first))
    write(file, changed(2, 0, "9"))
    with pytest.raises(DataError, match="changed since"):
        read(source, Columns(second))


def test_a_pass_that_fails_is_not_what_later_ones_are_compared_with(file: Path) -> None:
    source = SameRows(open_source(file), KEY)
    read(source, Columns(("y",)))
    write(file, changed(0, 0, "9"))
    with pytest.raises(DataError, match="changed since"):
        read(source, Columns(("y", "a")))
    write(file, ROWS)
    assert read(source, Columns(("y", "a"))) == 4


def test_rows_without_columns_are_counted() -> None:
    source = SameRows(open_source({"y": [1, 2, 3]}), KEY)
    assert source.map_blocks(len_of, add, columns=(), size=2) == 3
    source.source = open_source({"y": [1, 2]})
    with pytest.raises(DataError, match="changed since"):
        source.map_blocks(len_of, add, columns=())


def test_columns_named_at_once_are_read_again_alone(file: Path) -> None:
    counted = Counted(open_source(file))
    source = SameRows(counted, KEY, again=[MODEL.model.columns_needed])
    read_all(source, [CollectMoments(MODEL), Columns(("g",))])
    read(source, CollectMoments(MODEL))
    assert counted.passes == [{"y", "a", "g"}, {"y", "a"}]
    write(file, changed(3, 1, "8"))
    with pytest.raises(DataError, match="changed since"):
        read(source, CollectMoments(MODEL))


def test_nothing_is_given_out_unseen(file: Path) -> None:
    source = SameRows(open_source(file), KEY)
    ways: list[Callable[[], Any]] = [
        lambda: list(source.batches(["y"])),
        lambda: list(source.each_block(len_of, columns=["y"])),
    ]
    for way in ways:
        with pytest.raises(TypeError, match="map_blocks"):
            way()
    assert str(KEY) not in repr(vars(source))
