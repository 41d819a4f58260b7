"""Invariant: too few rows are refused before they leave, at the very row and by every engine."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import titan
from tests.study.studies import study
from titan import engines
from titan.engines import local
from titan.errors import DataError, InputError, PlanError, ReleaseError
from titan.fitting import solve_moments
from titan.joint import SumSettings
from titan.matrices import moments_of
from titan.moments import Model, collect
from titan.release.policy import DEFAULT, NONE, Policy, policy_for

NET = titan.Network.cycle(["north", "east", "south"])
ENGINES = ["local", "vectorised"]
RECOVERIES = ["topk", "flood", "tree"]
HINT = "allow_small=True if all parties agree to what so few give away"
FIRST, SECOND = 512, 128
"""The sums by the size of their ring."""


def systems(rows: list[int], n: int, seed: int = 4) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [(rng.integers(-9, 9, (p, n)), rng.integers(-9, 9, p)) for p in rows]


def tables(rows: list[int], n: int) -> list[dict[str, list[float]]]:
    return [
        {f"a{j}": column.tolist() for j, column in enumerate(A.T)} | {"y": b.tolist()}
        for A, b in systems(rows, n)
    ]


def solve(rows: list[int], n: int, **choices: Any) -> Any:
    return titan.solve(systems(rows, n), NET, **choices)


def fit(rows: list[int], n: int, **choices: Any) -> Any:
    """The intercept is a parameter too."""
    columns = [f"a{j}" for j in range(n - 1)]
    return titan.fit(tables(rows, n), NET, response="y", columns=columns, **choices)


def ridge(rows: list[int], n: int, **choices: Any) -> Any:
    columns = [f"a{j}" for j in range(n - 1)]
    return titan.ridge(tables(rows, n), NET, alpha=1.0, response="y", columns=columns, **choices)


WAYS: list[Callable[..., Any]] = [solve, fit, ridge]


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rings of the sums that an engine was started for."""
    started: list[int] = []
    for name, engine in engines.ENGINES.items():

        def run(plan: Any, *rest: Any, engine: Any = engine, **choices: Any) -> Any:
            started.append(plan.ring.bits)
            return engine(plan, *rest, **choices)

        monkeypatch.setitem(engines.ENGINES, name, run)
    return started


