"""Invariant: what is loaded is what was saved: the same numbers, to the last bit."""

from __future__ import annotations

import json
import math
import pickle
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from titan.errors import DataError, FileError, InputError, RankError
from titan.leastsquares import Regression, fit_pooled, ridge_pooled, solve_pooled
from titan.results import QuestionOutcome, Result, Results, decode, encode, save
from titan.results.result import KINDS
from titan.results.results import Outcome

from ..leastsquares.systems import Problem, exact_moments, heart, hilbert, nist
from .fits import fits, random_fit


def again(result: Any) -> Any:
    data = encode(result)
    loaded = decode(data)
    assert encode(loaded) == data
    return loaded[0]


def assert_same(one: Regression, other: Regression) -> None:
    """Everything that a fit offers, bit by bit; NaN equals NaN."""
    assert type(other) is Regression
    assert repr(other) == repr(one)
    assert other.to_dict() == one.to_dict()
    assert other.summary() == one.summary()
    for vector in ("params", "bse", "tvalues", "pvalues", "error_bound"):
        assert repr(getattr(other, vector).enclosures) == repr(getattr(one, vector).enclosures)
    np.testing.assert_array_equal(other.cov_params(), one.cov_params())
    np.testing.assert_array_equal(other.conf_int(0.01), one.conf_int(0.01))
    assert other.residual_sum == one.residual_sum
    assert other.dropped == one.dropped
    rows = np.arange(3.0 * len(one.names)).reshape(3, -1)
    np.testing.assert_array_equal(other.predict(rows), one.predict(rows))
    assert other.ridge(0.5).to_dict() == one.ridge(0.5).to_dict()
    name = one.names[-1]
    assert other.submodel([name]).to_dict() == one.submodel([name]).to_dict()


@settings(max_examples=60)
@given(fits())
def test_regressions(fit: Regression) -> None:
    assert_same(fit, again(fit))
    assert_same(fit, pickle.loads(pickle.dumps(fit)))  # noqa: S301


def test_every_kind_of_fit_is_among_the_random_ones() -> None:
    """What the property above is about: weights, robust errors, exact fits, one coefficient."""
    for network in (False, True):
        common: dict[str, Any] = {"rows": 8, "network": network}
        robust = random_fit(1, columns=["a", "b"], exact=False, cov_type="HC0", **common)
        exact = random_fit(1, columns=["a", "b"], exact=True, cov_type="HC0", **common)
        weighted = random_fit(1, columns=["a"], exact=False, weights="w", **common)
        one = random_fit(1, columns=["a"], exact=False, intercept=False, **common)
        assert robust is not None
        assert robust.robust is not None
        assert exact is not None
        assert exact.exact_fit
        assert exact.robust is None
        assert weighted is not None
        assert weighted.weighted
        assert one is not None
        assert len(one.names) == 1
        for fit in (robust, exact, weighted, one):
            assert_same(fit, again(fit))


def test_the_lasso_path_of_a_loaded_fit() -> None:
    fit = fit_pooled(heart()[0].pooled(), constant="Intercept")
    path, loaded = fit.lasso_path(), again(fit).lasso_path()
    np.testing.assert_array_equal(loaded.coefs, path.coefs)


@pytest.mark.parametrize("name", ["Filip", "Longley", "NoInt1"])
def test_hard_problems(name: str) -> None:
    problem, reference = nist(name)
    constant = problem.names[0] if reference["model"]["intercept"] else None
    for moments in (problem.exact(), problem.pooled(bits=192)):
        fit = fit_pooled(moments, constant=constant)
        assert_same(fit, again(fit))


def test_many_columns_are_solved_in_float64_again() -> None:
    rng = np.random.default_rng(3)
    rows = [[Fraction(int(v)) for v in row] for row in rng.integers(-99, 100, (80, 40))]
    b = [Fraction(int(v)) for v in rng.integers(-99, 100, 80)]
    problem = Problem(tuple(f"x{j}" for j in range(40)), rows, b)
    fit = fit_pooled(problem.pooled())
    assert "float64" in fit.solution.method
    assert_same(fit, again(fit))


