"""Invariant: in a study, outcomes, counts, exposures and offsets that are not what they must be are
refused at home; events and non-events of every level are counted before anything else is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.release.asking import Ended, ask, study_of
from tests.release.steps_opened import glm
from titan.errors import DataError
from titan.moments import open_source
from titan.release import Category, Dictionary, Flag, Number

KNOWN = Dictionary.of(
    {
        "x": Number.read("0", "100", "0.1"),
        "group": Category(("a", "b")),
        "died": Flag(),
        "visits": Number.read("0", "50", "1"),
        "days": Number.read("1", "400", "1"),
        "o": Number.read("-2", "2", "0.01"),
    }
)
LOGISTIC = glm("died ~ x + group")
VISITS = glm("visits ~ x + group", family="poisson")
Table = dict[str, list[Any]]


def people(change: Callable[[Table], None] = lambda _: None) -> dict[str, Table]:
    rng, rows = np.random.default_rng(1), 300
    table: Table = {
        "x": np.round(rng.uniform(0, 100, rows), 1).tolist(),
        "group": [str(each) for each in rng.choice(["a", "b"], rows)],
        "died": (rng.random(rows) < 0.4).astype(int).tolist(),
        "visits": rng.poisson(3, rows).tolist(),
        "days": rng.integers(10, 390, rows).tolist(),
        "o": np.round(rng.normal(0, 0.3, rows), 2).tolist(),
    }
    change(table)
    return {name: {key: values[at::3] for key, values in table.items()}
            for at, name in enumerate(("north", "east", "south"))}  # fmt: skip


def with_cell(column: str, value: Any) -> dict[str, Table]:
    """In the second row of the first party."""

    def change(table: Table) -> None:
        table[column][3] = value

    return people(change)


def with_outcomes(name: str, outcome: Callable[[int, str, int], int]) -> dict[str, Table]:
    """From the row, its group, and how many of the group came before."""

    def change(table: Table) -> None:
        seen = {"a": 0, "b": 0}
        for row, group in enumerate(table["group"]):
            table[name][row] = outcome(row, group, seen[group])
            seen[group] += 1

    return people(change)


@pytest.mark.parametrize(
    ("asked", "column", "value"),
    [
        (LOGISTIC, "died", 2),
        (LOGISTIC, "died", 0.5),
        (LOGISTIC, "died", -1),
        (VISITS, "visits", -1),
        (glm("visits ~ x", family="poisson", exposure="days"), "days", -3),
        (glm("visits ~ x", family="poisson", exposure="days"), "days", 0),
        (glm("died ~ x + group", offset="o"), "o", 900),
    ],
)
def test_what_is_outside_is_a_veto_before_anything_is_opened(
    asked: Any, column: str, value: Any
) -> None:
    ended = ask(with_cell(column, value), KNOWN, asked)
    assert ended.vetoed
    assert ended.opened == ()
    assert {name: refusal.rule for name, refusal in ended.owners.items()} == {"north": "range"}
    assert str(value) not in str(ended.owners["north"]).split("row 1")[-1].split("(")[0]


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_offsets_that_are_not_finite_are_told_at_home(value: float) -> None:
    with pytest.raises(DataError, match=r"infinite|missing"):
        ask(with_cell("o", value), KNOWN, glm("died ~ x + group", offset="o"))


def test_a_count_between_whole_numbers_is_put_on_the_grid_and_its_owner_is_told() -> None:
    parties = with_cell("visits", 1.5)
    meeting = study_of(parties, KNOWN, VISITS).meeting
    assert meeting.prepare(open_source(parties["north"]))["q1"].rounded == {"visits": 1}


def refused(parties: dict[str, Table], asked: Any) -> Ended:
    ended = ask(parties, KNOWN, asked)
    assert ended.opened == ("counts",)
    return ended


@pytest.mark.parametrize(
    ("asked", "name", "outcome", "cell"),
    [
        (LOGISTIC, "died", lambda n, g, k: int(k < 2) if g == "b" else n % 2, "died = 1"),
        (LOGISTIC, "died", lambda n, g, k: int(k >= 2) if g == "b" else n % 2, "died = 0"),
        (VISITS, "visits", lambda n, g, k: int(k < 2) if g == "b" else n % 4, "visits > 0"),
        (VISITS, "visits", lambda n, g, k: int(k >= 2) if g == "b" else n % 4, "visits = 0"),
    ],
    ids=["few events", "few non-events", "few with a count", "few without"],
)
def test_events_and_non_events_of_every_level_are_counted_first(
    asked: Any, name: str, outcome: Any, cell: str
) -> None:
    """Two persons of the level: their scores and Hessians would be theirs alone."""
    found = refused(with_outcomes(name, outcome), asked).refused
    assert found is not None
    assert (found.rule, found.cell) == ("cells", f"group = b, {cell}")


def test_all_events_in_one_party_are_refused_by_rule_and_answered_if_that_is_lowered() -> None:
    """Below others' rows a party's events are its own: so many parties are needed to hide them."""
    parties = with_outcomes("died", lambda n, g, k: n // 3 % 2 if n % 3 == 0 else 0)
    found = refused(parties, glm("died ~ x")).refused
    assert found is not None
    assert (found.rule, found.cell) == ("cell_parties", "died = 1")
    ended = ask(parties, KNOWN, glm("died ~ x"), min_cell=0, min_cell_parties=1)
    assert ended.refused is None
    assert ended.states[0].answer.nobs == 300


@pytest.mark.parametrize(("value", "words"), [(0, "no events at all"), (1, "1 in all rows")])
def test_outcomes_that_do_not_vary_end_with_the_counts(value: int, words: str) -> None:
    ended = ask(with_outcomes("died", lambda n, g, k: value), KNOWN, LOGISTIC)
    assert ended.refused is None
    assert words in str(ended.states[0].error)
    assert ended.opened == ("counts",)
