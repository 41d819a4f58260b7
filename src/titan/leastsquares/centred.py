"""A fit of centred columns from that of the columns that were summed; see `moments.centring`."""

from __future__ import annotations

from dataclasses import replace

from titan.leastsquares.pooled import as_vector
from titan.leastsquares.recombined import applied, inverse_of, recombined
from titan.leastsquares.regression import Regression, fit_pooled
from titan.moments.centring import Centres, Centring


def centred(fit: Regression, centring: Centring, centres: Centres) -> Regression:
    """The same model, in the columns of its formula."""
    matrix = centring.matrix(centres)
    back = inverse_of(matrix)
    one = as_vector(fit.constant, fit.names)
    coefficients = zip(centring.names, applied(back, one or []), strict=False)
    moments = recombined(fit.moments, centring.names, matrix)
    constant = {name: c for name, c in coefficients if c}
    found = fit_pooled(moments, constant=constant or None)
    return replace(
        found,
        cov_type=fit.cov_type,
        robust=fit.robust and replace(fit.robust, change=back),
        dropped=fit.dropped,
        formula=centring.formula,
        centres=dict(centres),
    )
