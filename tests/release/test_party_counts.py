"""Invariant: counts of parties that stand side by side in one number add up as they would apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.release.party_counts import BITS, apart, numbers_for, together


@given(st.data(), st.integers(1, 10_000), st.integers(0, 100))
def test_they_add_up(data: st.DataObject, parties: int, counts: int) -> None:
    expected = data.draw(st.lists(st.integers(0, parties), min_size=counts, max_size=counts))
    half = [n // 2 for n in expected]
    rest = [n - m for n, m in zip(expected, half, strict=True)]
    pairs = zip(together(half, parties), together(rest, parties), strict=True)
    total = [one + other for one, other in pairs]
    assert len(total) == numbers_for(counts, parties)
    assert all(0 <= number < 1 << BITS for number in total)
    assert apart(total, counts, parties) == expected


@pytest.mark.parametrize("wrong", [-1, 1 << 12, 1 << 40])
def test_what_no_parties_add_up_to_is_seen(wrong: int) -> None:
    """Four parties have three bits each: a number beyond its counts leaves one that is too high."""
    found = apart([wrong], 4, 4)
    assert len(found) == 4
    assert max(found) > 4 or min(found) < 0
