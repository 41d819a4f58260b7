"""Decimal text to exact columns, whole batches at a time.

A text is  sign digits . digits e exponent,  of which most parts may be absent, and stands for

    value_i = mantissa_i · 10^(exponent_i − decimals_i),

where mantissa is the text's digits without the point. "0.1" is one tenth, not the double near it.

Texts of up to 18 digits are read a word of eight characters at a time (`titan.moments.digits`);
longer ones go through 128-bit decimals of Arrow's, and through Python's integers beyond.
"""

# Rule 1: the quick ways and the plain one (`_read_one`) accept the same language and agree.
# Rule 2: no error shows a cell, only its row.

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.moments.arrow import pa, pc
from titan.moments.columns import BadRowError, Column, WideColumn, products
from titan.moments.digits import read_digits

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
"""Texts (in any case) which stand for a value that is not there."""

MOST_DIGITS = 4000
"""The most digits of a number, and the largest exponent: one cell must not fill the memory."""

TEXT = "text where a number was expected"
COMMA = "a comma inside a number"
INFINITE = "an infinite number"

_INFINITE = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_WITH_COMMA = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)+(?:\.[0-9]*)?")
_INT64 = 9e18  # a little less than 2^63
_BEYOND = 1 << 62
_INT64_DIGITS = 18
_DECIMAL128_DIGITS = 38
_TENS = 10 ** np.arange(_INT64_DIGITS + 1, dtype=np.int64)

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[Any]
"""int64, or Python integers where these do not suffice."""


class BadNumberError(BadRowError):
    """The text of this row is not a number we take."""


def parse(text: Any) -> tuple[Column, Mask]:
    """An Arrow array of strings as a column, and which entries are missing (0 in the column)."""
    text = text if text.type == pa.string() else text.cast(pa.string())
    text, missing = _without_missing(trimmed(text))
    try:
        mantissas, decimals, exponents = _read_quickly(text)
    except (pa.ArrowInvalid, _TooLongError):
        mantissas, decimals, exponents = _read_one_by_one(text)
    return _column(mantissas, decimals, exponents), missing


def is_missing(text: Any) -> Mask:
    """Which of these (trimmed) strings stand for a value that is not there; nulls do."""
    missing = pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING))
    return np.asarray(pc.or_(pc.is_null(text), missing))


def wrong(text: Any) -> Iterator[BadNumberError]:
    """Every text that is not a number, where `parse` stops at the first."""
    for row, cell in enumerate(trimmed(text.cast(pa.string())).to_pylist()):
        word = "" if cell is None else cell.lower()
        if word in _INFINITE:
            yield BadNumberError(row, INFINITE)
        elif word not in MISSING:
            try:
                _read_one(row, cell)
            except BadNumberError as error:
                yield error


