"""Invariant: counts come back from the numbers that are sent, also added up over parties."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.release.cells import CellCounts, Cut, Digits, Table
from titan.release.sent_counts import SentCounts


@st.composite
def cells(draw: st.DrawFn) -> CellCounts:
    """Some tables of up to four cuts, each table in an order of its own."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    cuts = [Cut(f"c{at}", tuple(f"c{at} = {n}" for n in range(size)))
            for at, size in enumerate(sizes)]  # fmt: skip
    sets = [chosen for size in (1, 2, 3) for chosen in combinations(cuts, size)]
    chosen = draw(st.lists(st.sampled_from(sets), min_size=1, max_size=5, unique=True))
    tables = tuple(Table(tuple(draw(st.permutations(each)))) for each in chosen)
    held = tuple(Table(each.cuts[:1]) for each in tables[:2])
    digits = tuple(Digits("x", 0, step, step) for step in (2, 5))[: draw(st.integers(0, 2))]  # type: ignore[arg-type]
    return CellCounts(tables, digits, held, "w", draw(st.booleans()))


def counted(counts: CellCounts, rng: np.random.Generator) -> list[int]:
    """Of rows at random, as a party counts them."""
    names = dict.fromkeys(cut for table in counts.tables for cut in table.cuts)

    def tables(rows: int) -> list[int]:
        codes = {cut: rng.integers(0, len(cut.labels), rows) for cut in names}
        found = []
        for table in counts.tables:
            grid = np.zeros(table.shape, int)
            np.add.at(grid, tuple(codes[cut] for cut in table.cuts), 1)
            found += grid.ravel().tolist()
        return found

    rows, none = (int(rng.integers(0, 40)) for _ in range(2))
    apart = [none, *tables(none)] if counts.weightless else []
    digits = [int(rng.integers(0, rows + 1)) for _ in counts.digits]
    return counts.of_party([rows + len(apart[:1]) * none, *tables(rows), *apart, *digits])


@given(cells(), st.integers(2, 9), st.integers(0, 2**32))
def test_they_come_back(counts: CellCounts, parties: int, seed: int) -> None:
    rng, sent = np.random.default_rng(seed), SentCounts(counts, parties)
    own = [counted(counts, rng) for _ in range(parties)]
    pooled = [sum(each) for each in zip(*own, strict=True)]
    numbers = [sent.numbers(each) for each in own]
    assert {len(each) for each in numbers} == {sent.entries}
    assert sent.counts([sum(each) for each in zip(*numbers, strict=True)]) == pooled
    assert counts.possible(pooled, parties)


def test_of_five_flags_by_twos_sixteen_numbers_are_sent() -> None:
    """Not the 41 of ten tables of four."""
    flags = [Cut(name, (f"{name} = 0", f"{name} = 1")) for name in "abcde"]
    counts = CellCounts(tuple(Table(pair) for pair in combinations(flags, 2)))
    assert counts.of_rows == 41
    assert SentCounts(counts, 4).entries == 1 + 5 + 10


@pytest.mark.parametrize("lie", [1, -1, 1 << 40, -(1 << 40)])
@pytest.mark.parametrize("at", range(1, 4))
def test_what_no_rows_have_is_seen(at: int, lie: int) -> None:
    """Ten rows in one cell of a table of four: one more in a margin leaves less than none."""
    flags = [Cut(name, (f"{name} = 0", f"{name} = 1")) for name in "ab"]
    counts = CellCounts((Table((flags[0], flags[1])),))
    sent = SentCounts(counts, 4)
    numbers = sent.numbers([10, 10, 0, 0, 0])
    assert counts.possible(sent.counts(numbers), 4)
    numbers[at] += lie
    possible = counts.possible(sent.counts(numbers), 4)
    assert possible == (lie == 1 and at < 3), "rows may have been in another cell"
