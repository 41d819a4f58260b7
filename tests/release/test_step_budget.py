"""Invariant: steps of a GLM have as many bits as its tables allow: the same everywhere, known after
the counts, and enough for what people ask."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from tests.generalised import real_studies
from titan.errors import ReleaseError
from titan.release import Category, Dictionary, Flag, Number
from titan.release.budget import Budget
from titan.release.made import MadeColumns
from titan.release.step_budget import LEAST_BITS, StepBudget
from titan.study.shares import in_words, shares

from .asking import ask, study_of
from .shipped import HEART, hospitals
from .steps_opened import glm, steps_opened

KNOWN = Dictionary.of(
    {
        **{name: HEART[name] for name in ("age", "oldpeak", "sex", "exang")},
        "visits": Number.read("0", "100", "1"),
        "days": Number.read("1", "400", "1"),
        "grade": Number.read("0", "10", "1"),
        "site": Category(("a", "b", "c")),
    }
)


def budget(formula: str, family: Any = "binomial", **asked: Any) -> StepBudget:
    model = KNOWN.model(formula, **asked)
    return StepBudget(model, MadeColumns.of(model, KNOWN, 20).rounding, KNOWN, family)


def test_more_rows_have_more_bits_and_few_have_none() -> None:
    one = budget("exang ~ age")
    found = [one.bits(40, rows) for rows in (100, 854)]
    assert LEAST_BITS <= found[0] < 16 < found[1] <= 24
    with pytest.raises(ReleaseError, match="the steps of a model of 'age' tell") as refused:
        one.bits(40, 30)
    assert (refused.value.rule, refused.value.cell) == ("bits", "rows at each age")


def test_bits_that_are_found_are_the_most() -> None:
    one = budget("exang ~ age + sex")
    bits = one.bits(40, 500)
    assert all(each.allowed for each in one.told(bits, 500))
    assert not all(each.allowed for each in one.told(bits + 1, 500))


def test_two_numbers_have_a_larger_table_than_one() -> None:
    assert all(each.allowed for each in budget("exang ~ age + oldpeak").told(24, 300))
    assert not all(each.allowed for each in budget("exang ~ age").told(24, 300))


def test_categories_alone_are_cells_and_a_number_whose_values_are_counted_too() -> None:
    assert budget("exang ~ sex + site").tables == ()
    with pytest.raises(ReleaseError):
        budget("exang ~ grade").bits(24, 500)
    assert budget("exang ~ grade").bits(24, 500, counted=[frozenset({"grade", "exang"})]) == 24


def test_within_a_cell_it_is_the_cell_that_must_have_the_rows() -> None:
    one = budget("exang ~ age + site")
    assert {each.within for each in one.tables} == {(), ("site",)}
    assert one.bits(24, 3000, lambda _: 1000) > one.bits(24, 3000, lambda _: 100) >= LEAST_BITS
    with pytest.raises(ReleaseError, match="by site over 10 rows"):
        one.bits(24, 3000, lambda _: 10)


def test_two_categories_meet_in_small_cells() -> None:
    assert ("sex", "site") in {each.within for each in budget("exang ~ age + sex + site").tables}


def test_the_numbers_of_an_offset_and_of_weights_count() -> None:
    offset = budget("visits ~ sex", "poisson", offset="log(days)")
    assert [each.raw for each in offset.tables if not each.within] == [("days",)]
    assert {curve.digits for curve in offset.tables[0].curves} == {"first", "early", "late"}
    weights = budget("exang ~ age", weights="days")
    assert {(each.raw, each.linear) for each in weights.tables} == {
        (("age", "days"), None),
        (("age",), "days"),
    }


def test_an_offset_that_is_a_peak_tells_of_few_points() -> None:
    """Of the ages around it. (Own rows that stand alone there are another rule's.)"""
    wide, peak = (budget("visits ~ sex", "poisson", offset=f"I(-(age - 50) ** 2 / {c})")
                  for c in (500, 2))  # fmt: skip
    assert all(each.allowed for each in wide.told(24, 854))
    assert not all(each.allowed for each in peak.told(24, 854))


def test_an_offset_of_few_values_counts_by_itself() -> None:
    """Beside a number that makes the table of both large; the first step has bits of its own."""
    few, many = (budget("exang ~ age", offset=f"I({name} / 20)") for name in ("grade", "days"))
    for each, allowed in ((few, False), (many, True)):
        found = list(each.told(24, 854, tables=each.null_tables))
        assert all(told.allowed for told in found) == allowed
        assert all(told.allowed for told in each.told(24, 854))
        assert (each.first_bits(24, 854, lambda _: None, ()) == 24) == allowed
    assert budget("exang ~ age").null_tables == budget("exang ~ age").first_tables == ()


def test_several_questions_of_the_same_number_share() -> None:
    parties: dict[str, Any] = dict.fromkeys(("north", "east", "south"))
    asked = [glm(f"{name} ~ age", name=name) for name in ("exang", "sex")]
    one, two = (study_of(parties, HEART, *each).meeting for each in (asked[:1], asked))
    models = [[c.told.models for _, c in m.computations] for m in (one, two)]  # type: ignore[attr-defined]
    assert models == [[1], [2, 2]]
    alone, shared = (dict(m.computations)["exang"].told for m in (one, two))  # type: ignore[attr-defined]
    assert shared.bits(24, 854) < alone.bits(24, 854)


def test_what_made_columns_tell_stands_beside() -> None:
    model = KNOWN.model("visits ~ age + I(age ** 2)")
    made = Budget.of([(model, MadeColumns.of(model, KNOWN, 20).rounding, True)], KNOWN)
    alone = budget("exang ~ age")
    beside = StepBudget(alone.model, alone.rounding, KNOWN, "binomial", made=lambda: made)
    assert beside.bits(24, 854) < alone.bits(24, 854)


def test_the_same_numbers_everywhere() -> None:
    """Bit for bit: a machine on which these differ would part from the others."""
    digest = sha256()
    for each in (budget("exang ~ age + sex + oldpeak"), budget("visits ~ age", "poisson"),
                 budget("visits ~ age", "poisson", offset="log(days)")):  # fmt: skip
        for table in each.tables:
            share = table.share(24, {frozenset(): 854, frozenset({"sex"}): 150}, 1)  # type: ignore[arg-type]
            digest.update(repr(share.functions).encode())
    assert digest.hexdigest()[:16] == "44530d5d649a5dfd"


# -- as a study asks it -------------------------------------------------------------------------

PARTIES = {name.replace(" ", "-"): source for name, source in hospitals().items()}


@pytest.mark.parametrize(
    ("formula", "bits", "digits"),
    [
        ("exang ~ age", range(20, 24), 5),
        ("exang ~ age + sex", range(18, 24), 4),
        ("exang ~ oldpeak + sex + trestbps", range(24, 25), 5),
        ("cp4 ~ age + sex + thalach + oldpeak", range(24, 25), 5),
    ],
)
def test_ordinary_models_of_the_patients_pass(formula: str, bits: range, digits: int) -> None:
    with steps_opened() as steps:
        ended = ask(PARTIES, HEART, glm(formula))
    assert ended.refused is None
    (state,) = ended.states
    assert steps[-1].problem.bits in bits
    assert state.answer.digits >= digits
    assert all(step.point.bits <= steps[-1].problem.bits for step in steps[1:])


@pytest.mark.parametrize("name", ["travel", "television"])
def test_other_real_data_pass_with_all_bits(name: str) -> None:
    ended = real_studies.asked(name)
    assert ended.refused is None
    (state,) = ended.states
    assert state.answer.opened.problem.bits == 24
    assert state.answer.digits >= 5


def rows_of(rows: int, values: int, seed: int) -> dict[str, Any]:
    """Of three parties: a number with so many values, and an outcome that depends on it."""
    rng = np.random.default_rng(seed)
    x = np.clip(np.round(rng.normal(values / 2, values / 6, rows)), 0, values - 1).astype(int)
    eta = rng.normal() * 0.3 + rng.normal() * (x - values / 2) / values * 6
    y = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)
    return {name: {"x": x[at::3].tolist(), "y": y[at::3].tolist()} for at, name in enumerate("abc")}


