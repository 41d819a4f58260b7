"""Predictions with intervals: for the mean at new rows, and for one more observation there.

    mean = aᵀx̂,   se² = aᵀVa,   observation: se² + σ̂²

with V ordinary or robust, Student's t or, with robust errors, the normal distribution, as in
statsmodels. A new row's numbers count as the exact binary numbers they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.bounds import Floats
from titan.leastsquares.contrasts import Contrasts
from titan.leastsquares.goodness import limits
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity, error_of
from titan.leastsquares.tested import data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

    from titan.leastsquares.regression import Regression

COLUMNS = (
    "mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prediction:
    """The mean at every new row, its standard error, and that of one more observation."""

    mean: tuple[Quantity, ...] = field(repr=False)
    """As enclosures; `predicted_mean` has the nearest doubles."""
    mean_se: tuple[Quantity, ...] = field(repr=False)
    obs_se: tuple[Quantity, ...] = field(repr=False)
    labels: tuple[Any, ...]
    """Of the rows: a frame's index, or 0, 1, …"""
    fit: Regression = field(repr=False)

    @property
    def predicted_mean(self) -> Floats:
        return np.array([float(each) for each in self.mean])

    @property
    def se_mean(self) -> Floats:
        return np.array([float(each) for each in self.mean_se])

    @property
    def se_obs(self) -> Floats:
        return np.array([float(each) for each in self.obs_se])

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> Floats:
        """(lower, upper) for each row: of the mean, or of an observation."""
        return np.array([[float(low), float(up)] for low, up in self.intervals(obs, alpha)])

    def intervals(self, obs: bool = False, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        """The limits as enclosures."""
        return limits(self.fit, alpha, self.mean, self.obs_se if obs else self.mean_se)

    def columns(self, alpha: float = 0.05) -> dict[str, tuple[Quantity, ...]]:
        """All numbers as enclosures, by statsmodels' names."""
        of_mean = tuple(zip(*self.intervals(False, alpha), strict=True)) or ((), ())
        of_one = tuple(zip(*self.intervals(True, alpha), strict=True)) or ((), ())
        return dict(zip(COLUMNS, (self.mean, self.mean_se, *of_mean, *of_one), strict=True))

    def summary_frame(self, alpha: float = 0.05) -> DataFrame:
        """A pandas DataFrame, as statsmodels has it."""
        return data_frame(_each(float, self.columns(alpha)), self.labels)

    def error_frame(self, alpha: float = 0.05) -> DataFrame:
        """The same shape: how far each number may be off, proven."""
        return data_frame(_each(error_of, self.columns(alpha)), self.labels)

    def to_dict(self, alpha: float = 0.05) -> dict[str, list[float]]:
        """Every column of `summary_frame` and its errors."""
        columns = self.columns(alpha)
        errors = {f"{name}_error": found for name, found in _each(error_of, columns).items()}
        return _each(float, columns) | errors

    def __len__(self) -> int:
        return len(self.mean)


def _each(function: Any, columns: dict[str, tuple[Quantity, ...]]) -> dict[str, list[float]]:
    return {name: [function(each) for each in found] for name, found in columns.items()}


def predict(fit: Regression, matrix: Floats, labels: Sequence[Any] | None = None) -> Prediction:
    """At the rows of a matrix whose columns are the fit's; a row with a gap has none."""
    matrix = np.atleast_2d(matrix)
    if np.isinf(matrix).any():
        raise InputError("a new row has a number that is infinite", hint="leave it out")
    whole: npt.NDArray[np.bool_] = ~np.isnan(matrix).any(axis=1)  # type: ignore[assignment]
    rows = [[Fraction(value) for value in row] for row in matrix[whole].tolist()]
    contrasts = Contrasts(fit, rows)
    means, errors = (contrasts.values, contrasts.standard_errors()) if rows else ([], [])
    of_one = [_of_observation(fit.scale_ball, se) for se in errors]
    named = range(len(matrix)) if labels is None else labels
    mean, mean_se, obs_se = (_placed(each, whole) for each in (means, errors, of_one))
    return Prediction(mean, mean_se, obs_se, tuple(named), fit)


def _placed(found: Sequence[Quantity], whole: npt.NDArray[np.bool_]) -> tuple[Quantity, ...]:
    """With what is not defined where a row has a gap."""
    given = iter(found)
    return tuple(next(given) if there else math.nan for there in whole)


def labels_of(rows: Any, matrix: Floats) -> Sequence[Any] | None:
    """The index of a pandas frame or series of these rows."""
    index = getattr(rows, "index", None)
    labels = None if index is None or callable(index) else list(index)
    return labels if labels is not None and len(labels) == len(np.atleast_2d(matrix)) else None


def _of_observation(variance: Quantity, se: Quantity) -> Quantity:
    if not (isinstance(variance, Ball) and isinstance(se, Ball)):
        return se
    return inference.root(compute(lambda v, s: v + s * s, variance, se))
