"""Logistic regression of 1,000,000 × 20 in one process, beside scikit-learn and statsmodels.

The same rows in memory; scikit-learn with Newton and Cholesky, no penalty. They take turns, and the
shortest of their times counts; processor time beside it, since machines are busy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator

import numpy as np

import titan
from benchmarks.measure import Row, processor_seconds, ratio, side_by_side

ROWS, COLUMNS = 1_000_000, 20
TOLERANCE = 1e-8


def rows() -> Iterator[Row]:
    from sklearn.linear_model import LogisticRegression
    from statsmodels.api import GLM, add_constant
    from statsmodels.genmod.families import Binomial
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(1)
    X, beta = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=COLUMNS) * 0.3
    y = (rng.random(ROWS) < 1 / (1 + np.exp(0.5 - X @ beta))).astype(float)
    table = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)} | {"y": y}
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(COLUMNS))
    newton = LogisticRegression(penalty=None, solver="newton-cholesky", tol=TOLERANCE)

    def ours() -> object:
        return titan.glm(table, formula=formula)

    def theirs() -> object:
        return GLM(y, add_constant(X), family=Binomial()).fit()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        what = f"logistic, {ROWS:,} × {COLUMNS}, proven: against "
        for name, yardstick, most, repeats in (
            ("scikit-learn", lambda: newton.fit(X, y), 4.0, 3),
            ("statsmodels", theirs, None, 1),
        ):
            yield ratio(f"{what}{name}", *side_by_side(ours, yardstick, repeats), most)
            with threadpool_limits(1):  # threads that wait for each other count as well
                both = side_by_side(ours, yardstick, repeats, processor_seconds)
            yield ratio(f"{what}{name}, processor time of one thread", *both, most)
    yield memory()


def memory() -> Row:
    """Of rows that are not kept but read again in every step, twice as many take no more."""
    peaks = [_peak(rows) for rows in (ROWS, 2 * ROWS)]
    grown = peaks[1] / peaks[0]
    measured = f"{grown:.2f}x ({peaks[1] >> 20} MB against {peaks[0] >> 20} MB)"
    what = f"logistic, memory of {2 * ROWS:,} × {COLUMNS} rows of a file against half of them"
    return Row(what, measured, "at most 1.25x", grown <= 1.25)


_STREAMED = """
import sys, titan
from titan.joint import glm_rows
glm_rows.MOST_KEPT = 0
titan.glm(sys.argv[1], formula=sys.argv[2])
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak.split()[1]) << 10)
"""


def _peak(rows: int) -> int:
    """Bytes of a process that fits a Parquet file of so many rows."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, names = np.random.default_rng(2), [f"x{j}" for j in range(COLUMNS)]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
        with parquet.ParquetWriter(path, schema) as file:
            for _ in range(rows // 50_000):
                X = rng.integers(-99, 100, (50_000, COLUMNS)) / 10
                y = (rng.random(50_000) < 1 / (1 + np.exp(-0.1 * X[:, 0]))).astype(float)
                file.write_table(pa.table([*X.T, y], schema=schema))
        formula = f"y ~ {' + '.join(names)}"
        words = [sys.executable, "-c", _STREAMED, path, formula]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    return int(done.stdout)
