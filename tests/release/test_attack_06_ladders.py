"""Attack 6: a few smooth columns of one number, exact enough, are the whole table of that number.

Lattice reduction finds the count of patients at every age from AᵀA, and the sum of outcomes from
Aᵀb, in a fraction of a second. What it finds is refused; what is not refused, it does not find.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import pytest

from titan.errors import ReleaseError
from titan.release import Category, Dictionary, Flag, Number
from titan.release.budget import Budget, smallest_of
from titan.release.made import MadeColumns
from titan.release.model_cells import cells_of

from .asking import ask
from .ladders import (
    AGES,
    KNOWN,
    ROWS,
    budget,
    counts_recovered,
    cubic_spline,
    ladder,
    linear_spline,
    outcomes_recovered,
)
from .shipped import HEART, hospitals
from .test_ordinary_models import OF_HEART

PRECISION = 20
FOUND: list[tuple[str, Any]] = [
    (ladder(2), None),
    (ladder(3), 32),
    (ladder(4), 20),
    ("y ~ poly(age, 5, raw=True)", 24),
    (cubic_spline(45, 60), 16),
]
PASSED = [
    "y ~ age + I(age ** 2)",
    "y ~ poly(age, 3, raw=True)",
    ladder(2),
    linear_spline(36, 44, 52, 60),
    "y ~ age + log(age + 1)",
]


@pytest.mark.parametrize(("formula", "precision"), FOUND)
def test_what_the_attack_finds_is_refused(formula: str, precision: Any) -> None:
    assert counts_recovered(formula, precision) == len(AGES)
    with pytest.raises(ReleaseError, match="made of 'age' over 854 rows tell") as refused:
        budget(formula, precision).check(len(ROWS))
    assert (refused.value.rule, refused.value.cell) == ("bits", "rows at each age")


def test_the_outcomes_at_every_age_are_found_as_well_and_refused() -> None:
    formula = ladder(30, "0.005")
    assert outcomes_recovered(formula, 32) == len(AGES)
    of_outcomes = [share for share in budget(formula, 32).shares if share.linear == "y"]
    assert [share.passes(len(ROWS)) for share in of_outcomes] == [False]


@pytest.mark.parametrize("formula", PASSED)
def test_the_attack_finds_nothing_in_what_passes(formula: str) -> None:
    """A guess that is near the truth is right at some ages by chance."""
    budget(formula, PRECISION).check(len(ROWS))
    assert counts_recovered(formula, PRECISION) < len(AGES) / 2
    assert outcomes_recovered(formula, PRECISION) < len(AGES) / 4


def test_a_ladder_of_twenty_never_passes_and_a_spline_of_five_needs_more_rows() -> None:
    twenty, spline = (budget(f, PRECISION).shares[0] for f in (ladder(20), cubic_spline(45, 60)))
    assert twenty.least_rows is None
    assert spline.least_rows is not None
    assert 10_000 < spline.least_rows < 1_000_000
    assert spline.passes(spline.least_rows)
    assert not spline.passes(spline.least_rows - 1)


def test_the_same_ladder_in_many_questions_counts_together() -> None:
    def asked(steps: range) -> list[Any]:
        models = [KNOWN.model(f"y ~ exp(-0.02 * {k} * age)") for k in steps]
        return [(model, MadeColumns.of(model, KNOWN, PRECISION).rounding, True) for model in models]

    Budget.of(asked(range(1, 3)), KNOWN).check(len(ROWS))
    Budget.of(asked(range(1, 3)) * 5, KNOWN).check(len(ROWS))  # the same again tells nothing new
    with pytest.raises(ReleaseError):
        Budget.of(asked(range(1, 9)), KNOWN).check(len(ROWS))


def test_a_peak_tells_much_of_few_ages() -> None:
    """Below the limit of the whole table; the ages around the peak have a table of their own."""
    peak, wide = (budget(f"y ~ exp(-{c} * (age - 50) ** 2)", PRECISION) for c in ("0.1", "0.01"))
    wide.check(len(ROWS))
    with pytest.raises(ReleaseError):
        peak.check(len(ROWS))


# -- other tables -------------------------------------------------------------------------------

OTHERS = Dictionary.of(
    {
        **KNOWN,
        "chol": Number.read("0", "700", "1"),
        "ca": Number.read("0", "3", "1"),
        "sex": Flag(),
        "site": Category(("a", "b", "c")),
    }
)


def asked(formula: str, precision: int | None = PRECISION, weights: str | None = None) -> Budget:
    model = OTHERS.model(formula, weights=weights)
    return Budget.of([(model, MadeColumns.of(model, OTHERS, precision).rounding, True)], OTHERS)


@pytest.mark.parametrize(
    "formula", ["y ~ age + chol + sex", "y ~ sex", "y ~ ca*sex", "y ~ I(age - 50) + age:site"]
)
def test_raw_columns_are_not_counted(formula: str) -> None:
    assert asked(formula).shares == ()


def test_products_and_several_logarithms_pass() -> None:
    asked("y ~ age*chol").check(200)
    asked("log(y + 1) ~ log(chol + 1) + log(age + 1)").check(200)


def test_in_a_cell_it_is_the_cell_that_must_have_the_rows() -> None:
    budget = asked("y ~ poly(age, 3, raw=True)*sex")
    budget.check(10_000)  # half of them, if nobody counted
    budget.check(10_000, lambda columns: {frozenset(["sex"]): 1_000}[columns])
    with pytest.raises(ReleaseError, match=r"over 200 rows .* at each age, by sex") as refused:
        budget.check(10_000, lambda columns: 200)
    assert "rows in each cell" in refused.value.hint


def test_the_smallest_cell_is_that_of_the_counts() -> None:
    cells = cells_of(OTHERS.model("y ~ sex*site"), OTHERS)
    least = smallest_of(cells, [60, 5, 0, 15, 10, 20, 10, *[0] * 20])
    names = [["sex"], ["site"], ["sex", "site"], ["ca"]]
    assert [least(frozenset(each)) for each in names] == [20, 15, 5, None]


def test_a_number_with_few_values_is_counted_instead() -> None:
    budget = asked("y ~ ca + I(ca ** 2)")
    with pytest.raises(ReleaseError, match="'ca'"):
        budget.check(1_000_000)
    budget.check(1_000, counted={frozenset({"ca"})})


def test_weights_are_a_column_too() -> None:
    tables = {
        (share.raw, share.linear) for share in asked("y ~ exp(-0.1 * age)", 20, "chol").shares
    }
    assert (("age",), "chol") in tables
    assert (("age", "y"), "chol") in tables


def test_fewer_bits_tell_less_and_more_rows_hold_more() -> None:
    share = budget(ladder(3), 20).shares[0]
    less = budget(ladder(3), 12).shares[0]
    assert less.measured(900)[0] < share.measured(900)[0]
    assert share.measured(900)[1] < share.measured(9000)[1]
    assert replace(share, functions=share.functions[:2]).passes(900)


@pytest.mark.parametrize("formula", OF_HEART)
def test_ordinary_models_of_the_patients_pass(formula: str) -> None:
    """With the rows of the smaller sex where a table is one of women and men."""
    known = Dictionary.of({**HEART, "age": Number.read("1", "120", "1")})
    model = known.model(formula)
    rounding = MadeColumns.of(model, known, PRECISION).rounding
    Budget.of([(model, rounding, True)], known).check(len(ROWS), lambda columns: 150)


@pytest.mark.parametrize("formula", ["y ~ a:b:c + d:e:f + a", "y ~ a:b:c:d:e:f"])
def test_the_table_of_many_columns_is_large(formula: str) -> None:
    """Its bits are a small difference of numbers far beyond what a float holds."""
    known = Dictionary.of({name: Number.read("0", "1000", "0.1") for name in "abcdefy"})
    model = known.model(formula)
    made = MadeColumns.of(model, known, PRECISION)
    found = Budget.of([(model, made.rounding, True)], known)
    found.check(5000)
    six = tuple("abcdef"), None
    (whole,) = [share for share in found.shares if (share.raw, share.linear) == six]
    rows, points = 900, 3600**6
    tables = Fraction(prod(range(points, points + rows)), prod(range(1, rows + 1)))
    bits = tables.numerator.bit_length() - tables.denominator.bit_length()
    assert abs(whole._limit(rows, 1) - 0.3 * bits) < 1


# -- as a study asks it -------------------------------------------------------------------------

PARTIES = {name.replace(" ", "-"): source for name, source in hospitals().items()}


@pytest.mark.parametrize(
    "asked",
    [
        ["thalach ~ " + " + ".join(f"exp(-0.{c:02} * age)" for c in range(1, 21))],
        [
            "thalach ~ exp(-0.01 * age) + exp(-0.02 * age)",
            "thalach ~ exp(-0.03 * age) + exp(-0.04 * age)",
        ],
    ],
    ids=["twenty columns", "split over two questions"],
)
def test_a_study_s_ladder_ends_with_the_counts(asked: list[str]) -> None:
    ended = ask(PARTIES, HEART, *asked)
    assert ended.refused is not None
    assert (ended.refused.rule, ended.vetoed) == ("bits", False)
    assert ended.opened == ("counts",), "no sum of a made column was opened"


def test_a_study_s_quadratic_is_answered() -> None:
    ended = ask(PARTIES, HEART, "thalach ~ age + I(age ** 2)")
    assert ended.refused is None
    assert ended.fit().nobs == len(ROWS)
