"""Invariant: coefficients are never made of rounding errors, and nothing legitimate is refused.

A dependence that the rounding of the data explains is refused, with its columns named; data whose
columns differ by more than their resolution are fitted.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import ask
from titan.errors import RankError
from titan.leastsquares import Regression
from titan.leastsquares.certified import certify
from titan.leastsquares.within_rounding import _best_signs
from titan.moments import open_source
from titan.release import Dictionary
from titan.release.dictionary import Number

from .systems import nist
from .test_nist import SETS, assert_certified

RNG = np.random.default_rng(14)
N = 120


def shares(count: int) -> dict[str, Any]:
    parts = RNG.gamma(2, 1, (N, count))
    whole = parts / parts.sum(axis=1, keepdims=True)
    return {f"s{j}": whole[:, j] for j in range(count)}


def totals() -> dict[str, Any]:
    a, b = RNG.normal(size=(2, N))
    return {"a": a, "b": b, "total": a + b}


def degrees() -> dict[str, Any]:
    c = RNG.normal(20, 5, N)
    return {"c": c, "f": c * 9 / 5 + 32}


def nearly_constant() -> dict[str, Any]:
    return {"x": 1e8 + RNG.integers(-1, 2, N) * 1.49e-8}


DEPENDENT = [(lambda: shares(3)), (lambda: shares(12)), totals, degrees, nearly_constant]


@pytest.mark.parametrize("made", DEPENDENT, ids=["3 shares", "12 shares", "total", "C F", "x"])
@pytest.mark.parametrize("parties", [1, 3])
def test_rounding_errors_are_not_fitted(made: Any, parties: int) -> None:
    columns = made()
    formula, table = f"y ~ {' + '.join(columns)}", {**columns, "y": RNG.normal(size=N)}
    data: Any = table if parties == 1 else divided(table)
    choices: Any = {} if parties == 1 else {"network": "cycle", "allow_small": True}
    with pytest.raises(RankError, match="within the rounding of the data") as refused:
        titan.fit(data, formula=formula, **choices)
    assert set(columns) <= set(refused.value.columns) <= {"Intercept", *columns}
    fewer = " + ".join(list(columns)[1:]) or "1"
    assert titan.fit(data, formula=f"y ~ {fewer}", **choices).df_resid > 0


def divided(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [{n: v[i::3] for n, v in table.items()} for i in range(3)]


def test_weights_do_not_hide_them() -> None:
    table = {**totals(), "y": RNG.normal(size=N), "w": RNG.integers(1, 5, N)}
    with pytest.raises(RankError, match=r"'a', 'b', 'total'.* within the rounding"):
        titan.fit(table, formula="y ~ a + b + total", weights="w")


@pytest.mark.parametrize("digits", [1, 17])
def test_of_decimals_the_last_one_counts(digits: int) -> None:
    """As they stand in a CSV: rounded to a tenth, or all digits that a double prints."""
    c = RNG.normal(20, 5, N)
    texts = {
        name: [repr(v) if digits == 17 else f"{v:.1f}" for v in values.tolist()]
        for name, values in {"c": c, "f": c * 9 / 5 + 32, "y": RNG.normal(size=N)}.items()
    }
    with pytest.raises(RankError, match="'c', 'f' depend on each other within the rounding"):
        titan.fit(texts, formula="y ~ c + f")


def test_one_decimal_beyond_rounding_is_data() -> None:
    """Two thermometers that differ by a degree are two thermometers."""
    one = RNG.normal(20, 5, N)
    other = one + RNG.normal(size=N)
    texts = {n: [f"{v:.1f}" for v in x] for n, x in {"a": one, "b": other, "y": one}.items()}
    assert titan.fit(texts, formula="y ~ a + b").params["a"] == pytest.approx(1, abs=0.05)


def test_doubles_that_differ_far_below_are_data() -> None:
    """By 1e-11 of their size: ten thousand times what rounding does."""
    a = RNG.normal(size=N)
    table = {"a": a, "b": a * (1 + 1e-11 * RNG.normal(size=N)), "y": a}
    assert titan.fit(table, formula="y ~ a + b").params["a"] == pytest.approx(1)


def test_whole_numbers_are_exact() -> None:
    """Counts that are nearly always 0 vary by less than half a unit, and are no rounding."""
    rare = (np.arange(N) % 40 == 0).astype(int)
    assert titan.fit({"n": rare, "y": RNG.normal(size=N)}, formula="y ~ n").df_model == 1


def temperatures(step: str) -> Any:
    c = np.round(RNG.normal(20, 5, N), 1)
    rows = {
        "c": [f"{v:.1f}" for v in c],
        "f": [f"{v:.1f}" for v in np.round(c * 1.8 + 32, 1)],
        "y": [str(int(v)) for v in RNG.integers(0, 50, N)],
    }
    columns = {"c": Number.read("-50", "60", step), "f": Number.read("-60", "150", step)}
    known = Dictionary.of({**columns, "y": Number.read("0", "50", "1")})
    parts = {f"p{i}": open_source({n: v[i::3] for n, v in rows.items()}) for i in range(3)}
    return ask(parts, known, "y ~ c + f")


def test_in_a_study_the_dictionary_s_step_counts() -> None:
    ended = temperatures("0.1")
    assert ended.opened[-1] == "response"
    with pytest.raises(RankError, match="'c', 'f' depend on each other within the rounding"):
        ended.fit()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("floats", [False, True])
def test_nist_keeps_every_digit(name: str, floats: bool) -> None:
    """From the files' decimals, through the same door as everybody; of doubles none is refused."""
    problem, reference = nist(name)
    fit = of_file(name, floats=floats)
    assert fit.nobs == len(problem.A)
    if not floats:
        assert_certified(fit, reference["certified"])