def of_one_number(values: int) -> Dictionary:
    return Dictionary.of({"x": Number.read("0", str(values - 1), "1"), "y": Flag()})


@pytest.mark.parametrize("seed", [2, 3, 10])
def test_with_few_bits_newton_still_comes_to_a_proof(seed: int) -> None:
    """Where it went back to early digits because of their own rounding, these never ended."""
    ended = ask(rows_of(100, 121, seed), of_one_number(121), glm("y ~ x"))
    assert ended.refused is None
    (state,) = ended.states
    assert state.error is None
    assert LEAST_BITS <= state.answer.opened.problem.bits < 16
    assert state.answer.iterations <= 8
    assert state.answer.digits >= 1


def test_the_values_of_a_number_that_has_few_are_cells_of_a_study() -> None:
    """All of them are known, so that steps tell nothing new of how many rows they have."""
    ended = ask(rows_of(600, 9, 1), of_one_number(9), glm("y ~ x"))
    assert ended.refused is not None
    assert (ended.refused.rule, ended.opened) == ("cells", ("counts",))
    near = {n: {k: v[:] for k, v in t.items()} for n, t in rows_of(600, 9, 1).items()}
    for table in near.values():
        table["x"] = [min(max(x, 3), 5) for x in table["x"]]
    ended = ask(near, of_one_number(9), glm("y ~ x"))
    assert ended.refused is None
    assert ended.states[0].answer.opened.problem.bits == 24


def test_what_check_says_is_what_happens() -> None:
    parties: dict[str, Any] = dict.fromkeys(("north", "east", "south"))
    (share,) = shares(study_of(parties, HEART, glm("exang ~ age")))
    told = StepBudget(*_of_study("exang ~ age"))
    assert share["least_rows"] is not None
    every = share["rows_for_all_bits"]
    for bits, rows in ((LEAST_BITS, share["least_rows"]), (24, every)):
        assert all(each.allowed for each in told.told(bits, rows))
    assert not all(each.allowed for each in told.told(24, every * 9 // 10))
    assert "24 bits need about" in in_words(share)


def _of_study(formula: str) -> Any:
    model = HEART.model(formula)
    return model, MadeColumns.of(model, HEART, 20).rounding, HEART, "binomial"


def test_a_study_of_few_rows_ends_with_the_counts() -> None:
    rng = np.random.default_rng(2)
    people = {"age": rng.integers(20, 90, 45).tolist(), "exang": [0, 1, 1, 0, 1] * 9}
    parties = {n: {k: v[at::3] for k, v in people.items()} for at, n in enumerate("abc")}
    ended = ask(parties, HEART, glm("exang ~ age"))
    assert ended.opened == ("counts",)
    assert ended.refused is not None
    assert ended.refused.rule == "bits"
