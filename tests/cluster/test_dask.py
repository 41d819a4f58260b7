"""Rows that a Dask cluster reads give the bits that one process gives. (make cluster: more.)"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import titan
from tests.cluster.dask_clusters import cluster, in_files, table
from titan.errors import DataError, InputError, WorkersError
from titan.moments import Model, collect, dask_cluster, open_source

pytest.importorskip("distributed", reason="needs the extra dask")

MODEL = Model("y ~ a")


def test_files_and_frames_on_a_cluster_are_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cluster for all of it: to start one takes seconds."""
    import dask.dataframe as dd
    import pandas as pd

    pattern, expected = in_files(tmp_path), collect(table(), MODEL)
    (tmp_path / "bad.csv").write_text("y,a\n" + "1,2\n" * 50 + "1,oops\n")
    with cluster() as client:
        for executor in (client, client.scheduler.address):
            assert collect(open_source(pattern, executor=executor), MODEL) == expected
        frame = dd.from_pandas(table().to_pandas(), npartitions=7)
        assert collect(frame, MODEL) == expected
        assert collect(frame.persist(), MODEL) == expected
        empty = dd.concat([frame, frame.query("y > 1e9")])
        assert collect(empty, MODEL) == expected, "a partition without rows is fine"
        fit = titan.fit(frame, formula="y ~ a", cov_type="HC0")
        assert dict(fit.bse) == dict(titan.fit(table(), formula="y ~ a", cov_type="HC0").bse)
        with pytest.raises(DataError, match=r'^bad.csv, line 52, column "a": text where'):
            collect(open_source(tmp_path / "bad.csv", executor=client), MODEL)
        words = dd.from_pandas(pd.DataFrame({"y": [1, 2], "a": ["1", "x"]}), npartitions=2)
        with pytest.raises(DataError, match=r"the table, partition 1, row 0 .*text where"):
            collect(words, MODEL)
        monkeypatch.setattr(dask_cluster, "__version__", "another")
        with pytest.raises(WorkersError, match=r"has titan .*, where another was expected"):
            open_source(pattern, executor=client)
    assert collect(frame, MODEL) == expected, "without a client, by threads of this process"


def test_a_scheduler_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(WorkersError, match=f"there is no Dask scheduler at {address}") as gone:
            open_source(table(), executor=address)
    assert gone.value.exit_status == 75
    for nothing in ("nonsense", "tcp://host", "http://host:1", "tcp://host:port"):
        with pytest.raises(InputError, match="is not the address of a Dask scheduler"):
            open_source(table(), executor=nothing)
