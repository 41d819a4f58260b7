"""The Gram matrix is exact: equal, as a fraction, to sums of products in plain Python.

Whatever the kinds of the columns, their exponents, how rows are divided into batches and in which
order they come; and where a number is not finite, nothing is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from titan.errors import DataError
from titan.moments import Column, Moments
from titan.moments.gram import Sum, by_slices, gram
from titan.moments.slices import Layout, assemble, integers
from titan.moments.spans import BLOCK, WIDTH, Kind, Span, measure

NAMES = ("a", "b", "c", "d")

INT64 = st.integers(-(2**63), 2**63 - 1)
KINDS = {
    "floats": st.floats(allow_nan=False, allow_infinity=False),
    "tame floats": st.floats(-1e3, 1e3),
    "short floats": st.integers(-(2**20), 2**20).map(lambda n: n / 1024),
    "small": st.integers(-3, 3),
    "int64": INT64,
    "huge": st.integers(-(10**150), 10**150),
}


def column(kind: str, numbers: Sequence[int | float], two: int = 0, five: int = 0) -> Column:
    dtype = {"small": np.int64, "int64": np.int64, "huge": object}.get(kind, np.float64)
    return Column(np.array(numbers, dtype), two, five)


@st.composite
def batches(draw: st.DrawFn, rows: st.SearchStrategy[int] | None = None) -> list[Column]:
    count = draw(rows if rows is not None else st.integers(0, 7))
    unit = st.integers(-12, 12)
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=4, max_size=4))
    return [
        column(
            kind,
            draw(st.lists(KINDS[kind], min_size=count, max_size=count)),
            draw(unit),
            draw(unit),
        )
        for kind in kinds
    ]


def plain(batch: Sequence[Sequence[Column]]) -> list[list[Fraction]]:
    """The same moments, one product after the other."""
    rows = [[entry for part in batch for entry in part[j].fractions()] for j in range(4)]
    return [
        [sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for b in rows] for a in rows
    ]


def fractions(moments: Moments) -> list[list[Fraction]]:
    n = len(moments.names)
    return [[moments.fraction(j, k) for k in range(n)] for j in range(n)]


# -- against plain arithmetic -----------------------------------------------------------------


@given(batches())
@settings(max_examples=150)
def test_equals_plain_arithmetic(batch: list[Column]) -> None:
    assert fractions(gram(NAMES, batch)) == plain([batch])


@given(batches())
@settings(max_examples=80)
def test_slices_and_flint_give_the_same_integers(batch: list[Column]) -> None:
    results = []
    for choice in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("titan.moments.gram.by_slices", lambda *_, choice=choice: choice)
            results.append(gram(NAMES, batch))
    by_blas, by_flint = results
    assert by_blas.units == by_flint.units
    assert np.array_equal(by_blas.gram, by_flint.gram)


@given(st.lists(batches(), min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_batches_in_any_order_and_grouping(parts: list[list[Column]], random: object) -> None:
    total = Moments.zero(NAMES)
    for part in parts:
        total = total + gram(NAMES, part)
    assert fractions(total) == plain(parts)
    random.shuffle(parts)  # type: ignore[attr-defined]
    from_the_right = Moments.zero(NAMES)
    for part in parts:
        from_the_right = gram(NAMES, part) + from_the_right
    assert from_the_right == total
    assert fractions(from_the_right) == fractions(total)


@pytest.mark.parametrize("rows", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_blocks_of_every_length(rows: int) -> None:
    rng = np.random.default_rng(rows)
    batch = [
        Column(np.ones(rows)),
        Column(rng.standard_normal(rows)),
        Column(rng.integers(-(2**63), 2**63 - 1, rows, endpoint=True), -3, -3),
        Column(rng.random(rows)),
    ]
    assert fractions(gram(NAMES, batch)) == plain([batch])


def test_a_span_that_grows_from_block_to_block() -> None:
    rng = np.random.default_rng(0)
    rows = 5 * BLOCK
    grows = rng.integers(-100, 100, rows).astype(np.float64)
    grows[BLOCK:] /= 1 << 30  # bits below the first block's unit
    grows[2 * BLOCK :] *= 1e40  # numbers above its span
    grows[3 * BLOCK + 1] = 1e300  # beyond what float64 arithmetic cuts
    grows[4 * BLOCK + 1] = 5e-324
    whole = rng.integers(-3, 3, rows)
    whole[2 * BLOCK] = 2**30
    whole[3 * BLOCK] = -(2**63)
    batch = [Column(grows), Column(whole), Column(-grows), Column(np.zeros(rows))]
    assert fractions(gram(NAMES, batch)) == plain([batch])


@pytest.mark.parametrize("way", ["natural", "slices", "flint", "in turns"])
def test_spans_that_grow_beside_a_wide_column(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """python-flint takes any integers, so that nothing but the spans tells it of lower bits."""
    calls = iter(range(100))
    choices = {"slices": lambda *_: True, "flint": lambda *_: False}
    choices["in turns"] = lambda *_: next(calls) % 2 == 0
    monkeypatch.setattr("titan.moments.gram.by_slices", choices.get(way, by_slices))
    rng = np.random.default_rng(1)
    rows = 3 * BLOCK + 20
    wide, whole, long = rng.random(rows), np.ones(rows), rng.integers(-3, 3, rows)
    wide[::50] *= 1e-300
    whole[BLOCK:] = rng.random(rows - BLOCK)
    whole[2 * BLOCK :] *= 1e80
    long[BLOCK + 1 :: 7] = -(2**63)
    batch = [Column(wide), Column(whole), Column(long), Column(rng.random(rows))]
    assert fractions(gram(NAMES, batch)) == plain([batch])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("way", ["natural", "slices", "flint"])
def test_not_finite_in_a_later_block_beside_a_wide_column(
    bad: float, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {"slices": lambda *_: True, "flint": lambda *_: False}
    monkeypatch.setattr("titan.moments.gram.by_slices", choices.get(way, by_slices))
    wide, whole = np.full(BLOCK + 10, 1e-300), np.ones(BLOCK + 10)
    wide[0], whole[BLOCK + 4] = 1.0, bad
    with pytest.raises(DataError, match=rf'"b" has 1 numbers .* in row {BLOCK + 5} '):
        gram(["a", "b"], [Column(wide), Column(whole)])


def test_integers_lose_no_bits() -> None:
    numbers = np.array([3.0, -6.0, 0.0, 1e300])
    assert integers(numbers, -4) == [48, -96, 0, int(1e300) * 16]
    assert integers(numbers, 0) == [3, -6, 0, int(1e300)]
    for bad, unit in [(3.0, 1), (-1.0, 1), (-1.0, 70), (5e-324, -1073), (0.5, 2000)]:
        with pytest.raises(ValueError, match="bits below the unit"):
            integers(np.array([0.0, bad]), unit)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="not finite"):
            integers(np.array([1.0, bad]), -53)


def test_a_number_too_near_to_zero_for_the_first_unit_is_not_lost() -> None:
    """Over a unit of 2^10 a subnormal number would underflow to a zero that looks whole."""
    numbers = np.full(BLOCK + 2, 1024.0)
    numbers[BLOCK:] = 5e-324, -1e-323
    batch = [Column(numbers), *(Column(np.ones(BLOCK + 2)),) * 3]
    assert fractions(gram(NAMES, batch)) == plain([batch])


def test_strided_views_and_all_columns_of_a_tile() -> None:
    matrix = np.random.default_rng(3).standard_normal((50, 40))
    names = [f"x{j}" for j in range(40)]
    moments = gram(names, [Column(matrix[:, j]) for j in range(40)])
    exact = [[Fraction(float(x)) for x in row] for row in matrix]
    for j, k in [(0, 0), (39, 0), (15, 16), (31, 33), (39, 39)]:
        assert moments.fraction(j, k) == sum(row[j] * row[k] for row in exact)


# -- edges ------------------------------------------------------------------------------------


def test_no_rows_and_one_column() -> None:
    nothing = gram(["a"], [Column(np.array([], np.float64))])
    assert nothing == Moments.zero(["a"])
    assert nothing.rows == 0
    assert gram(["a"], [Column(np.array([-0.5]))]).fraction(0, 0) == Fraction(1, 4)
    assert gram([], []) == Moments.zero([])


@example([0.0, -0.0])
@example([5e-324])
@example([1.7976931348623157e308, 5e-324, -1.0])
@example([2.0**1000, 3 * 2.0**990])
@example([float(2**53 - 1)] * 3)
@given(st.lists(KINDS["floats"], min_size=1, max_size=4))
@settings(max_examples=60)
def test_spans_cover_and_are_tight(numbers: list[float]) -> None:
    (span,) = measure([np.array(numbers)])
    nonzero = [Fraction(x) for x in numbers if x]
    for x in nonzero:
        assert abs(x) < Fraction(2) ** span.top
        assert (x / Fraction(2) ** span.low).denominator == 1
    if nonzero:
        assert max(abs(x) for x in nonzero) >= Fraction(2) ** (span.top - 1)
        assert any((x / Fraction(2) ** (span.low + 1)).denominator != 1 for x in nonzero)
    assert span.unit <= max(span.low, 0)
    assert span.unit + span.slices * WIDTH - 1 >= span.top


def test_few_slices_where_few_will_do() -> None:
    def slices(numbers: list[float] | list[int]) -> int:
        return measure([np.array(numbers)])[0].slices

    assert slices([1.0] * 5) == 1
    assert slices([0, 1, -(2**20)]) == 1
    assert slices([k / 64 for k in range(-(2**19), 2**19, 4321)]) == 1
    assert slices(np.random.default_rng(0).random(1000).tolist()) == 3
    assert slices([2**63 - 1, -(2**63)]) == 3


# -- the overflow boundary --------------------------------------------------------------------


def test_the_largest_digits_in_a_full_block_stay_exact() -> None:
    """BLOCK products of 2^21 · 2^21 are below 2^53, and no multiple of 8 more would be."""
    assert BLOCK << (2 * WIDTH - 2) < 2**53 <= (BLOCK + 8) << (2 * WIDTH - 2)
    for levels, dtype in [(1, np.int64), (2, np.int64), (2, np.float64), (3, object)]:
        lowest = -(2 ** (WIDTH - 1)) * sum(2 ** (WIDTH * i) for i in range(levels))
        numbers = np.full(BLOCK, lowest, dtype)  # every digit is -2^21
        assert gram(["a"], [Column(numbers)]).fraction(0, 0) == BLOCK * lowest**2
    odd = np.full(3 * BLOCK, 2 ** (WIDTH - 1) - 1, np.int64)
    assert gram(["a"], [Column(odd)]).integer(0, 0) == 3 * BLOCK * (2 ** (WIDTH - 1) - 1) ** 2


@pytest.mark.parametrize("slices", [1, 2, 3, 5, 20, 256])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_blocks_are_folded_before_int64_overflows(slices: int, sign: int) -> None:
    """As many blocks as a Sum takes, each product as large as `multiply` lets through."""
    layout = Layout((Span(Kind.WIDE, 0, slices * WIDTH - 1),) * 2)
    total = Sum(layout)
    product = sign * (2**53 - 1)
    blocks = 0
    while not total.full:
        total.add(np.full((layout.rows, layout.rows), float(product)), BLOCK)
        blocks += 1
    expected = blocks * product * sum(2 ** (WIDTH * i) for i in range(slices)) ** 2
    numbers = Moments(("a", "b"), ((0, 0),) * 2, total.rows, assemble(total.sums, layout))
    assert [numbers.integer(j, k) for j, k in [(0, 0), (1, 0), (1, 1)]] == [expected] * 3
    assert blocks == total.limit
    assert abs(product) * blocks * slices < 2**63 - 2 ** (64 - WIDTH)


def test_more_rows_than_a_sum_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = []
    monkeypatch.setattr(Sum, "limit", property(lambda self: 2))
    monkeypatch.setattr(
        "titan.moments.gram.assemble",
        lambda sums, layout: folds.append(1) or assemble(sums, layout),  # type: ignore[func-returns-value]
    )
    rng = np.random.default_rng(5)
    batch = [Column(rng.integers(-(2**40), 2**40, 7 * BLOCK)) for _ in NAMES]
    assert fractions(gram(NAMES, batch)) == plain([batch])
    assert len(folds) == 4


def test_the_boundary_of_eight_million_rows() -> None:
    """A Sum of one-slice columns holds 512 blocks; more than that goes through real columns."""
    rows = 520 * BLOCK + 3
    largest = 2 ** (WIDTH - 1) - 1
    column = Column(np.broadcast_to(np.int64(-largest), (rows,)))
    moments = gram(["a"], [column])
    assert moments.integer(0, 0) == rows * largest**2
    eight_million = moments
    for _ in range(7):
        eight_million = eight_million + moments
    assert eight_million.rows > 8_000_000
    assert eight_million.integer(0, 0) == 8 * rows * largest**2 > 2**63


def test_few_rows_of_huge_integers_go_to_flint() -> None:
    wide = Layout((Span(Kind.WIDE, 0, 2000),) * 10)
    assert not by_slices(wide, 3)
    assert by_slices(wide, 2000)
    assert not by_slices(Layout((Span(Kind.WIDE, 0, 10_000),) * 10), 2000)
    ordinary = (Span(Kind.FLOATS, -53, 0),) * 1000
    assert by_slices(Layout(ordinary), 1)
    # int64 could not hold the sums of so many slices of one column
    assert not by_slices(Layout((*ordinary, Span(Kind.WIDE, 0, 300 * WIDTH))), 2000)


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 5, BLOCK + 1])
def test_not_finite_is_refused_by_column_and_row(bad: float, at: int) -> None:
    numbers = np.arange(BLOCK + 10.0)
    numbers[at] = bad
    whole = np.arange(BLOCK + 10)
    with pytest.raises(DataError, match=rf'"broken" has 1 numbers .* in row {at + 1}\b'):
        gram(["whole", "broken"], [Column(whole), Column(numbers)])


def test_only_the_first_few_rows_are_named() -> None:
    numbers = np.full(10, np.nan)
    with pytest.raises(DataError, match=r"has 10 numbers .* in row 1, 2, 3 and 7 more"):
        gram(["a"], [Column(numbers)])


def test_batches_that_do_not_fit() -> None:
    one = Column(np.ones(3))
    with pytest.raises(DataError, match="1 columns where 2 were expected"):
        gram(["a", "b"], [one])
    with pytest.raises(DataError, match='"b" has 2 rows where "a" has 3'):
        gram(["a", "b"], [one, Column(np.ones(2))])
    with pytest.raises(DataError, match='two columns are called "a"'):
        gram(["a", "a"], [one, one])
    with pytest.raises(DataError, match="float32"):
        gram(["a"], [Column(np.ones(3, np.float32))])
    with pytest.raises(DataError, match="2 dimensions"):
        gram(["a"], [Column(np.ones((3, 1)))])
    with pytest.raises(DataError, match="not Python integers"):
        gram(["a"], [Column(np.array([1, 1.5], object))])
