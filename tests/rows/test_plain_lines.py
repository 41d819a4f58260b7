"""Lines read all at once give the same columns, gaps and errors as cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import TitanError
from titan.moments import csv_file, plain_lines
from titan.moments.cell_digests import CellDigests
from titan.moments.columns import Column, MostlyCoarse, WideColumn, integers_of
from titan.moments.csv_file import CsvFile
from titan.moments.gram import gram
from titan.moments.plain_fields import BEYOND
from titan.moments.plain_lines import PlainLines, read_lines

digits = st.text("0123456789", min_size=1, max_size=9)
short = st.text("0123456789", min_size=1, max_size=3)
fraction = st.text("0123456789", max_size=26)
sign = st.sampled_from(["", "", "-"])
columns_of = st.sampled_from([
    st.builds("{}{}".format, sign, short),
    st.builds("{}{}.{}".format, sign, short, short),
    st.builds("{}{}.{}".format, sign, short, st.text("0123456789", min_size=14, max_size=17)),
    st.builds("{}0.{}".format, sign, st.text("0123456789", min_size=15, max_size=24)),
    st.builds("{}{}.{}".format, sign, digits, fraction),
    st.one_of(st.just(""), short),
    st.sampled_from(["M", "F", "12"]),
])  # fmt: skip
odd = st.sampled_from(
    ["", "-", ".", "-.", ".5", "5.", "-.5", "-5.", "+5", "1.2.3", "1..2", "1-2", "--1", "1.-2",
     "1e5", "1E-2", "NA", "nan", "inf", " 7", "7 ", "1/2", "/", "1:2", "0x1", "12345678",
     "123456789", "-0", "-0.0", "00012.50", "0." + "0" * 20, "1." + "0" * 17, "1" * 19,
     "1." + "3" * 30, '"1"', "é", "\u0663", "1\u00a0", "922.3372036854775807",
     "9223372036854775807", "1_000", "5'"]
)  # fmt: skip


@st.composite
def tables(draw: Any) -> list[list[str]]:
    """Mostly columns of one kind, and sometimes a cell that is something else."""
    kinds = draw(st.lists(columns_of, min_size=1, max_size=4))
    rows = [[draw(kind) for kind in kinds] for _ in range(draw(st.integers(1, 6)))]
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        row, column = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, len(kinds) - 1))
        rows[row][column] = draw(odd)
    return rows


@contextmanager
def cell_by_cell() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "read_lines", lambda *_: None)
        yield


def content(path: Path, names: list[str]) -> list[Any]:
    """All numbers, units and gaps of a file; and the message of what is wrong with a column."""
    found: list[Any] = []
    try:
        for block in CsvFile(path).batches(names):
            found.append(block.rows)
            for name in names:
                try:
                    column, missing = block.cells[name].numbers()
                except TitanError as error:
                    found.append((error.message, error.hint))
                    continue
                wide = column.numbers.dtype == object
                unit = None if wide else (column.two, column.five, column.numbers.dtype)
                found.append((column.fractions(), missing.tolist(), unit))
                found.append(CellDigests(b"k" * 32).unchanged(block.cells[name]).tolist())
                found.append(block.cells[name].text().to_pylist())
    except TitanError as error:
        found.append((error.message, error.hint))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


@given(
    tables(),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.sampled_from(["csv", "csv", "tsv"]),
    st.sampled_from(["", "\n", "\n\n"]),
    st.sampled_from([1 << 20, 64]),
    st.data(),
)
def test_at_once_and_cell_by_cell_agree(
    folder: Path,
    rows: list[list[str]],
    line_end: str,
    kind: str,
    last: str,
    at_once: int,
    data: Any,
) -> None:
    names = [f"x{j}" for j in range(len(rows[0]))]
    lines = [("," if kind == "csv" else "\t").join(row) for row in [names, *rows]]
    path = folder / f"rows.{kind}"
    text = line_end.join(lines) + last.replace("\n", line_end)
    if data.draw(st.sampled_from([False, False, False, True])):
        text = text.replace(line_end, line_end * 2, 1 + data.draw(st.integers(0, 3)))
    path.write_bytes(text.encode())
    wanted = data.draw(st.permutations(names))[: data.draw(st.integers(1, len(names)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_lines, "_AT_ONCE", at_once)
        quick = content(path, wanted)
    with cell_by_cell():
        assert quick == content(path, wanted)


# -- that it is the quick way at all ------------------------------------------------------------


def read(text: str, fields: int, wanted: list[int] | None = None) -> PlainLines | None:
    padded = np.frombuffer(text.encode() + b"x" * BEYOND, np.uint8)
    return read_lines(padded, ",", fields, list(range(fields)) if wanted is None else wanted)


def fractions(found: tuple[Column, Any] | None) -> list[Fraction]:
    assert found is not None
    return found[0].fractions()


@pytest.mark.parametrize("decimals", range(18))
@pytest.mark.parametrize("whole", [1, 2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("sign", ["", "-"])
def test_every_length_before_and_after_the_point(whole: int, decimals: int, sign: str) -> None:
    if whole + decimals > 18:
        return
    number = ("9" + "12345678" * 3)[:whole] + "." + ("87654321" * 3)[:decimals]
    texts = [sign + number, "7", "0.5", "." + "1" * max(decimals, 1)]
    found = read("".join(f"{text}\n" for text in texts), 1)
    assert found is not None
    assert fractions(found.columns[0]) == [Fraction(text) for text in texts]


def test_gaps_line_ends_and_other_columns_do_not_keep_it_from_being_quick() -> None:
    found = read("1.25,,M,3\r\n-0.5,2,F,4.125\r\n", 4)
    assert found is not None
    assert found.rows == 2
    one, two, three, four = found.columns
    assert fractions(one) == [Fraction("1.25"), Fraction("-0.5")]
    assert fractions(two) == [0, 2]
    assert two is not None
    assert two[1].tolist() == [True, False]
    assert three is None, "which is not of numbers"
    assert fractions(four) == [3, Fraction("4.125")]
    assert read("1,M\n2,F\n", 2, [0]) is not None


def test_a_year_beside_all_digits_of_a_double() -> None:
    """Together they would not fit int64 over one power of ten."""
    lines = [f"{2000 + j},0.{j}234567890123456,{j}12345678.5" for j in range(9)]
    found = read("".join(f"{line}\n" for line in lines), 3)
    assert found is not None
    for at, column in enumerate(found.columns[:2]):
        assert fractions(column) == [Fraction(line.split(",")[at]) for line in lines]
    assert found.columns[2] is None, "too long, and left to others"


@pytest.mark.parametrize(
    "text", ["1,2\n3\n", "1,2\n\n3,4\n", "1;2\n", "1,2\n3,4,5\n", "1,2\r3,4\n", "1,2\r\n3,4\n",
             '1,"2"\n', "1, 2\n", "1,+2\n", "1\r,\n2,3\n", "1,2\r9\n"],
)  # fmt: skip
def test_lines_that_are_not_plain_are_left_to_others(text: str) -> None:
    assert read(text, 2) is None


@pytest.mark.parametrize(
    "cell", ["-", ".", "-.", "1/2", "1:", "e", "1e5", "0." + "0" * 17, "1" * 9]
)
def test_a_column_with_a_cell_that_is_not_plain_is_left_to_others(cell: str) -> None:
    found = read(f"1.5,1\n2.5,{cell}\n", 2)
    assert found is not None
    assert fractions(found.columns[0]) == [Fraction("1.5"), Fraction("2.5")]
    assert found.columns[1] is None


# -- few numbers with more decimals -------------------------------------------------------------


def mostly_coarse(rows: int = 100) -> tuple[MostlyCoarse, list[Fraction]]:
    texts = [f"{'-' * (j % 2)}{j}.{'1234567890123456'}" for j in range(rows)]
    texts[3], texts[50] = "-0.12345678901234567", "0.0123456789012345678"
    found = read("".join(f"{text}\n" for text in texts), 1)
    assert found is not None
    assert found.columns[0] is not None
    column = found.columns[0][0]
    assert isinstance(column, MostlyCoarse)
    return column, [Fraction(text) for text in texts]


def test_what_few_have_beyond_the_others_is_not_lost() -> None:
    column, exact = mostly_coarse()
    assert column.fractions() == exact
    assert len(column) == len(exact)
    some = np.array([50, 3, 3, 99])
    taken = column.take(some)
    assert taken.fractions() == [exact[row] for row in some]
    assert integers_of(column.words).tolist() == [x / column.unit for x in exact]


def test_moments_of_rows_taken_apart_are_those_of_the_exact_numbers() -> None:
    column, exact = mostly_coarse()
    wide = WideColumn(column.words, column.two, column.five)
    ones = Column(np.ones(len(exact), np.int64))
    found = gram(["1", "x", "y"], [ones, column, wide])
    assert found.rows == len(exact)
    assert found.fraction(1, 0) == sum(exact)
    assert found.fraction(1, 1) == found.fraction(2, 1) == sum(x * x for x in exact)
    assert found == gram(["1", "x", "y"], [ones, wide, wide])
