"""Links as text: lines `from,to` under a header, in CSV as spreadsheets write it."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from titan.errors import FileError, NetworkError
from titan.network.links import Indices, Links
from titan.network.names import Names
from titan.network.numbering import Interner

_HEADER = ["from", "to"]
_UNDECODED = re.compile("[\udc80-\udcff]")


def read(lines: Iterable[str], where: str) -> tuple[list[str], Indices, Indices]:
    """The names in order of first appearance, and the links by number; errors name the line.

    Bytes that are not UTF-8 are expected as Python's `surrogateescape` leaves them.
    """
    rows = _rows(lines, where)
    _check_header(next(rows, None), where)
    known, senders, receivers, at = Interner(), array("q"), array("q"), array("q")
    for line, fields in rows:
        if len(fields) != 2:
            raise _at(where, line, f"{len(fields)} fields where two names were expected")
        try:
            sender, receiver = known.number(fields[0]), known.number(fields[1])
        except NetworkError as error:
            raise _at(where, line, error.message, error.hint) from None
        if sender == receiver:
            raise _at(where, line, f'party "{fields[0]}" is linked with itself', "remove the line")
        senders.append(sender)
        receivers.append(receiver)
        at.append(line)
    s, r = np.array(senders, np.intp), np.array(receivers, np.intp)
    names = list(known.numbers)
    _check_repeats(names, s, r, np.array(at, np.intp), where)
    if not s.size:
        raise FileError(f"{where}: no links below the header", hint="write one link per line")
    return names, s, r


def write(names: Names, links: Links) -> Iterator[list[str]]:
    """Header and links, ordered so that reading restores the parties' order where that can be.

    A new name must then be the only one on its line, or stand before the next one. So a link is
    written when its later party is due, and among those a link from the party just before it first.
    """
    missing = np.flatnonzero((links.out_degree == 0) & (links.in_degree == 0))
    if missing.size:
        raise NetworkError(
            f'party "{names[int(missing[0])]}" has no link, and a list of links would lose it',
            hint="remove the party, or link it",
        )
    later = np.maximum(links.senders, links.receivers)
    next_first = (links.senders != later - 1) | (links.receivers != later)
    order = np.lexsort((links.receivers, links.senders, next_first, later))
    yield _HEADER
    for s, r in zip(links.senders[order].tolist(), links.receivers[order].tolist(), strict=True):
        yield [names[s], names[r]]


def _rows(lines: Iterable[str], where: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with their line's number and without blanks around fields."""
    reader = csv.reader(_utf8(lines, where), strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise _at(where, reader.line_num, f"not valid CSV: {error}") from None


def _utf8(lines: Iterable[str], where: str) -> Iterator[str]:
    """The lines, none of which has bytes that were let through as lone surrogates."""
    for number, line in enumerate(lines, 1):
        if not line.isascii() and _UNDECODED.search(line):
            raise _at(where, number, "not UTF-8 text", "save the file as UTF-8")
        yield line


def _check_header(found: tuple[int, list[str]] | None, where: str) -> None:
    if found is None:
        raise FileError(f"{where}: the file is empty", hint="the first line is: from,to")
    line, fields = found
    if fields != _HEADER:
        text = ",".join(fields)
        raise _at(where, line, f"the header is {text!r}", "it must be exactly: from,to")


def _check_repeats(names: list[str], s: Indices, r: Indices, at: Indices, where: str) -> None:
    order = np.lexsort((at, r, s))
    again = np.flatnonzero((np.diff(s[order]) == 0) & (np.diff(r[order]) == 0))
    if again.size:
        first, second = order[again[0]], order[again[0] + 1]
        link = f'"{names[s[first]]}" to "{names[r[first]]}"'
        message = f"the link from {link} is there already, in line {at[first]}"
        raise _at(where, int(at[second]), message, "remove one of the two")


def _at(where: str, line: int, message: str, hint: str = "") -> FileError:
    return FileError(f"{where}, line {line}: {message}", hint=hint)
