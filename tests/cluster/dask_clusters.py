"""Small Dask clusters for tests, and rows for them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 6000


def table() -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table({"y": rng.normal(size=ROWS), "a": rng.normal(size=ROWS).round(3)})


def in_files(folder: Path) -> Path:
    """Three Parquet files of several row groups each, and the pattern for them."""
    for number, start in enumerate(range(0, ROWS, ROWS // 3)):
        rows = table().slice(start, ROWS // 3)
        pq.write_table(rows, folder / f"{number}.parquet", row_group_size=500)
    return folder / "*.parquet"


@contextmanager
def cluster(workers: int = 1, **options: Any) -> Iterator[Any]:
    """A client of workers that are processes of their own."""
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                worker_dashboard_address=None,
                **options,
            ) as started,
            Client(started) as client,
        ):
            yield client
