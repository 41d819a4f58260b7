"""Lines of plain numbers as columns, where Arrow's text of every cell is not needed.

A piece of many lines is read at once (`titan.moments.plain_fields`). All numbers of a column are
brought to one power of ten. Where few of them have more than sixteen decimals, what these have
beyond is kept apart (`MostlyCoarse`), so that the others stay in int64.
"""

# Rule: what is returned is what `decimal_text` makes of the same cells; None leaves it to that.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import numpy.typing as npt

from titan.moments.columns import Column, MostlyCoarse
from titan.moments.decimal_text import coarsest
from titan.moments.once import once
from titan.moments.plain_fields import (
    BEYOND,
    COARSE,
    LIMIT,
    MOST,
    WORD,
    Bytes,
    Fields,
    Ints,
    Numbers,
    read,
)

Mask = npt.NDArray[np.bool_]

_AT_ONCE = 3 << 20  # bytes of text: NumPy works on long columns, and caches hold them
_FIRST_LINES = 16
_DELIMITERS = (",", "\t")
_NEWLINE = 10


@dataclass(frozen=True)
class PlainLines:
    """Some lines: how many there are, and of each wanted column its numbers and gaps."""

    rows: int
    columns: tuple[tuple[Column, Mask] | None, ...]
    """None of a column which is not all plain numbers."""
    pieces: tuple[tuple[int, Fields], ...]
    """Those of the text, and at which byte each begins."""
    whole: tuple[bool, ...] = ()
    """Of each wanted column, whether every cell has a digit before its point."""

    @once
    def characters(self) -> Ints:
        """Of all cells of a column together, for every column that lines have."""
        return reduce(add, [fields.characters() for _, fields in self.pieces])

    def written(self, column: int) -> tuple[Ints, Ints]:
        """Where in the text the cells of a column, of all that lines have, begin; their lengths."""
        found = [(start, *fields.written(column)) for start, fields in self.pieces]
        places = np.concatenate([start + begin for start, begin, _ in found])
        return places, np.concatenate([end - begin for _, begin, end in found])


def read_lines(
    text: Bytes, delimiter: str, fields: int, wanted: Sequence[int]
) -> PlainLines | None:
    """The numbers in some columns of whole lines of so many fields; None if these are not plain.

    `text` has `BEYOND` bytes more than the lines, whose content does not matter.
    """
    lines = text[: len(text) - BEYOND]
    if delimiter not in _DELIMITERS or not len(lines) or not wanted:
        return None
    found = _Columns(len(wanted), int(np.count_nonzero(lines == _NEWLINE)))
    pieces = []
    for start, stop in _pieces(lines):
        part = Fields.of(text[start : stop + BEYOND], ord(delimiter), fields)
        if part is None:
            return None
        found.add(part, wanted)
        if not found.left:
            return None
        pieces.append((start, part))
    columns = tuple(found.column(at) for at in range(len(wanted)))
    return PlainLines(found.rows, columns, tuple(pieces), tuple(found.whole))


def _pieces(lines: Bytes) -> list[tuple[int, int]]:
    """Where pieces of whole lines begin and end."""
    cuts, view = [0], lines.data
    while cuts[-1] < len(lines):
        stop = cuts[-1] + _AT_ONCE
        cuts.append(_after_newline(view, stop) if stop < len(lines) else len(lines))
    return list(pairwise(cuts))


def _after_newline(view: memoryview, at: int) -> int:
    while at < len(view):
        found = view[at : at + 4096].tobytes().find(b"\n")
        if found >= 0:
            return at + found + 1
        at += 4096
    return len(view)


# -- column by column ---------------------------------------------------------------------------


