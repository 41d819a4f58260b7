"""Least squares on pooled rows, as if nobody minded: NumPy, statsmodels, scikit-learn.

No privacy, one process, all rows in one place: what the privacy costs beside nothing at all. The
bytes are those of one party's rows, which it has to send there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers.inputs import Equations, Floats, error
from benchmarks.peers.report import AnyRow, Measured, MissingRow, NotMeasuredError, PeerRow, need
from benchmarks.peers.titan_runs import timed, titan_solve
from titan.engines import EngineName

PROBLEMS: tuple[tuple[int, int, int, EngineName], ...] = (
    (5, 200, 10, "local"),
    (100, 100, 100, "vectorised"),
)
TAU = 1

Fit = Callable[[Floats, Floats], Any]


def lstsq(A: Floats, b: Floats) -> Any:
    return np.linalg.lstsq(A, b, rcond=None)[0]


def statsmodels(A: Floats, b: Floats) -> Any:
    """With its standard errors, which TITAN's `solve` does not make."""
    result = import_module("statsmodels.regression.linear_model").OLS(b, A).fit()
    _ = result.bse
    return result.params


def sklearn(A: Floats, b: Floats) -> Any:
    return (
        import_module("sklearn.linear_model").LinearRegression(fit_intercept=False).fit(A, b).coef_
    )


PEERS: dict[str, tuple[str, Fit]] = {
    "numpy.linalg.lstsq": ("numpy", lstsq),
    "statsmodels OLS": ("statsmodels", statsmodels),
    "scikit-learn LinearRegression": ("sklearn", sklearn),
}


def measured(fit: Fit, equations: Equations) -> Measured:
    A, b = equations.pooled
    fit(A, b)  # what is imported at the first call is not counted
    took, x = timed(lambda: fit(A, b))
    rows_sent = max(A.nbytes + b.nbytes for A, b in zip(equations.A, equations.b, strict=True))
    return Measured(took, rows_sent, error(x, equations.exact()))


def rows() -> Iterator[AnyRow]:
    for parties, each, unknowns, engine in PROBLEMS:
        equations = Equations.draw(parties, each, unknowns)
        task = f"solve, m={parties}, p={parties * each}, n={unknowns}"
        for name, (package, fit) in PEERS.items():
            try:
                need(package)
            except NotMeasuredError as missing:
                yield MissingRow(name, str(missing))
                continue
            ours, theirs = titan_solve(equations, TAU, engine), measured(fit, equations)
            remarks = f"not private: rows are sent; TITAN in one process, engine {engine}"
            yield PeerRow(task, name, theirs, ours, remarks)
