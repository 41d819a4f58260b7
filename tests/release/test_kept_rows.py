"""Invariant: a look at what was kept of own rows ends as a look at the rows themselves.

Rows that are not kept cannot stand out, whatever others add; and what else wants to read rows that
are not there is refused.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.release.shipped import GRUNFELD, HEART, firms, hospitals
from titan.errors import DataError, ReleaseError
from titan.leastsquares.pooled import PooledMoments, exact, integers
from titan.moments import Model, Moments, Source, collect, open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.release.dictionary import Dictionary, Flag, Number
from titan.release.joint_rows import JointRows
from titan.release.kept_rows import KeptRows, check_others, looks_at, named
from titan.release.leverage import own_leverage, pooled_leverage
from titan.release.model_cells import cells_of
from titan.release.orthonormal import orthonormal

KNOWN = Dictionary.of(
    {
        "y": Number.read("-50", "50", "0.5"),
        "a": Number.read("0", "1000", "1"),
        "b": Number.read("0", "1000", "1"),
        "f": Flag(),
        "w": Number.read("1", "9", "1"),
    }
)
FORMULAS = ("y ~ a", "y ~ a + b + f", "y ~ a * f", "b ~ a + I(a**2)", "f ~ a + b")


def tables(seed: int) -> dict[str, Any]:
    """Some rows far out, few in a cell, some missing."""
    rng = random.Random(seed)
    rows = rng.choice([12, 40, 300])
    spread = rng.choice([1, 5, 1000])
    a = [rng.randrange(10) for _ in range(rows)]
    for _ in range(rng.randrange(4)):
        a[rng.randrange(rows)] = min(1000, 10 + rng.randrange(spread))
    few = rng.choice([1, 2, 3, rows // 2])
    return {
        "y": [rng.randrange(-100, 100) / 2 for _ in range(rows)],
        "a": a,
        "b": [None if rng.random() < 0.02 else rng.randrange(20) for _ in range(rows)],
        "f": [int(i < few) for i in range(rows)],
        "w": [rng.choice([1, 1, 9]) for _ in range(rows)],
    }


def told(look: Callable[[], None]) -> str:
    try:
        look()
    except ReleaseError as refusal:
        return refusal.message
    return ""


def kept(source: Source, own: list[JointRows], pooled: list[tuple[ModelRows, Moments]]) -> KeptRows:
    looks = looks_at(source, own, pooled, 3)
    return KeptRows(source.label, source.column_names, lambda rows: looks.get(named(rows)))


def compared(source: Source, rows: list[ModelRows], others: list[Moments]) -> list[str]:
    """What both say of the rows of one party: of each question, of all, and with the others'."""
    joint = [JointRows.of([each]) for each in rows] + [JointRows.of(rows)]
    own = [read(source, CollectMoments(each)).moments for each in rows]
    here = kept(source, joint, list(zip(rows, own, strict=True)))
    counted = []
    for each in rows:
        cells = cells_of(each.model, KNOWN)
        counts = [int(n) for n in read(source, CollectMoments(each, cells.count)).counts]
        counted.append((cells, counts, [n + 3 for n in counts]))
    found = []
    for at, every in enumerate(joint):
        of = counted[at : at + 1] or counted
        found.append(same(*(partial(own_leverage, every, it, of, 3) for it in (source, here))))
    for each, mine, theirs in zip(rows, own, others, strict=True):
        pooled = exact(mine + theirs)
        check_others(pooled, mine)
        whole = orthonormal(pooled)
        found.append(same(*(partial(pooled_leverage, each, it, whole, 3) for it in (source, here))))
    return found


def same(one: Callable[[], None], other: Callable[[], None]) -> str:
    """What both say."""
    assert told(one) == told(other)
    return told(one)


@settings(max_examples=15)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(FORMULAS), min_size=1, max_size=3, unique=True),
    st.sampled_from([None, "w"]),
)
def test_of_any_rows(seed: int, formulas: list[str], weights: str | None) -> None:
    rows = [
        ModelRows(KNOWN.model(formula, weights=weights), "drop", KNOWN.place)
        for formula in formulas
    ]
    others = [read(open_source(tables(seed + 1)), CollectMoments(each)).moments for each in rows]
    compared(open_source(tables(seed)), rows, others)


def test_some_are_refused_and_some_are_not() -> None:
    """Else the test above would compare silence with silence."""
    found = []
    for seed in range(16):
        rows = [ModelRows(KNOWN.model("y ~ a + b + f"), "drop", KNOWN.place)]
        others = [read(open_source(tables(seed + 1)), CollectMoments(rows[0])).moments]
        found += compared(open_source(tables(seed)), rows, others)
    refused = [text for text in found if text]
    assert 5 < len(refused) < len(found) - 5
    assert any("stand alone" in text for text in refused)
    assert any("weigh more" in text for text in refused)


