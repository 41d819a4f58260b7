"""Invariant: what statsmodels and scikit-learn compute from rows follows from the moments."""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from titan.errors import InputError, RankError
from titan.leastsquares import Ball, PooledMoments, Regression, fit_pooled
from titan.leastsquares.certified import certify
from titan.leastsquares.inference import quantile, residual_sum, two_sided, upper_tail
from titan.leastsquares.penalised import ridge
from titan.leastsquares.pooled import integers

from .systems import Problem, exact_moments, heart

Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def problem() -> Problem:
    return heart()[0]


@pytest.fixture(scope="module")
def fit(problem: Problem) -> Regression:
    return fit_pooled(problem.pooled(parties=4), constant="Intercept")


@pytest.fixture(scope="module")
def rows(problem: Problem) -> tuple[Floats, Floats]:
    return np.array(problem.A, np.float64), np.array(problem.b, np.float64)


@pytest.fixture(scope="module")
def reference(rows: tuple[Floats, Floats]) -> Any:
    api = import_module("statsmodels.api")
    return api.OLS(rows[1], rows[0]).fit()


def test_exact_digits(fit: Regression) -> None:
    exact = heart()[1]["exact_fit"]
    for name, text in exact["params"].items():
        ball = fit.params.enclosure(name)
        assert isinstance(ball, Ball)
        assert abs(ball.mid - Fraction(text)) <= ball.rad + abs(ball.mid) / 10**29
    ssr = Fraction(exact["residual_ss"])
    assert abs(fit.residual_sum.mid - ssr) <= fit.residual_sum.rad + ssr / 10**29


@pytest.mark.parametrize("name", ["params", "bse", "tvalues", "pvalues"])
def test_vectors_as_statsmodels(fit: Regression, reference: Any, name: str) -> None:
    ours = np.asarray(getattr(fit, name))
    np.testing.assert_allclose(ours, getattr(reference, name), rtol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "rsquared",
        "rsquared_adj",
        "fvalue",
        "f_pvalue",
        "llf",
        "aic",
        "bic",
        "scale",
        "ssr",
        "nobs",
        "df_resid",
        "df_model",
    ],
)
def test_numbers_as_statsmodels(fit: Regression, reference: Any, name: str) -> None:
    assert getattr(fit, name) == pytest.approx(getattr(reference, name), rel=1e-10)


def test_matrices_as_statsmodels(fit: Regression, reference: Any, rows: Any) -> None:
    np.testing.assert_allclose(fit.cov_params(), reference.cov_params(), rtol=1e-8)
    limits = np.array(list(fit.conf_int(0.1).values()))
    np.testing.assert_allclose(limits, reference.conf_int(0.1), rtol=1e-9)
    np.testing.assert_allclose(fit.predict(rows[0][:5]), reference.predict(rows[0][:5]))


def test_summary_reads_like_statsmodels(fit: Regression, reference: Any) -> None:
    text = fit.summary()
    for line in ("Dep. Variable:", "R-squared:                       0.270", "nonrobust"):
        assert line in text
    for ours, theirs in zip(fit.names, reference.summary().tables[1].data[1:], strict=True):
        printed = next(line for line in text.splitlines() if line.startswith(f"{ours} ")).split()
        assert printed[1] == theirs[1].strip()
        assert printed[3] == theirs[3].strip()
        assert printed[4] == theirs[4].strip()
    assert "Durbin-Watson" in text
    assert max(map(len, text.splitlines()[:20])) <= 80


def test_only_proven_digits_are_printed(problem: Problem) -> None:
    """With few bits the coefficients are known roughly, and no more is printed."""
    rough = fit_pooled(problem.pooled(bits=20), constant="Intercept")
    exact = heart()[1]["exact_fit"]["params"]
    text = rough.summary()
    for name in ("Intercept", "age"):
        shown = next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()[1]
        decimals = len(shown.partition(".")[2])
        assert decimals < 4
        assert abs(Fraction(shown) - Fraction(exact[name])) <= Fraction(10) ** -decimals


