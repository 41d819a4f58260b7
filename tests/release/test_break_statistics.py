"""Invariant: the statistics of a fit, told with its last step, are not a table of outcomes, nor are
sums of an offset one of its values; what is not told is said, and why."""

from __future__ import annotations

from math import exp, factorial, isnan, sqrt
from typing import Any

import numpy as np
import pytest

import titan
from titan.generalised.families import log_factorial, saturated
from titan.release import Dictionary, Flag, Number
from titan.results import decode, encode

from .steps_opened import Floats, Sums, ask_steps, found_in, glm

VALUES = 16
KNOWN = Dictionary.of(
    {
        "age": Number.read("0", "100", "1"),
        "weight": Number.read("0", "100", "1"),
        "visits": Number.read("0", "30", "1"),
        "days": Number.read("1", "400", "1"),
        "died": Flag(),
    }
)
Columns = dict[str, Any]


def divided(columns: Columns, *ends: int) -> dict[str, Any]:
    """Into three parties: every third row, or the rows up to each of two ends."""
    slices = [slice(at, None, 3) for at in range(3)]
    if ends:
        slices = [slice(*each) for each in zip((0, *ends), (*ends, None), strict=True)]
    return {
        name: {key: values[rows].tolist() for key, values in columns.items()}
        for rows, name in zip(slices, ("north", "east", "south"), strict=True)
    }


# -- outcomes -----------------------------------------------------------------------------------


