"""The same fits by statsmodels: each of its numbers beside ours, to 1e-8.

Run as a module for all of them: python -m tests.leastsquares.beside_statsmodels
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

import titan
from titan.leastsquares import Regression
from titan_lab import datasets

formulas = import_module("statsmodels.formula.api")
variance = import_module("statsmodels.stats.anova")
influence = import_module("statsmodels.stats.outliers_influence")

LEVELS = '["Budapest", "Cleveland Clinic", "VA Long Beach", "Zurich-Basel"]'
CLOSE: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-13}

MAIN = ("age", "sex", "trestbps", "exang", "oldpeak", "cp2", "cp3", "cp4")
SHORTER = [
    f"thalach ~ {' + '.join(MAIN[start:stop])}"
    for start in range(8)
    for stop in range(start + 2, 9)
]
MODELS = [
    *SHORTER,
    "thalach ~ age * sex",
    "thalach ~ age * sex + oldpeak:exang + exang",
    "thalach ~ age + I(age ** 2) + sex",
    "thalach ~ C(hospital)",
    "thalach ~ C(hospital) + age + sex",
    "thalach ~ C(hospital) * sex",
    "thalach ~ C(hospital) + age + C(hospital):age",
    "thalach ~ log(age) + sqrt(trestbps + 1) + sex",
    "thalach ~ center(age) * sex + oldpeak",
    "thalach ~ center(age) + I(center(age) ** 2) + C(hospital):center(age) + C(hospital)",
    "oldpeak ~ 0 + age + sex",
]
PANEL = [
    "invest ~ value + capital",
    "invest ~ value * capital",
    "value ~ invest",
    "capital ~ invest + value + I(value ** 2)",
]
KINDS = ("HC0", "HC1", "HC2", "HC3")
WEIGHTS = {"heart_disease": "age", "grunfeld": "value"}
WHOLE = (
    "rsquared", "rsquared_adj", "fvalue", "f_pvalue", "llf", "aic", "bic", "scale", "ssr", "nobs",
    "df_model", "df_resid", "ess", "uncentered_tss", "mse_model", "mse_resid", "mse_total", "use_t",
)  # fmt: skip


def ours_of(formula: str) -> str:
    return formula.replace("C(hospital)", f"C(hospital, levels={LEVELS})").replace(
        "sqrt(trestbps + 1)", "sqrt(1 + trestbps)"
    )


def pairs() -> list[tuple[str, str]]:
    return [("heart_disease", m) for m in MODELS] + [("grunfeld", m) for m in PANEL]


def theirs_of(formula: str, frame: pd.DataFrame, weights: str | None) -> Any:
    text = formula.replace("log(", "np.log(").replace("sqrt(trestbps + 1)", "np.sqrt(1 + trestbps)")
    return (
        formulas.ols(text, frame)
        if weights is None
        else formulas.wls(text, frame, weights=frame[weights])
    )


def hypothesis(names: tuple[str, ...]) -> str:
    first, *_, last = names
    return f"{last} = 0, {first} = 2*{last} + 1" if len(names) > 1 else f"{first} = 1"


def one_fit(frame: pd.DataFrame, name: str, formula: str, kind: Any) -> None:
    """`kind` is that of the errors, or the column of weights of a fit with ordinary ones."""
    weights = kind if kind in frame else None
    kind = "nonrobust" if weights else kind
    rows, chosen = datasets.path(name), ours_of(formula)
    ours = titan.fit(rows, formula=chosen, cov_type=kind, weights=weights)
    theirs = theirs_of(formula, frame, weights).fit(cov_type=kind)
    order = [theirs.model.exog_names.index(_patsy(n)) for n in ours.names]
    for what in ("params", "bse", "tvalues", "pvalues"):
        expected = getattr(theirs, what).iloc[order]
        np.testing.assert_allclose(np.asarray(getattr(ours, what)), expected, **CLOSE)
    np.testing.assert_allclose(ours.conf_int(), theirs.conf_int().iloc[order], **CLOSE)
    np.testing.assert_allclose(ours.cov_params(), theirs.cov_params().iloc[order, order], **CLOSE)
    for what in WHOLE:
        np.testing.assert_allclose(getattr(ours, what), getattr(theirs, what), **CLOSE)
    if "Intercept" in ours.names:
        np.testing.assert_allclose(ours.centered_tss, theirs.centered_tss, **CLOSE)
    R = np.zeros((2, len(order)))
    R[0, -1], R[1, 0], R[1, -1] = 1, 1, -2
    theirs_R, q = R[:, np.argsort(order)], np.array([0, 1.0])
    t, f = ours.t_test(hypothesis(ours.names)), ours.f_test(hypothesis(ours.names))
    expected = theirs.t_test((theirs_R, q))
    np.testing.assert_allclose(np.asarray(t.effect), expected.effect, **CLOSE)
    np.testing.assert_allclose(np.asarray(t.tvalue), np.ravel(expected.tvalue), **CLOSE)
    np.testing.assert_allclose(np.asarray(t.pvalue), np.ravel(expected.pvalue), **CLOSE)
    np.testing.assert_allclose(np.asarray(t.conf_int()), expected.conf_int(), **CLOSE)
    expected = theirs.f_test((theirs_R, q))
    np.testing.assert_allclose([f.fvalue, f.pvalue], [expected.fvalue, expected.pvalue], **CLOSE)
    expected = theirs.wald_test((theirs_R, q), scalar=True)
    wald = ours.wald_test(hypothesis(ours.names))
    np.testing.assert_allclose(
        [wald.statistic, wald.pvalue], [expected.statistic, expected.pvalue], **CLOSE
    )
    new = theirs.model.exog[:2][:, order]
    predicted = ours.get_prediction(new).summary_frame(alpha=0.1)
    expected = theirs.get_prediction(theirs.model.exog[:2], transform=False).summary_frame(
        alpha=0.1
    )
    np.testing.assert_allclose(predicted[list(expected)], expected, **CLOSE)
    if kind == "nonrobust":
        one_table(ours, theirs, formula, order)


def _patsy(name: str) -> str:
    return name.replace("log(", "np.log(").replace("sqrt(", "np.sqrt(")


def one_table(ours: Regression, theirs: Any, formula: str, order: list[int]) -> None:
    """Of type I, statsmodels takes terms in another order, and rows without their weights."""
    others = ours.weighted or any(sign in formula for sign in ("*", ":", "hospital"))
    typs = (2, 3) if others else (1, 2, 3)
    for typ in typs if "Intercept" in ours.names else (3,):
        expected = variance.anova_lm(theirs, typ=typ)
        found = ours.anova(typ).to_frame()
        found.index = [_patsy(str(name)) for name in found.index]
        np.testing.assert_allclose(found.loc[expected.index, list(expected)], expected, **CLOSE)
    if "Intercept" not in ours.names or ours.weighted:
        return
    inflation = [
        influence.variance_inflation_factor(theirs.model.exog, at)
        for name, at in zip(ours.names, order, strict=True)
        if name != "Intercept"
    ]
    np.testing.assert_allclose(np.asarray(ours.vif), inflation, **CLOSE)
    columns = pd.DataFrame(theirs.model.exog[:, order[1:]]).assign(y=theirs.model.endog)
    np.testing.assert_allclose(np.asarray(ours.means), columns.mean(), **CLOSE)
    np.testing.assert_allclose(np.asarray(ours.stds), columns.std(), **CLOSE)
    np.testing.assert_allclose(np.asarray(ours.correlations), columns.corr(), **CLOSE)


def every_fit() -> list[tuple[str, str, str]]:
    """Every model with ordinary errors, with one kind of robust ones, and some with weights."""
    several = [
        (name, formula, kind)
        for at, (name, formula) in enumerate(pairs())
        for kind in ("nonrobust", KINDS[at % 4], WEIGHTS[name])
    ]
    return [each for each in several if "center" not in each[1] or each[2] not in WEIGHTS.values()]


def run(chosen: list[tuple[str, str, str]]) -> int:
    frames = {name: pd.read_csv(datasets.path(name)) for name, _, _ in chosen}
    for name, formula, kind in chosen:
        one_fit(frames[name], name, formula, kind)
    return len(chosen)


if __name__ == "__main__":
    print(run(every_fit()), "fits agree to 1e-8")
