"""Invariant: coefficients are never made of rounding errors, and nothing legitimate is refused.

A dependence that the rounding of the data explains is refused, with its columns named; data whose
columns differ by more than their resolution are fitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import Ended, ask
from titan.errors import RankError
from titan.fitting import fit_moments
from titan.joint import SumSettings
from titan.joint.kinds import Question
from titan.leastsquares import Regression, within_rounding
from titan.leastsquares.certified import certify
from titan.leastsquares.within_rounding import _best_signs
from titan.moments import Model, open_source
from titan.moments.collecting import collect
from titan.release import Dictionary
from titan.release.dictionary import Number

from .systems import Problem, nist
from .test_nist import SETS, assert_certified

RNG = np.random.default_rng(14)
N = 120
TOTAL = "y ~ a + b + total"


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


def temperatures(*asked: Any, step: str = "0.1") -> Ended:
    c = np.round(RNG.normal(20, 5, N), 1)
    rows = {
        "c": [f"{v:.1f}" for v in c],
        "f": [f"{v:.1f}" for v in np.round(c * 1.8 + 32, 1)],
        "y": [str(int(v)) for v in RNG.integers(0, 50, N)],
        "one": ["1"] * N,
    }
    columns = {"c": Number.read("-50", "60", step), "f": Number.read("-60", "150", step)}
    columns["y"], columns["one"] = Number.read("0", "50", "1"), Number.read("0", "1", "1")
    parts = {f"p{i}": open_source({n: v[i::3] for n, v in rows.items()}) for i in range(3)}
    return ask(parts, Dictionary.of(columns), *asked)


def question(kind: str, **options: Any) -> Question:
    return Question(kind, "q1", tuple(options.items()))


@pytest.mark.parametrize(
    "asked",
    [
        "y ~ c + f",
        question("solve", columns=("one", "c", "f"), response="y"),
        question("ridge", formula="y ~ c + f", alphas=("0",)),
        question("ridge", formula="y ~ c + f", alphas=("1000", "0.001")),
    ],
    ids=["regression", "solve", "ridge of 0", "ridge of next to nothing"],
)
def test_in_a_study_it_is_found_before_outcomes_leave(asked: Any) -> None:
    ended = temperatures(asked)
    assert ended.opened == ("counts", "regressors")
    assert isinstance(ended.states[0].error, RankError)
    assert "'c', 'f' depend on each other within the rounding" in str(ended.states[0].error)


def test_a_penalty_above_the_rounding_decides() -> None:
    ended = temperatures(question("ridge", formula="y ~ c + f", alphas=("1000", "100")))
    assert ended.opened == ("counts", "regressors", "response")
    assert ended.states[0].error is None


# -- where all rows lie in one place --------------------------------------------------------------


def of_matrices(exact: bool) -> Any:
    """Shares with a column of ones, and what they explain: doubles, or what they are exactly."""
    A = np.column_stack([np.ones(N), *shares(3).values()])
    b = RNG.normal(size=N)
    if exact:
        A, b = (np.vectorize(Fraction, otypes=[object])(x) for x in (A, b))
    return titan.solve([(A[i::3], b[i::3]) for i in range(3)], "cycle", allow_small=True)


def test_a_system_of_doubles_is_refused_and_one_of_fractions_is_what_it_says() -> None:
    with pytest.raises(RankError, match="'x1', 'x2', 'x3', 'x4' depend on each other within"):
        of_matrices(exact=False)
    assert np.abs(of_matrices(exact=True).x).max() > 1e10


@pytest.mark.parametrize("parties", [1, 3])
def test_ridge_asks_whether_the_penalty_decides(parties: int) -> None:
    table = {**degrees(), "y": RNG.normal(size=N)}
    data: Any = table if parties == 1 else divided(table)
    choices: Any = {} if parties == 1 else {"network": "cycle", "allow_small": True}
    for alpha in (0, 1e-30):
        with pytest.raises(RankError, match=r"penalty of .*'c', 'f' depend .* within") as refused:
            titan.ridge(data, formula="y ~ c + f", alpha=alpha, **choices)
        assert "larger penalty" in refused.value.hint
    found = titan.ridge(data, formula="y ~ c + f", alpha=1e-6, **choices)
    assert np.abs(np.asarray(found.params)).max() < 10


def test_moments_tell_what_their_columns_are_multiples_of() -> None:
    """Of files of moments too: doubles, decimals under their own names, and no made columns."""
    texts = {n: [f"{v:.1f}" for v in x] for n, x in {**degrees(), "y": np.arange(N)}.items()}
    for data, formula, dependent in (
        ({**totals(), "y": np.arange(N)}, TOTAL, True),
        (texts, "y ~ c + f", True),
        (texts, "y ~ I(c * 1) + I(f * 1)", False),
    ):
        parts = [collect(rows, Model(formula)).moments for rows in divided(data)]
        settings = SumSettings.of(titan.Network.cycle(["a", "b", "c"]), {})
        if dependent:
            with pytest.raises(RankError, match="within the rounding"):
                fit_moments(parts, settings)
        else:
            assert fit_moments(parts, settings).df_model == 2


ASKED: dict[str, Callable[[Any], Any]] = {
    "fit": lambda rows: titan.fit(rows, "cycle", formula=TOTAL, allow_small=True),
    "ridge": lambda rows: titan.ridge(rows, "cycle", formula=TOTAL, alpha=0, allow_small=True),
}


@pytest.mark.parametrize("asked", ASKED)
def test_no_sum_is_made_before(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def summed(*_: Any) -> Any:
        raise AssertionError("a sum was made")

    monkeypatch.setattr("titan.joint.enough_bits.together", summed)
    rows = divided({**totals(), "y": RNG.normal(size=N)})
    with pytest.raises(RankError, match="within the rounding"):
        ASKED[asked](rows)


def test_what_is_clear_in_float64_is_as_the_proof_says() -> None:
    """A matrix that is passed over without being solved has q below 1 for all signs."""
    passed = 0
    for size in 10.0 ** np.arange(-9, 1, 0.5):
        A = RNG.normal(size=(40, 3))
        A[:, 2] = A[:, 0] + size * A[:, 2]
        rows = [[Fraction(v) for v in row] for row in A.tolist()]
        moments = Problem(("a", "b", "c"), rows, [Fraction(1)] * 40).exact()
        spread = np.sqrt(np.diagonal(moments.gram / moments.denominator).astype(float)) * 1e-4
        if within_rounding._clearly_apart(moments, spread):
            passed += 1
            inverse = certify(moments).approximation.best.floats()
            every = (np.array(s) for s in itertools.product((-1, 1), repeat=3))
            assert max(float(s @ (spread[:, None] * inverse * spread) @ s) for s in every) < 1
    assert 4 < passed < 16


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
        assert most * 0.9 <= _best_signs(matrix)[1] <= most * (1 + 2.0**-19)


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
    """Fractions are the numbers they are: nothing was measured."""
    assert certify(nist("Filip")[0].exact()).condition > Fraction(10) ** 15
