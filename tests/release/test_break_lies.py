"""Invariant: a party that enters what no rows can have gets an error out of everybody, at once.

Negative counts ended in a mistake of the program at all parties; a Gram matrix with a negative
square kept them busy for minutes; a negative bᵀb was fitted.
"""

from __future__ import annotations

import pytest

from tests.release.hostile import KNOWN, ask, asked_of, number, stated, tables
from titan.errors import DataError, ReleaseError

MANY = {f"x{at}": number(0, 250) for at in range(30)}


@pytest.mark.parametrize("entry", range(1, 10))
@pytest.mark.parametrize("more", [-1000, 1000])
def test_counts(entry: int, more: int) -> None:
    parties = tables()
    for table in parties:
        table["flag"][::2] = 0
    study = stated(KNOWN, ask("regression", formula="y ~ flag * log(age + 1) + pressure"))
    seen = asked_of(study, parties, lies={0: (entry, more)})
    assert isinstance(seen.error, ReleaseError)
    assert seen.error.rule == "counts"
    assert not seen.totals


@pytest.mark.parametrize("entry", range(1, 7))
def test_counts_of_a_description(entry: int) -> None:
    study = stated(KNOWN, ask("describe", columns=("age", "flag"), bins=("age=0:120:60",)))
    seen = asked_of(study, tables(), lies={0: (entry, -1000)})
    assert isinstance(seen.error, ReleaseError)
    assert seen.error.rule == "counts"


def test_squares_of_a_description() -> None:
    study = stated(KNOWN, ask("describe", columns=("age",)))
    (state,) = asked_of(study, tables(), lies={1: (1, -(10**7))}).answers
    assert "not those of any rows" in str(state.error)


@pytest.mark.parametrize("entry", [0, 2, 1])
def test_the_gram_matrix(entry: int) -> None:
    parties = tables()
    for table in parties:
        table |= {name: (table["y"] * (7 + at)) % 251 for at, name in enumerate(MANY)}
    formula = "y ~ " + " + ".join(MANY)
    study = stated(KNOWN | MANY, ask("regression", formula=formula))
    seen = asked_of(study, parties, lies={1: (entry, 10**12 if entry == 1 else -(10**12))})
    assert isinstance(seen.error, DataError)
    assert "not those of any rows" in str(seen.error)
    assert len(seen.totals) == 2


def test_the_squares_of_the_response() -> None:
    study = stated(KNOWN, ask("regression", formula="y ~ age + pressure"))
    (state,) = asked_of(study, tables(), lies={2: (3, -(10**9))}).answers
    assert "a residual sum of squares below zero" in str(state.error)
