"""A row as bytes, for its digest: the same bytes for the same row, however it was read.

A row is its cells one after another, each after its length: "2:37:1:m" cannot be the cells of
another row. A cell is text, in one of two forms:

    as held     what the source holds: text without blanks around it, anything else as Arrow
                writes it; a null is told apart from empty text
    as a value  the number it stands for: n · 2^a · 5^b with n free of 2 and 5, so that 1.50 and
                1.5 and the binary number 1.5 are one, in text, in Parquet or in a table
"""

# Rule 1: a cell's bytes depend on that cell alone, never on the others of its batch.
# Rule 2: rows are secret; nothing here is logged, and no error quotes one.

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.cells import Cells, ObjectCells
from titan.moments.columns import Column

Texts = Any  # an Arrow array of strings, without chunks
_Ints = npt.NDArray[np.int64]


def joined(cells: Sequence[Texts], rows: int) -> Iterator[bytes]:
    """The bytes of each row, from the texts of its cells; a null is "-" without text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not cells:
        return iter([b""] * rows)
    parts, between = [], pa.scalar(":", pa.large_string())
    for text in cells:
        parts += [pc.fill_null(pc.binary_length(text).cast(pa.string()), "-")]
        parts += [pc.fill_null(text, "")]
    whole = pc.binary_join_element_wise(*(p.cast(pa.large_string()) for p in parts), between)
    return _each(whole, rows)


def _each(whole: Any, rows: int) -> Iterator[bytes]:
    _, offsets, data = whole.buffers()
    ends = np.frombuffer(offsets, np.int64, rows + 1, whole.offset * 8).tolist()
    held = memoryview(data) if data is not None else memoryview(b"")
    return (bytes(held[a:b]) for a, b in pairwise(ends))


# -- as held ----------------------------------------------------------------------------------


def as_held(cells: Cells) -> Texts:
    import pyarrow as pa

    if isinstance(cells, ObjectCells):
        return pa.array([_object_text(value) for value in cells.values], pa.string())
    array = cells.values
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return _arrow_text(array)


def _arrow_text(array: Any) -> Texts:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if kinds.is_dictionary(array.type):
        return _arrow_text(array.dictionary).take(array.indices)
    if kinds.is_binary(array.type) or kinds.is_large_binary(array.type):  # not always UTF-8
        return pa.array([None if x is None else x.hex() for x in array.to_pylist()], pa.string())
    try:
        return pc.utf8_trim_whitespace(array.cast(pa.large_string()))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and other things no model reads
        return pa.array([None if x is None else repr(x) for x in array.to_pylist()], pa.string())


def _object_text(value: Any) -> str | None:
    """A Python object's text; a float's is Arrow's, for some batches of it may be Arrow's."""
    import pyarrow as pa

    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # those of pandas
        return None
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(pa.scalar(float(value)).cast(pa.string()).as_py())
    return str(value).strip()


# -- as a value -------------------------------------------------------------------------------


def as_values(column: Column) -> list[Texts]:
    """Two cells for each number: n, and both exponents in one whole number."""
    import pyarrow as pa

    numbers, two, five = _stripped(column)
    exponents = (two << 32) + five
    if numbers.dtype == object:
        texts = pa.array([str(n) for n in numbers], pa.string())
    else:
        texts = pa.array(numbers).cast(pa.string())
    return [texts, pa.array(exponents).cast(pa.string())]


def _stripped(column: Column) -> tuple[npt.NDArray[Any], _Ints, _Ints]:
    """(n, a, b) with number = n · 2^a · 5^b, and n divisible by neither; 0 is (0, 0, 0)."""
    numbers, shift = column.numbers, np.zeros(len(column), np.int64)
    if numbers.dtype == object:
        return _stripped_one_by_one(column)
    if numbers.dtype == np.float64:
        parts, exponents = np.frexp(numbers)
        numbers, shift = (parts * 2.0**53).astype(np.int64), exponents.astype(np.int64) - 53
    numbers = numbers.astype(np.int64)  # a copy: what follows happens in place
    zero = numbers == 0
    numbers[zero] = 1
    twos = np.frexp((numbers & -numbers).astype(np.float64))[1].astype(np.int64) - 1
    numbers >>= twos
    fives = _divide_by_five(numbers)
    two, five = column.two + shift + twos, column.five + fives
    for part in (numbers, two, five):
        part[zero] = 0
    return numbers, two, five


def _divide_by_five(numbers: _Ints) -> _Ints:
    """Take every factor 5 out of the numbers, in place, and count them."""
    count = np.zeros(len(numbers), np.int64)
    at = np.flatnonzero(numbers % 5 == 0)
    while len(at):
        numbers[at] //= 5
        count[at] += 1
        at = at[numbers[at] % 5 == 0]
    return count


def _stripped_one_by_one(column: Column) -> tuple[npt.NDArray[Any], _Ints, _Ints]:
    """Integers of any size; few columns need them."""
    rows = len(column)
    numbers, two, five = np.zeros(rows, object), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for row, number in enumerate(column.numbers):
        n, a, b = int(number), column.two, column.five
        if n:
            zeros = (n & -n).bit_length() - 1
            n, a = n >> zeros, a + zeros
            while n % 5 == 0:
                n, b = n // 5, b + 1
            numbers[row], two[row], five[row] = n, a, b
    return numbers, two, five