def pool(secrets: Any, settings: SumSettings, policy: Policy = DEFAULT) -> Any:
    return solve_moments(secrets, settings, policy=policy)


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The plan and the envelopes of every sum that the local engine makes from now on."""
    kept: list[tuple[Any, Any]] = []

    def run(plan: Any, *rest: Any, **choices: Any) -> Any:
        outcome = local.run(plan, *rest, **choices)
        kept.append((plan, outcome.envelopes))
        return outcome

    monkeypatch.setitem(engines.ENGINES, "local", run)
    return kept


# -- the rule ---------------------------------------------------------------------------------


def test_the_defaults_of_a_data_steward() -> None:
    assert (DEFAULT.rows_per_party, DEFAULT.rows, DEFAULT.rows_per_parameter) == (10, None, 3)
    assert policy_for(False) == DEFAULT
    assert policy_for(True) == NONE
    assert DEFAULT.rows_needed(parameters=1, parties=3) == 30
    assert DEFAULT.rows_needed(parameters=10, parties=3) == 30
    assert DEFAULT.rows_needed(parameters=11, parties=3) == 33
    assert Policy(rows=50).rows_needed(parameters=4, parties=3) == 50
    assert NONE.rows_needed(parameters=11, parties=3) == 0


@pytest.mark.parametrize("policy", [DEFAULT, Policy(1, 7, 2), Policy(5, rows_per_parameter=9)])
@pytest.mark.parametrize(("parameters", "parties"), [(1, 2), (4, 3), (40, 3), (2, 50)])
def test_one_row_less_than_needed_is_refused(policy: Policy, parameters: int, parties: int) -> None:
    needed = policy.rows_needed(parameters, parties)
    policy.check_pooled(needed, parameters, parties)
    with pytest.raises(DataError, match=f"{needed - 1} rows? in all"):
        policy.check_pooled(needed - 1, parameters, parties)
    policy.check_own(policy.rows_per_party, "north")
    with pytest.raises(DataError, match="'north' has"):
        policy.check_own(policy.rows_per_party - 1, "north")


def test_what_a_refusal_says() -> None:
    def said(check: Callable[..., None], *numbers: Any) -> tuple[str, str]:
        with pytest.raises(DataError) as caught:
            check(*numbers)
        return caught.value.message, caught.value.hint

    assert said(DEFAULT.check_own, 1, "north") == (
        "'north' has 1 row, and a party needs at least 10",
        f"use more rows, or {HINT}",
    )
    assert said(DEFAULT.check_pooled, 29, 2, 3) == (
        "29 rows in all, and 3 parties need at least 30 together",
        f"use more rows, or {HINT}",
    )
    assert said(DEFAULT.check_pooled, 32, 11, 3) == (
        "32 rows in all for 11 parameters, where at least 33 are needed, 3 for each",
        f"name fewer columns, use more rows, or {HINT}",
    )
    told = Policy(otherwise="agree on another study")
    assert said(told.check_own, 9, "x")[1] == "use more rows, or agree on another study"


def test_nothing_is_refused_where_nothing_is_asked_for() -> None:
    NONE.check_own(0, "north")
    NONE.check_pooled(0, 1000, 3)


@pytest.mark.parametrize("bad", [-1, 2.5, True, "10"])
@pytest.mark.parametrize("name", ["rows_per_party", "rows", "rows_per_parameter", "rows_per_cell"])
def test_limits_are_whole_numbers(name: str, bad: Any) -> None:
    with pytest.raises(InputError, match=name):
        Policy(**{name: bad})


# -- a party's own rows -----------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", WAYS)
def test_a_small_party_is_refused_before_anything_is_sent(
    way: Callable[..., Any], engine: str, sums: list[int]
) -> None:
    for at, party in enumerate(NET.parties):
        rows = [40, 40, 40]
        rows[at] = 9
        with pytest.raises(DataError, match=f"'{party}' has 9 rows, and a party needs at least 10"):
            way(rows, 2, engine=engine)
        assert sums == [], "no sum was begun"
        rows[at] = 10
        way(rows, 2, engine=engine)
        assert sums == [FIRST, SECOND]
        sums.clear()


def test_rows_left_out_do_not_count(sums: list[int]) -> None:
    parts: list[dict[str, Any]] = [dict(table) for table in tables([10, 10, 10], 2)]
    parts[1]["a0"] = [None, *parts[1]["a0"][1:]]
    with pytest.raises(DataError, match="'east' has 9 rows"):
        titan.fit(parts, NET, formula="y ~ a0", missing="drop")
    assert sums == []


def test_a_row_of_great_weight_is_one_row(sums: list[int]) -> None:
    """Rows are counted, not weights: nine patients who stand for a million are still nine."""
    parts = [table | {"w": [1e6] * len(table["y"])} for table in tables([10, 9, 10], 2)]
    with pytest.raises(DataError, match="'east' has 9 rows"):
        titan.fit(parts, NET, formula="y ~ a0", weights="w")
    assert sums == []


def test_nobody_hides_behind_rows_of_weight_zero(sums: list[int]) -> None:
    parts: list[dict[str, Any]] = [
        table | {"w": [0.5] * len(table["y"])} for table in tables([10, 12, 10], 2)
    ]
    parts[1]["w"] = [0.0, 0, 0, *parts[1]["w"][3:]]
    says = "'east' has 9 rows without 3 of weight zero, and a party needs at least 10"
    with pytest.raises(DataError, match=says):
        titan.fit(parts, NET, formula="y ~ a0", weights="w")
    with pytest.raises(DataError, match=says):
        titan.ridge(parts, NET, formula="y ~ a0", alpha=1.0, weights="w")
    assert sums == []
    titan.fit(parts, NET, formula="y ~ a0", weights="w", allow_small=True)
    parts[1]["w"][0] = 1e-9
    assert titan.fit(parts, NET, formula="y ~ a0", weights="w").nobs == 32


# -- the rows of all --------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("way", WAYS)
def test_too_many_parameters_are_refused_before_the_sums(
    way: Callable[..., Any], recovery: str, engine: str, sums: list[int]
) -> None:
    choices = {"engine": engine, "recovery": recovery}
    with pytest.raises(DataError, match="32 rows in all for 11 parameters, where at least 33"):
        way([10, 11, 11], 11, **choices)
    with pytest.raises(DataError, match=r"weighs? more than one of 3 in the"):
        way([11, 11, 11], 11, **choices)
    assert sums == [], "what lies in one place is looked at before any sum"
    way([40, 40, 40], 11, **choices)
    assert sums == [FIRST, SECOND]


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_nor_is_the_sum_for_robust_errors_begun(kind: str, sums: list[int]) -> None:
    with pytest.raises(DataError, match="30 rows in all for 11 parameters"):
        fit([10, 10, 10], 11, cov_type=kind)
    assert sums == []


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("n", [1, 2, 6])
def test_the_fewest_in_all(recovery: Any, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by the messages themselves: all that exist are of the first sum."""
    secrets = [moments_of("a party", part, None) for part in systems([10, 10, 10], n)]
    settings = SumSettings(NET, recovery=recovery, record=True)
    for rows, refused in ((31, True), (30, False)):
        kept = recorded(monkeypatch)
        if refused:
            with pytest.raises(DataError, match="30 rows in all, and 3 parties need at least 31"):
                pool(secrets, settings, Policy(rows=rows))
            ((plan, envelopes),) = kept
            assert plan.ring.bits == FIRST
            assert plan.cost.messages == len(envelopes)
        else:
            pool(secrets, settings, Policy(rows=rows))
            assert len(kept) == (2 if n > 1 else 1)


