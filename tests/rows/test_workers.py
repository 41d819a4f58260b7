"""Whoever works on the blocks, in whatever order: the same bits, and the same errors."""

from __future__ import annotations

import inspect
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from operator import or_
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.executors import Elsewhere
from threadpoolctl import threadpool_info

import titan
from titan import errors
from titan.errors import DataError, FileError, InputError, TitanError, WorkersError
from titan.moments import Model, csv_file, decimal_text, open_source, split_by, workers
from titan.moments.collecting import CollectMoments
from titan.moments.reading import Reading, read, read_all
from titan.moments.rows import ModelRows
from titan.moments.same_rows import SameRows
from titan.moments.sources import Block, Source
from titan.moments.workers import Workers, cores
from titan.study.digesting import DigestRows
from titan.study.row_digests import RowKey

ROWS = 5000
COLUMNS = ("y", "a", "g", "w")
MODEL = Model("y ~ a + C(g, levels=['u', 'v'])", weights="w")
KEY = RowKey(bytes(range(32)))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITAN_CORES", "3")
    monkeypatch.setattr(csv_file, "_LEAST_BYTES", 4096)


def table() -> pa.Table:
    rng = np.random.default_rng(5)
    numbers = {"y": rng.normal(size=ROWS), "a": rng.integers(-9, 9, ROWS)}
    levels = [("u", "v")[i % 2] for i in range(ROWS)]
    return pa.table({**numbers, "g": levels, "w": rng.integers(0, 5, ROWS)})


def in_csv(path: Path, quoted: Callable[[int], bool], end: str = "\n") -> Path:
    lines = [
        f'{y!r},{a},"{g}",{w}' if quoted(row) else f"{y!r},{a},{g},{w}"
        for row, (y, a, g, w) in enumerate(zip(*table().to_pydict().values(), strict=True))
    ]
    path.write_bytes(end.join(["y,a,g,w", *lines, ""]).encode())
    return path


def in_parquet(path: Path, group: int = 700) -> Path:
    pq.write_table(table(), path, row_group_size=group)
    return path


def in_folder(path: Path) -> Path:
    for part, start in enumerate(range(0, ROWS, 1800)):
        (path / f"part={part}").mkdir(parents=True)
        rows = table().slice(start, 1800)
        pq.write_table(rows, path / f"part={part}" / "rows.parquet", row_group_size=500)
    return path


def no(row: int) -> bool:
    return False


def later(row: int) -> bool:
    return row > ROWS // 2


KINDS: dict[str, Callable[[Path], Any]] = {
    "csv": lambda p: in_csv(p / "a.csv", no),
    "csv with quotes": lambda p: in_csv(p / "a.csv", bool),
    "csv with quotes later": lambda p: in_csv(p / "a.csv", later),
    "csv of Windows": lambda p: in_csv(p / "a.csv", later, "\r\n"),
    "parquet": lambda p: in_parquet(p / "a.parquet"),
    "parquet in one group": lambda p: in_parquet(p / "a.parquet", 10**6),
    "folder": lambda p: in_folder(p / "rows"),
    "arrow": lambda p: table(),
    "pandas": lambda p: table().to_pandas(),
    "lists": lambda p: table().to_pydict(),
    "dataset": lambda p: ds.dataset(in_folder(p / "rows"), partitioning="hive"),
    "dataset in memory": lambda p: ds.dataset(table()),
    "lazy frame": lambda p: pl.scan_parquet(in_parquet(p / "a.parquet")),
}
SENT_BY_NAME = ("csv", "parquet", "parquet in one group", "folder", "dataset")
"""Kinds of which workers elsewhere are told where the rows are."""


def in_sequence(source: Source, reading: Reading[Any, Any]) -> Any:
    """Without `map_blocks`: one block after the other."""
    parts = source.each_block(reading.block, columns=reading.columns, size=reading.size)
    whole = next(parts)
    for part in parts:
        whole = reading.merge(whole, part)
    return reading.finish(whole, source.label)


@dataclass(frozen=True)
class InBlocks(CollectMoments):
    """Moments of blocks of another size."""

    rows_at_once: int = 1000

    @property
    def size(self) -> int:
        return self.rows_at_once


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_whoever_works(kind: str, tmp_path: Path) -> None:
    data, elsewhere = KINDS[kind](tmp_path), Elsewhere()
    expected = in_sequence(open_source(data), CollectMoments(ModelRows(MODEL)))
    assert expected.moments.rows == ROWS
    with ThreadPoolExecutor(2) as threads:
        for executor in (None, elsewhere, threads):
            source = open_source(data, executor=executor)
            for size in (1000, 65_536):
                assert read(source, InBlocks(ModelRows(MODEL), None, size)) == expected
    assert elsewhere.done
    assert elsewhere.most <= 2 * elsewhere._max_workers