def test_predict_takes_names_and_refuses_others(fit: Regression, problem: Problem) -> None:
    one = dict(zip(problem.names, map(float, problem.A[0]), strict=True))
    del one["Intercept"]
    assert fit.predict(one) == pytest.approx(
        fit.predict(np.array([float(v) for v in problem.A[0]]))
    )
    del one["age"]
    with pytest.raises(InputError, match="'age'"):
        fit.predict(one)
    with pytest.raises(InputError, match="shape"):
        fit.predict([[1.0, 2.0]])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_predict_takes_the_columns_of_a_table_by_name(
    fit: Regression, problem: Problem, library: str
) -> None:
    matrix = np.array(problem.A[:7], np.float64)
    columns = dict(zip(problem.names, matrix.T, strict=True))
    backwards = {name: columns[name] for name in reversed(problem.names[1:])}
    module = import_module(library)
    table = module.table if library == "pyarrow" else module.DataFrame
    expected = fit.predict(matrix)
    np.testing.assert_array_equal(fit.predict(table(backwards)), expected)
    np.testing.assert_array_equal(fit.predict(table({**backwards, "more": np.ones(7)})), expected)
    del backwards["age"]
    with pytest.raises(InputError, match="'age'"):
        fit.predict(table({**backwards, "agee": np.ones(7)}))
    only = fit.submodel(["Intercept"])
    assert only.predict(table(backwards)).tolist() == [only.params["Intercept"]] * 7


def test_predict_refuses_a_name_twice(fit: Regression) -> None:
    pandas = import_module("pandas")
    table = pandas.DataFrame(np.ones((3, len(fit.names))), columns=[*fit.names[1:], "age"])
    with pytest.raises(InputError, match="two columns are called 'age'"):
        fit.predict(table)


def test_named_vectors(fit: Regression) -> None:
    assert list(fit.params) == list(fit.names)
    assert fit.params["age"] == fit.params[1] == np.asarray(fit.params)[1]
    assert fit.params[np.int64(1)] == fit.params[-len(fit.names) + 1] == fit.params["age"]
    assert fit.params[np.int8(-1)] == fit.params[fit.names[-1]]
    assert 0 < fit.error_bound["age"] < 1e-15
    with pytest.raises(KeyError):
        fit.params["nobody"]


def test_to_dict_is_json(fit: Regression) -> None:
    back = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert back["params"]["age"] == fit.params["age"]
    assert back["bse"]["sex"] == fit.bse["sex"]
    assert back["nobs"] == 854
    assert set(back) >= {"error_bound", "rsquared", "fvalue", "conf_int", "df_resid"}


# -- the constant -----------------------------------------------------------------------------


def test_without_a_constant_r_squared_is_about_zero(problem: Problem, rows: Any) -> None:
    api = import_module("statsmodels.api")
    names = problem.names[1:6]
    ours = fit_pooled(problem.pooled().subset(names))
    theirs = api.OLS(rows[1], rows[0][:, 1:6], hasconst=False).fit()
    assert ours.rsquared == pytest.approx(theirs.rsquared, rel=1e-12)
    assert ours.fvalue == pytest.approx(theirs.fvalue, rel=1e-10)
    assert ours.df_model == 5
    assert "uncentered" in ours.summary()


def test_indicators_that_add_up_to_one(rows: Any) -> None:
    """A full set of indicators spans the constant: the same R² as with an intercept."""
    base = [[Fraction(i % 3 == k) for k in range(3)] + [Fraction(i * i % 11)] for i in range(30)]
    b = [Fraction(i % 7 + i) for i in range(30)]
    names = ("a", "b", "c", "x")
    full = fit_pooled(Problem(names, base, b).pooled(), constant={"a": 1, "b": 1, "c": 1})
    shifted = Problem(("Intercept", "b", "c", "x"), [[Fraction(1), *r[1:]] for r in base], b)
    other = fit_pooled(shifted.pooled(), constant="Intercept")
    assert full.rsquared == pytest.approx(other.rsquared, rel=1e-14)
    assert full.fvalue == pytest.approx(other.fvalue, rel=1e-13)
    assert full.submodel(["a", "b", "c"]).constant is not None
    assert full.submodel(["a", "b", "x"]).constant is None


