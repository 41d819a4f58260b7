"""A Dask cluster that loses workers, has none, or other ones: the same bits, or a clear error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.cluster.dask_clusters import cluster, in_files, table
from titan.errors import DataError, FileError, WorkersError
from titan.moments import Model, collect, dask_cluster, open_source
from titan.moments.collecting import CollectMoments, PartialMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.moments.sources import Block

pytest.importorskip("distributed", reason="needs the extra dask")

MODEL = Model("y ~ a")


@dataclass(frozen=True)
class Killing(CollectMoments):
    """In the middle, the process that reads is killed: once, or whenever it comes there."""

    mark: str = ""
    always: bool = False

    @property
    def size(self) -> int:
        return 500

    def block(self, rows: Block) -> PartialMoments:
        first = rows.cells["a"].numbers()[0].fractions()[0]
        if first == _FIRST and (self.always or not Path(self.mark).exists()):
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().block(rows)


_FIRST = Fraction(table()["a"][3000].as_py())  # of the row with which the seventh block begins


def test_a_worker_that_is_killed_changes_no_bit(tmp_path: Path) -> None:
    pattern, mark = in_files(tmp_path), tmp_path / "killed"
    expected = collect(table(), MODEL)
    with cluster(2) as client:
        source = open_source(pattern, executor=client)
        found = read(source, Killing(ModelRows(MODEL), mark=str(mark)))
    assert mark.exists(), "nobody was killed"
    assert found == expected


def test_rows_at_which_every_worker_dies_are_told(tmp_path: Path) -> None:
    import dask

    pattern, mark = in_files(tmp_path), tmp_path / "killed"
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster(2) as client:
        source = open_source(pattern, executor=client)
        with pytest.raises(WorkersError, match="ended while it read the same rows"):
            read(source, Killing(ModelRows(MODEL), mark=str(mark), always=True))


def test_a_process_of_a_pool_that_is_killed_is_told(tmp_path: Path) -> None:
    pattern, mark = in_files(tmp_path), tmp_path / "killed"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert collect(open_source(pattern, executor=pool), MODEL) == collect(table(), MODEL)
        source, killing = (
            open_source(pattern, executor=pool),
            Killing(ModelRows(MODEL), mark=str(mark)),
        )
        with pytest.raises(WorkersError, match="has ended"):
            read(source, killing)


def test_a_cluster_without_workers_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_LOOK_SECONDS", 1)
    with cluster(0) as client, pytest.raises(WorkersError, match="has no workers"):
        collect(open_source(in_files(tmp_path), executor=client), MODEL)


def test_a_scheduler_that_goes_away_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process ends while rows wait to be read."""
    monkeypatch.setattr(dask_cluster, "_LOOK_SECONDS", 1)
    port_file = tmp_path / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0",
             "--no-dashboard", "--scheduler-file", str(port_file)]  # fmt: skip
    from distributed import Client

    with (
        subprocess.Popen(words, stderr=subprocess.DEVNULL) as scheduler,
        Client(scheduler_file=str(port_file), timeout=30) as client,
    ):
        source = open_source(in_files(tmp_path), executor=client)
        scheduler.terminate()
        with pytest.raises(WorkersError):
            collect(source, MODEL)


def test_a_scheduler_that_goes_away_when_it_is_asked_for_workers_is_told(tmp_path: Path) -> None:
    from distributed.comm import CommClosedError

    class Gone:
        """A client whose scheduler ends between two questions."""

        def run(self, *_: object, **__: object) -> dict[str, str]:
            return {}

        def nthreads(self) -> dict[str, int]:
            raise CommClosedError("in <TCP (closed)>")

    executor = dask_cluster.DaskExecutor(Gone())
    with pytest.raises(WorkersError):
        collect(open_source(in_files(tmp_path), executor=executor), MODEL)


def test_partitions_with_other_columns_are_told(tmp_path: Path) -> None:
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"a": [1.0] * 9, "y": range(9)}), npartitions=3)
    for enforced in (True, False):
        other = frame.map_partitions(_renamed, meta=frame._meta, enforce_metadata=enforced)
        with cluster(), pytest.raises(DataError, match=r"partition 1 has .*column"):
            collect(other, MODEL)


def _renamed(part: Any) -> Any:
    return part.rename(columns={"a": "z"}) if part.y.iloc[0] else part


def test_a_file_that_workers_cannot_read_is_named(tmp_path: Path) -> None:
    pattern = in_files(tmp_path)
    victim = tmp_path / "1.parquet"
    data = bytearray(victim.read_bytes())
    data[4:1000] = bytes(996)
    victim.write_bytes(data)
    with cluster() as client, pytest.raises(FileError, match=r"^1.parquet is not a Parquet file"):
        collect(open_source(pattern, executor=client), MODEL)


def test_the_command_line_lets_a_cluster_read(tmp_path: Path) -> None:
    pattern = in_files(tmp_path)
    words = [sys.executable, "-m", "titan", "moments", str(pattern), "--formula", "y ~ a", "--out"]
    with cluster() as client:
        for name, more in (("here", []), ("there", ["--scheduler", client.scheduler.address])):
            done = subprocess.run(
                [*words, str(tmp_path / f"{name}.moments"), *more], capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, "")
    here, there = (tmp_path / f"{name}.moments" for name in ("here", "there"))
    assert here.read_bytes() == there.read_bytes()
