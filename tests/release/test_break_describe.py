"""Invariant: a Table 1 tells no sum of fewer than k values of anybody's, nor a count in between."""

from __future__ import annotations

import numpy as np
import pytest

from tests.release.hostile import KNOWN, ask, asked_of, stated, tables
from titan.errors import InputError, VetoError


@pytest.mark.parametrize("values", [1, 2])
def test_the_only_value_of_the_others_is_not_summed(values: int) -> None:
    """One party has all values but one, and could take its own out of Σx."""
    parties = tables()
    for table in parties[1:]:
        table["y"][:] = np.nan
    parties[0]["y"][:] = 20 * (parties[0]["y"] // 20)  # whose last digits are no matter
    parties[1]["y"][:values] = 180
    study = stated(KNOWN, ask("describe", columns=("age", "y")), min_cell_parties=1)
    seen = asked_of(study, parties)
    assert isinstance(seen.error, VetoError)
    north = seen.refusals["north"]
    assert (north.rule, north.cell) == ("cells", "y is there")
    assert len(seen.totals) == 1


def test_a_column_that_all_have_enough_of_is_described() -> None:
    parties = tables()
    parties[1]["y"][:5] = np.nan
    assert asked_of(stated(KNOWN, ask("describe", columns=("age", "y"))), parties).error is None


def test_two_histograms_do_not_count_what_lies_between_their_edges() -> None:
    questions = [
        ask("describe", f"d{high}", columns=("age",), bins=(f"age=0:{high}:{high}",))
        for high in (76, 77)
    ]
    with pytest.raises(InputError, match="two histograms of 'age'"):
        stated(KNOWN, *questions)
    stated(KNOWN, questions[0], ask("describe", "again", columns=("age",), bins=("age=0:76:76",)))
