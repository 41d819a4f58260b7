"""The same coefficients with other standard errors, as far as the sums that were opened tell.

Ordinary errors follow from the moments; HC1 is HC0 times a number, and the other way round. All
else needs a sum of its own, over the rows: then the error says which question to ask.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from titan.errors import InputError
from titan.leastsquares.named import Named
from titan.leastsquares.origins import ask
from titan.leastsquares.robust import CovType
from titan.listing import check_choice

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression

_SAME_SUM = ("HC0", "HC1")


def with_errors(fit: Regression, cov_type: CovType) -> Regression:
    """The fit with errors of this kind."""
    check_choice("cov_type", cov_type, get_args(CovType))
    if cov_type == fit.cov_type:
        return fit
    if cov_type == "nonrobust" or fit.exact_fit:
        return replace(fit, cov_type=cov_type, robust=None)
    if fit.robust is not None and fit.cov_type in _SAME_SUM and cov_type in _SAME_SUM:
        return replace(fit, cov_type=cov_type, robust=replace(fit.robust, cov_type=cov_type))
    line = ask(fit, fit.moments.response, cov_type=cov_type)
    raise InputError(
        f"{cov_type} errors need a sum of their own, over the rows, which was not opened",
        hint=f'ask for them: cov_type="{cov_type}" in titan.fit; of a study {line}',
    )


def standard_errors(fit: Regression, cov_type: CovType) -> Named:
    return with_errors(fit, cov_type).bse
