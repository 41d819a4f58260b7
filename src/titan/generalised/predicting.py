"""Probabilities and expected counts of raw rows: a table with the data's own columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from titan.errors import InputError
from titan.generalised.elementary import Floats, logistic
from titan.moments.model import Model
from titan.moments.new_rows import columns_to_predict, evaluated, is_series, one_column

if TYPE_CHECKING:
    from titan.generalised.result import GLM


def predict(fit: GLM, rows: Any) -> Floats:
    """μ of every row, NaN in one with a gap; the offset's column is needed where there is one."""
    if not fit.formula:
        raise InputError("this result does not say which columns it was made of")
    model = Model(fit.formula, offset=fit.offset)
    if is_series(rows):
        rows = one_column(rows, columns_to_predict(model))
    offset = [] if model.offset is None else [1.0]
    eta: Floats = evaluated(model, rows) @ np.array([*fit.params.values(), *offset])
    if fit.family == "poisson":
        return np.exp(eta)
    _, less, more = logistic(np.nan_to_num(eta))
    found: Floats = np.where(np.isnan(eta), np.nan, np.where(eta >= 0, more, less))
    return found
