"""The exact Gram matrix of a batch of columns; those of several batches add.

Blocks of 2040 rows are cut into slices and multiplied by BLAS (`titan.moments.slices`); a block of
which that would be slower goes through python-flint. Both give the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.listing import listing
from titan.moments import arithmetic, limbs, triangle
from titan.moments.columns import WORDS, Column, MostlyCoarse, WideColumn
from titan.moments.moments import Moments
from titan.moments.slices import Block, Floats, Layout, assemble, cut, integers, multiply
from titan.moments.spans import BLOCK, Span, measure
from titan.ring import Residues

_MOST_LEVELS = 256  # slices of one column: see `Sum.limit`
_MOST_SLICES = 4096  # of all columns, unless these are many
_MOST_APART = 8  # so many times more rows are in coarser units than not
_SHOWN = 3  # positions of offending rows named in an error


def gram(names: Sequence[str], columns: Sequence[Column]) -> Moments:
    """The exact moments of one batch."""
    rows = _rows(names, columns)
    if not rows or not names:
        return replace(Moments.zero(names), rows=rows)
    finer = [column.at for column in columns if isinstance(column, MostlyCoarse)]
    if finer and max(map(len, finer)) <= rows // _MOST_APART:
        few = np.unique(np.concatenate(finer))
        if len(few) <= rows // _MOST_APART:
            return _apart(names, columns, few)
    batch = _Batch(names, columns)
    for start in range(0, rows, BLOCK):
        batch.add(start, min(start + BLOCK, rows))
    return batch.moments()


def _apart(names: Sequence[str], columns: Sequence[Column], few: npt.NDArray[np.intp]) -> Moments:
    """All rows in coarser units; and for few of them what they are, less what they were there."""
    coarser = [each.coarser if isinstance(each, MostlyCoarse) else each for each in columns]
    there = gram(names, [column.take(few) for column in coarser])
    less = limbs.trim(limbs.negate(there.gram, np.ones(there.gram.shape[1], bool)))
    whole = gram(names, coarser) + gram(names, [column.take(few) for column in columns])
    return whole + replace(there, rows=-there.rows, gram=less)


def weighted(names: Sequence[str], columns: Sequence[Column], weights: Column) -> Moments:
    """Σ w a aᵀ: the moments of the columns a with the columns w·a."""
    n, rows = len(names), _rows(names, columns)
    for name, column in zip([*names, "weights"], [*columns, weights], strict=True):
        _check_finite(name, column.numbers)
    if columns and len(weights) != rows:
        raise DataError(f"{len(weights)} weights for {rows} rows")
    twice = [*columns, *(arithmetic.multiply(weights, column) for column in columns)]
    both = gram([str(at) for at in range(2 * n)], twice)
    units, j, k = np.array(both.units, np.int64), *triangle.pairs(n)
    # The unit of w·a is not that of a: the finest difference, split in halves, goes to both sides.
    half = (units[n:] - units[:n]).min(axis=0) // 2
    finer = units[n:][k] - units[:n][k] - 2 * half
    products = limbs.scale(both.gram[:, triangle.place(j, n + k)], finer[:, 0], finer[:, 1])
    shared = tuple((int(two), int(five)) for two, five in units[:n] + half)
    return Moments(tuple(names), shared, both.rows, limbs.trim(products))


def _rows(names: Sequence[str], columns: Sequence[Column]) -> int:
    if len(columns) != len(names):
        raise DataError(f"{len(columns)} columns where {len(names)} were expected")
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(columns[0]):
            raise DataError(
                f'column "{name}" has {len(column)} rows where "{names[0]}" has {len(columns[0])}'
            )
    return len(columns[0]) if columns else 0


class _Batch:
    """The sum over the blocks of one batch."""

    def __init__(self, names: Sequence[str], columns: Sequence[Column]) -> None:
        self._total = Moments.zero(names)
        self._columns = columns
        self._numbers = [_numbers(*named) for named in zip(names, columns, strict=True)]
        self._in_words = {at for at, x in enumerate(self._numbers) if x.dtype == WORDS}
        """Of which all rows are measured at once."""
        self._layout = Layout(())
        self._sum: Sum | None = None
        self._buffer = np.empty((0, 0))

    def add(self, start: int, stop: int) -> None:
        """Add the moments of rows start … stop - 1."""
        block = [numbers[start:stop] for numbers in self._numbers]
        everything = range(len(block))
        self._cover(block, self._unmeasured if self._layout.spans else everything)
        if not by_slices(self._layout, stop - start):
            self._cover(block, everything)  # here nothing would tell that a span is too short
            self._add_to_total(self._layout, stop - start, _by_flint(block, self._layout.spans))
        elif (products := self._multiply(block)) is not None:
            self._keep(products, stop - start)
        else:
            self._cover(block, everything)
            self.add(start, stop)  # now every column fits its span

    @property
    def _unmeasured(self) -> list[int]:
        """Wide columns, of which nothing but a look at each block tells that a span suffices."""
        return [at for at in self._layout.wide if at not in self._in_words]

    def moments(self) -> Moments:
        self._fold()
        return self._total

    def _cover(self, block: Block, columns: Sequence[int]) -> None:
        """Let the spans of these columns cover their numbers in this block."""
        for at in columns:
            if not _finite(block[at]).all():
                _check_finite(self._total.names[at], self._numbers[at])
        spans = dict(enumerate(self._layout.spans))
        measured = [self._numbers[at] if at in self._in_words else block[at] for at in columns]
        for at, span in zip(columns, measure(measured), strict=True):
            spans[at] = spans[at] | span if at in spans else span
        if tuple(spans.values()) != self._layout.spans:
            self._fold()
            self._layout = Layout(tuple(spans.values()))

    def _multiply(self, block: Block) -> Floats | None:
        """The products of slices; None where a column did not fit its span."""
        shape = self._layout.rows, len(block[0])
        if self._buffer.shape != shape:
            self._buffer = np.empty(shape)
        if not cut(block, self._layout, self._buffer):
            return None
        products, exact = multiply(self._buffer, self._layout)
        return products if exact else None

    def _keep(self, products: Floats, rows: int) -> None:
        self._sum = self._sum or Sum(self._layout)
        self._sum.add(products, rows)
        if self._sum.full:
            self._fold()

    def _fold(self) -> None:
        """Empty the int64 sums into the total."""
        if self._sum is not None:
            packed = assemble(self._sum.sums, self._sum.layout)
            self._add_to_total(self._sum.layout, self._sum.rows, packed)
            self._sum = None

    def _add_to_total(self, layout: Layout, rows: int, packed: Residues) -> None:
        units = tuple(
            (span.unit + column.two, column.five)
            for span, column in zip(layout.spans, self._columns, strict=True)
        )
        self._total = self._total + Moments(self._total.names, units, rows, packed)


def _finite(numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    whole = numbers.dtype != np.float64
    return np.ones(1, np.bool_) if whole else np.isfinite(numbers)


def _check_finite(name: str, numbers: npt.NDArray[Any]) -> None:
    rows = np.flatnonzero(~_finite(numbers))
    if len(rows):
        raise DataError(
            f'column "{name}" has {len(rows)} numbers that are infinite or missing, '
            f"in row {listing((row + 1 for row in rows), _SHOWN)}",
            hint="rows are counted from 1; drop or correct them",
        )


class Sum:
    """The int64 sum of several blocks' products of slices."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.sums = np.zeros((layout.rows, layout.rows), np.int64)
        self.rows = 0
        self._blocks = 0

    @property
    def limit(self) -> int:
        """How many blocks int64 can hold.

        A product is below 2^53, and `assemble` adds one for each slice of a column before it
        carries: limit · slices · 2^53 ≤ 2^62 leaves room for the carry.
        """
        return (1 << 9) // len(self.layout.counts)

    @property
    def full(self) -> bool:
        return self._blocks >= self.limit

    def add(self, products: Floats, rows: int) -> None:
        self.sums += products.astype(np.int64)
        self.rows += rows
        self._blocks += 1