@pytest.mark.parametrize("kind", KINDS)
def test_workers_elsewhere_get_no_more_than_they_need(kind: str, tmp_path: Path) -> None:
    elsewhere = Elsewhere()
    read(open_source(KINDS[kind](tmp_path), executor=elsewhere), InBlocks(ModelRows(MODEL)))
    if kind in SENT_BY_NAME:
        assert max(elsewhere.sizes) < 4000
    else:
        assert sum(elsewhere.sizes) < 4 * table().nbytes


def test_moments_and_digests_are_read_together_elsewhere(tmp_path: Path) -> None:
    rows = ModelRows(MODEL)
    both: list[Reading[Any, Any]] = [
        CollectMoments(rows),
        DigestRows({"q": rows}, {name: {} for name in COLUMNS}, KEY),
    ]
    file = in_parquet(tmp_path / "a.parquet")
    here, there = (read_all(open_source(file, executor=e), both) for e in (None, Elsewhere()))
    assert here[0] == there[0]
    for name in COLUMNS:
        one, other = ([p.cells[name].load() for p in own.pieces] for own in (here[1], there[1]))
        assert np.array_equal(np.concatenate(one), np.concatenate(other))


def test_parts_are_merged_in_the_order_of_the_rows(tmp_path: Path) -> None:
    file = in_csv(tmp_path / "a.csv", later)
    for executor in (None, Elsewhere()):
        source = open_source(file, executor=executor)
        found = source.map_blocks(texts, list.__add__, columns=["a"], size=100)
        assert found == [str(a) for a in table()["a"].to_pylist()]


def texts(block: Block) -> list[Any]:
    found: list[Any] = block.cells["a"].text().to_pylist()
    return found


@pytest.mark.parametrize("kind", ["csv", "csv with quotes", "parquet", "arrow", "lazy frame"])
def test_parts_of_parties_and_rows_that_must_not_change(kind: str, tmp_path: Path) -> None:
    data = KINDS[kind](tmp_path)
    expected = split_by(open_source(data), "g")
    source = open_source(data, executor=Elsewhere())
    for party, part in split_by(source, "g").items():
        model = CollectMoments(ModelRows(Model("y ~ a")))
        same = SameRows(part, KEY.secret)
        for _ in range(2):
            assert read(same, model) == in_sequence(expected[party], model)


def test_a_fit_reads_again_what_it_needs_again(tmp_path: Path) -> None:
    file = in_parquet(tmp_path / "a.parquet")
    for how in ("HC0", "HC3"):
        here = titan.fit(file, formula="y ~ a", cov_type=how)
        there = titan.fit(file, formula="y ~ a", cov_type=how, executor=Elsewhere())
        assert dict(here.bse) == dict(there.bse)


# -- errors -----------------------------------------------------------------------------------


def everybody() -> list[Executor | None]:
    return [None, Elsewhere(), Elsewhere(7)]


def test_the_first_bad_row_is_named_whoever_meets_one_first(tmp_path: Path) -> None:
    path = in_csv(tmp_path / "a.csv", later)
    lines = path.read_text().split("\n")
    for row in (4500, 3800, 900, 1400):
        lines[row] = "1,oops,u,1"
    path.write_text("\n".join(lines))
    for executor in everybody():
        with pytest.raises(DataError, match=r'^a.csv, line 901, column "a": text where'):
            read(open_source(path, executor=executor), InBlocks(ModelRows(MODEL)))
    lines[900] = "1,2,u,1"
    lines[1200] = "1,2,u"
    path.write_text("\n".join(lines))
    for executor in everybody():
        with pytest.raises(FileError, match=r"^a.csv, line 1201: 3 cells, where"):
            read(open_source(path, executor=executor), InBlocks(ModelRows(MODEL)))


def test_rows_of_parquet_and_tables_are_named_by_their_number(tmp_path: Path) -> None:
    cells = ["1"] * ROWS
    cells[3333] = cells[4444] = "oops"
    rows = pa.table({"y": np.arange(ROWS), "a": cells})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=450)
    model = ModelRows(Model("y ~ a"))
    for data in (tmp_path / "a.parquet", rows, ds.dataset(tmp_path / "a.parquet")):
        for executor in everybody():
            with pytest.raises(DataError, match=r'row 3333 \(counted from 0\), column "a"'):
                read(open_source(data, executor=executor), InBlocks(model))


def test_an_error_of_a_source_waits_for_its_turn() -> None:
    """The third block cannot be read; the first has a row that is wrong."""

    class Broken(Source):
        label, column_names = "it", ("a",)

        def batches(self, columns: Any, size: int = 1) -> Iterator[Block]:
            yield from open_source({"a": ["oops", "2"]}, label="it").batches(["a"], 1)
            raise FileError("it is damaged")

    source = Broken()
    for executor in everybody():
        source.workers = Workers(executor)
        with pytest.raises(DataError, match="row 0"):
            source.map_blocks(numbers, max, columns=["a"], size=1)
        with pytest.raises(FileError, match="it is damaged"):
            source.map_blocks(count, max, columns=["a"], size=1)


def numbers(block: Block) -> int:
    return len(block.cells["a"].numbers()[0])


def count(block: Block) -> int:
    return block.rows


