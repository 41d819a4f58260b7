"""NIST's linear regressions, as three parties with 128 bits would pool them.

Every certified digit of estimates, standard deviations, R² and residual standard deviation, within
one unit of the last digit printed; Wampler1 and 2 are exact fits.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from titan.leastsquares import Ball, Regression, fit_pooled
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity

from .systems import nist

SETS = (
    "Norris",
    "Pontius",
    "NoInt1",
    "NoInt2",
    "Filip",
    "Longley",
    "Wampler1",
    "Wampler2",
    "Wampler3",
    "Wampler4",
    "Wampler5",
)
EXACT_FITS = {"Wampler1", "Wampler2"}


def fitted(name: str) -> tuple[Regression, dict[str, Any]]:
    problem, reference = nist(name)
    constant = "B0" if reference["model"]["intercept"] else None
    return fit_pooled(problem.pooled(parties=3, bits=128), constant=constant), reference


def unit(text: str) -> Fraction:
    """One unit of the last printed digit."""
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return Fraction(10) ** exponent


def assert_agrees(quantity: Quantity, text: str) -> None:
    """Both the enclosure and its double agree with the certified digits."""
    mid = quantity.mid if isinstance(quantity, Ball) else Fraction(quantity)
    assert abs(mid - Fraction(text)) <= unit(text)
    if isinstance(quantity, Ball):
        assert quantity.rad <= unit(text)
        assert abs(Fraction(float(quantity)) - Fraction(text)) <= unit(text)


def assert_certified(fit: Regression, certified: Any) -> None:
    """Every digit of coefficients, standard deviations and R²."""
    for j, parameter in enumerate(certified["parameters"]):
        assert_agrees(fit.params.enclosures[j], parameter["estimate"])
        assert_agrees(fit.bse.enclosures[j], parameter["sd"])
    assert_agrees(fit.statistics["rsquared"], certified["r_squared"])


@pytest.mark.parametrize("name", SETS)
def test_every_certified_digit(name: str) -> None:
    fit, reference = fitted(name)
    certified = reference["certified"]
    assert_certified(fit, certified)
    if name not in EXACT_FITS:
        scale = compute(lambda s: (s / fit.df_resid).sqrt(), fit.residual_sum)
        assert_agrees(scale, certified["residual_sd"])
        # the last of the seventeen digits of F that NIST prints are not certified ones
        assert fit.fvalue == pytest.approx(float(certified["anova"]["regression"]["F"]), rel=1e-14)


@pytest.mark.parametrize("name", SETS)
def test_the_exact_values_are_enclosed(name: str) -> None:
    """Forty digits of the exact answer: within the ball, give or take the fortieth digit."""
    fit, reference = fitted(name)
    exact = reference["recomputed_exactly_by_us"]
    for j, parameter in enumerate(exact["parameters"]):
        for quantity, text in (
            (fit.params.enclosures[j], parameter["estimate"]),
            (fit.bse.enclosures[j], parameter["sd"]),
        ):
            if isinstance(quantity, Ball):
                assert abs(quantity.mid - Fraction(text)) <= quantity.rad + unit(text)
                assert quantity.digits >= 18
    assert abs(fit.residual_sum.mid - Fraction(exact["residual_ss"])) <= (
        fit.residual_sum.rad + unit(exact["residual_ss"])
    )


@pytest.mark.parametrize("name", sorted(EXACT_FITS))
def test_exact_fits(name: str) -> None:
    fit, _ = fitted(name)
    assert fit.exact_fit
    assert set(fit.bse.values()) == {0.0}
    assert fit.rsquared == fit.rsquared_adj == 1.0
    assert fit.fvalue == float("inf")
    assert set(fit.tvalues.values()) == {float("inf")}
    assert set(fit.pvalues.values()) == {0.0}
    assert fit.conf_int()["B3"] == (fit.params["B3"],) * 2
    assert "residual sum of squares is at most" in fit.summary()
    as_json = fit.to_dict()
    assert as_json["fvalue"] is None
    assert as_json["tvalues"]["B0"] is None
    assert as_json["bse"]["B0"] == 0.0


def test_filip_prints_whole() -> None:
    """Certified −1467.48961422980, of which lstsq in its default setting gets nothing."""
    fit, _ = fitted("Filip")
    assert fit.params.enclosures[0].text(15) == "-1467.48961422980"  # type: ignore[union-attr]
    assert "-1467.4896" in fit.summary()
