"""Files are read in batches with flat memory; what is wrong with one is said with its line."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.batches import read_rows

from titan.errors import DataError, FileError, InputError
from titan.moments import csv_file, parquet_file
from titan.moments.model import Model
from titan.moments.sources import open_source

MODEL = Model("y ~ a")


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path) -> list[list[Fraction]]:
    [batch] = read_rows(path, MODEL)
    return [column.fractions() for column in batch.columns[1:]]


GOOD = {
    "plain": "y,a\n1,2\n3,4\n",
    "windows": "y,a\r\n1,2\r\n3,4\r\n",
    "no end of line": "y,a\n1,2\n3,4",
    "mark of utf-8": "\ufeffy,a\n1,2\n3,4\n",
    "quotes": '"y","a"\n"1","2"\n3,"4"\n',
    "spaces": " y , a\n 1, 2\n3 ,4\n",
    "empty lines": "\ny,a\n\n1,2\n\n\n3,4\n\n",
    "other columns": 'y,"b\nb",a\n1,"x\n,y",2\n3,é,4\n',
    "other forms": "y,a\n+1.0,2e0\n300E-2,.4e1\n",
}


@pytest.mark.parametrize("kind", GOOD)
def test_csv_files_as_people_write_them(tmp_path: Path, kind: str) -> None:
    assert read(write(tmp_path / "rows.csv", GOOD[kind])) == [[2, 4], [1, 3]]


BAD: list[tuple[str | bytes, type[InputError], str]] = [
    ("", FileError, "rows.csv is empty"),
    ("\n\n", FileError, "rows.csv is empty"),
    ("y,a\n", DataError, "rows.csv has no rows$"),
    ("y,a", DataError, "rows.csv has no rows$"),
    ("\ufeff\r\ny,a", DataError, "rows.csv has no rows"),
    ("y,a,a\n1,2,3\n", FileError, 'line 1, has two columns called "a"'),
    ("y;a\n1;2\n", FileError, "line 1: cells between semicolons"),
    ("y,b\n1,2\n", DataError, 'rows.csv has no column "a"'),
    ("y,a\n1,2\n3\n", FileError, "line 3: 1 cells, where the header has 2"),
    ("y,a\n1,2\n\n3,4,5\n", FileError, "line 4: 3 cells, where the header has 2"),
    ("y,a\n1,2\n3,abc\n", DataError, 'line 3, column "a": text where a number was expected'),
    ("y,a\n\n1,2\n\n3,abc\n", DataError, 'line 5, column "a": text'),
    ('y,a,c\n1,2,"x\ny\nz"\n3,abc,\n', DataError, 'line 5, column "a": text'),
    ('y,"a"\n1,"2\n"\n3,"a\nb"\n', DataError, 'line 4, column "a": text'),
    ("y,a\r\n1,2\r\nx,2\r\n", DataError, 'line 3, column "y": text'),
    ("y,a\n1,2\n3,inf\n", DataError, 'line 3, column "a": an infinite number'),
    ("y,a\n1,2\n3,1e9999\n", DataError, 'line 3, column "a": a number with an exponent'),
    (b"y,a\n1,2\n3,\xff\n", FileError, "line 3: not UTF-8 text"),
    (b"y\xff,a\n1,2\n", FileError, "line 1: not UTF-8 text"),
    (b"PAR1 and then nothing", FileError, "rows.csv is not a Parquet file, or is damaged"),
    (b"\x1f\x8b\x08\x00 neither text nor", FileError, "line 1: not"),
]


@pytest.mark.parametrize(("text", "error", "message"), BAD, ids=[m for _, _, m in BAD])
def test_what_is_wrong_with_a_csv_file_is_said_with_its_line(
    tmp_path: Path, text: str | bytes, error: type[InputError], message: str
) -> None:
    path = write(tmp_path / "rows.csv", text)
    with pytest.raises(error, match=message) as caught:
        list(read_rows(path, MODEL))
    assert "abc" not in str(caught.value)


HINTS = {
    "y;a\n1,5;2\n": 'csv="europe" if Excel wrote it in Europe (semicolons',
    "y,a\n1,2\n3\n": "as many cells as the header",
    "y,a\n1,never\n": 'C(a, levels=["…", "…"])',
    'y,a\n1,"2,5"\n': "1.5 instead of 1,5",
}


@pytest.mark.parametrize("text", HINTS)
def test_what_to_do_about_it_is_said_too(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        list(read_rows(write(tmp_path / "rows.csv", text), MODEL))
    assert HINTS[text] in caught.value.hint


@pytest.mark.parametrize(
    "line",
    ["76.83,53,1,former", "53,53,1,former", "former,1980-02-03", "former,-.5", "former," + "x" * 65,
     "former,\x07", "-----BEGIN PRIVATE KEY-----"],
)  # fmt: skip
def test_a_row_in_the_place_of_the_header_is_not_shown(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "rows.csv", f"{line}\n{line}\n")
    with pytest.raises(InputError) as caught:
        list(read_rows(path, MODEL))
    assert "line 1 looks like data" in caught.value.hint
    assert not any(f'"{cell}"' in str(caught.value) for cell in line.split(","))


def test_names_are_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(read_rows(write(tmp_path / "rows.csv", "y,b 2,é\n1,2,3\n"), MODEL))
    assert caught.value.hint == 'there are "y", "b 2", "é"'


def test_lines_are_right_in_later_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "_LEAST_BYTES", 4096)
    lines = ["y,a", *(f"{i},{i}.5" for i in range(5000))]
    lines[4321] = "1,oops"
    path = write(tmp_path / "rows.csv", "\n".join(lines))
    with pytest.raises(DataError, match='line 4322, column "a"'):
        list(read_rows(path, MODEL, batch_rows=100))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path / "none.parquet"):
        with pytest.raises(FileError, match="cannot be read: no such file"):
            open_source(path)
    with pytest.raises(FileError, match="is a folder without Parquet files"):
        open_source(tmp_path)


def test_errors_name_the_file_and_whose_it_is(tmp_path: Path) -> None:
    label = "the table of 'north'"
    with pytest.raises(FileError, match=r"none.csv \(the table of 'north'\) cannot be read"):
        open_source(tmp_path / "none.csv", label=label)
    source = open_source(write(tmp_path / "north.csv", "y,a\n1,2\n3,abc\n"), label=label)
    with pytest.raises(DataError, match=r"^north.csv \(the table of 'north'\), line 3, column"):
        list(read_rows(source, MODEL))
    pq.write_table(pa.table({"y": [1]}), tmp_path / "north.parquet")
    source = open_source(tmp_path / "north.parquet", label=label)
    with pytest.raises(DataError, match=r"^north.parquet \(the table of 'north'\) has no column"):
        list(read_rows(source, MODEL))


def test_parquet_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"rows.parquet is not a Parquet file"):
        open_source(write(tmp_path / "rows.parquet", "y,a\n1,2\n"))
    whole = tmp_path / "whole.parquet"
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"y": rng.random(5000), "a": rng.random(5000)}), whole)
    data = bytearray(whole.read_bytes())
    with pytest.raises(FileError, match=r"cut.parquet is not a Parquet file, or is damaged"):
        open_source(write(tmp_path / "cut.parquet", bytes(data[: len(data) // 2])))
    data[4:2000] = bytes(1996)  # the first pages; the footer is whole
    damaged = write(tmp_path / "holes.parquet", bytes(data))
    with pytest.raises(FileError, match=r"holes.parquet is not a Parquet file, or is damaged"):
        list(read_rows(damaged, MODEL))


def test_parquet_pages_are_compared_with_their_checksums(tmp_path: Path) -> None:
    """Plain numbers of which one bit is another: nothing else would notice."""
    whole = tmp_path / "whole.parquet"
    table = pa.table({"y": np.arange(500.0), "a": np.arange(500.0)})
    plain = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(table, whole, **plain)
    data = bytearray(whole.read_bytes())
    data[data.index(np.float64(77.0).tobytes()) + 2] ^= 1
    damaged = write(tmp_path / "bit.parquet", bytes(data))
    with pytest.raises(FileError, match=r"bit.parquet is not a Parquet file, or is dam") as refused:
        list(read_rows(damaged, MODEL))
    assert "copy it again" in refused.value.hint


def test_parquet_text_that_is_not_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"y": [1.0, 2.0], "a": ["1", "QQ"]}), tmp_path / "text.parquet")
    data = (tmp_path / "text.parquet").read_bytes().replace(b"QQ", b"\xff\xff")
    damaged = write(tmp_path / "text.parquet", data)
    with pytest.raises(FileError, match=r"text.parquet is not a Parquet file, or is damaged"):
        list(read_rows(damaged, MODEL))


def test_parquet_names_the_row(tmp_path: Path) -> None:
    values = np.arange(100.0)
    values[77] = np.inf
    pq.write_table(pa.table({"y": values, "a": values}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=r'rows.parquet, row 77 .*column "a": an infinite number'):
        list(read_rows(tmp_path / "rows.parquet", MODEL, batch_rows=10))


# -- memory -------------------------------------------------------------------------------------


def write_csv(path: Path, rows: int) -> None:
    row = ",".join(["-12.3456"] * 8)
    path.write_text(",".join("yabcdefg") + "\n" + (row + "\n") * rows)


def write_parquet(path: Path, rows: int) -> None:
    """One row group, so that nothing but pages bounds what is read at a time."""
    columns = np.random.default_rng(0).random((8, rows))
    table = pa.table(dict(zip("yabcdefg", columns, strict=True)))
    pq.write_table(table, path, row_group_size=rows, use_dictionary=False)


def peak_bytes(path: Path) -> int:
    """The most that Arrow and Python hold together while the file is read, seen between batches."""
    model = Model("y ~ a + b + c + d + e + f + g")
    before = pa.total_allocated_bytes()
    peak = 0
    tracemalloc.start()
    for _ in read_rows(path, model, batch_rows=4096):
        most = tracemalloc.get_traced_memory()[1]
        peak = max(peak, most + pa.total_allocated_bytes() - before)
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("suffix", "writer"), [("csv", write_csv), ("parquet", write_parquet)])
def test_memory_stays_flat_as_the_file_grows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    writer: Callable[[Path, int], None],
) -> None:
    monkeypatch.setattr(csv_file, "_LEAST_BYTES", 1 << 16)
    monkeypatch.setattr(parquet_file, "_BUFFER_BYTES", 1 << 16)
    small, large = tmp_path / f"small.{suffix}", tmp_path / f"large.{suffix}"
    writer(small, 60_000)
    writer(large, 300_000)
    assert large.stat().st_size > 15_000_000
    peak_bytes(small)  # imports and caches
    few, many = peak_bytes(small), peak_bytes(large)
    assert many < 1.3 * few
    assert many < large.stat().st_size / 2


@pytest.mark.parametrize(
    ("name", "start"), [("a.xlsx", b"PK\x03\x04"), ("a.XLS", b"\xd0\xcf\x11\xe0")]
)
def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path, name: str, start: bytes) -> None:
    (tmp_path / name).write_bytes(start + b"\xa1\xb1 not text")
    with pytest.raises(DataError, match=f"{name} is an Excel file") as refused:
        open_source(tmp_path / name)
    assert "save it as CSV" in refused.value.hint
    (tmp_path / name).write_text("x,y\n1,2\n")
    assert open_source(tmp_path / name).column_names == ("x", "y"), "whatever it is called"