def test_a_constant_that_is_none_is_refused(problem: Problem) -> None:
    with pytest.raises(InputError, match="do not"):
        fit_pooled(problem.pooled(), constant="age")
    with pytest.raises(InputError, match="not in the model"):
        fit_pooled(problem.pooled(), constant="nobody")


def test_inference_needs_the_square_of_the_response(problem: Problem) -> None:
    with pytest.raises(InputError, match="only the solution was released"):
        fit_pooled(dataclasses.replace(problem.pooled(), bb=None))


def test_weights_as_statsmodels_wls(problem: Problem, rows: Any) -> None:
    """Rows multiplied by √w; with w = k² the roots are exact."""
    api = import_module("statsmodels.api")
    roots = [Fraction(1 + i % 3) for i in range(len(problem.A))]
    scaled = Problem(
        problem.names,
        [[w * v for v in row] for w, row in zip(roots, problem.A, strict=True)],
        [w * y for w, y in zip(roots, problem.b, strict=True)],
    )
    ours = fit_pooled(scaled.pooled(), constant="Intercept", weighted=True)
    theirs = api.WLS(rows[1], rows[0], weights=np.array(roots, np.float64) ** 2).fit()
    np.testing.assert_allclose(np.asarray(ours.params), theirs.params, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(ours.bse), theirs.bse, rtol=1e-9)
    assert ours.rsquared == pytest.approx(theirs.rsquared, rel=1e-10)
    assert math.isnan(ours.llf)
    assert ours.to_dict()["llf"] is None


def test_as_many_rows_as_coefficients() -> None:
    saturated = Problem(
        ("Intercept", "x"),
        [[Fraction(1), Fraction(i)] for i in range(2)],
        [Fraction(3), Fraction(5)],
    )
    fit = fit_pooled(saturated.exact(), constant="Intercept")
    assert fit.df_resid == 0
    assert math.isnan(fit.bse["x"])
    assert math.isnan(fit.pvalues["x"])
    assert math.isnan(fit.rsquared_adj)
    assert fit.to_dict()["conf_int"]["x"] == [None, None]
    assert "nan" in fit.summary()


# -- other models from the same moments -------------------------------------------------------


def test_submodel_as_statsmodels(fit: Regression, rows: Any) -> None:
    api = import_module("statsmodels.api")
    ours = fit.submodel(["Intercept", "oldpeak", "age"])
    theirs = api.OLS(rows[1], rows[0][:, [0, 5, 1]]).fit()
    np.testing.assert_allclose(np.asarray(ours.params), theirs.params, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(ours.pvalues), theirs.pvalues, rtol=1e-8)
    assert ours.rsquared == pytest.approx(theirs.rsquared, rel=1e-12)


def test_ridge_as_scikit_learn(fit: Regression, rows: Any) -> None:
    linear_model = import_module("sklearn.linear_model")
    for ours in fit.ridge_path([0.5, 10, 3000]):
        theirs = linear_model.Ridge(alpha=ours.alpha).fit(rows[0][:, 1:], rows[1])
        expected = [theirs.intercept_, *theirs.coef_]
        np.testing.assert_allclose(np.asarray(ours.params), expected, rtol=1e-9)
        assert max(ours.error_bound.values()) < 1e-12
    np.testing.assert_array_equal(np.asarray(fit.ridge(0).params), np.asarray(fit.params))
    with pytest.raises(InputError, match="alpha"):
        fit.ridge(-1)


def test_ridge_solves_what_is_dependent() -> None:
    rows = [[Fraction(1), Fraction(i), Fraction(2 * i)] for i in range(9)]
    twice = Problem(("Intercept", "x", "xx"), rows, [Fraction(3 * i + 1) for i in range(9)])
    with pytest.raises(RankError) as refused:
        fit_pooled(twice.pooled(), constant="Intercept")
    assert refused.value.columns == ("x", "xx")
    params = ridge(twice.pooled(), Fraction(1, 10**6), "Intercept").params
    assert params["xx"] == pytest.approx(2 * params["x"], rel=1e-12)


