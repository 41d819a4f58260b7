"""Invariant: what the steps of a GLM open singles out nobody, and is not the table behind it.

Each attack here found what it looks for before steps were counted and looked at beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titan
from tests.generalised import problems
from titan.errors import ReleaseError
from titan.release import Dictionary, Flag, Number

from .asking import ask
from .shipped import HEART, heart_lines, hospitals
from .steps_opened import (
    Sums,
    ask_steps,
    found_in,
    glm,
    largest_leverage,
    steps_opened,
    sums_of,
)

NAMES = "north", "east", "south"


def divided(columns: dict[str, Any], among: tuple[str, ...] = NAMES) -> dict[str, Any]:
    count = len(among)
    return {name: {key: list(values[at::count]) for key, values in columns.items()}
            for at, name in enumerate(among)}  # fmt: skip


# -- one person ---------------------------------------------------------------------------------

KNOWN = Dictionary.of(
    {
        "age": Number.read("0", "120", "1"),
        "weight": Number.read("0", "300", "1"),
        "visits": Number.read("0", "30", "1"),
        "died": Flag(),
    }
)


def patients(rows: int = 300) -> dict[str, Any]:
    """One of them, the eighth, is 97 years old and weighs 83 kg."""
    rng = np.random.default_rng(5)
    found = {
        "age": rng.integers(20, 80, rows),
        "weight": rng.integers(50, 120, rows),
        "visits": rng.poisson(3, rows),
        "died": (rng.random(rows) < 0.4).astype(int),
    }
    found["age"][7], found["weight"][7] = 97, 83
    return found


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("visits ~ weight", {"family": "poisson", "offset": "I(-(age - 97) ** 2)"}),
        ("visits ~ weight", {"family": "poisson", "offset": "I(-(age - 97) ** 2)", "alpha": 1e6}),
        ("died ~ weight", {"offset": "I(-(age - 97) ** 2)"}),
    ],
    ids=["poisson", "penalised", "binomial"],
)
def test_an_offset_that_is_a_peak_over_one_person(formula: str, options: Any) -> None:
    """In the first step every other v was 0: H was (1, 83; 83, 83²), that person's weight."""
    ended, steps = ask_steps(divided(patients()), KNOWN, glm(formula, **options))
    assert ended.vetoed
    assert {refusal.rule for refusal in ended.owners.values()} == {"leverage"}
    assert ended.opened == ("counts", "regressors")
    assert steps == []


def test_an_offset_that_is_a_peak_over_two_persons_of_a_party() -> None:
    people = patients()
    people["age"][10] = 97  # of the same party
    asked = glm("visits ~ weight", family="poisson", offset="I(-(age - 97) ** 2)")
    ended, steps = ask_steps(divided(people), KNOWN, asked)
    assert ended.vetoed
    assert steps == []


def test_an_ordinary_exposure_is_answered() -> None:
    asked = glm("visits ~ weight", family="poisson", offset="log(age + 1)")
    ended, _ = ask_steps(divided(patients()), KNOWN, asked)
    assert ended.refused is None


@pytest.mark.parametrize("seed", [105, 109, 151, 153, 185, 197])
def test_no_step_is_opened_in_which_one_row_has_most_of_the_weight(seed: int) -> None:
    """In these one row had from 0.68 to 0.90 of H in some direction, before its owner looked."""
    drawn = problems.drawn(seed)
    parts = [{k: np.asarray(v)[at::3] for k, v in drawn.table.items()} for at in range(3)]
    weights = None if drawn.weights is None else np.array(drawn.weights)
    offset = None if drawn.offset is None else np.array(drawn.offset)
    with steps_opened() as steps, pytest.raises(ReleaseError, match="would weigh more than one"):
        titan.glm(parts, "complete", tau=1, **drawn.asked)
    found = [largest_leverage(step, drawn.matrix, weights, offset) for step in steps]
    assert 0 < max(found) < 0.4