def _numbers(name: str, column: Column) -> npt.NDArray[Any]:
    """The column's array, of Python integers only where two words are too small."""
    if isinstance(column, WideColumn):
        return column.words
    numbers = column.numbers
    if numbers.ndim != 1 or numbers.dtype not in (np.float64, np.int64, np.object_):
        raise DataError(
            f'column "{name}" is an array of {numbers.dtype} with {numbers.ndim} dimensions where '
            "one dimension of float64, int64 or Python integers was expected"
        )
    if numbers.dtype != np.object_:
        return numbers
    if not all(isinstance(number, int) for number in numbers):
        raise DataError(f'column "{name}" has entries that are not Python integers')
    try:
        return numbers.astype(np.int64)
    except OverflowError:
        return numbers


# -- huge integers ----------------------------------------------------------------------------


def by_slices(layout: Layout, rows: int) -> bool:
    """Whether slices are the cheaper way for a block, and stay within memory.

    Slices cost little for a row but much for a block, whose products are R × R for R slices in
    all; python-flint costs more for a row and nothing for a block. Costs in ns, as measured.
    """
    n, levels, slices = len(layout.order), len(layout.counts), layout.rows
    if levels > _MOST_LEVELS:
        return False
    if slices <= 8 * n:
        return True
    if slices > _MOST_SLICES:
        return False
    by_blas = 12 * slices**2 + 2e3 * levels**2 + 1e4 * slices + rows * slices * (10 + slices / 20)
    by_flint = rows * triangle.entries(n) * (100 + 0.15 * (slices / n) ** 2)
    return by_blas <= by_flint


def _by_flint(block: Block, spans: Sequence[Span]) -> Residues:
    """The integers of the Gram matrix over the spans' units, packed."""
    from flint import fmpz_mat  # slow to import, and seldom needed

    rows = [integers(numbers, span.unit) for numbers, span in zip(block, spans, strict=True)]
    stacked = fmpz_mat(rows)
    product = stacked * stacked.transpose()
    j, k = triangle.pairs(len(rows))
    return limbs.from_ints([int(product[at]) for at in zip(j.tolist(), k.tolist(), strict=True)])
