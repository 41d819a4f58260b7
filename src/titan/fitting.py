"""Least squares over all parties' rows together: `solve` for matrices, `fit` for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.averaging import by_party
from titan.engines import local
from titan.errors import DataError, InputError, PlanError
from titan.leastsquares import PooledMoments, Regression, Solution, fit_pooled, solve_pooled
from titan.moments import Column, Model, Moments, collect, open_source
from titan.moments.gram import gram
from titan.moments.rational import RationalMoments
from titan.moments.rows import Missing
from titan.network import Network
from titan.pooling import Release, SecretMoments, Sums, pool

Parts = Sequence[Any] | Mapping[str, Any]


def solve(
    parts: Parts,
    network: Network,
    *,
    names: Sequence[str] | None = None,
    release: Release = "solution",
    solver: str | None = None,
    **choices: Any,
) -> Solution:
    """The least squares solution of all parties' equations A_i x = b_i together.

    `parts` holds one pair (A_i, b_i) per party, in order of `network.parties` or as a mapping:
    arrays of floats or integers, or of Fractions and Decimals, all taken as the exact numbers they
    are. Every party learns the pooled AᵀA, Aᵀb and the number of rows, and with
    release="inference" bᵀb; nobody learns another's rows.

    `solver` names one party that solves and tells the others. `choices` are those of the private
    sums: bits, tau, recovery, k, rounds, masks, engine, progress (see `titan.average`).
    """
    sums = Sums(network, **choices)
    secrets = [
        _moments_of(party, part, names)
        for party, part in zip(network.parties, by_party(parts, network), strict=True)
    ]
    pooled, cost = pool(secrets, sums, release)
    solution = solve_pooled(pooled)
    if solver is not None:
        message = np.concatenate([solution.x, solution.error_bound]).astype("<f8").tobytes()
        cost = cost + local.broadcast(network, network.index(solver), message)
    return replace(solution, cost=cost)


def fit(
    data: Any,
    network: Network | None = None,
    *,
    formula: str | None = None,
    response: str | None = None,
    columns: Sequence[str] | None = None,
    intercept: bool = True,
    weights: str | None = None,
    missing: Missing = "refuse",
    decimal: bool = False,
    release: Release = "inference",
    **choices: Any,
) -> Regression:
    """Linear regression on all parties' rows together.

    `data` holds one table per party (a path, a pandas, Polars or Arrow table, or a mapping of
    columns), in order of `network.parties` or as a mapping; without a network it is one table.
    The model is a `formula`, or a `response` with the `columns` that explain it. A float counts as
    the exact binary number it is; with `decimal` as the shortest decimal that stands for it, as it
    would in a CSV. Every party learns the pooled AᵀA, Aᵀb, bᵀb and the number of rows.
    """
    model = _model(formula, response, columns, intercept, weights)
    if release != "inference":
        raise PlanError(
            f"release={release!r} gives no standard errors",
            hint='release="inference", or titan.solve for the solution alone',
        )
    if network is None:
        source = open_source(data, decimal=decimal)
        return _fit(exact(collect(source, model, missing=missing).moments), model)
    sums = Sums(network, **choices)
    secrets = [
        collect(
            open_source(part, decimal=decimal, label=f"the table of {party!r}"),
            model,
            missing=missing,
        ).moments
        for party, part in zip(network.parties, by_party(data, network), strict=True)
    ]
    pooled, cost = pool(secrets, sums, release)
    return replace(_fit(pooled, model), cost=cost)


def exact(moments: Moments) -> PooledMoments:
    """The moments of one party alone: nothing is pooled, nothing rounded."""
    n = len(moments.names) - 1
    matrix = np.array(moments.matrix().tolist(), object)
    integers = np.vectorize(int, otypes=[object])(matrix)
    units = [Fraction(2) ** two * Fraction(5) ** five for two, five in moments.units]
    return PooledMoments.of_integers(
        moments.names[:n],
        integers[:n, :n],
        integers[:n, n],
        units[:n],
        rows=moments.rows,
        bb=integers[n, n],
        response=moments.names[n],
        response_unit=units[n],
    )


def _fit(pooled: PooledMoments, model: Model) -> Regression:
    return fit_pooled(pooled, constant=model.constant, weighted=model.weights is not None)


def _model(
    formula: str | None,
    response: str | None,
    columns: Sequence[str] | None,
    intercept: bool,
    weights: str | None,
) -> Model:
    if formula is not None and response is None and columns is None:
        if not intercept:
            raise InputError("intercept=False beside a formula", hint='write "y ~ x - 1"')
        return Model(formula, weights=weights)
    if formula is None and response is not None and columns is not None:
        return Model.from_columns(response, columns, intercept=intercept, weights=weights)
    raise InputError(
        "the model is not clear",
        hint='give formula="y ~ a + b", or response="y" and columns=["a", "b"]',
    )


# -- inputs -----------------------------------------------------------------------------------


def _moments_of(party: str, part: Any, names: Sequence[str] | None) -> SecretMoments:
    """The moments of one pair (A, b)."""
    try:
        A, b = (np.asarray(x) for x in part)
    except (TypeError, ValueError):
        raise DataError(f"{party!r} has no pair (A, b) of arrays") from None
    if A.ndim != 2 or b.shape != A.shape[:1]:
        raise DataError(
            f"{party!r} has A of shape {A.shape} and b of shape {b.shape}",
            hint="A has one row per equation, b one entry per row of A",
        )
    labels = [*(names or [f"x{j}" for j in range(1, A.shape[1] + 1)]), "b"]
    if len(labels) != A.shape[1] + 1:
        raise DataError(f"{party!r} has {A.shape[1]} columns for {len(labels) - 1} names")
    if A.dtype == object or b.dtype == object:
        return RationalMoments.of(labels, _fractions(party, A, b))
    return gram(labels, [Column(x) for x in _plain(party, A, b)])


def _plain(party: str, A: npt.NDArray[Any], b: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The columns of [A b] as float64 or int64, each contiguous."""
    columns = []
    for array in (*np.ascontiguousarray(A.T), b):
        if array.dtype.kind in "biu" and (array.dtype != np.uint64 or array.max(initial=0) < 2**63):
            columns.append(array.astype(np.int64))
        elif array.dtype.kind == "f" and array.dtype.itemsize <= 8:
            columns.append(array.astype(np.float64))
        else:
            raise DataError(
                f"{party!r} has numbers of type {array.dtype}",
                hint="hand in floats, integers, Fractions or Decimals",
            )
    return columns


def _fractions(party: str, A: npt.NDArray[Any], b: npt.NDArray[Any]) -> list[list[Fraction]]:
    try:
        return [[Fraction(x) for x in column] for column in (*A.T, b)]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{party!r} has an entry that is no finite number") from None
