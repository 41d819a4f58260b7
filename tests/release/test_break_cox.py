"""Invariant: what the steps of proportional hazards open is neither a party's own numbers at risk,
nor the table behind them.

Each attack here found what it looks for before these steps were counted. Some are given what no
party knows (`hazards_opened`): what they do not find, nobody does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titan.release import Dictionary, Flag, Number, Time

from .asking import ask
from .hazards_opened import Party, attacked, cox, drawn, known, numbers_at_risk, numbers_at_zero
from .steps_opened import ask_steps

NAMES = "north", "east", "south"
FLAGS = Dictionary.of({"arm": Flag(), "months": Time.read("0", "60", "1"), "died": Flag()})


def trial(seed: int, sizes: tuple[int, ...] = (60, 50, 55)) -> dict[str, Any]:
    """Of each party its rows with one of two arms."""
    rng, found = np.random.default_rng(seed), {}
    for name, rows, share in zip(NAMES, sizes, (0.5, 0.4, 0.6), strict=True):
        arm = (rng.random(rows) < share).astype(int)
        months = np.ceil(rng.exponential(30 / np.exp(0.7 * arm)))
        died = (months <= 60) & (rng.random(rows) < 0.7)
        found[name] = {
            "arm": arm.tolist(),
            "months": np.minimum(months, 60).astype(int).tolist(),
            "died": died.astype(int).tolist(),
        }
    return found


# -- a party's own numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_others_have_at_risk_in_each_arm_is_not_found(seed: int) -> None:
    """With one interval, at the usual 24 bits, north found it of east and south: it tried all."""
    parties, asked = trial(seed), cox("arm", 60, ties="breslow")
    free, steps = ask_steps(parties, FLAGS, asked, limited=False)
    assert free.refused is None
    truth, pooled, events = at_risk(parties)
    found = numbers_at_risk(steps, truth[0], pooled, events)
    assert sorted(found) == sorted(truth[1:])
    ended, steps = ask_steps(parties, FLAGS, asked)
    assert ended.refused is not None
    assert (ended.refused.rule, ended.opened, steps) == ("bits", ("counts",), [])
    assert "a finer grid of times" in str(ended.refused.hint)


def test_nor_beside_another_number() -> None:
    """At 0 the entries of a flag tell of it alone, and the likelihood of rows and events."""
    parties, asked = trial(1), cox("age + arm", 60, ties="breslow")
    rng = np.random.default_rng(7)
    for own in parties.values():
        own["age"] = rng.integers(20, 90, len(own["arm"])).tolist()
    columns = Dictionary.of({**FLAGS, "age": Number.read("0", "120", "1")})
    free, steps = ask_steps(parties, columns, asked, limited=False)
    assert free.refused is None
    truth, pooled, events = at_risk(parties)
    found = numbers_at_zero(steps, 1, truth[0], pooled, events)
    assert set(truth[1:]) <= set(found)
    assert len(found) <= 4
    ended = ask(parties, columns, asked)
    assert ended.refused is not None
    assert (ended.refused.rule, ended.refused.cell) == ("bits", "rows at each months, by arm")


def at_risk(parties: dict[str, Any]) -> tuple[list[Any], list[int], int]:
    """What each party has: rows without and with the flag, and events; their sums; events of the
    flag."""
    arms = {name: np.array(own["arm"]) for name, own in parties.items()}
    died = {name: np.array(own["died"]) for name, own in parties.items()}
    each = [(int((arms[n] == 0).sum()), int((arms[n] == 1).sum()), int(died[n].sum()))
            for n in NAMES]  # fmt: skip
    pooled = [sum(x) for x in zip(*each, strict=True)]
    return each, pooled, sum(int((arms[n] * died[n]).sum()) for n in NAMES)


def test_on_a_fine_grid_the_same_trial_is_answered() -> None:
    ended = ask(trial(1, (160, 150, 155)), FLAGS, cox("arm", 1))
    assert ended.refused is None
    fit = ended.states[0].answer
    assert fit.opened.problem.bits == 24
    assert fit.digits >= 4


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "grid", "sizes", "precision"),
    [
        (31, 60, (60, 70, 12), 40),
        (21, 60, (60, 70, 12), 40),
        (21, 30, (60, 70, 12), 40),
        (15, 60, (79, 116, 12), 24),
    ],
)
def test_the_rows_of_a_party_at_every_value_are_not_found(
    values: int, grid: int, sizes: tuple[int, ...], precision: int
) -> None:
    """All of them were, by who knows the other parties' rows and Σw and Σwa of every risk set."""
    parties, asked = drawn(1, sizes, values), cox("x", grid, ties="breslow", precision=precision)
    free, steps = ask_steps(parties, known(values), asked, limited=False)
    assert free.refused is None
    own = {name: Party.of(rows, grid) for name, rows in parties.items()}
    secret = own["east"].table(values)
    others = [own["north"], own["south"]]
    assert attacked(steps, own["east"], others, values) == len(secret)
    ended, steps = ask_steps(parties, known(values), asked)
    if ended.refused is None:
        assert attacked(steps, own["east"], others, values) < 0.8 * len(secret)
    else:
        assert (ended.refused.rule, ended.opened) == ("bits", ("counts",))


def test_who_has_nearly_all_rows_takes_care_of_the_others() -> None:
    """With 600 rows of its own in one interval, north would see 16 bits of the 82 of others."""
    ended = ask(drawn(1, (600, 70, 12), 51), known(51), cox("x", 60))
    assert ended.vetoed
    assert set(ended.owners) == {"north"}
    assert ended.owners["north"].rule == "bits"
    assert "the 82 rows that are left without this party's own" in str(ended.owners["north"])
    assert ended.opened == ("counts", "regressors")
    fewer = ask(drawn(1, (600, 70, 12), 51), known(51), cox("x", 60, precision=10))
    assert fewer.refused is None


def test_who_has_all_events_at_one_time_says_so_by_a_veto() -> None:
    """All take times to be spread over the grid: with one alone it is as if it had one interval."""
    parties = drawn(1, (60, 70, 65), 31)
    spread = ask(parties, known(31), cox("x", 1))
    assert spread.refused is None
    for own in parties.values():
        own["months"] = [12 if died else 60 for died in own["died"]]
    ended = ask(parties, known(31), cox("x", 1))
    assert ended.vetoed
    assert {refusal.rule for refusal in ended.owners.values()} == {"bits"}
    assert ended.opened == ("counts", "regressors")


def test_a_small_party_whose_events_come_together_is_hidden_by_others() -> None:
    parties = drawn(1, (200, 200, 30), 31)
    own = parties["south"]
    own["months"] = [12 if died else 60 for died in own["died"]]
    assert ask(parties, known(31), cox("x", 1)).refused is None


def test_a_number_of_few_values_is_counted_by_time_all_the_same() -> None:
    """Its cells are known; how many of them leave when, at each party, is not."""
    columns = Dictionary.of(
        {"x": Number.read("0", "3", "1"), "months": Time.read("0", "60", "1"), "died": Flag()}
    )
    parties = drawn(2, (100, 110, 120), 4)
    ended = ask(parties, columns, cox("x", 60))
    assert ended.refused is not None
    assert (ended.refused.rule, ended.opened) == ("bits", ("counts",))
    assert ask(parties, columns, cox("x", 1)).refused is None
