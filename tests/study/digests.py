"""Digests of rows that are bytes, as a ledger keeps those of real rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from titan.moments.cell_digests import CellDigests
from titan.study.row_digests import Mask, OwnRows, RowKey, Words

QUESTION = "q1"


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
    return OwnRows(key, found, used or {QUESTION: np.ones(len(rows), bool)})
