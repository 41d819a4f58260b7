"""Logistic regression of 1,000,000 × 20 in one process, beside scikit-learn and statsmodels.

The same rows in memory; scikit-learn with Newton and Cholesky, no penalty. They take turns, and the
shortest of their times counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

import titan
from benchmarks.measure import Row, ratio, side_by_side

ROWS, COLUMNS = 1_000_000, 20
TOLERANCE = 1e-8


def rows() -> Iterator[Row]:
    from sklearn.linear_model import LogisticRegression
    from statsmodels.api import GLM, add_constant
    from statsmodels.genmod.families import Binomial

    rng = np.random.default_rng(1)
    X, beta = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=COLUMNS) * 0.3
    y = (rng.random(ROWS) < 1 / (1 + np.exp(0.5 - X @ beta))).astype(float)
    table = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)} | {"y": y}
    formula = "y ~ " + " + ".join(f"x{j}" for j in range(COLUMNS))
    newton = LogisticRegression(penalty=None, solver="newton-cholesky", tol=TOLERANCE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        what = f"logistic, {ROWS:,} × {COLUMNS}, proven: against "
        one = side_by_side(lambda: titan.glm(table, formula=formula), lambda: newton.fit(X, y))
        yield ratio(f"{what}scikit-learn", *one, 4.0)
        other = side_by_side(
            lambda: titan.glm(table, formula=formula),
            lambda: GLM(y, add_constant(X), family=Binomial()).fit(),
            1,
        )
        yield ratio(f"{what}statsmodels", *other, None)
