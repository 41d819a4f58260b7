"""Invariant: cells of numbers with few values are counted where a term multiplies these."""

from __future__ import annotations

import pytest

from tests.release.hostile import KNOWN, ask, asked_of, stated, tables
from titan.release import Dictionary, Flag
from titan.release.model_cells import cells_of
from titan.release.sent_counts import SentCounts


@pytest.mark.parametrize(
    "formula", ["I(a*(a-1)*b*(b-1)*pressure) ~ pressure", "y ~ a*b", "y ~ I(a*a*b*b)", "I(a*b) ~ y"]
)
def test_the_two_patients_in_a_corner_of_a_table(formula: str) -> None:
    parties = tables()
    for table in parties:
        table["b"][(table["a"] == 2) & (table["b"] == 2)] = 1
    parties[1]["a"][[3, 9]] = parties[1]["b"][[3, 9]] = 2
    seen = asked_of(stated(KNOWN, ask("regression", formula=formula)), parties)
    assert seen.error is not None
    assert "a = 2, b = 2 holds for 2 rows" in str(seen.error)
    assert not seen.totals


def test_where_all_corners_have_rows_they_may_be_multiplied() -> None:
    assert asked_of(stated(KNOWN, ask("regression", formula="y ~ a*b")), tables()).error is None


def test_tables_of_many_flags_are_found_without_comparing_all_with_all() -> None:
    """Which took minutes."""
    known = Dictionary.of({f"f{at}": Flag() for at in range(150)} | {"y": KNOWN["y"]})
    model = known.model("y ~ " + " + ".join(f"f{at}" for at in range(150)))
    cells = cells_of(model, known)
    assert len(cells.tables) == 150 * 149 // 2
    own = cells.of_party([5] * cells.of_rows + [0, 1] * len(cells.varying))
    sent = SentCounts(cells, 4)
    assert sent.counts(sent.numbers(own))[cells.of_rows :] == own[cells.of_rows :]
