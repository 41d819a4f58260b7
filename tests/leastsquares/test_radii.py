"""Invariant: no digit leaves as if it were proven, and a hint that is followed succeeds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from titan.errors import RankError, TitanError
from titan.fitting import fit_moments
from titan.joint import SumSettings
from titan.leastsquares import Ball, Regression, fit_pooled
from titan.leastsquares.inference import two_sided, upper_tail
from titan.leastsquares.summary import shown, significant
from titan.moments import Model
from titan.moments.collecting import collect
from titan.release.policy import NONE

from .systems import Problem, heart

BY_NAME = ("params", "bse", "tvalues", "pvalues")
STATISTICS = ("rsquared", "rsquared_adj", "fvalue", "f_pvalue", "llf", "aic", "bic", "scale", "ssr")


def few() -> Problem:
    """Some rows and columns of the four hospitals."""
    whole = heart()[0]
    return Problem(whole.names[:4], [row[:4] for row in whole.A[::12]], whole.b[::12])


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    return fit_pooled(few().exact(), constant="Intercept").to_dict()


@pytest.mark.parametrize("bits", [20, 26, 128])
def test_every_number_of_the_json_has_its_radius(bits: int, truth: dict[str, Any]) -> None:
    rough = fit_pooled(few().pooled(bits=bits), constant="Intercept").to_dict()
    for key in BY_NAME:
        assert rough[f"{key}_error"].keys() == rough[key].keys()
        for name, number in rough[key].items():
            error = rough[f"{key}_error"][name] + 2 * math.ulp(number)
            assert abs(number - truth[key][name]) <= error
    for key in STATISTICS:
        assert abs(rough[key] - truth[key]) <= rough[f"{key}_error"] + 2 * math.ulp(rough[key])
    for name, limits in rough["conf_int"].items():
        pairs = zip(limits, truth["conf_int"][name], rough["conf_int_error"][name], strict=True)
        assert all(abs(a - b) <= error + 2 * math.ulp(a) for a, b, error in pairs)
    assert (rough["bse_error"]["age"] > 1e-6) == (bits < 128)


def test_robust_errors_have_radii_and_what_is_not_defined_has_none() -> None:
    rows = {"x": np.arange(40.0), "y": np.arange(40.0) ** 2 % 7}
    found = titan.fit(rows, formula="y ~ x", cov_type="HC0").to_dict()
    assert all(0 < found[f"{name}_error"]["x"] < 1e-9 for name in ("bse", "tvalues", "pvalues"))
    assert 0 < found["f_pvalue_error"] < 1e-9
    assert all(0 < error < 1e-9 for error in found["conf_int_error"]["x"])
    exact = titan.fit({"x": [1, 2, 3], "y": [2, 4, 6]}, formula="y ~ x").to_dict()
    assert (exact["fvalue"], exact["fvalue_error"]) == (None, None)
    assert (exact["bse"]["x"], exact["bse_error"]["x"]) == (0, 0)


def test_no_proven_digit_is_a_question_mark() -> None:
    assert shown(Ball(Fraction(615, 1000), Fraction(1, 2)), 3) == "?"
    assert shown(Ball(Fraction(615, 1000), Fraction(1, 50)), 3) == "0.6"
    assert shown(Ball(Fraction(1, 10**9), Fraction(1, 10**8)), 3) == "0.000"
    assert shown(Ball(Fraction(2), Fraction(9)), 3) == significant(
        Ball(Fraction(2), Fraction(9)), 4
    )
    assert shown(Ball(Fraction(1234), Fraction(30)), 3) == "1.2E+3"
    rough = fit_pooled(few().pooled(bits=16), constant="Intercept")
    for line in rough.summary().splitlines():
        cells = line.split()
        if cells[:1] and cells[0] in rough.names:
            for cell, key in zip(cells[1:5], BY_NAME, strict=True):
                ball = getattr(rough, key).enclosure(cells[0])
                assert (cell == "?") <= (ball.digits == 0)


# -- hints ------------------------------------------------------------------------------------


def near(bits: int, size: Fraction) -> Problem:
    """Columns that differ by 2^-bits of themselves, of a given size."""
    rows = [
        [Fraction(1), size * (i + 1), size * (i + 1 + Fraction(i * i % 7, 1 << bits))]
        for i in range(20)
    ]
    return Problem(("Intercept", "a", "b"), rows, [Fraction(i * i % 5) for i in range(20)])


def follow(problem: Problem, bits: int = 64) -> Regression:
    """Do what the hint says, as often as it says something new."""
    for _ in range(5):
        try:
            return fit_pooled(problem.pooled(bits=bits), constant="Intercept")
        except RankError as error:
            told = error
        if told.bits is not None:
            assert told.bits > bits
            bits = told.bits
        else:
            assert "smaller unit" in str(told.hint)
            problem = larger(problem, str(told.hint))
    raise AssertionError("the hints do not end")


def larger(problem: Problem, hint: str) -> Problem:
    """In a unit smaller by 1e25: the response, or the column that the hint names."""
    factor = Fraction(10) ** 25
    if "the response" in hint:
        return replace(problem, b=[factor * y for y in problem.b])
    small = [repr(name) in hint for name in problem.names]
    assert any(small)
    rows = [[factor * v if s else v for v, s in zip(row, small, strict=True)] for row in problem.A]
    return replace(problem, A=rows)


@pytest.mark.parametrize("bits", [20, 60, 100])
@pytest.mark.parametrize("exponent", [0, -20, -30])
def test_hints_lead_to_an_answer(bits: int, exponent: int) -> None:
    fit = follow(near(bits, Fraction(10) ** exponent))
    assert fit.params.enclosure("a").digits >= 0  # type: ignore[union-attr]
    assert fit.df_resid == 17


@pytest.mark.parametrize("exponent", [-28, -34, -37])
def test_a_small_response_is_not_a_matter_of_bits(exponent: int) -> None:
    problem = near(2, Fraction(1))
    small = replace(problem, b=[y * Fraction(10) ** exponent for y in problem.b])
    assert follow(small, bits=128).rsquared > 0


# -- the ends of float64 ----------------------------------------------------------------------


@pytest.mark.parametrize("of_x", [-310, -160, 0, 160])
@pytest.mark.parametrize("of_y", [-310, -160, 0, 160])
@pytest.mark.filterwarnings("error")
def test_a_number_or_an_error_of_ours(of_x: int, of_y: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    y = (x + rng.normal(size=30)) * 10.0**of_y
    try:
        fit = titan.fit({"x": x * 10.0**of_x, "y": y}, formula="y ~ x")
        numbers = [*fit.bse.values(), *fit.params.values()]
    except TitanError as error:
        assert "smaller unit" in str(error.hint) or "rescale" in str(error.hint)  # noqa: PT017
        assert of_y < 0
    else:
        assert 0 < fit.rsquared < 1
        assert np.isfinite(numbers).all() == (of_y - of_x < 308)  # infinite where no double is
        covariance = np.asarray(fit.cov_params())
        with np.errstate(over="ignore"):
            squares = np.asarray(fit.bse) ** 2
        np.testing.assert_allclose(np.diagonal(covariance), squares, rtol=1e-9)


@pytest.mark.parametrize("t", [40, 60, 10**3, 10**6, 10**9])
def test_huge_t_of_many_rows(t: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is next to nothing is bounded, and no incomplete beta function is evaluated for it."""
    from titan.leastsquares import inference

    asked: list[int] = []
    whole = inference._tail_exponent

    def noted(*given: Any) -> int:
        asked.append(whole(*given))
        return asked[-1]

    monkeypatch.setattr(inference, "_tail_exponent", noted)
    ball = Ball(Fraction(t), Fraction(1, 10**9))
    for p in (two_sided(ball, 10**9), upper_tail(Ball(Fraction(t * t)), 1, 10**9)):
        assert isinstance(p, Ball)
        assert p.upper <= Fraction(1, 10**300)
        assert (p is inference._LEAST_TAIL) == (t > 53)
        assert p.rad.denominator.bit_length() < 8000
    assert (max(asked) < -2048) == (t > 53)