def test_a_penalty_hides_nobody() -> None:
    """Leverage is that among the rows: all can take the penalty from what is opened."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.choice([0, 1, 2, 18, 19, 20], 179), [10]])
    columns = {"age": x, "died": (x > 9).astype(int)}
    alpha = glm("died ~ age", alpha="0.0001")
    ended, steps = ask_steps(divided(columns), KNOWN, alpha, limited=False)
    assert ended.vetoed
    raw = np.stack([np.ones(len(x)), x], axis=1).astype(float)
    assert max(largest_leverage(step, raw) for step in steps) < 0.4


def test_sums_beyond_their_range_do_not_tell_the_others_apart() -> None:
    """A party that is beyond entered 0: with three parties each saw what the third one has."""
    people = patients()
    people["age"][7] = 95  # in east's rows alone exp(offset) is beyond all range
    asked = glm("visits ~ weight", family="poisson", offset="I(2 * (age - 60))")
    ended = ask(divided(people), KNOWN, asked, min_cell=0)
    assert ended.vetoed
    assert ended.opened == ("counts", "regressors")


# -- an event that was not expected -------------------------------------------------------------


def surprising() -> dict[str, Any]:
    """The outcome hardly ever comes below 60; the sixth person, who is 38, has it."""
    rng = np.random.default_rng(4)
    age = np.clip(rng.normal(60, 9, 600).round(), 0, 120).astype(int)
    died = (rng.random(600) < 1 / (1 + np.exp(-(age - 75) * 0.45))).astype(int)
    age[5], died[5] = 38, 1
    return {"age": age, "died": died}


def pearson_of(ended: Any) -> tuple[float, float, dict[str, float]]:
    """What is reported, what all can see of the sum, and the coefficients."""
    assert ended.refused is None
    fit = ended.states[0].answer
    layout = fit.opened.problem.layout
    place = layout.of_step + layout.statistics.index("pearson")
    unit = fit.opened.point.units(fit.opened.problem)[place]
    seen = fit.opened.totals[place] % fit.opened.point.cap * 2.0**unit
    return fit.pearson_chi2, seen, fit.params


@pytest.mark.parametrize("exact", [False, True])
def test_a_surprising_event_is_not_what_pearsons_statistic_tells(
    exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 483,947 of 484,011: the logarithm gave that person's age."""
    if exact:  # the same of sums in balls
        monkeypatch.setattr(
            "titan.joint.glm.GeneralisedLinear.totals",
            lambda model, part, problem, at: model.exact_totals(part, problem, at),
        )
    parties, asked = divided(surprising()), glm("died ~ age")
    with monkeypatch.context() as patched:
        patched.setattr("titan.joint.glm.looked_at", lambda totals, _: totals)
        told, _, params = pearson_of(ask(parties, KNOWN, asked))
    assert round((-np.log(told) - params["Intercept"]) / params["age"]) == 38
    withheld, seen, _ = pearson_of(ask(parties, KNOWN, asked))
    assert np.isnan(withheld)
    assert seen < 600, "and what is in its place is not that person's"


def test_pearsons_statistic_is_told_where_nobody_is_most_of_it() -> None:
    people = surprising()
    people["died"] = (np.random.default_rng(1).random(600) < people["age"] / 120).astype(int)
    told, seen, params = pearson_of(ask(divided(people), KNOWN, glm("died ~ age")))
    mu = 1 / (1 + np.exp(-params["Intercept"] - params["age"] * people["age"]))
    terms = (people["died"] - mu) ** 2 / (mu * (1 - mu))
    assert max(terms) < sum(terms) / 3
    assert told == pytest.approx(sum(terms), rel=1e-3)
    assert seen == pytest.approx(told)


# -- tables -------------------------------------------------------------------------------------


def one_number(rows: int, values: int, seed: int, family: str = "binomial") -> Any:
    """A number with so many values, an outcome, and the dictionary of both."""
    rng = np.random.default_rng(seed)
    centre, spread = 0.47 * values, 0.16 * values
    x = np.clip(np.round(rng.normal(centre, spread, rows)), 0, values - 1).astype(int)
    z = (x - centre) / spread
    if family == "binomial":
        y: Any = (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int)
        kind: Any = Flag()
    else:
        y, kind = rng.poisson(np.exp(0.5 + 0.4 * z)), Number.read("0", "100", "1")
    known = Dictionary.of({"x": Number.read("0", str(values - 1), "1"), "y": kind})
    return {"x": x, "y": y}, known


def rows_found(rows: int, values: int, seed: int, limited: bool, **options: Any) -> int | None:
    """At how many of its values the rows are found; None where the study is refused."""
    columns, known = one_number(rows, values, seed, options.get("family", "binomial"))
    ended, steps = ask_steps(divided(columns), known, glm("y ~ x", **options), limited=limited)
    if ended.refused is not None:
        assert ended.refused.rule == "bits"
        assert ended.opened == ("counts",)
        return None
    grid, x = np.arange(values), columns["x"]
    usual = np.exp(-(((grid - 0.47 * values) / (0.16 * values)) ** 2) / 2)
    points, own = (np.stack([np.ones(len(v)), v], axis=1) for v in (grid, x))
    sums = sums_of(steps, points, own, columns["y"])
    exact = [grid**0, grid, grid**2, grid % 2 != 0, grid % 5 != 0, grid % 10 != 0]
    secret = np.bincount(x, minlength=values).tolist()
    return found_in(
        sums, [f.tolist() for f in exact], secret, (usual / usual.sum() * rows).tolist()
    )