def assert_lasso(fit: Regression, X: Floats, y: Floats, at: list[int]) -> None:
    linear_model = import_module("sklearn.linear_model")
    path = fit.lasso_path()
    assert path.violation < 1e-10
    assert len(path.alphas) == 100
    assert not path.coefs[0, 1:].any()
    for i in at:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = linear_model.Lasso(alpha=path.alphas[i], tol=1e-12, max_iter=50_000)
            theirs.fit(X, y)
        np.testing.assert_allclose(
            path.coefs[i], [theirs.intercept_, *theirs.coef_], rtol=1e-6, atol=1e-7
        )


def test_the_lasso_of_an_intercept_alone_is_the_mean() -> None:
    mean = Problem(("Intercept",), [[Fraction(1)]] * 4, [Fraction(b) for b in (1, 2, 3, 6)])
    path = fit_pooled(mean.pooled(), constant="Intercept").lasso_path(count=3)
    assert path.coefs.tolist() == [[3.0]] * 3
    assert path.violation == 0


def test_lasso_as_scikit_learn(fit: Regression, rows: Any) -> None:
    assert_lasso(fit, rows[0][:, 1:], rows[1], [1, 30, 70, 99])


def test_lasso_of_correlated_columns() -> None:
    """Columns join and leave the active set on the way."""
    rng = np.random.default_rng(5)
    few = rng.integers(-20, 20, (60, 6))
    columns = few @ rng.integers(-5, 5, (6, 12)) + rng.integers(-9, 9, (60, 12))
    y = columns @ rng.integers(-3, 4, 12) + rng.integers(-50, 50, 60)
    problem = Problem(
        ("Intercept", *(f"x{j}" for j in range(12))),
        [[Fraction(1), *map(Fraction, row)] for row in columns.tolist()],
        [Fraction(v) for v in y.tolist()],
    )
    fit = fit_pooled(problem.pooled(), constant="Intercept")
    assert_lasso(fit, columns.astype(np.float64), y.astype(np.float64), [10, 50, 90])
    active = (fit.lasso_path().coefs[:, 1:] != 0).astype(int)
    assert (np.diff(active, axis=0) < 0).any()


def test_lasso_without_intercept_and_chosen_alphas(problem: Problem, rows: Any) -> None:
    linear_model = import_module("sklearn.linear_model")
    fit = fit_pooled(problem.pooled().subset(problem.names[1:]))
    path = fit.lasso_path([0.5, 20.0])
    assert path.alphas.tolist() == [20.0, 0.5]
    theirs = linear_model.Lasso(alpha=20.0, fit_intercept=False, tol=1e-12, max_iter=50_000)
    theirs.fit(rows[0][:, 1:], rows[1])
    np.testing.assert_allclose(path.coefs[0], theirs.coef_, atol=1e-8)
    with pytest.raises(InputError, match="positive"):
        fit.lasso_path([0.0])


def weighted_lasso(names: tuple[str, ...]) -> tuple[Problem, Floats, Floats, Floats]:
    rng = np.random.default_rng(8)
    X = rng.integers(-9, 10, (50, 3)).astype(np.float64)
    y = X @ [3.0, -2.0, 0.5] + rng.integers(-5, 6, 50) + 4
    roots = rng.integers(1, 5, 50)
    columns = np.column_stack([np.ones(50), X])[:, -len(names) :]
    rows = [[Fraction(int(r * v)) for v in row] for r, row in zip(roots, columns, strict=True)]
    b = [Fraction(float(r * v)) for r, v in zip(roots, y, strict=True)]
    return Problem(names, rows, b), X, y, roots.astype(np.float64) ** 2


def test_weighted_lasso_as_scikit_learn() -> None:
    linear_model = import_module("sklearn.linear_model")
    problem, X, y, weights = weighted_lasso(("Intercept", "a", "b", "c"))
    fit = fit_pooled(problem.pooled(), constant="Intercept", weighted=True)
    path = fit.lasso_path([0.3, 5.0])
    for alpha, coefs in zip(path.alphas, path.coefs, strict=True):
        theirs = linear_model.Lasso(alpha=alpha, tol=1e-13, max_iter=50_000)
        theirs.fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(coefs, [theirs.intercept_, *theirs.coef_], atol=1e-8)