def test_of_many_rows_few_are_kept() -> None:
    """However many rows there are: at most p / least of them."""
    rng = np.random.default_rng(5)
    n = 20_000
    data = {"y": rng.integers(0, 9, n), "a": rng.integers(0, 9, n), "b": rng.integers(0, 9, n)}
    data["a"][17] = 900
    rows = ModelRows(KNOWN.model("y ~ a + b"), check=KNOWN.place)
    source = open_source(data)
    own = read(source, CollectMoments(rows)).moments
    joint = JointRows.of([rows])
    looks = looks_at(source, [joint], [(rows, own)], 3)
    assert [look.high_leverage.rows for look in looks.values()] == [1, 1]
    assert ["row 17" in look.high_leverage.readings.place(0) for look in looks.values()] == [
        True
    ] * 2
    assert not any(look.every for look in looks.values())
    assert "row 17" in told(partial(own_leverage, joint, kept(source, [joint], []), (), 3))


@pytest.mark.parametrize("parties", [hospitals, firms])
def test_of_real_rows(parties: Callable[[], dict[str, Source]]) -> None:
    known = HEART if parties is hospitals else GRUNFELD
    formula = "thalach ~ age + sex + exang" if parties is hospitals else "invest ~ value + capital"
    rows = ModelRows(known.model(formula), check=known.place)
    sources = list(parties().values())
    own = [read(source, CollectMoments(rows)).moments for source in sources]
    pooled = exact(sum(own[1:], own[0]))
    whole, joint = orthonormal(pooled), JointRows.of([rows])
    for source, mine in zip(sources, own, strict=True):
        here = kept(source, [joint], [(rows, mine)])
        check_others(pooled, mine)
        same(*(partial(pooled_leverage, rows, it, whole, 3) for it in (source, here)))
        same(*(partial(own_leverage, joint, it, (), 3) for it in (source, here)))


# -- what is not taken on trust -----------------------------------------------------------------


def test_who_takes_rows_away_is_found_out() -> None:
    """A party that enters −AᵀA of what it guesses would make a row of ours stand out unseen."""
    data = {"y": [1, 2, 3, 4, 5, 6], "a": [1, 1, 1, 1, 1, 2]}
    own = collect(data, Model("y ~ a")).moments
    honest = exact(own + own)
    check_others(honest, own)
    less = honest.gram.copy()
    less[1, 1] -= honest.denominator // 2
    with pytest.raises(ReleaseError, match="not what rows add") as refused:
        check_others(_with(honest, less), own)
    assert refused.value.rule == "leverage"


@settings(max_examples=40)
@given(st.lists(st.integers(-3, 3), min_size=6, max_size=6))
def test_exactly_what_rows_can_add_passes(numbers: list[int]) -> None:
    """A symmetric 3 × 3 matrix passes if no principal minor is negative, and only then."""
    a, b, c, d, e, f = numbers
    added = integers([[a, b, c], [b, d, e], [c, e, f]])
    data = {"y": [0, 1, 2, 3], "x": [1, 2, 3, 5], "z": [1, 4, 9, 2]}
    own = collect(data, Model("y ~ x + z")).moments
    mine = exact(own)
    units = integers([Fraction(2) ** -s for s in mine.scales])
    whole = added * units[:, None] * units * mine.denominator
    common = 1 << 40
    total = _with(mine, integers([[int(x * common) for x in row] for row in (mine.gram + whole)]))
    pooled = PooledMoments(**{**vars(total), "denominator": mine.denominator * common})
    minors = [
        round(np.linalg.det(np.array(added[np.ix_(at, at)], float)))
        for at in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2])
    ]
    if min(minors) >= 0:
        check_others(pooled, own)
    else:
        with pytest.raises(ReleaseError):
            check_others(pooled, own)


def _with(moments: PooledMoments, gram: Any) -> PooledMoments:
    return PooledMoments(**{**vars(moments), "gram": gram})


def test_nothing_else_can_be_read_of_it() -> None:
    rows = ModelRows(KNOWN.model("y ~ a"), check=KNOWN.place)
    here = kept(open_source(tables(1)), [JointRows.of([rows])], [])
    whole = orthonormal(exact(here.look(JointRows.of([rows])).moments))
    for attempt in (
        lambda: read(here, CollectMoments(rows)),
        lambda: pooled_leverage(rows, here, whole, 3),
        lambda: here.batches(["a"]),
    ):
        with pytest.raises(DataError, match="is not enough here") as refused:
            attempt()
        assert "--data" in refused.value.hint