def test_pool_has_limits_unless_told_otherwise() -> None:
    secrets = [moments_of("a party", part, None) for part in systems([9, 10, 11], 2)]
    with pytest.raises(DataError, match="'north' has 9 rows"):
        pool(secrets, SumSettings(NET))
    pool(secrets, SumSettings(NET), NONE)


# -- in so many words -------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_small_data_may_be_asked_for(way: Callable[..., Any], sums: list[int]) -> None:
    way([2, 3, 3], 3, allow_small=True)
    assert sums == [FIRST, SECOND]
    with pytest.raises(DataError, match="'north' has 2 rows"):
        way([2, 3, 3], 3, allow_small=False)


def test_ridge_may_have_fewer_rows_than_coefficients(sums: list[int]) -> None:
    assert len(ridge([2, 2, 2], 9, allow_small=True).params) == 9
    with pytest.raises(DataError, match="6 rows in all for 9 coefficients"):
        fit([2, 2, 2], 9, allow_small=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("word", ["no", 1, None])
def test_anything_but_yes_or_no_is_refused(
    way: Callable[..., Any], word: Any, sums: list[int]
) -> None:
    with pytest.raises(PlanError, match=r"allow_small=.* is neither True nor False"):
        way([40, 40, 40], 2, allow_small=word)
    assert sums == []


def test_one_table_is_shown_to_nobody() -> None:
    (table,) = tables([4], 2)
    assert titan.fit(table, formula="y ~ a0").nobs == 4
    assert titan.ridge(table, formula="y ~ a0", alpha=1.0).rows == 4
    with pytest.raises(PlanError, match="allow_small without a network"):
        titan.fit(table, formula="y ~ a0", allow_small=True)
    with pytest.raises(PlanError, match="allow_small without a network"):
        titan.ridge(table, formula="y ~ a0", alpha=1.0, allow_small=True)


# -- levels of a category ---------------------------------------------------------------------


LEVELS = "y ~ a0 + C(g, levels=['u', 'v', 'w'])"


def marked(*rare: tuple[str, int], rows: int = 12, rest: str = "uvw") -> list[dict[str, Any]]:
    """Tables with so many rows of some levels, spread over the parties, and the rest of others."""
    letters = [letter for letter, count in rare for _ in range(count)]
    letters += [rest[i // 3 % len(rest)] for i in range(3 * rows - len(letters))]
    return [table | {"g": letters[at::3]} for at, table in enumerate(tables([rows, rows, rows], 2))]


def test_counts_of_levels_are_those_of_the_rows() -> None:
    """The base level, which has no column, and levels of two categories together, too."""
    parts = [
        table | {"h": ["mf"[i % 4 == 0] for i in range(12)]}
        for table in marked(("v", 7), rest="uw")
    ]
    g = [letter for table in parts for letter in table["g"]]
    h = [letter for table in parts for letter in table["h"]]
    both = "C(g, levels=['u', 'v', 'w']) + C(h, levels=['m', 'f'])"
    crossed = "C(h, levels=['m', 'f']):C(g, levels=['u', 'v', 'w'])"
    for formula, more in {f"y ~ a0 + {both}": "", f"y ~ {both} + {crossed}": "vw"}.items():
        model = Model(formula)
        pooled = sum(np.array(collect(t, model).moments.matrix().tolist(), object) for t in parts)
        counts = model.level_counts([Fraction(int(x)) for x in np.diagonal(pooled)[:-1]], 36)
        expected = {"C(g)[u]": g.count("u"), "C(h)[m]": h.count("m"), "C(h)[T.f]": h.count("f")}
        expected |= {f"C(g)[T.{letter}]": g.count(letter) for letter in "vw"}
        for letter in more:
            count = sum(pair == (letter, "f") for pair in zip(g, h, strict=True))
            expected[f"C(h)[T.f]:C(g)[T.{letter}]"] = count
        assert counts == expected
    assert Model("y ~ a0").level_counts([Fraction(36), Fraction(5)], 36) == {}
    assert Model(LEVELS, weights="w").level_counts([Fraction(1)] * 4, 36) == {}


@pytest.mark.parametrize(
    ("level", "rest", "named"),
    [("v", "uw", "g = v"), ("u", "vw", "g = u")],
)
@pytest.mark.parametrize("way", ["fit", "ridge"])
def test_a_level_of_very_few_rows_is_refused_before_any_number_leaves(
    way: str, level: str, rest: str, named: str, sums: list[int]
) -> None:
    more = {"alpha": 1.0} if way == "ridge" else {}
    run: Any = getattr(titan, way)
    for few in (1, 2):
        said = rf"{named} holds for {few} rows? in all, and what occurs needs at least 3"
        with pytest.raises(DataError, match=said) as refused:
            run(marked((level, few), rest=rest), NET, formula=LEVELS, **more)
        assert refused.value.hint.startswith("merge levels, choose wider cells, or leave the")
        assert sums == [], "no sum was begun"
        run(marked((level, few), rest=rest), NET, formula=LEVELS, allow_small=True, **more)
        sums.clear()
    run(marked((level, 9), rest=rest), NET, formula=LEVELS, **more)
    assert sums == [FIRST, SECOND]


def test_a_level_that_nobody_has_and_weights_are_no_small_count() -> None:
    parts = marked(rest="uv")
    assert titan.ridge(parts, NET, formula=LEVELS, alpha=1.0).rows == 36
    weighted = [table | {"t": [0.05] * 12} for table in marked()]
    assert titan.fit(weighted, NET, formula=LEVELS, weights="t").nobs == 36


def test_a_study_s_level_may_be_as_rare_as_its_party_is_small() -> None:
    assert [study(min_rows_party=n).release.rows_per_cell for n in (1, 2, 3, 10)] == [1, 2, 3, 3]
    study(min_rows_party=1).release.check_cells({"g = u": 1})
    with pytest.raises(DataError, match="g = u holds for 1 row in all") as refused:
        study().release.check_cells({"g = u": 1})
    first, last = refused.value.hint.split("; ")
    assert last.endswith("agree on a study that asks for fewer (min_cell)"), "the limit it is"
    with pytest.raises(DataError) as refused:
        study().release.check_own(2, "north")
    assert refused.value.hint.endswith("(min_rows_party)")
    assert last.startswith("as a last resort, "), "not one way among several"
    assert first == "merge levels, choose wider cells, or leave the column out"


@pytest.mark.parametrize("way", ["fit", "ridge"])
def test_a_cell_needs_two_parties_beside_the_curious_as_in_a_study(way: str) -> None:
    """Where two of three have a level, each sees the other's sums; tau says who may look."""
    rows = [
        {**table, "g": ["a", "b" if at < 2 else "a"] * 10}
        for at, table in enumerate(tables([20, 20, 20], 2))
    ]
    model: dict[str, Any] = {"formula": 'y ~ a0 + C(g, levels=["a", "b"])'}
    ask = titan.fit if way == "fit" else partial(titan.ridge, alpha=1.0)
    assert ask(rows, NET, **model).params is not None
    with pytest.raises(ReleaseError, match="g = b holds in the rows of 2 parties only, where at"):
        ask(rows, NET, tau=1, **model)
    assert ask(rows, NET, tau=1, allow_small=True, **model).params is not None