def bytes_of(text: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Offsets (n + 1, from 0) and bytes of an Arrow array of strings or bytes, not an empty one."""
    _, offsets, data = text.buffers()
    starts = np.frombuffer(offsets, np.int32, len(text) + 1, text.offset * 4)
    if data is None:
        return starts - starts[0], np.empty(0, np.uint8)
    return starts - starts[0], np.frombuffer(data, np.uint8)[starts[0] : starts[-1]]


def trimmed(text: Any) -> Any:
    """The texts without blanks around them."""
    if not len(text):
        return text
    data = bytes_of(text)[1]
    blank_or_unicode = len(data) and (data.min() <= ord(" ") or data.max() >= 128)
    return pc.utf8_trim_whitespace(text) if blank_or_unicode else text


def _without_missing(text: Any) -> tuple[Any, Mask]:
    """The texts with "0" for those missing; refuses infinities by row."""
    offsets, data = bytes_of(text)
    plain = len(data) and data.max() <= ord("9") and not text.null_count
    if not len(text) or (plain and np.diff(offsets).min() > 0):
        return text, np.zeros(len(text), bool)
    missing = is_missing(text)
    if missing.any():
        text = pc.if_else(pa.array(missing), "0", text)
    infinite = np.asarray(pc.is_in(pc.utf8_lower(text), value_set=pa.array(_INFINITE)))
    if infinite.any():
        raise BadNumberError(int(infinite.argmax()), INFINITE)
    return text, missing


# -- the quick way ------------------------------------------------------------------------------


class _TooLongError(Exception):
    """Some number needs Python's integers."""


def _read_quickly(text: Any) -> tuple[Ints, Ints, Ints]:
    """Mantissas, decimals and exponents; ArrowInvalid or _TooLongError where that is not enough."""
    nothing = np.zeros(len(text), np.int64)
    if not len(text):
        return nothing, nothing, nothing
    offsets, data = bytes_of(text)
    if data.max(initial=0) > ord("9"):
        return _with_exponents(text, offsets, data)
    mantissas, decimals = read_digits(offsets, data) or _read_long(text)
    return mantissas, decimals, nothing


def _with_exponents(text: Any, offsets: Ints, data: Ints) -> tuple[Ints, Ints, Ints]:
    """Texts with an exponent, which may be few, apart from the others."""
    at = np.flatnonzero((data | 32) == ord("e"))
    row = np.searchsorted(offsets, at, side="right") - 1
    if not len(row) or (np.diff(row) == 0).any():
        raise pa.ArrowInvalid  # another letter, or two in one text
    found = np.zeros((3, len(text)), np.int64)
    rest = np.ones(len(text), bool)
    rest[row] = False
    mantissas, exponents = _split(text.take(pa.array(row)))
    with_exponent, without = _read_quickly(mantissas), _read_quickly(text.filter(rest))
    parts = [(row, with_exponent), (np.flatnonzero(rest), without)]
    if any(part[0].dtype == object for _, part in parts):
        found = found.astype(object)
    for rows, part in parts:
        found[:, rows] = part
    found[2, row] = exponents
    return found[0], found[1].astype(np.int64), found[2].astype(np.int64)


def _split(text: Any) -> tuple[Any, Ints]:
    """Texts, of which each has one "e", up to that, and the exponents after it.

    Each text is cut in three (before the e, the e, after it) by giving Arrow new offsets into the
    same bytes, so that nothing is copied.
    """
    offsets, data = bytes_of(text)
    at = np.flatnonzero((data | 32) == ord("e"))
    cuts = np.stack([at, at + 1, offsets[1:]], axis=1).ravel().astype(np.int32)
    cuts = np.concatenate([offsets[:1], cuts])
    pieces = pa.Array.from_buffers(
        pa.string(), 3 * len(text), [None, pa.py_buffer(cuts), pa.py_buffer(data)]
    )
    written = pieces[2::3]
    characters = bytes_of(written)[1]
    if (characters > ord("9")).any() or (characters == ord(".")).any():
        raise pa.ArrowInvalid  # the float parser would take nan and 1.5
    numbers = np.asarray(written.cast(pa.float64()))
    if np.abs(numbers).max(initial=0) > MOST_DIGITS:
        raise _TooLongError
    return pieces[::3], numbers.astype(np.int64)


def _read_long(text: Any) -> tuple[Ints, Ints]:
    """Each text times 10^decimals, the most of any, through Arrow's decimals."""
    text.cast(pa.float64())  # refuses anything but a number
    point = np.asarray(pc.find_substring(text, ".")).astype(np.int64)
    length = np.asarray(pc.binary_length(text)).astype(np.int64)
    decimals = np.where(point < 0, 0, length - point - 1)
    most = int(decimals.max(initial=0))
    # Arrow's cast wraps around without a word on some texts of 39 digits and more: count first.
    if (length + most - decimals).max(initial=0) > _DECIMAL128_DIGITS:
        raise _TooLongError
    numbers = from_words(words(text.cast(pa.decimal128(_DECIMAL128_DIGITS, most)), 2))
    return numbers, np.full(len(text), most)


def words(decimals: Any, each: int) -> npt.NDArray[np.int64]:
    """An Arrow array of decimals as (n, each) words of 64 bits, the lowest first."""
    raw = np.frombuffer(decimals.buffers()[1], np.int64).reshape(-1, each)
    return raw[decimals.offset : decimals.offset + len(decimals)]


def fit_int64(words: npt.NDArray[np.int64]) -> bool:
    """Whether all of these, of several words, have a negative in int64."""
    lowest, above = words[:, 0], words[:, 1:]
    least = np.iinfo(np.int64).min
    return bool((above == (lowest >> 63)[:, None]).all() and (lowest != least).all())


def from_words(words: npt.NDArray[np.int64]) -> Ints:
    """Two's complement integers of several words: int64 where all fit, else Python integers."""
    if fit_int64(words):
        return np.ascontiguousarray(words[:, 0])
    numbers = words[:, -1].astype(object)
    for word in reversed(range(words.shape[1] - 1)):
        numbers = (numbers << 64) + words[:, word].view(np.uint64).astype(object)
    return numbers


# -- the plain way ------------------------------------------------------------------------------


def _read_one_by_one(text: Any) -> tuple[Ints, Ints, Ints]:
    """For numbers too long for int64, and to find the row that holds no number."""
    parts = [_read_one(row, cell) for row, cell in enumerate(text.to_pylist())]
    mantissas, decimals, exponents = np.array(parts, object).reshape(-1, 3).T
    return mantissas, decimals.astype(np.int64), exponents.astype(np.int64)


def _read_one(row: int, cell: str) -> tuple[int, int, int]:
    """(mantissa, decimals, exponent) of one text: the definition of what a number is."""
    match = _NUMBER.fullmatch(cell)
    if match is None or not (match[2] or match[3]):
        raise BadNumberError(row, COMMA if _WITH_COMMA.fullmatch(cell) else TEXT)
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", match[4] or "0"
    if len(whole) + len(fraction) > MOST_DIGITS:
        raise BadNumberError(row, f"a number of more than {MOST_DIGITS} digits")
    if len(exponent.lstrip("+-0")) > 4 or abs(int(exponent)) > MOST_DIGITS:
        raise BadNumberError(row, f"a number with an exponent beyond {MOST_DIGITS}")
    return int(f"{sign}{whole}{fraction}"), len(fraction), int(exponent)


# -- one unit for the whole column --------------------------------------------------------------


def _column(mantissas: Ints, decimals: Ints, exponents: Ints) -> Column:
    """mantissas · 10^(exponents − decimals) over the finest power of ten that occurs."""
    powers = exponents - decimals
    nonzero = np.asarray(mantissas != 0, bool)
    if not nonzero.any():
        return Column(np.zeros(len(mantissas), np.int64))
    finest = int(powers.min(where=nonzero, initial=_BEYOND))
    shifts = np.where(nonzero, powers - finest, 0)
    if not shifts.any():
        return coarsest(_narrowed(mantissas), finest)
    factors = _powers_of_ten(shifts)
    if mantissas.dtype == object or factors.dtype == object:
        return coarsest(_narrowed(mantissas.astype(object) * factors), finest)
    sizes = np.abs(mantissas).astype(np.float64) * factors  # of which no digit but the first counts
    if sizes.max() < _INT64:
        return coarsest(mantissas * factors, finest)
    return WideColumn(products(mantissas, factors), finest, finest)


def _powers_of_ten(exponents: Ints) -> Ints:
    if exponents.max(initial=0) <= _INT64_DIGITS:
        return _TENS[exponents]
    return np.asarray(np.power(10, exponents.astype(object)))


def _narrowed(numbers: Ints) -> Ints:
    """In int64 after all, if all fit there."""
    if numbers.dtype == object and max(-numbers.min(), numbers.max()) < 2**63:
        return numbers.astype(np.int64)
    return numbers


def coarsest(numbers: Ints, power: int) -> Column:
    """The same column without zeros at the end of every number: "1.50", "2.00" are tenths."""
    while power < 0 and numbers.dtype == np.int64 and not (numbers[:64] % 10).any():
        shorter, rest = np.divmod(numbers, 10)
        if rest.any():
            break
        numbers, power = shorter, power + 1
    return Column(numbers, two=power, five=power)
