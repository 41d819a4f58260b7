"""Digests of rows that are bytes, as a ledger keeps those of real rows."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from titan.moments.cell_digests import CellDigests
from titan.study.row_digests import RowDigests


def row_digests(rows: Iterable[bytes], key: bytes) -> RowDigests:
    digests, array = CellDigests(key), pa.array(list(rows), pa.binary())
    return RowDigests.of([digests.rows([digests.texts("text", "row", array)])[:, 0]])