# -- where all rows lie in one place ------------------------------------------------------------


@pytest.mark.parametrize("exponent", [9, 15, 30])
@pytest.mark.parametrize("bits", [24, 64])
@pytest.mark.parametrize("ask", ["fit", "fit exactly", "solve", "solve fractions", "moments"])
def test_the_bits_that_are_named_are_enough_at_once(exponent: int, bits: int, ask: str) -> None:
    """The exact sums are there to look at, however little the rounded ones tell."""
    x = [(37 * at) % 101 for at in range(30)]
    z = [10**exponent * value + at % 4 for at, value in enumerate(x)]
    y: Any = [at * at % 23 for at in range(30)]
    if ask == "fit exactly":
        y = [2 * a - b for a, b in zip(x, z, strict=True)]

    def asked(bits: int) -> Any:
        parts = [{"x": x[i::3], "z": z[i::3], "y": y[i::3]} for i in range(3)]
        network, choices = "cycle", {"bits": bits, "allow_small": True}
        if ask.startswith("fit"):
            return titan.fit(parts, network, formula="y ~ x + z", **choices)  # type: ignore[arg-type]
        if ask == "moments":
            moments = [collect(part, Model("y ~ x + z")).moments for part in parts]
            settings = SumSettings.of(titan.Network.cycle(3), {"bits": bits})
            return fit_moments(moments, settings, policy=NONE)
        unit = Fraction(1, 3) if ask == "solve fractions" else 1
        pairs = [
            (np.array([[a * unit, b] for a, b in zip(p["x"], p["z"], strict=True)], object), p["y"])
            for p in parts
        ]
        return titan.solve(pairs, network, **choices)  # type: ignore[arg-type]

    with pytest.raises(RankError) as refused:
        asked(bits)
    enough = refused.value.bits
    assert enough is not None
    assert f"try bits={enough}" in refused.value.hint
    assert asked(enough).names[-1] == ("x2" if ask.startswith("solve") else "z")


def test_exact_dependence_is_no_matter_of_bits() -> None:
    rows = [{"x": range(i, 60, 3), "z": range(2 * i, 120, 6), "y": [1, 5] * 10} for i in range(3)]
    with pytest.raises(RankError, match="exactly dependent; no number of bits helps") as refused:
        titan.fit(rows, "cycle", formula="y ~ x + z", bits=64)
    assert refused.value.bits is None
