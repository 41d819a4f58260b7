"""Invariant: what a party's risk sets are like is counted with all else, the same however its rows
are read, and comes back from the sum over parties; its owner is told what hides nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titan.joint.cox_rows import EndsAtRisk
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.party.own_rows import look
from titan.release import Dictionary, Flag, Number, Time
from titan.release.cells import CellCounts
from titan.release.risk_set_counts import RiskSetCounts
from titan.release.sent_counts import SentCounts

from .asking import study_of

COLUMNS = Dictionary.of(
    {
        "months": Time.read("0", "60", "1", "months"),
        "died": Flag(),
        "x": Number.read("0", "20", "1"),
        "y": Number.read("0", "20", "1"),
    }
)
ASKED = Question("cox", "hr", (("formula", "x + y"), ("time", "months"), ("event", "died")))
CELLS = RiskSetCounts.beside(CellCounts(), ("x", "y", "z"))


def rows(seed: int) -> dict[str, list[int]]:
    """Who has another y than 7 leaves before the first event."""
    rng = np.random.default_rng(seed)
    early = rng.random(50) < 0.3
    return {
        "months": np.where(early, rng.integers(1, 10, 50), rng.integers(10, 60, 50)).tolist(),
        "died": (~early & (rng.random(50) < 0.5)).astype(int).tolist(),
        "x": rng.integers(0, 20, 50).tolist(),
        "y": np.where(early, rng.integers(0, 20, 50), 7).tolist(),
    }


def computation() -> Any:
    return study_of({"a": rows(1), "b": rows(2), "c": rows(3)}, COLUMNS, ASKED).meeting.computation(
        "hr"
    )


def test_only_rows_that_are_at_risk_count() -> None:
    asked, own = computation(), rows(1)
    part = asked.prepare(open_source(own))
    told = dict(asked.cells.parties(part.counts))
    at_risk = {name: n for name, n in told.items() if name.startswith("that ")}
    assert list(at_risk.values()) == [1, 0, 0], "x, x and y, y"
    assert dict(asked.cells.spread(part.counts)) == {"x": 1, "y": 1}, "among all rows both vary"
    own["months"][own["y"].index(next(y for y in own["y"] if y != 7))] = max(own["months"])
    part = asked.prepare(open_source(own))
    assert [n for name, n in asked.cells.parties(part.counts) if name in at_risk] == [1, 1, 1]


def test_rows_that_are_read_again_say_the_same() -> None:
    asked, source = computation(), open_source(rows(2))
    part = asked.prepare(source)
    reading = EndsAtRisk(asked.rows, asked.times, part.timeline)
    assert reading.differ(part.kept, source) == reading.differ(None, source) == [True, False]


def test_the_owner_is_told_what_hides_nobody() -> None:
    own = {"a": rows(1), "b": rows(2), "c": rows(3)}
    notes = look(study_of(own, COLUMNS, ASKED), own["a"]).notes
    assert any("the same in all of your rows at risk, at every event: y." in n for n in notes)
    own["a"]["months"] = rows(4)["months"][::-1]
    notes = look(study_of(own, COLUMNS, ASKED), own["a"]).notes
    assert not any("at every event" in note for note in notes)


def test_sums_over_parties_come_back() -> None:
    parties = [
        CELLS.with_risk_sets(CELLS.of_party([40]), differs, times)
        for differs, times in (
            ([True, True, False], 1.2), ([True, False, False], 9.6), ([True, True, True], 70.0),
        )
    ]  # fmt: skip
    sent = SentCounts(CELLS, 3)
    numbers = [sum(each) for each in zip(*map(sent.numbers, parties), strict=True)]
    pooled = sent.counts(numbers)
    assert pooled == [sum(each) for each in zip(*parties, strict=True)]
    assert [n for _, n in CELLS.parties(pooled)] == [3, 2, 1, 2, 1, 1]
    assert pooled[-5:] == [2, 2, 2, 1, 1]
    assert CELLS.possible(pooled, 3)
    assert not CELLS.possible([*pooled[:-1], 2], 3), "more at 32 times than at 16"
    assert not CELLS.possible([*pooled[:-6], 4, *pooled[-5:]], 3)


@pytest.mark.parametrize(
    ("counts", "parties", "most"),
    [
        ([1, 1, 1, 1, 1], 2, 1),
        ([2, 1, 1, 1, 1], 2, 3),
        ([3, 3, 2, 1, 0], 2, 15),
        ([3, 3, 2, 1, 0], 3, 7),
        ([3, 3, 3, 3, 2], 2, None),
    ],
)
def test_so_many_times_have_enough_parties(
    counts: list[int], parties: int, most: int | None
) -> None:
    assert CELLS.most_times([100, *[0] * 6, *counts], parties) == most
