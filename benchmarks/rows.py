"""What `titan join` reads before it connects, beside `titan moments`: 250,000 × 20 of CSV.

Both read the same file: the one for exact moments and for the ledger's digests of what they read,
the other for the moments alone. And a source that must not change, beside one that
may. They take turns, and the shortest of their times counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from benchmarks.measure import Row, ratio, side_by_side
from titan.moments import Model, collect, open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import read, read_all
from titan.moments.rows import ModelRows
from titan.moments.same_rows import SameRows
from titan.study.digesting import DigestRows
from titan.study.row_digests import RowKey

ROWS, COLUMNS = 250_000, 20
KEY = RowKey(bytes(range(32)))
_REPEATS = 5


@dataclass(frozen=True)
class Case:
    """One kind of cells, and how many times as long as moments alone the rest may take."""

    name: str
    draw: Callable[[np.random.Generator], npt.NDArray[np.float64]]
    to_moments: float = 2.0
    repeats: int = _REPEATS


CASES = (
    Case("two decimals", lambda rng: np.round(rng.normal(100, 30, ROWS), 2)),
    Case("all digits of a double", lambda rng: rng.random(ROWS), repeats=2),
)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            yield from measure(case, Path(folder) / "rows.csv")


def measure(case: Case, file: Path) -> list[Row]:
    rng = np.random.default_rng(1)
    names = [f"x{j}" for j in range(COLUMNS)]
    csv.write_csv(pa.table({name: case.draw(rng) for name in names}), file)
    wanted = ModelRows(Model.from_columns(names[-1], names[:-1]))

    def alone() -> object:
        return collect(file, wanted.model)

    what = f"{ROWS:,} × {COLUMNS} of CSV, {case.name}"
    both = side_by_side(lambda: _with_digests(file, wanted), alone, case.repeats)
    same = side_by_side(lambda: _unchanged(file, wanted), alone, case.repeats)
    return [
        ratio(f"moments and the ledger's digests, {what}: against moments", *both, case.to_moments),
        ratio(f"moments of rows that must not change, {what}: against moments", *same, None),
    ]


def _with_digests(file: Path, wanted: ModelRows) -> tuple[Any, ...]:
    source = open_source(file)
    digests = DigestRows({"q1": wanted}, {name: {} for name in source.column_names}, KEY)
    return read_all(source, [CollectMoments(wanted), digests])


def _unchanged(file: Path, wanted: ModelRows) -> object:
    return read(SameRows(open_source(file), KEY.secret), CollectMoments(wanted))