FOUND: list[tuple[int, int, int, dict[str, Any]]] = [
    (72, 51, 1, {}),
    (300, 31, 2, {"precision": 40}),
    (110, 21, 3, {"family": "poisson"}),
]


@pytest.mark.parametrize(("rows", "values", "seed", "options"), FOUND)
def test_the_rows_at_every_value_are_not_found(
    rows: int, values: int, seed: int, options: dict[str, Any]
) -> None:
    """From one question, at the usual precision: all of them, before steps were counted."""
    assert rows_found(rows, values, seed, False, **options) == values
    left = rows_found(rows, values, seed, True, **options)
    assert left is None or left < 0.8 * values


def test_who_has_nearly_all_rows_takes_care_of_the_others() -> None:
    """It can take its own out of every sum: what is told is of the few that are left."""
    columns, known = one_number(2072, 51, 1)
    parties = {
        name: {key: list(values[rows]) for key, values in columns.items()}
        for name, rows in zip(
            NAMES, (slice(2000), slice(2000, 2036), slice(2036, 2072)), strict=True
        )
    }
    ended = ask(parties, known, glm("y ~ x"))
    assert ended.vetoed
    assert set(ended.owners) == {"north"}
    assert ended.owners["north"].rule == "bits"
    assert ended.opened == ("counts", "regressors")
    fewer = ask(parties, known, glm("y ~ x", precision=8))
    assert fewer.refused is None
    assert fewer.states[0].answer.opened.problem.bits == 8


def test_nor_those_of_the_patients_by_three_questions_at_40_bits() -> None:
    names = ("exang", "sex", "cp2")
    head, *lines = [line.split(",") for line in heart_lines()]
    table = {n: np.array([float(line[head.index(n)]) for line in lines]) for n in (*names, "age")}
    ages = np.arange(28, 78)
    counts = [int((table["age"] == age).sum()) for age in ages]
    parties = {name.replace(" ", "-"): source for name, source in hospitals().items()}
    usual = np.exp(-(((ages - 53) / 9.4) ** 2) / 2)
    guess = (usual / usual.sum() * len(lines)).tolist()
    found = []
    for limited in (False, True):
        sums = Sums([], [], [])
        for name in names:
            asked = glm(f"{name} ~ age", name=name, precision=40)
            ended, steps = ask_steps(parties, HEART, asked, limited=limited)
            assert ended.refused is None
            points, rows = (np.stack([np.ones(len(v)), v], axis=1) for v in (ages, table["age"]))
            sums += sums_of(steps, points, rows, table[name])
        exact = [ages**0, ages, ages**2, ages % 2 != 0, ages % 5 != 0, ages % 10 != 0]
        found.append(found_in(sums, [f.tolist() for f in exact], counts, guess))
    assert found[0] == len(ages)
    assert found[1] < len(ages) / 2


def test_nor_the_ages_within_a_small_group() -> None:
    """60 rows, 15 of them of one group: the ages of both groups were found at 40 bits."""
    rng = np.random.default_rng(1)
    age = np.clip(np.round(rng.normal(53, 9, 60)), 28, 77).astype(int)
    group = np.zeros(60, int)
    group[rng.permutation(60)[:15]] = 1
    eta = 0.04 * (age - 53) + 0.3 * group
    died = (rng.random(60) < 1 / (1 + np.exp(-eta))).astype(int)
    columns = {"age": age, "group": group, "died": died}
    known = Dictionary.of({**KNOWN, "group": Flag()})
    asked = glm("died ~ age + group", precision=40)
    free, steps = ask_steps(divided(columns), known, asked, limited=False)
    assert free.refused is None
    ages = np.arange(28, 78)
    points, rows = (
        np.stack([np.ones(len(a)), a, g], axis=1)
        for a, g in ((np.tile(ages, 2), np.repeat([0, 1], 50)), (age, group))
    )
    usual = np.exp(-(((ages - 53) / 9) ** 2) / 2)
    guess = np.concatenate([usual / usual.sum() * n for n in (45, 15)]).tolist()
    secret = [int(((age == a) & (group == g)).sum()) for g in (0, 1) for a in ages]
    one, zero = np.ones(50, int), np.zeros(50, int)
    exact = [(one, zero), (zero, one), (ages, zero), (zero, ages), (ages**2, ages**2)]
    known_sums = [np.concatenate(pair).tolist() for pair in exact]
    assert found_in(sums_of(steps, points, rows, died), known_sums, secret, guess) == 100
    ended, _ = ask_steps(divided(columns), known, asked)
    assert ended.refused is not None
    assert (ended.refused.rule, ended.opened) == ("bits", ("counts",))
