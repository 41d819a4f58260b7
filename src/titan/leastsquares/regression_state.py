"""A regression in a file, exactly: its pooled moments and what cannot be computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from titan import canonical
from titan.canonical import exact_text, read_exact
from titan.leastsquares.balls import Ball
from titan.leastsquares.pooled import PooledMoments
from titan.leastsquares.robust import CovType, Robust
from titan.leastsquares.submodels import MOST_FORMULA, check_formula

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

_STATE = ("moments", "constant", "weighted", "cov_type", "robust", "dropped")
_LATER = {"formula": None, "log_weights": None}
"""What older files lack, both together."""


def to_state(fit: Regression) -> dict[str, Any]:
    constant = None if fit.constant is None else fit.constant.items()
    return {
        "moments": fit.moments.to_state(),
        "constant": constant and {name: exact_text(c) for name, c in constant},
        "weighted": fit.weighted,
        "cov_type": fit.cov_type,
        "robust": fit.robust and fit.robust.to_state(),
        "dropped": None if fit.dropped is None else dict(fit.dropped),
        "formula": fit.formula,
        "log_weights": fit.log_weights and fit.log_weights.to_state(),
    }


def from_state(state: object, cost: Any, fit_pooled: Callable[..., Regression]) -> Regression:
    found = canonical.mapping(state)
    if not _LATER.keys() & found.keys():
        found = _LATER | found
    found = canonical.keys(found, (*_STATE, *_LATER))
    constant, cov_type = found["constant"], found["cov_type"]
    if constant is not None:
        constant = {n: read_exact(c) for n, c in canonical.mapping(constant).items()}
    if cov_type not in get_args(CovType):
        raise ValueError("its kind of standard errors is not known")
    fit = fit_pooled(
        PooledMoments.from_state(found["moments"]),
        constant=constant,
        weighted=canonical.flag(found["weighted"]),
    )
    robust = found["robust"]
    if (robust is None) != (cov_type == "nonrobust" or fit.exact_fit):
        raise ValueError("its standard errors are not of the kind it says")
    if robust is not None:
        robust = Robust.from_state(robust, fit.certificate, cov_type)
    fit = replace(fit, cov_type=cov_type, robust=robust, cost=cost)
    return replace(fit, **_rest(found, fit))


def _rest(found: dict[str, Any], fit: Regression) -> dict[str, Any]:
    """What no number of the fit but the likelihood depends on."""
    dropped, formula, logs = found["dropped"], found["formula"], found["log_weights"]
    if dropped is not None:
        dropped = {n: canonical.whole(k) for n, k in canonical.mapping(dropped).items()}
    if formula is not None:
        check_formula(canonical.text(formula, MOST_FORMULA), fit.names)
    if logs is not None:
        if not fit.weighted:
            raise ValueError("it has logarithms of weights, and no weights")
        logs = Ball.from_state(logs)
    return {"dropped": dropped, "formula": formula, "log_weights": logs}
