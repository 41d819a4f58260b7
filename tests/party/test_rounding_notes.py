"""Whose values were put on the study's grid is told how many, once for all questions."""

from __future__ import annotations

from tests.study.studies import regression, study
from titan.moments import open_source
from titan.party.preparing import prepare, rounding_notes
from titan.release import Dictionary, Number
from titan.study.row_digests import RowKey

COLUMNS = Dictionary.of({"age": Number.read("0", "120", "1"), "y": Number.read("0", "9", "0.5")})


def test_the_owner_is_told() -> None:
    it = study(columns=COLUMNS, questions=(regression("y ~ age"), regression("y ~ 1")))
    rows = open_source({"age": ["40.2", "41", "42"] * 10, "y": ["1.25", "2.2", "3.0"] * 10})
    parts, _ = prepare(it, 1, rows, RowKey(b"k" * 32))
    assert rounding_notes(it, parts) == [
        "10 values of age were rounded to the study's steps of 1",
        "20 values of y were rounded to the study's steps of 0.5",
    ]


def test_nothing_is_told_where_nothing_was_done() -> None:
    it = study(columns=COLUMNS, formula="y ~ age")
    rows = open_source({"age": [40, 41, 42] * 10, "y": [1.5, 2.0, 3.0] * 10})
    parts, _ = prepare(it, 1, rows, RowKey(b"k" * 32))
    assert rounding_notes(it, parts) == []
