"""Digests of rows that are bytes, as a ledger keeps those of real rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from titan.moments.cell_digests import CellDigests
from titan.study.digest_order import Words
from titan.study.row_digests import Mask, OwnRows, RowKey, RowSet

QUESTION = "q1"


def digests(rows: RowSet) -> list[int]:
    """One for every row, sorted."""
    return [int(d) for s in rows.stretches() for d, n in zip(*s, strict=True) for _ in range(n)]


def cells(values: Iterable[bytes], key: RowKey) -> Words:
    found = CellDigests(key.secret).texts("value", "", pa.array(list(values), pa.binary()))
    return np.ascontiguousarray(found[:, 0])


def own_rows(
    rows: Sequence[bytes],
    key: RowKey,
    columns: Iterable[str] = ("row",),
    used: Mapping[str, Mask] | None = None,
) -> OwnRows:
    """Every column has other values, by which each row is known."""
    found = {name: cells([name.encode() + row for row in rows], key) for name in columns}
    return OwnRows.of(key, found, used or {QUESTION: np.ones(len(rows), bool)})
