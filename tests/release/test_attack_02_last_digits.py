"""Attack 2: three parties weigh in kilograms to 0.1, the fourth holds pounds times 0.45359237.

Pooled sums are whole tenths of a kilogram, but for what the fourth has put in. So their digits
below 0.1 are its own: of Σw they tell how many pounds it has, and with them its own Σw; and so on.

Invariant: on the grid of a study nobody's last digits stand alone. Values between grid points are
rounded by their owner; with a step so fine that one party's values alone need it, the counts stop
the study before any number leaves.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import Ended, ask
from titan.leastsquares import PooledMoments
from titan.moments import open_source
from titan.party.preparing import rounding_notes
from titan.release import Dictionary
from titan.release.dictionary import Number

POUND = Decimal("0.45359237")
UNIT = 10**8
"""Of the digits: those of a pound."""
FORMULA = "y ~ w + age"
NAMES = "north", "east", "south", "west"


def rows(name: str, pounds: bool, count: int = 40) -> dict[str, list[Any]]:
    rng = np.random.default_rng(sum(map(ord, name)))
    weights = (
        [int(x) * POUND for x in rng.integers(100, 260, count)]
        if pounds
        else [Decimal(int(x)) / 10 for x in rng.integers(450, 1200, count)]
    )
    ages, y = rng.integers(20, 90, count).tolist(), rng.integers(90, 180, count).tolist()
    return {"w": weights, "age": ages, "y": y}


def everybody(*pounds: str) -> dict[str, dict[str, list[Any]]]:
    return {name: rows(name, name in pounds) for name in NAMES}


def columns(step: str) -> Dictionary:
    whole = {"age": Number.read("0", "120", "1"), "y": Number.read("0", "300", "1")}
    return Dictionary.of({**whole, "w": Number.read("0", "300", step)})


def with_weight(pooled: PooledMoments) -> list[Fraction]:
    """Σw, Σw·age and Σw·y, as they were opened."""
    at = pooled.index("w")
    two = [Fraction(2) ** s for s in pooled.scales]
    gram = [
        Fraction(int(pooled.gram[at, k]), pooled.denominator) * two[at] * two[k]
        for k in map(pooled.index, ("Intercept", "age"))
    ]
    return [*gram, pooled.rhs[at] * two[at]]


def of_pounds(total: Fraction, grid: Decimal = Decimal("0.1")) -> Decimal:
    """What is told of the sum of those who hold pounds, by the digits that are not the others'."""
    modulus = int(UNIT * grid)
    digits = round(total * UNIT) % modulus
    return POUND * (digits * pow(int(UNIT * POUND), -1, modulus) % modulus)


def sums_of(table: dict[str, list[Any]]) -> list[Decimal]:
    w = table["w"]
    return [sum(w)] + [sum(map(Decimal.__mul__, w, map(Decimal, table[n]))) for n in ("age", "y")]


def test_without_a_grid_the_fourths_own_sums_are_there_to_be_read() -> None:
    data = everybody("west")
    out = titan.fit(data, titan.Network.complete(list(NAMES)), formula=FORMULA, tau=1)
    assert [of_pounds(x) for x in with_weight(out.moments)] == sums_of(data["west"])


def test_with_the_step_of_the_scales_there_is_nothing_below_it() -> None:
    """The fourth rounds, and is told how many of its values."""
    data = everybody("west")
    ended = ask(data, columns("0.1"), FORMULA)
    told = with_weight(ended.fit().moments)
    assert [of_pounds(x) for x in told] == [0, 0, 0]
    assert all(10 * x == int(10 * x) for x in told)
    meeting = ended.study.meeting
    for name, note in (("north", []), ("west", ["40"])):
        notes = list(rounding_notes(ended.study, meeting.prepare(open_source(data[name]))))
        assert len(notes) == len(note)
        assert all(n in text for n, text in zip(note, notes, strict=True))


def check_refused(ended: Ended) -> None:
    assert ended.refused is not None
    assert ended.opened == ("counts",), "no number has left"
    reasons = [*ended.owners.values()] if ended.vetoed else [ended.refused]
    assert {reason.rule for reason in reasons} <= {"digits", "cells"}
    assert all((reason.cell or "").startswith("w off steps of") for reason in reasons)
    assert "agree on a coarser step" in reasons[0].hint


@pytest.mark.parametrize("step", ["0.00000001", "0.00001", "0.001", "0.01", "0.02", "0.05"])
@pytest.mark.parametrize("pounds", [("west",), ("west", "south")])
def test_with_a_finer_one_the_counts_stop_it(step: str, pounds: tuple[str, ...]) -> None:
    """With τ = 1, two who hold pounds have nobody to hide from each other's accomplice."""
    check_refused(ask(everybody(*pounds), columns(step), FORMULA))


@pytest.mark.parametrize("step", ["0.0001", "0.00001", "0.00000001"])
def test_nor_does_a_step_help_that_is_finer_than_anybody_s_digits(step: str) -> None:
    """The fourth weighs to 0.01: all lie on coarser grids of 10 steps, and of 100."""
    data = everybody()
    data["west"]["w"] = [x + Decimal(at % 10) / 100 for at, x in enumerate(data["west"]["w"])]
    out = titan.fit(data, titan.Network.complete(list(NAMES)), formula=FORMULA, tau=1)
    last = [round(x * 100) % 10 for x in with_weight(out.moments)]
    assert last == [100 * x % 10 for x in sums_of(data["west"])] != [0, 0, 0]
    check_refused(ask(data, columns(step), FORMULA))


def test_nor_when_it_is_the_others_who_hold_pounds() -> None:
    """The digits tell the sum of their pounds; what is left of the total is the fourth's."""
    data = everybody("north", "east", "south")
    out = titan.fit(data, titan.Network.complete(list(NAMES)), formula=FORMULA, tau=1)
    totals = with_weight(out.moments)
    assert [Decimal(round(x * UNIT)) / UNIT - of_pounds(x) for x in totals] == sums_of(data["west"])
    ended = ask(data, columns("0.00000001"), FORMULA)
    assert ended.vetoed
    assert set(ended.owners) == {"west"}, "who alone knows why"
    check_refused(ended)


def test_who_holds_pounds_like_all_the_others_may_keep_the_digits() -> None:
    assert ask(everybody(*NAMES), columns("0.00000001"), FORMULA).refused is None
    assert ask(everybody(*NAMES[:3]), columns("0.1"), FORMULA).refused is None