def of_file(name: str, *, floats: bool) -> Regression:
    from titan_lab import datasets

    lines = datasets.path(name).read_text().splitlines()
    header, *rows = [line.split(",") for line in lines]
    of: Any = float if floats else str
    table = {n: [of(v) for v in c] for n, c in zip(header, zip(*rows, strict=True), strict=True)}
    model = nist(name)[1]["model"]
    predictors = [n for n in header if n != "y"]
    if len(predictors) == 1 and model["polynomial_degree"] > 1:
        predictors = [f"poly({predictors[0]}, {model['polynomial_degree']}, raw=True)"]
    right = " + ".join(["1" if model["intercept"] else "0", *predictors])
    return titan.fit(table, formula=f"y ~ {right}")


def test_the_best_signs_are_found() -> None:
    """Against all 2^n of them; sᵀMs is what the criterion asks for."""
    for _ in range(30):
        half = RNG.normal(size=(7, 4))
        matrix = half @ half.T
        every = (np.array(s) for s in itertools.product((-1, 1), repeat=7))
        most = max(float(s @ matrix @ s) for s in every)
        assert most * 0.9 <= _best_signs(matrix)[1] <= most * (1 + 1e-12)


def test_the_criterion_is_that_a_perturbation_exists() -> None:
    """(A + E)v = 0 with ‖E_j‖ ≤ ε_j, for the E of the proof, wherever q ≥ 1."""
    A = RNG.integers(-9, 10, (30, 3)).astype(float)
    A = np.column_stack([A, A.sum(axis=1) + RNG.uniform(-0.5, 0.5, 30)])
    spread = np.full(4, 0.5 * np.sqrt(30))
    inverse = np.linalg.inv(A.T @ A)
    signs, q = _best_signs(spread[:, None] * inverse * spread)
    assert q >= 1
    v = inverse @ (spread * signs)
    E = -np.outer(A @ v, np.sign(v) * spread) / (np.abs(v) @ spread)
    assert np.abs((A + E) @ v).max() < 1e-12
    assert (np.linalg.norm(E, axis=0) <= spread * (1 + 1e-12)).all()


def test_moments_without_rows_have_no_resolution() -> None:
    """Fractions and matrices are the numbers they are: only tables are measured."""
    assert certify(nist("Filip")[0].exact()).condition > Fraction(10) ** 15
