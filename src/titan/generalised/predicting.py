"""Probabilities, expected counts and hazards of raw rows: a table with the data's own columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.errors import DataError, InputError
from titan.generalised.elementary import Floats, logistic
from titan.moments.columns import Column
from titan.moments.floats import floats
from titan.moments.model import Model, Readings
from titan.moments.sources import Block, open_source

if TYPE_CHECKING:
    from titan.generalised.cox_result import Cox
    from titan.generalised.result import GLM


def predict(fit: GLM, rows: Any) -> Floats:
    """μ of every row; the offset's column is needed where there is one."""
    eta = _linear(fit.formula, fit.offset, list(fit.params.values()), rows)
    if fit.family == "poisson":
        return np.exp(eta)
    _, less, more = logistic(eta)
    return np.where(eta >= 0, more, less)


def hazards(fit: Cox, rows: Any, *, ratio: bool) -> Floats:
    """aᵀβ of every row, or its exponential; the constant has no coefficient."""
    eta = _linear(fit.formula, None, [0.0, *fit.params.values()], rows)
    return np.exp(eta) if ratio else eta


def _linear(formula: str, offset: str | None, coefficients: Sequence[float], rows: Any) -> Floats:
    if not formula:
        raise InputError("this result does not say which columns it was made of")
    model = Model(formula, offset=offset)
    source = open_source(rows)
    needed = _needed(model)
    source.check(needed)
    if not needed:
        raise InputError("a model of a constant alone has one prediction", hint="see params")
    read = list(
        source.each_block(lambda block: _of_block(model, coefficients, block), columns=needed)
    )
    return np.concatenate(read) if read else np.zeros(0)


def _needed(model: Model) -> list[str]:
    """What the columns of A and the offset are made of: neither the outcome nor weights."""
    factors = [name for term in model.terms for f in term for name in f.columns_needed()]
    offset = () if model.offset_factor is None else model.offset_factor.columns_needed()
    return list(dict.fromkeys([*factors, *offset]))


def _of_block(model: Model, coefficients: Sequence[float], block: Block) -> Floats:
    numbers: dict[str, Column] = {}
    codes, gaps = {}, np.zeros(block.rows, bool)
    needed = _needed(model)
    for name in model.number_columns:
        if name in needed:
            numbers[name], missing = block.cells[name].numbers()
            gaps |= missing
        else:  # of the outcome, which is not looked at
            numbers[name] = Column(np.ones(block.rows, np.int64))
    for category in model.categories:
        codes[category], missing = block.cells[category.column].codes(category.levels)
        gaps |= missing
    if gaps.any():
        raise DataError(f"{block.place(int(gaps.argmax()))}: a value is missing")
    readings = Readings(block.rows, numbers, codes, block.place)
    columns = model.evaluate(readings)[:-1]
    eta = sum((floats(c) * b for c, b in zip(columns, coefficients, strict=True)), 0.0)
    offset = model.evaluate_offset(readings)
    return np.asarray(eta + (0.0 if offset is None else floats(offset)), np.float64)