class _Columns:
    """What was read of the wanted columns so far."""

    def __init__(self, wanted: int, rows: int) -> None:
        self.rows = rows
        self._numbers = np.empty((wanted, rows), np.int64)
        self._decimals = [0] * wanted
        self._largest = [0] * wanted
        self.left = set(range(wanted))
        """Those that are plain so far."""
        self.whole = [True] * wanted
        """Whether every cell so far has a digit before its point."""
        self._gaps: list[list[Ints]] = [[] for _ in range(wanted)]
        self._finer: list[list[tuple[Ints, Ints, Ints]]] = [[] for _ in range(wanted)]
        self._row = 0

    def add(self, part: Fields, wanted: Sequence[int]) -> None:
        self.left -= {at for at in self.left if wanted[at] in part.others}
        rows = len(part.ends) // part.columns
        for group in self._alike(part, wanted):
            numbers = read(part.only([wanted[at] for at in group]))
            if numbers is not None:
                self._put(group, numbers, rows)
                continue
            for at in group:
                alone = read(part.only([wanted[at]])) if len(group) > 1 else None
                if alone is None:
                    self.left.discard(at)
                else:
                    self._put([at], alone, rows)
        self._row += rows

    def _alike(self, part: Fields, wanted: Sequence[int]) -> list[list[int]]:
        """Columns of short and of long fields, as far as the first lines tell: they go apart."""
        first = slice(0, _FIRST_LINES * part.columns)
        lengths = part.ends[first] - part.starts[first]
        long = lengths.reshape(-1, part.columns).max(axis=0) > WORD
        groups: tuple[list[int], list[int]] = ([], [])
        for at in sorted(self.left):
            groups[int(long[wanted[at]])].append(at)
        return [group for group in groups if group]

    def _put(self, group: Sequence[int], found: Numbers, rows: int) -> None:
        span, table = slice(self._row, self._row + rows), found.numbers.reshape(rows, -1).T
        factors = [self._factor(at, found) for at in group]
        if set(factors) == {1} and len(group) == len(self._numbers):
            self._numbers[:, span] = table
        else:
            for at, numbers, factor in zip(group, table, factors, strict=True):
                np.multiply(numbers, factor, out=self._numbers[at, span])
        for at in group:
            self.whole[at] &= found.whole
        for at, rows_of, _ in _by_column(found.gaps, group):
            self._gaps[at].append(rows_of + self._row)
        for at, rows_of, own in _by_column(found.finer, group):
            self._finer[at].append((rows_of + self._row, found.rest[own], found.written[own]))

    def _factor(self, at: int, found: Numbers) -> int:
        """What brings new numbers of a column to one unit with earlier ones; 0 if none can."""
        before = self._decimals[at] if self._row else found.decimals
        common = max(before, found.decimals)
        earlier, now = int(10 ** (common - before)), int(10 ** (common - found.decimals))
        self._largest[at] = max(self._largest[at] * earlier, found.largest * now)
        self._decimals[at] = common
        if self._largest[at] > LIMIT:
            self.left.discard(at)
            return 0
        if earlier > 1:
            self._numbers[at, : self._row] *= earlier
        return now

    def column(self, at: int) -> tuple[Column, Mask] | None:
        if at not in self.left:
            return None
        numbers, missing = self._numbers[at], np.zeros(self.rows, bool)
        for rows in self._gaps[at]:
            missing[rows] = True
        if not self._finer[at]:
            return coarsest(numbers, -self._decimals[at]), missing
        at_rows, rest, written = map(np.concatenate, zip(*self._finer[at], strict=True))
        most = int(written.max())
        rest //= 10 ** (MOST - most)
        factor = 10 ** (most - COARSE)
        if np.abs(numbers).max() * float(factor) >= LIMIT:
            return MostlyCoarse(numbers, most - COARSE, at_rows, rest, -most), missing
        numbers = numbers * factor
        numbers[at_rows] += rest
        return coarsest(numbers, -most), missing


def _by_column(fields: Ints, group: Sequence[int]) -> Iterator[tuple[int, Ints, Ints]]:
    """Each column of a group that has some of these fields: their rows, and which they are."""
    if not len(fields):
        return
    rows = fields // len(group)
    columns = (fields - rows * len(group)).astype(np.int32)
    order = np.argsort(columns, kind="stable")
    ends = np.cumsum(np.bincount(columns, minlength=len(group))).tolist()
    for at, start, stop in zip(group, [0, *ends], ends, strict=False):
        if start < stop:
            yield at, rows[order[start:stop]], order[start:stop]
