"""Rows in quantity: Parquet beside DuckDB, CSV beside Arrow, one Dask worker beside two.

Files are made on the fly and removed. `python -m benchmarks.cluster 100000000` has so many rows of
Parquet; without a number there are 10⁷. Both sides have two cores.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.measure import Row, line, ratio, side_by_side
from titan.moments import Model, collect, open_source
from titan.moments.collecting import CollectMoments, PartialMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.moments.sources import Block

COLUMNS = [f"x{j}" for j in range(20)]
MODEL = Model.from_columns(COLUMNS[-1], COLUMNS[:-1])
ROWS = 10**7
_SMALL, _CSV_ROWS, _GROUP = 10**6, 250_000, 1 << 18
_MB = 1_000_000
_MOST_MB = 500

_OURS = """
import sys, time
from titan.moments import Model, collect
names = [f"x{j}" for j in range(20)]
start, used = time.perf_counter(), time.process_time()
rows = collect(sys.argv[1], Model.from_columns(names[-1], names[:-1])).moments.rows
"""
_THEIRS = """
import sys, time, duckdb
duckdb.execute("set threads = 2")
names = [f"x{j}" for j in range(20)]
sums = [f"sum({a})" for a in names]
sums += [f"sum({a} * {b})" for at, a in enumerate(names) for b in names[: at + 1]]
start, used = time.perf_counter(), time.process_time()
[(rows, *_)] = duckdb.execute(
    f"select count(*), {', '.join(sums)} from read_parquet('{sys.argv[1]}/*.parquet')"
).fetchall()
"""
_TOLD = """
took, busy = time.perf_counter() - start, time.process_time() - used
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print("measured", rows, took, busy, 1024 * int(peak.split()[1]))
"""


def rows(most: int = ROWS) -> Iterator[Row]:
    yield from _beside_duckdb(most)
    yield from _beside_arrow()
    yield from _on_dask()


# -- Parquet ----------------------------------------------------------------------------------


def _beside_duckdb(most: int) -> Iterator[Row]:
    per_row = {}
    for count in (_SMALL, most):
        with TemporaryDirectory() as folder:
            write(Path(folder), count)
            turns = [
                (_run(_OURS, folder, count), _run(_THEIRS, folder, count))
                for _ in range(3 if count <= ROWS else 1)
            ]
        ours, theirs = (min(took for took, *_ in each) for each in zip(*turns, strict=True))
        peak = max(used for (*_, used), _ in turns)
        per_row[count] = min(busy for (_, busy, _), _ in turns) / count
        what = f"moments of Parquet, {count:.0e} × {len(COLUMNS)}"
        yield ratio(f"{what}: against the same sums in DuckDB, in floats", ours, theirs, 3)
        yield Row(f"{what}: peak memory", f"{peak / _MB:.0f} MB", f"below {_MOST_MB} MB",
                  peak < _MOST_MB * _MB)  # fmt: skip
    growth = per_row[most] / per_row[_SMALL]
    yield Row(f"processor time for a row, of {most:.0e} against {_SMALL:.0e}", f"{growth:.2f}x",
              "linear: at most 1.2x", growth <= 1.2)  # fmt: skip


def write(folder: Path, count: int, each: int = 10**7) -> None:
    """Files of at most `each` rows, a row group at a time."""
    rng = np.random.default_rng(1)
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    for number, start in enumerate(range(0, count, each)):
        with pa.parquet.ParquetWriter(folder / f"{number:03}.parquet", schema) as writer:
            for at in range(start, min(start + each, count), _GROUP):
                own = min(_GROUP, start + each - at, count - at)
                columns = [rng.normal(100, 30, own) for _ in COLUMNS]
                writer.write_table(pa.table(columns, schema=schema))


def _run(program: str, folder: str, count: int) -> tuple[float, float, int]:
    """Seconds, those of processors, and bytes, in a process of its own on two cores."""
    words = [sys.executable, "-c", program + _TOLD, folder]
    done = subprocess.run(
        words, check=True, capture_output=True, text=True, env=os.environ | {"TITAN_CORES": "2"}
    )
    [told] = [each for each in done.stdout.splitlines() if each.startswith("measured ")]
    found, took, busy, peak = told.split()[1:]
    assert int(found) == count
    return float(took), float(busy), int(peak)


# -- CSV --------------------------------------------------------------------------------------


def _beside_arrow() -> Iterator[Row]:
    kinds: dict[str, Callable[[np.random.Generator], Any]] = {
        "two decimals": lambda rng: np.round(rng.normal(100, 30, _CSV_ROWS), 2),
        "all digits of a double": lambda rng: rng.normal(100, 30, _CSV_ROWS),
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        for name, draw in kinds.items():
            rng = np.random.default_rng(1)
            pa.csv.write_csv(pa.table({column: draw(rng) for column in COLUMNS}), file)
            what = f"moments of CSV, {_CSV_ROWS:,} × {len(COLUMNS)}, {name}"
            both = side_by_side(lambda: collect(file, MODEL), lambda: pa.csv.read_csv(file), 7)
            yield ratio(f"{what}: against pyarrow.csv.read_csv", *both, 1.5)
            both = side_by_side(lambda: collect(file, MODEL), lambda: _stream(file), 7)
            yield ratio(f"{what}: against pyarrow.csv.open_csv, in as little memory", *both)


def _stream(file: Path) -> None:
    with pa.csv.open_csv(file) as reader:
        for _ in reader:
            pass


# -- Dask -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Killing(CollectMoments):
    """The first worker that comes to a block while there is no file `mark` is killed."""

    mark: str = ""

    def block(self, rows: Block) -> PartialMoments:
        if self.mark and not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().block(rows)


def _on_dask() -> Iterator[Row]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        yield Row("Dask", "", "", None, skipped="the extra dask is not installed")
        return
    times, found = {}, []
    with TemporaryDirectory() as folder:
        write(Path(folder), 4 * _SMALL, _SMALL)
        wanted = CollectMoments(ModelRows(MODEL))
        for workers in (1, 2):
            with (
                LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                Client(cluster) as client,
            ):
                source = open_source(folder, executor=client)
                read(source, wanted)  # whose workers load what they need
                took = []
                for _ in range(3):
                    start = perf_counter()
                    found.append(read(source, wanted))
                    took.append(perf_counter() - start)
                times[workers] = min(took)
                if workers == 2:
                    mark = str(Path(folder) / "killed")
                    found.append(read(source, Killing(ModelRows(MODEL), mark=mark)))
        same = all(each == found[0] for each in found) and found[0] == collect(folder, MODEL)
    faster = times[1] / times[2]
    yield Row(f"two Dask workers against one, {4 * _SMALL:.0e} × {len(COLUMNS)} of Parquet",
              f"{faster:.2f}x as fast ({times[2]:.3g} s against {times[1]:.3g} s)",
              "at least 1.6x", faster >= 1.6)  # fmt: skip
    yield Row("the same with a worker killed in the middle", "the same bits" if same else "OTHERS",
              "the same bits", same)  # fmt: skip


if __name__ == "__main__":
    for each in rows(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS):
        print(line(each), flush=True)
