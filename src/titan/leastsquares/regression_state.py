"""A regression in a file, exactly: its pooled moments and what cannot be computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from titan import canonical
from titan.canonical import exact_text, read_exact
from titan.errors import FormulaError
from titan.leastsquares import origins
from titan.leastsquares.balls import Ball
from titan.leastsquares.certified import certify
from titan.leastsquares.pooled import PooledMoments
from titan.leastsquares.recombined import inverse_of, recombined
from titan.leastsquares.robust import CovType, Robust
from titan.moments.centring import uncentred

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

_STATE = ("moments", "constant", "weighted", "cov_type", "robust", "dropped")
_LATER = {"formula": None, "log_weights": None}
"""What older files lack, both together."""
_MOMENTS = "moments"
"""Robust errors have some of their own where columns are centred."""


def to_state(fit: Regression) -> dict[str, Any]:
    constant = None if fit.constant is None else fit.constant.items()
    return {
        _MOMENTS: fit.moments.to_state(),
        "constant": constant and {name: exact_text(c) for name, c in constant},
        "weighted": fit.weighted,
        "cov_type": fit.cov_type,
        "robust": fit.robust and _robust_state(fit.robust),
        "dropped": None if fit.dropped is None else dict(fit.dropped),
        "formula": fit.formula,
        "log_weights": fit.log_weights and fit.log_weights.to_state(),
        **origins.to_state(fit),
    }


def _robust_state(robust: Robust) -> dict[str, Any]:
    summed = robust.certificate.moments
    return robust.to_state() | ({_MOMENTS: summed.to_state()} if robust.change is not None else {})


def from_state(state: object, cost: Any, fit_pooled: Callable[..., Regression]) -> Regression:
    found = dict(canonical.mapping(state))
    made = origins.taken_from(found)
    found = canonical.keys(found, _STATE, _LATER)
    if "weights" in made and not found["weighted"]:
        raise ValueError("it has a column of weights, and no weights")
    constant, cov_type = found["constant"], found["cov_type"]
    if constant is not None:
        constant = {n: read_exact(c) for n, c in canonical.mapping(constant).items()}
    if cov_type not in get_args(CovType):
        raise ValueError("its kind of standard errors is not known")
    fit = fit_pooled(
        PooledMoments.from_state(found[_MOMENTS]),
        constant=constant,
        weighted=canonical.flag(found["weighted"]),
    )
    robust = found["robust"]
    if (robust is None) != (cov_type == "nonrobust" or fit.exact_fit):
        raise ValueError("its standard errors are not of the kind it says")
    fit = replace(fit, cov_type=cov_type, cost=cost, **made)
    fit = replace(fit, **_rest(found, fit))
    return fit if robust is None else replace(fit, robust=_read_robust(robust, fit))


def _read_robust(state: object, fit: Regression) -> Robust:
    """Of centred columns they are made of the moments that were summed."""
    found = dict(canonical.mapping(state))
    summed = found.pop(_MOMENTS, None)
    if summed is None and not fit.centres:
        return Robust.from_state(found, fit.certificate, fit.cov_type)
    try:
        centring = fit.formula and uncentred(fit.formula, {})[1]
    except FormulaError:
        centring = None
    if not centring or centring.arguments.keys() != fit.centres.keys():
        raise ValueError("its robust errors are not those of its columns")
    moments, matrix = PooledMoments.from_state(summed), centring.matrix(fit.centres)
    if not recombined(moments, centring.names, matrix).agrees(fit.moments):
        raise ValueError("its robust errors are not those of its columns")
    robust = Robust.from_state(found, certify(moments), fit.cov_type)
    return replace(robust, change=inverse_of(matrix))


def _rest(found: dict[str, Any], fit: Regression) -> dict[str, Any]:
    """What no number of the fit but the likelihood depends on."""
    dropped, logs = found["dropped"], found["log_weights"]
    if dropped is not None:
        dropped = {n: canonical.whole(k) for n, k in canonical.mapping(dropped).items()}
    if logs is not None:
        if not fit.weighted:
            raise ValueError("it has logarithms of weights, and no weights")
        logs = Ball.from_state(logs)
    formula = origins.read_formula(found["formula"], fit.centres, fit.names)
    return {"dropped": dropped, "formula": formula, "log_weights": logs}