def test_a_weighted_lasso_without_a_constant_is_refused() -> None:
    problem = weighted_lasso(("a", "b", "c"))[0]
    with pytest.raises(InputError, match="sum of the weights is not known"):
        fit_pooled(problem.pooled(), weighted=True).lasso_path()


# -- distributions ----------------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [1, 7, 845, 10**6])
@pytest.mark.parametrize("t", [0.0, 0.067, 2.5, 26.4])
def test_tails_as_scipy(t: float, freedom: int) -> None:
    stats = import_module("scipy.stats")
    ours = two_sided(Ball(Fraction(t), Fraction(1, 10**20)), freedom)
    assert float(ours) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)
    ours = upper_tail(Ball(Fraction(t)), 3, freedom)
    assert float(ours) == pytest.approx(stats.f.sf(t, 3, freedom), rel=1e-8)


@pytest.mark.parametrize("freedom", [1, 7, 845, 10**6])
def test_quantiles_are_proven(freedom: int) -> None:
    stats = import_module("scipy.stats")
    ball = quantile(0.05, freedom)
    assert float(ball) == pytest.approx(stats.t.isf(0.025, freedom), rel=1e-12)
    assert ball.digits >= 8


@pytest.mark.parametrize("alpha", [5e-324, 1e-310, 0.0, 1.0, math.nan])
def test_levels_out_of_range_are_refused(fit: Regression, alpha: float) -> None:
    with pytest.raises(InputError, match="alpha is"):
        fit.conf_int(alpha)


@pytest.mark.parametrize("freedom", [1, 2, 7, 845, 10**6])
def test_the_least_levels_have_a_quantile_or_are_refused(freedom: int) -> None:
    """SciPy's quantile is infinite for some of them."""
    assert quantile(1e-200, freedom).mid > 30
    try:
        assert quantile(5e-308, freedom).mid > quantile(1e-200, freedom).mid
    except InputError as error:
        assert "no quantile is known" in error.message  # noqa: PT017


def test_a_fall_back_is_noted() -> None:
    """Thirty-three powers: enough columns for float64, which cannot solve them."""
    rows = [[Fraction(i, 40) ** k for k in range(33)] for i in range(41)]
    problem = Problem(tuple(f"t{k}" for k in range(33)), rows, [Fraction(i % 5) for i in range(41)])
    whole = fit_pooled(problem.exact(), constant="t0")
    assert "Solved in high precision: the columns are too" in " ".join(whole.summary().split())
    assert "Solved in" not in whole.submodel(whole.names[:4]).summary()


def test_the_residual_needs_its_second_order_term() -> None:
    """G = g = bᵀb = 1, an exact fit, seen as G̃ = 1.3 ± 0.3: first order alone would exclude it."""
    moments = PooledMoments(
        names=("x",),
        response="y",
        rows=3,
        scales=(0,),
        gram=integers([[13]]),
        denominator=10,
        rhs=(Fraction(1),),
        bb=Fraction(1),
        diagonal_error=(Fraction(3, 10),),
    )
    certificate = certify(moments)
    assert 0 in residual_sum(certificate)
    assert 1 in certificate.enclosures[0]
    with pytest.raises(RankError, match="not proven positive"):  # it may as well be 0.4
        fit_pooled(moments)


def test_the_error_of_the_response_counts() -> None:
    """G = g = 1 exactly and bᵀb = 2 ± 1/2: the residual sum of squares is 1 ± 1/2, no better."""
    moments = dataclasses.replace(
        exact_moments(["x"], [[1]], [1], rows=3, bb=2), bb_error=Fraction(1, 2)
    )
    fit = fit_pooled(moments)
    for residual in (Fraction(1, 2), Fraction(3, 2)):
        assert residual in fit.residual_sum
        assert residual + 1 in fit.total_sum
        ball = fit.statistics["rsquared"]
        assert isinstance(ball, Ball)
        assert 1 - residual / (residual + 1) in ball
    assert fit.residual_sum.rad < Fraction(51, 100)