def test_a_factor_makes_up_the_constant() -> None:
    rows = [[Fraction(i % 2), Fraction(1 - i % 2), Fraction(i)] for i in range(9)]
    problem = Problem(("even", "odd", "x"), rows, [Fraction(i * i) for i in range(9)])
    fit = fit_pooled(problem.exact(), constant={"even": 1, "odd": 1})
    loaded = again(fit)
    assert loaded.intercept is None
    assert loaded.df_model == fit.df_model == 2
    assert_same(fit, loaded)


def test_as_many_rows_as_coefficients() -> None:
    rows = [[Fraction(1), Fraction(i)] for i in range(2)]
    fit = fit_pooled(Problem(("c", "x"), rows, [Fraction(3), Fraction(5)]).exact(), constant="c")
    loaded = again(fit)
    assert math.isnan(loaded.bse["x"])
    assert_same(fit, loaded)


@settings(max_examples=30)
@given(
    st.integers(1, 5),
    st.fractions(0, 1000),
    st.sampled_from([16, 64, 128, None]),
    st.integers(0, 2**32 - 1),
)
def test_ridge_and_solutions(n: int, alpha: Fraction, bits: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [[Fraction(int(v), 7) for v in row] for row in rng.integers(-99, 100, (3 * n, n))]
    b = [Fraction(int(v), 3) for v in rng.integers(-99, 100, 3 * n)]
    problem = Problem(tuple(f"x{j}" for j in range(n)), rows, b)
    moments = problem.exact() if bits is None else problem.pooled(bits=bits)
    found: list[Any] = []
    for solve in (lambda: ridge_pooled(moments, alpha, None), lambda: solve_pooled(moments)):
        try:
            found.append(solve())
        except RankError:
            continue
    for result in found:
        for loaded in (again(result), pickle.loads(pickle.dumps(result))):  # noqa: S301
            assert type(loaded) is type(result)
            assert loaded.names == result.names
            assert loaded.nobs == result.nobs
            assert loaded.params == result.params
            assert loaded.params.enclosures == result.params.enclosures
            assert loaded.to_dict() == result.to_dict()
            assert loaded.summary() == result.summary()


def test_solutions_out_of_the_range_of_float64() -> None:
    """What is infinite is null in `result` and itself in the state."""
    tiny = Fraction(1, 2**1000)
    moments = exact_moments(["x"], [[tiny * tiny]], [tiny], rows=3)
    huge = exact_moments(["x"], [[tiny]], [2**60], rows=3)
    for each in (moments, huge):
        solution = solve_pooled(each)
        loaded = again(solution)
        assert loaded.x.tolist() == solution.x.tolist()
        assert loaded.error_bound.tolist() == solution.error_bound.tolist()
    assert math.isinf(solve_pooled(huge).x[0])


def test_ridge_and_lasso_paths() -> None:
    fit = fit_pooled(heart()[0].pooled(), constant="Intercept")
    ridges, lasso = fit.ridge_path([0.1, 1, 10]), fit.lasso_path(count=7)
    loaded = again(ridges)
    assert isinstance(loaded, titan.RidgePath)
    assert [each.to_dict() for each in loaded] == [each.to_dict() for each in ridges]
    paths = again(lasso)
    np.testing.assert_array_equal(paths.coefs, lasso.coefs)
    np.testing.assert_array_equal(paths.alphas, lasso.alphas)
    assert (paths.names, paths.violation) == (lasso.names, lasso.violation)


# -- files ------------------------------------------------------------------------------------


def test_a_file_is_its_owner_s_alone_and_loads_by_name_or_folder(tmp_path: Path) -> None:
    fit = random_fit(5, rows=6, columns=["a", "b"], network=True, exact=False)
    assert fit is not None
    file = tmp_path / "result.json"
    fit.save(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for path in (file, str(file), tmp_path):
        [loaded] = titan.load(path)
        assert_same(fit, loaded)
    assert loaded.cost.as_dict() == fit.cost.as_dict()
    assert loaded.cost.bytes_sent["2"] == fit.cost.bytes_sent["2"]
    assert loaded.record is None
    before = file.read_bytes()
    fit.submodel(["a"]).save(tmp_path)
    assert len(file.read_bytes()) < len(before)
    assert list(tmp_path.iterdir()) == [file]


def test_another_process_gets_the_same_numbers(tmp_path: Path) -> None:
    fit = random_fit(6, rows=9, columns=["a", "b"], network=True, exact=False, cov_type="HC0")
    assert fit is not None
    file = tmp_path / "result.json"
    Results({"main": fit, "small": fit.ridge(1)}).save(file)
    code = (
        "import json, sys, titan\n"
        "print(json.dumps([answer.to_dict() for answer in titan.load(sys.argv[1])]))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, check=True, text=True
    )
    assert json.loads(out.stdout) == [fit.to_dict(), fit.ridge(1).to_dict()]


def test_a_process_that_has_made_none_knows_every_kind() -> None:
    for public in titan.__all__:
        getattr(titan, public)
    ours = {name: kind for name, kind in KINDS.items() if kind.__module__.startswith("titan.")}
    assert len(ours) >= 10
    code = (
        "import sys\n"
        "from titan.results.result import kind_of_result\n"
        "print(*(kind_of_result(name).__module__ for name in sys.argv[1:]))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, *ours], capture_output=True, check=True, text=True
    )
    assert out.stdout.split() == [kind.__module__ for kind in ours.values()]


def test_any_program_can_read_what_was_shown(tmp_path: Path) -> None:
    fit = fit_pooled(heart()[0].pooled(), constant="Intercept")
    fit.save(tmp_path)
    data = (tmp_path / "result.json").read_bytes()
    whole = json.loads(data)
    assert whole["format"] == 1
    assert whole["titan"] == titan.__version__
    assert whole["results"][0]["kind"] == "regression"
    assert whole["results"][0]["result"] == fit.to_dict()
    assert data.isascii()
    assert len(data) < 7500  # with the error of every number


def test_the_size_of_a_file_grows_with_what_was_opened() -> None:
    """100 coefficients, 128 bits: 5,050 integers of 36 digits, and little else."""
    rng = np.random.default_rng(7)
    n, rows = 100, 300
    data: dict[str, Any] = {f"x{j}": rng.normal(size=rows) for j in range(n)}
    parts = {p: {**data, "y": rng.normal(size=rows)} for p in ("a", "b", "c")}
    net = titan.Network([("a", "b"), ("b", "c"), ("c", "a")])
    fit = titan.fit(parts, net, response="y", columns=list(data), intercept=False)
    size = len(encode(fit))
    assert 5_050 * 32 < size < 5_050 * 50
    assert again(fit).to_dict() == fit.to_dict()


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    fit = fit_pooled(hilbert(3).exact())
    with pytest.raises(FileError, match="cannot be written"):
        fit.save(tmp_path / "nowhere" / "result.json")
    with pytest.raises(FileError, match="cannot be read: no such file"):
        titan.load(tmp_path / "missing.json")
    with pytest.raises(FileError, match="holds no results"):
        titan.load(tmp_path)
    with pytest.raises(FileError, match="not the name of a file"):
        titan.load("a\0b")
    with pytest.raises(InputError, match="int is not a path"):
        titan.load(3)  # type: ignore[arg-type]
    for wrong in (3, {"a": 3}, [fit, None]):
        with pytest.raises(InputError):
            save(wrong, tmp_path / "result.json")  # type: ignore[arg-type]


# -- several questions ------------------------------------------------------------------------


def several() -> Results:
    fit = fit_pooled(heart()[0].pooled(), constant="Intercept")
    failed = RankError("columns a, b depend on each other", columns=("a", "b"), hint="drop one")
    outcomes: dict[str, Outcome] = {"main": fit, "broken": failed, "small": fit.ridge(1)}
    return Results(
        outcomes,
        study="ab" * 32,
        run=2,
        parties=("north", "east"),
        cost={"messages": 12},
    )


def test_results_stand_in_order_and_by_name() -> None:
    for results in (several(), decode(encode(several())), pickle.loads(pickle.dumps(several()))):  # noqa: S301
        assert results.names == ("main", "broken", "small")
        assert len(results) == 3
        assert "main" in results
        assert "other" not in results
        assert results[0] is results["main"]
        assert results[-1] is results["small"]
        assert results[::2] == [results["main"], results["small"]]
        assert isinstance(results["main"], titan.Regression)
        assert (results.study, results.run) == ("ab" * 32, 2)
        assert results.parties == ("north", "east")
        assert results.cost == {"messages": 12}
        for key in ("broken", 1):
            with pytest.raises(RankError, match="depend") as failed:
                results[key]
            assert failed.value.hint == "drop one"
        with pytest.raises(RankError):
            list(results)
        assert list(results.errors) == ["broken"]
        assert results.to_dict()["questions"]["broken"] == {
            "error": "columns a, b depend on each other",
            "hint": "drop one",
        }
        assert repr(results) == "<Results: main (regression), broken (failed), small (ridge)>"
        with pytest.raises(KeyError, match="main, broken, small"):
            results["other"]
        with pytest.raises(IndexError):
            results[3]


def test_results_without_names_are_numbered_and_one_stands_at_the_top() -> None:
    fit = fit_pooled(hilbert(3).exact())
    assert Results([fit, fit]).names == ("q1", "q2")
    assert Results([fit]).to_dict() == fit.to_dict()
    assert dict(Results([fit])) == {"q1": fit}
    assert Results([]).to_dict() == {"questions": {}}


def test_other_errors_are_kept_as_the_nearest_that_is_known() -> None:
    for error, kind in (
        (DataError("few rows"), DataError),
        (FileError("gone"), InputError),
        (titan.TitanError("so"), titan.TitanError),
    ):
        loaded = decode(encode(Results({"a": error}))).errors["a"]
        assert type(loaded) is kind
        assert loaded.message == error.message


def test_what_was_printed_is_kept_and_cannot_command_a_terminal() -> None:
    fit = fit_pooled(hilbert(3).exact())
    shown = {**fit.to_dict(), "params_error": "added by a later version"}
    results = Results([QuestionOutcome("main", fit, "line\n\x1b[31mred", shown)])
    loaded = decode(encode(results))
    assert loaded.entry("main").summary == "line\n\\x1b[31mred"
    assert loaded.to_dict() == shown
    assert loaded["main"].to_dict() == fit.to_dict()
    assert decode(encode(fit)).entry(0).summary == fit.summary()


class Histogram(Result, kind="histogram of a test"):
    """A result type that registers itself."""

    def __init__(self, counts: list[int], cost: Any = None) -> None:
        self.counts = counts
        self.cost = cost

    def to_dict(self) -> dict[str, Any]:
        return {"counts": self.counts}

    to_state = to_dict

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Histogram:
        if not isinstance(state, dict):
            raise ValueError("it has no counts")
        return cls(state["counts"], cost)


def test_a_new_type_of_result_registers_itself() -> None:
    loaded = again(Histogram([1, 2, 3]))
    assert isinstance(loaded, Histogram)
    assert loaded.counts == [1, 2, 3]


# -- the page ---------------------------------------------------------------------------------


def test_the_example_of_the_page_is_a_file() -> None:
    page = Path(__file__).parents[2] / "docs" / "results.md"
    [example] = [
        line.strip() for line in page.read_text(encoding="utf-8").splitlines() if '"sha256"' in line
    ]
    [solution] = decode(example.encode("ascii"))
    assert isinstance(solution, titan.Solution)
    assert solution.params["x"] == 14.5 / 14
