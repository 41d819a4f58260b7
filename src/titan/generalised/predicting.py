"""Probabilities, expected counts and hazards of raw rows: a table with the data's own columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.errors import InputError
from titan.generalised.elementary import Floats, logistic
from titan.moments.model import Model
from titan.moments.new_rows import columns_to_predict, evaluated, is_series, one_column

if TYPE_CHECKING:
    from titan.generalised.cox_result import Cox
    from titan.generalised.result import GLM


def predict(fit: GLM, rows: Any) -> Floats:
    """μ of every row, NaN in one with a gap; the offset's column is needed where there is one."""
    offset = [] if fit.offset is None else [1.0]
    eta = _linear(fit.formula, fit.offset, [*fit.params.values(), *offset], rows)
    if fit.family == "poisson":
        return np.exp(eta)
    _, less, more = logistic(np.nan_to_num(eta))
    found: Floats = np.where(np.isnan(eta), np.nan, np.where(eta >= 0, more, less))
    return found


def hazards(fit: Cox, rows: Any, *, ratio: bool) -> Floats:
    """aᵀβ of every row, or its exponential; the constant has no coefficient."""
    eta = _linear(fit.formula, None, [0.0, *fit.params.values()], rows)
    return np.exp(eta) if ratio else eta


def _linear(formula: str, offset: str | None, coefficients: Sequence[float], rows: Any) -> Floats:
    if not formula:
        raise InputError("this result does not say which columns it was made of")
    model = Model(formula, offset=offset)
    if is_series(rows):
        rows = one_column(rows, columns_to_predict(model))
    found: Floats = evaluated(model, rows) @ np.array(coefficients)
    return found