def patients(rows: int, mean: float, seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    age, weight = (rng.integers(0, 101, rows) for _ in range(2))
    visits = rng.poisson(np.exp(np.log(mean) + 0.004 * (age - 50)))
    return {"age": age, "weight": weight, "visits": visits}


def outcomes_found(columns: Columns, formula: str, *, limited: bool = True) -> int:
    """At how many numbers of visits all learn how many patients had so many."""
    visits = columns["visits"]
    rows, average = len(visits), float(np.mean(visits))
    asked = glm(formula, family="poisson")
    ended, steps = ask_steps(divided(columns), KNOWN, asked, limited=limited)
    if ended.refused is not None or not steps[-1].point.last:
        return 0
    told = steps[-1].statistics
    functions: dict[str, Any] = {"log_factorial": log_factorial, "saturated": saturated}
    if "~ 1" in formula:  # all means are alike
        functions["pearson"] = lambda y: (y - average) ** 2 / average
    names = [name for name in functions if name in told]
    near = float(steps[-1].statistics_error) / 3 * sqrt(3 / 12)
    y = range(VALUES)
    sums = Sums(
        [np.array([functions[name](value) for value in y]) for name in names],
        [float(told[name]) for name in names],
        [near] * len(names),
    )
    # rows, those without a visit and Σ y are opened, and rows off coarser grids of y
    exact = [[1] * VALUES, [int(value == 0) for value in y], list(y)]
    exact += [[int(value % step != 0) for value in y] for step in (2, 5, 10)]
    secret = np.bincount(visits, minlength=VALUES).tolist()
    guess = [exp(-average) * average**value / factorial(value) * rows for value in y]
    return found_in(sums, exact, secret, guess)


@pytest.mark.parametrize("formula", ["visits ~ age + weight", "visits ~ 1"])
@pytest.mark.parametrize(("rows", "mean", "seed"), [(300, 1.2, 2), (150, 1.0, 5), (900, 1.5, 6)])
def test_the_outcomes_of_a_poisson_regression_are_not_found(
    rows: int, mean: float, seed: int, formula: str
) -> None:
    """With nothing lowered. In two of these one patient alone had the most visits."""
    columns = patients(rows, mean, seed)
    assert outcomes_found(columns, formula, limited=False) == VALUES
    assert outcomes_found(columns, formula) < VALUES


def test_more_rows_hide_no_outcomes() -> None:
    """So the range of 0 to 30 is not what such a table is measured by: that would let this pass."""
    assert outcomes_found(patients(5000, 1.2, 2), "visits ~ weight", limited=False) == VALUES


def test_what_is_not_told_of_counts_is_said_and_the_rest_is_as_ever() -> None:
    columns = patients(900, 1.5, 6)
    ended, _ = ask_steps(divided(columns), KNOWN, glm("visits ~ age + weight", family="poisson"))
    answer = ended.states[0].answer
    gone = {"llf", "llnull", "aic", "bic", "deviance", "null_deviance"}
    assert set(answer.not_told) == gone
    assert all(isnan(getattr(answer, name)) for name in gone)
    assert isnan(answer.bic_deviance)
    assert isnan(answer.pseudo_rsquared("mcf"))
    told = answer.to_dict()
    assert {name for name in gone if told[name] is None and told["not_told"][name]} == gone
    assert "Likelihood, deviance, AIC and BIC are not told: from sums of outc" in answer.summary()
    assert decode(encode(answer))[0].to_dict() == told
    here = titan.glm(columns, formula="visits ~ age + weight", family="poisson")
    assert (here.not_told, here.llf < 0) == ({}, True)
    assert "not told" not in here.summary()
    for name in ("pearson_chi2", "pseudo_rsquared"):
        assert told[name] == pytest.approx(here.to_dict()[name], rel=1e-3)


@pytest.mark.parametrize(("high", "told"), [("1", True), ("2", True), ("3", False)])
def test_outcomes_that_the_counts_tell_anyway_have_their_likelihood(high: str, told: bool) -> None:
    """Of 0, 1 and 2: rows, those with 0 and Σ y are known."""
    columns = patients(300, 0.8, 1)
    columns["visits"] = np.minimum(columns["visits"], int(high))
    known = Dictionary.of({**KNOWN, "visits": Number.read("0", high, "1")})
    ended, _ = ask_steps(divided(columns), known, glm("visits ~ age + weight", family="poisson"))
    assert isnan(ended.states[0].answer.llf) != told


# -- offsets ------------------------------------------------------------------------------------


def dosed(rows: int, values: int) -> tuple[Columns, float, list[float]]:
    """A dose beside another number that makes the table of both large; its slope; and how many
    usually have each."""
    rng = np.random.default_rng(1)
    grid, slope = np.arange(values), 7.5 / values
    usual = np.exp(-(((grid / values - 0.47) / 0.16) ** 2) / 2)
    dose = np.clip(np.round(rng.normal(0.47, 0.16, rows) * values), 0, values - 1).astype(int)
    age = rng.integers(0, 101, rows)
    died = (rng.random(rows) < 1 / (1 + np.exp(-slope * (dose - dose.mean())))).astype(int)
    return {"dose": dose, "age": age, "died": died}, slope, (usual / usual.sum() * rows).tolist()


def with_dose(values: int) -> Dictionary:
    return Dictionary.of({**KNOWN, "dose": Number.read("0", f"{values - 1}", "1")})


def doses_found(sums: Sums, columns: Columns, guess: list[float]) -> int:
    values = len(guess)
    exact = [[1] * values, *([int(x % step != 0) for x in range(values)] for step in (2, 5, 10))]
    return found_in(sums, exact, np.bincount(columns["dose"], minlength=values).tolist(), guess)


def logistic(eta: Any) -> Floats:
    return np.asarray(1 / (1 + np.exp(-eta)))


@pytest.mark.parametrize(("rows", "values"), [(150, 15), (900, 15)])
def test_the_values_of_an_offset_are_not_found(rows: int, values: int) -> None:
    """A dose of 0 to 14, from the sums of the model of a constant alone."""
    columns, slope, guess = dosed(rows, values)
    asked, known = glm("died ~ age", offset=f"I({slope} * dose)"), with_dose(values)

    def found(*, limited: bool) -> int:
        ended, steps = ask_steps(divided(columns), known, asked, limited=limited)
        if ended.refused is not None:
            return 0
        sums = Sums([], [], [])
        for step in steps:
            place = step.problem.layout.null
            mu = logistic(slope * np.arange(values) + float(step.point.at.null))
            told = [float(x) for x in step.values[place]]
            near = [2.0**unit / 2 for unit in step.point.units(step.problem)[place]]
            events = int(columns["died"].sum())
            sums += Sums([mu * (1 - mu), -mu], [told[0], told[1] - events], near)
        return doses_found(sums, columns, guess)

    assert found(limited=False) == values
    assert found(limited=True) < values


@pytest.mark.parametrize(("rows", "values"), [(900, 6), (150, 8), (900, 8)])
def test_few_values_of_an_offset_are_not_found_by_the_first_step(rows: int, values: int) -> None:
    """At β = 0 the entries of the constant are functions of the offset alone."""
    columns, slope, guess = dosed(rows, values)
    asked, known = glm("died ~ age", offset=f"I({slope} * dose)"), with_dose(values)

    def found(*, limited: bool) -> int:
        ended, steps = ask_steps(divided(columns), known, asked, limited=limited)
        assert ended.refused is None
        first = [step for step in steps if not any(step.point.beta)][-1]  # the finest
        assert first.problem.constant is not None
        c = np.array([float(x) for x in first.problem.constant])
        units = first.point.units(first.problem)
        near = [2.0 ** units[0] * (c @ c) / 2, 2.0 ** units[first.problem.layout.score.start]]
        near[1] *= sqrt(c @ c) / 2
        slopes = float(c @ np.array([float(x) for x in first.score]))
        told = [float(c @ first.floats @ c), slopes - int(columns["died"].sum())]
        mu = logistic(slope * np.arange(values))
        return doses_found(Sums([mu * (1 - mu), -mu], told, near), columns, guess)

    assert found(limited=False) == values
    assert found(limited=True) < values


def test_what_is_not_told_beside_an_offset_is_said() -> None:
    columns, slope, _ = dosed(900, 15)
    ended, steps = ask_steps(
        divided(columns), with_dose(15), glm("died ~ age", offset=f"I({slope} * dose)")
    )
    answer = ended.states[0].answer
    assert not any(any(step.values[step.problem.layout.null]) for step in steps)
    assert set(answer.not_told) == {"llnull", "null_deviance", "pseudo_rsquared"}
    assert (answer.llf < 0, isnan(answer.null_deviance)) == (True, True)
    assert "What compares with the model of a constant alone is not told" in answer.summary()
    assert decode(encode(answer))[0].to_dict() == answer.to_dict()


def test_a_party_with_most_rows_marks_that_the_others_offsets_would_be_told() -> None:
    """Of all rows these sums tell little, of the sixty that are not its own too much."""
    columns, slope, _ = dosed(3000, 60)
    asked, known = glm("died ~ age", offset=f"I({slope} * dose)"), with_dose(60)
    alike, apart = ask_steps(divided(columns), known, asked), ask_steps(
        divided(columns, 2940, 2970), known, asked
    )  # fmt: skip
    for (ended, steps), marks in ((alike, 0), (apart, 1)):
        assert steps[0].totals[-1] == marks
        later = [any(step.values[step.problem.layout.null]) for step in steps[1:]]
        assert later == [not marks] * (len(steps) - 1)
        assert isnan(ended.states[0].answer.null_deviance) == bool(marks)


def exposed() -> Columns:
    columns = patients(600, 1.5, 3)
    columns["days"] = np.random.default_rng(4).integers(30, 391, 600)
    return columns


def test_an_ordinary_exposure_has_its_comparison() -> None:
    asked = {"formula": "visits ~ age", "family": "poisson", "exposure": "days"}
    here = titan.glm(exposed(), **asked)  # type: ignore[arg-type]
    ended, _ = ask_steps(divided(exposed()), KNOWN, glm(asked.pop("formula"), **asked))
    answer = ended.states[0].answer
    assert answer.pseudo_rsquared() == pytest.approx(here.pseudo_rsquared(), rel=1e-3)
