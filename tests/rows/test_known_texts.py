"""A digest that is looked up by its number is that of the text, or it is not looked up."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.moments import Column
from titan.moments.cell_digests import CellDigests
from titan.moments.cells import ArrowCells
from titan.moments.csv_file import CsvFile
from titan.moments.known_texts import KnownTexts, shortest
from titan.moments.plain_fields import BEYOND, Fields

KEY = bytes(range(32))


def plainly(number: int, decimals: int) -> str:
    text = f"{Decimal(number).scaleb(-decimals):f}"
    return text.rstrip("0").rstrip(".") if decimals else text


@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 12])
@pytest.mark.parametrize("start", [-1203, -5, 0, 1, 99_950, 10**9])
def test_the_shortest_texts_are_those_of_decimal(start: int, decimals: int) -> None:
    numbers = range(start, start + 1300)
    data, places, lengths = shortest(numbers, decimals)
    assert len(data) >= places[-1] + lengths[-1] + 8
    found = [
        data[at : at + length].tobytes().decode()
        for at, length in zip(places, lengths, strict=True)
    ]
    assert found == [plainly(n, decimals) for n in numbers]


def agree(folder: Path, texts: list[str]) -> None:
    """What is looked up of a column of a file, and what is made of its texts one by one."""
    path = folder / "rows.csv"
    path.write_text("\n".join(["a,x,b", *(f"1,{text},2" for text in texts)]) + "\n")
    (block,) = CsvFile(path).batches(["x"])
    cells = block.cells["x"]
    assert isinstance(cells, ArrowCells)
    looked_up = CellDigests(KEY).held(cells)
    with patch.object(KnownTexts, "find", return_value=None):
        written = CellDigests(KEY).held(cells)
    of_arrow = CellDigests(KEY).held(ArrowCells("x", pa.array(texts), block.place))
    assert written.tolist() == of_arrow.tolist()
    assert looked_up.tolist() == of_arrow.tolist()


OTHERS = ["1.5", "01.5", "1.50", ".5", "0.5", "-0.5", "-.5", "5.", "5", "05", "-0", "0", "0.0", ""]


@given(texts=st.lists(st.sampled_from(OTHERS), min_size=1, max_size=12))
def test_texts_that_are_longer_or_shorter_are_looked_at(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    """Also where what one has too much another has too little."""
    agree(tmp_path_factory.mktemp("rows"), [*texts, *["1.5", "-0.5", "5", "0"] * 8])


def test_each_text_is_made_once(tmp_path: Path) -> None:
    """As many texts as there are numbers in a range, and not as many as there are cells."""
    texts = [plainly(n, 2) for n in range(-150, 250)]
    made, of_bytes = [], CellDigests._of_bytes

    def counted(self: CellDigests, form: str, texts: Any) -> Any:
        made.append(len(texts[1]))
        return of_bytes(self, form, texts)

    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["x,y", *(f"{text},{text}" for text in texts * 20)]) + "\n")
    (block,) = CsvFile(path).batches(["x", "y"])
    with patch.object(CellDigests, "_of_bytes", counted):
        known = CellDigests(KEY)
        x, y = (known.held(block.cells[name]) for name in "xy")
    assert len(made) == 1
    assert made[0] < 2 * len(texts)
    assert not np.array_equal(x, y), "the same text in another column"
    assert len(np.unique(x[:, 0])) == len(texts)


def test_columns_of_few_cells_or_many_values_are_looked_at() -> None:
    known = KnownTexts()

    def make(_: Any) -> Any:
        raise AssertionError("more work than it saves")

    for numbers in ([0, 10**6], [1], [-(2**62), 2**62]):
        assert known.find(Column(np.array(numbers), -2, -2), 3, make) is None
    for column in (
        Column(np.arange(9.0)),
        Column(np.arange(9), 1, 1),
        Column(np.arange(9), -2, 0),
        Column(np.arange(9), -13, -13),
        Column(np.arange(0)),
    ):
        assert known.find(column, 9, make) is None


def test_nobody_waits_for_who_makes_digests() -> None:
    """While one thread is at it, another looks at its texts; what is known stays at home."""
    known, here, column = KnownTexts(), Barrier(2), Column(np.arange(100))

    def make(texts: Any) -> Any:
        here.wait(60)  # both have begun
        here.wait(60)  # the other has ended
        return np.zeros((len(texts[1]), 2), np.uint64)

    first = Thread(target=known.find, args=(column, 190, make))
    first.start()
    here.wait(60)
    assert known.find(column, 190, make) is None
    here.wait(60)
    first.join(60)
    assert known.find(column, 190, make) is not None
    assert pickle.loads(pickle.dumps(known))._known == {}  # noqa: S301 - our own


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@given(rows=st.lists(st.tuples(*[st.integers(-999, 999)] * 3), min_size=1, max_size=70))
def test_characters_are_counted_by_column(end: str, rows: list[tuple[int, ...]]) -> None:
    text = "".join(",".join(map(str, row)) + end for row in rows).encode()
    padded = np.frombuffer(text + b"\n" * BEYOND, np.uint8)
    fields = Fields.of(padded, ord(","), 3)
    assert fields is not None
    expected = [sum(len(str(row[at])) for row in rows) for at in range(3)]
    assert fields.characters().tolist() == expected
