"""What the keys of an answer's JSON are called for people."""

from __future__ import annotations

_LABELS = {
    "nobs": "rows", "rows": "rows", "df_model": "degrees of freedom of the model",
    "df_resid": "residual degrees of freedom", "rsquared": "R²", "rsquared_adj": "adjusted R²",
    "fvalue": "F", "f_pvalue": "p of F", "llf": "log-likelihood", "aic": "AIC", "bic": "BIC",
    "scale": "scale", "ssr": "residual sum of squares",
    "condition": "condition of the scaled Gram matrix", "method": "solved by",
    "cov_type": "standard errors", "formula": "model", "response": "outcome",
    "dropped": "own rows left out as incomplete", "exact_fit": "exact fit", "family": "family",
    "link": "link", "iterations": "steps", "pearson_chi2": "Pearson's χ²",
    "deviance": "deviance", "null_deviance": "null deviance",
    "llnull": "log-likelihood of the null model", "alpha": "penalty",
    "pseudo_rsquared": "pseudo R² (Cox and Snell)", "precision": "bits of sums",
    "df_effective": "effective degrees of freedom", "digits": "proven digits",
    "params": "estimate", "se": "standard error", "grid": "length of an interval",
    "by": "groups by", "bse": "standard error", "error_bound": "proven within",
    "violation": "optimality conditions violated by", "recovery": "recovery", "bits": "bits",
    "value": "average", "total": "sum", "unit": "unit", "logrank": "log-rank test",
    "statistic": "χ²", "df": "degrees of freedom", "p_value": "p", "observed": "events observed",
    "expected": "events expected", "weights": "weights", "nobs_total": "rows in all",
    "hazard_ratios": "hazard ratio", "hazard_conf_int": "Hazard ratios, 95 % confidence intervals",
    "llr": "likelihood ratio χ²", "llr_pvalue": "p of the likelihood ratio",
    "least_at_risk": "fewest at risk when an event counts", "strata": "strata (parties)",
}  # fmt: skip


def label(key: str) -> str:
    """A key that has no other name is called as it is, like the names that users gave."""
    return _LABELS.get(key, key)