def test_a_damaged_piece_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "rows")
    victim = folder / "part=1" / "rows.parquet"
    data = bytearray(victim.read_bytes())
    data[4:900] = bytes(896)
    victim.write_bytes(data)
    for executor in everybody():
        with pytest.raises(FileError, match=r"^part=1/rows.parquet is not a Parquet file, or is"):
            read(open_source(folder, executor=executor), InBlocks(ModelRows(MODEL)))


def test_a_file_that_becomes_shorter_is_not_taken_for_a_short_one(tmp_path: Path) -> None:
    path = in_csv(tmp_path / "a.csv", no)
    pieces = list(open_source(path).pieces(["a"], 100, apart=True))
    assert len(pieces) > 10
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DataError, match=r"a.csv became shorter while it was read"):
        list(pieces[-1].blocks())


def test_a_worker_that_ends_is_told() -> None:
    class Ending(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("a process in the pool ended"))
            return future

    with pytest.raises(WorkersError, match="has ended") as ended:
        read(open_source(table(), executor=Ending()), InBlocks(ModelRows(MODEL)))
    assert ended.value.exit_status == 75


def test_every_error_comes_back_from_elsewhere_as_it_was() -> None:
    members = inspect.getmembers(errors, inspect.isclass)
    kinds = [kind for _, kind in members if issubclass(kind, TitanError)]
    assert len(kinds) > 20
    for kind in kinds:
        needed = {
            name: ["x"] if name == "cut" else "x"
            for name, each in inspect.signature(kind).parameters.items()
            if each.kind is each.KEYWORD_ONLY and each.default is each.empty
        }
        error = kind("what was found", hint="what to do", **needed)
        vars(error)["column"] = "a"  # as errors of cells have it
        back = pickle.loads(pickle.dumps(error))  # noqa: S301 - one's own
        assert (type(back), str(back), vars(back)) == (kind, str(error), vars(error))


# -- threads ----------------------------------------------------------------------------------


def together(count: int) -> threading.Barrier:
    """Where so many must be at the same time; after a long while it breaks."""
    return threading.Barrier(count, timeout=60)


def test_as_many_blocks_are_worked_on_as_there_are_cores() -> None:
    barrier = together(3)
    source = open_source(table().slice(0, 3000))
    found = source.map_blocks(lambda block: barrier.wait() * 0, max, columns=["a"], size=1000)
    assert found == 0


def test_columns_are_turned_into_numbers_at_the_same_time() -> None:
    """functools.cached_property has one lock for all before Python 3.12."""
    barrier, parse = together(3), decimal_text.parse

    def waiting(text: Any) -> Any:
        barrier.wait()
        return parse(text)

    source = open_source({"a": ["1", "2", "3"]})
    with patch.object(decimal_text, "parse", waiting):
        assert source.map_blocks(numbers, max, columns=["a"], size=1) == 1


def test_one_block_stays_where_it_is() -> None:
    for rows, cores_told, expected in ((1000, 3, True), (2000, 1, True), (2000, 3, False)):
        with patch.object(workers, "cores", return_value=cores_told):
            source = open_source(table().slice(0, rows))
            found = source.map_blocks(here, list.__add__, columns=["a"], size=1000)
        assert found is not None
        assert (set(found) == {threading.current_thread().name}) is expected


def here(block: Block) -> list[str]:
    return [threading.current_thread().name]


def test_blas_has_one_thread_while_there_are_several_blocks() -> None:
    before = blas()
    assert before
    for cores_told in (1, 3):
        with patch.object(workers, "cores", return_value=cores_told):
            source = open_source(table())
            assert source.map_blocks(lambda block: blas(), or_, columns=["a"], size=500) == {1}
            assert source.map_blocks(lambda block: blas(), or_, columns=["a"]) == before
    assert blas() == before


def blas() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_rows_are_counted_as_they_are_read(tmp_path: Path) -> None:
    file = in_parquet(tmp_path / "a.parquet")
    for executor in everybody():
        seen: list[int] = []
        source = open_source(file)
        source.workers = Workers(executor, watch=seen.append)
        read(source, InBlocks(ModelRows(MODEL)))
        assert sum(seen) == ROWS
        assert len(seen) > 3


@pytest.mark.parametrize("told", ["0", "two", "-1", "", "1.5", "99999999"])
def test_a_number_of_cores_that_is_none(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITAN_CORES", told)
    with pytest.raises(InputError, match="is not a number of cores"):
        cores()


def test_a_container_may_have_fewer_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TITAN_CORES")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(workers, "_QUOTA", tmp_path / "cpu.max")
    for text, expected in (("250000 100000\n", 3), ("max 100000\n", 8), ("1600000 100000", 8)):
        (tmp_path / "cpu.max").write_text(text)
        assert cores() == expected
    (tmp_path / "cpu.max").unlink()
    assert cores() == 8


def test_what_is_not_an_executor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="int cannot work on rows"):
        open_source(table(), executor=4)  # type: ignore[arg-type]


def test_a_mistake_of_the_program_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        open_source(table()).map_blocks(lambda b: 1 // 0, max, columns=["a"], size=500)
