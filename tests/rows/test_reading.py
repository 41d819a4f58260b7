"""Rows are read in blocks, whose parts merge in any order; once, for all who want them."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batches import scores
from tests.counted import Counted

import titan
from titan.errors import DataError
from titan.moments import Model, collect, decimal_text, open_source
from titan.moments.collecting import CollectMoments, CollectScores, PartialMoments
from titan.moments.reading import Reading, read, read_all
from titan.moments.rows import Missing, ModelRows
from titan.moments.sources import Block

TABLE = {
    "y": ["1", "2.5", "NA", "4", "5", "7", ""],
    "a": ["0.1", "0.2", "3", "", "5", "1e3", "2"],
    "w": ["1", "0", "2", "1", "0", "3", "1"],
    "g": ["u", "v", "u", "v", "", "u", "v"],
}
MODEL = Model("y ~ a + C(g, levels=['u', 'v'])", weights="w")


@dataclass(frozen=True)
class Texts(Reading[tuple[Any, ...], tuple[Any, ...]]):
    """The cells of one column, in order."""

    column: str

    @property
    def columns(self) -> Sequence[str]:
        return [self.column]

    def block(self, rows: Block) -> tuple[Any, ...]:
        return tuple(rows.cells[self.column].text().to_pylist())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_every_row_is_met_once_in_order_and_again(size: int) -> None:
    source = open_source(pa.table(TABLE))
    reading = Texts("a")
    for _ in range(2):
        found = source.map_blocks(reading.block, reading.merge, columns=["a"], size=size)
        assert found == tuple(TABLE["a"])


def test_no_rows_are_nothing_to_merge() -> None:
    source, reading = open_source({"a": []}), Texts("a")
    assert source.map_blocks(reading.block, reading.merge, columns=["a"]) is None
    with pytest.raises(DataError, match="the table has no rows"):
        read(source, reading)


def test_only_sources_know_how_their_rows_are_read() -> None:
    """Everybody else comes by `map_blocks`, where an engine may spread the blocks."""
    for file in Path(titan.__file__).parent.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if re.search(r"(?<!wire)\.(batches|pieces)\(", text):
            assert file.parent.name == "moments", file
            assert re.search(r"class \w+\((Source|ABC)\)", text), file


# -- parts ------------------------------------------------------------------------------------


def parts(reading: Reading[PartialMoments, Any], size: int) -> list[PartialMoments]:
    """Of every block, by a reading and with parts that have been elsewhere."""
    source = open_source(pa.table(TABLE))
    there = copied(reading)
    found = source.each_block(there.block, columns=there.columns, size=size)
    return [copied(part) for part in found]


def copied(it: Any) -> Any:
    """As another process gets it."""
    return pickle.loads(pickle.dumps(it))  # noqa: S301 - one's own


@given(
    st.integers(1, 8),
    st.sampled_from(["collect", "scores"]),
    st.randoms(use_true_random=False),
    st.integers(0, 7),
)
def test_parts_merge_in_any_order_and_grouping(size: int, kind: str, random: Any, cut: int) -> None:
    rows = ModelRows(MODEL, "drop")
    reading: Reading[PartialMoments, Any] = (
        CollectMoments(rows) if kind == "collect" else CollectScores(rows, (1, -2, 3))  # type: ignore[arg-type]
    )
    shuffled = parts(reading, size)
    random.shuffle(shuffled)
    cut %= len(shuffled)
    groups = [group for group in (shuffled[:cut], shuffled[cut:]) if group]
    whole = reduce(reading.merge, [reduce(reading.merge, group) for group in groups])
    table = pa.table(TABLE)
    expected: Any = (
        collect(table, MODEL, missing="drop")
        if kind == "collect"
        else scores(table, MODEL, [1, -2, 3], missing="drop")  # type: ignore[list-item]
    )
    assert reading.finish(whole, "the table") == expected


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_gaps_are_counted_over_all_blocks(size: int) -> None:
    reading = CollectMoments(ModelRows(MODEL))
    whole = reduce(add, parts(reading, size))
    said = 'the table has values that are not there: 1 missing in "a", 2 in "y", 1 in "g"'
    for refuse in (partial(reading.finish, whole, "the table"), partial(collect, TABLE, MODEL)):
        with pytest.raises(DataError) as caught:
            refuse()
        assert caught.value.message == said
        assert caught.value.hint == 'missing="drop" leaves such rows out'


# -- several at once --------------------------------------------------------------------------


def test_one_pass_serves_all_readings() -> None:
    source = Counted(open_source(pa.table(TABLE)))
    other = Model("y ~ a")
    readings: list[Reading[Any, Any]] = [
        CollectMoments(ModelRows(MODEL, "drop")),
        CollectMoments(ModelRows(other, "drop")),
        Texts("g"),
    ]
    first, second, texts = read_all(source, readings)
    assert source.passes == [{"y", "a", "w", "g"}]
    assert first == collect(TABLE, MODEL, missing="drop")
    assert second == collect(TABLE, other, missing="drop")
    assert texts == tuple(TABLE["g"])


def test_a_column_is_turned_into_numbers_once() -> None:
    both: list[Missing] = ["drop", "drop"]
    readings = [CollectMoments(ModelRows(Model("y ~ a"), missing)) for missing in both]
    with patch.object(decimal_text, "parse", wraps=decimal_text.parse) as parse:
        read_all(open_source(pa.table(TABLE)), readings)
    assert parse.call_count == 2


def test_columns_that_are_not_there_and_the_first_refusal() -> None:
    source = open_source({"y": [1.0, np.nan], "a": [1.0, 2.0]})
    readings = [
        CollectMoments(ModelRows(Model("y ~ b"))),
        CollectMoments(ModelRows(Model("y ~ a"))),
    ]
    with pytest.raises(DataError, match='no column "b"'):
        read_all(source, readings)
    with pytest.raises(DataError, match='1 missing in "y"'):
        read_all(source, readings[1:] * 2)


def test_the_smallest_block_that_any_reading_wants_is_taken() -> None:
    levels = ", ".join(map(str, range(1000)))
    wide = CollectMoments(ModelRows(Model(f"y ~ C(k, levels=[{levels}])")))
    sizes = []

    class Watching(Texts):
        def block(self, rows: Block) -> tuple[Any, ...]:
            sizes.append(rows.rows)
            return ()

    count = wide.size + 1
    source = open_source({"y": np.arange(count), "k": np.arange(count) % 1000})
    read_all(source, [Watching("k"), wide])
    assert sizes == [wide.size, 1]
