"""Invariant: what people ask of the shipped data passes the default policy without a flag."""

from __future__ import annotations

import pytest

from tests.release.shipped import GRUNFELD, HEART, check_everybody, check_pooled, firms, hospitals
from titan.errors import ReleaseError

ALL = "thalach ~ age + sex + trestbps + exang + oldpeak + cp2 + cp3 + cp4"
OF_HEART = (
    "thalach ~ age",
    ALL,
    "thalach ~ age * sex",
    "thalach ~ age * trestbps",
    "thalach ~ poly(age, 2, raw=True)",
    "thalach ~ poly(age, 3, raw=True) + sex",
    "thalach ~ log(age) + sex",
    "thalach ~ sqrt(age) + oldpeak * sex",
    "thalach ~ poly(oldpeak, 2, raw=True) + age",
    "thalach ~ C(sex, levels=[0, 1]) * age",
    "thalach ~ age + sex * exang + cp2 + cp3 + cp4",
    "trestbps ~ age + I(age ** 2) + sex + exang",
    "exang ~ age + oldpeak",
    "oldpeak ~ age + exang",
)
OF_FIRMS = (
    "invest ~ value",
    "invest ~ value + capital",
    "log(invest) ~ log(value) + log(capital)",
    "invest ~ poly(value, 2, raw=True) + capital",
)


@pytest.mark.parametrize("formula", OF_HEART)
def test_of_patients(formula: str) -> None:
    check_everybody(hospitals(), HEART, formula)
    assert len(list(check_pooled(hospitals(), HEART, formula))) == 4


def test_several_in_one_study() -> None:
    check_everybody(hospitals(), HEART, OF_HEART[:6])
    check_everybody(hospitals(), HEART, OF_HEART[6:])
    check_everybody(firms(), GRUNFELD, OF_FIRMS[:2])


@pytest.mark.parametrize("formula", OF_FIRMS)
def test_of_firms(formula: str) -> None:
    """Twenty rows each."""
    check_everybody(firms(), GRUNFELD, formula)
    assert len(list(check_pooled(firms(), GRUNFELD, formula))) == 11


@pytest.mark.parametrize("formula", ["thalach ~ log(trestbps + 1) + age", "thalach ~ exp(oldpeak)"])
def test_an_outlier_is_refused_by_its_owner_before_outcomes_leave(formula: str) -> None:
    """A blood pressure of 0 in one hospital; the largest of all exp(oldpeak)."""
    with pytest.raises(ReleaseError, match="these rows weigh more than one of 3") as caught:
        list(check_pooled(hospitals(), HEART, formula))
    assert caught.value.rule == "leverage"
    assert len(list(check_pooled(hospitals(), HEART, formula, k=1))) == 4
