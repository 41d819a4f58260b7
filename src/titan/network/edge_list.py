"""Links as callers write them, and what is refused there.

Pairs of names; arrays of numbers; or text, lines `from,to` under a header in CSV as spreadsheets
write it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from titan.errors import FileError, NetworkError
from titan.network.links import Indices, Links
from titan.network.names import Names, party_name

_HEADER = ["from", "to"]
_UNDECODED = re.compile("[\udc80-\udcff]")


def numbered(edges: Iterable[object], names: Names | None) -> tuple[Names, Indices, Indices]:
    """The senders' and receivers' numbers of pairs; without `names`, by first appearance."""
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise NetworkError(
            f"{edges!r} is not a list of edges", hint='edges are pairs: [("a", "b"), ("b", "a")]'
        )
    pairs = [_pair(edge) for edge in edges]
    if names is None:
        names = Names.of(list(dict.fromkeys(end for pair in pairs for end in pair)))
    ends = np.array([[names.index(end) for end in pair] for pair in pairs], np.intp).reshape(-1, 2)
    return names, ends[:, 0], ends[:, 1]


def _pair(edge: object) -> tuple[str, ...]:
    unordered = isinstance(edge, str | bytes | set | frozenset)
    ends = tuple(edge) if isinstance(edge, Iterable) and not unordered else ()
    if len(ends) != 2:
        raise NetworkError(
            f"{edge!r} is not an edge", hint="an edge is a pair of names: (sender, receiver)"
        )
    return tuple(map(party_name, ends))


def party_numbers(numbers: npt.ArrayLike, parties: int) -> Indices:
    """An array of party numbers 0..parties-1, checked."""
    given = np.asarray(numbers)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise NetworkError(
            f"senders or receivers have shape {given.shape} and type {given.dtype}",
            hint="give one whole number for each link, counted from 0",
        )
    wrong = np.flatnonzero((given < 0) | (given >= parties))
    if wrong.size:
        raise NetworkError(
            f"link {wrong[0]} names party number {given[wrong[0]]}",
            hint=f"numbers go from 0 to {parties - 1}",
        )
    return given.astype(np.intp)


def distinct(names: Names, senders: Indices, receivers: Indices) -> Links:
    """In canonical order; a self-loop is refused, and a link that is given twice."""
    links = Links.tidy(len(names), senders, receivers)
    if len(links) == senders.size:
        return links
    loops = np.flatnonzero(senders == receivers)
    if loops.size:
        raise NetworkError(
            f'party "{names[int(senders[loops[0]])]}" is linked with itself',
            hint="remove the link: a party needs no link to keep what it has",
        )
    key = np.sort(senders * len(names) + receivers)
    sender, receiver = divmod(int(key[1:][np.diff(key) == 0][0]), len(names))
    raise NetworkError(
        f'the link from "{names[sender]}" to "{names[receiver]}" is given twice',
        hint="give each link once",
    )


# -- files ------------------------------------------------------------------------------------


def read(lines: Iterable[str], where: str) -> list[tuple[str, str]]:
    """The links of a file, all different and none a loop; errors name the line.

    Bytes that are not UTF-8 are expected as Python's `surrogateescape` leaves them.
    """
    rows = _rows(lines, where)
    line, header = next(rows, (0, []))
    if not line:
        raise FileError(f"{where}: the file is empty", hint="the first line is: from,to")
    if header != _HEADER:
        found = f"the header is {','.join(header)!r}"
        raise _at(where, line, found, "it must be exactly: from,to")
    links: dict[tuple[str, str], int] = {}
    for line, fields in rows:
        if len(fields) != 2:
            raise _at(where, line, f"{len(fields)} fields where two names were expected")
        try:
            sender, receiver = map(party_name, fields)
        except NetworkError as error:
            raise _at(where, line, error.message, error.hint) from None
        if sender == receiver:
            raise _at(where, line, f'party "{sender}" is linked with itself', "remove the line")
        if (sender, receiver) in links:
            again = f'"{sender}" to "{receiver}" is there already'
            earlier = f"in line {links[sender, receiver]}"
            raise _at(where, line, f"the link from {again}, {earlier}", "remove one of the two")
        links[sender, receiver] = line
    if not links:
        raise FileError(f"{where}: no links below the header", hint="write one link per line")
    return list(links)


def write(names: Names, links: Links) -> Iterator[list[str]]:
    """Header and links, ordered so that reading restores the parties' order where that can be.

    A new name must then be the only one on its line, or stand before the next one. So a link is
    written when its later party is due, and among those a link from the party just before it first.
    """
    missing = np.flatnonzero(links.undirected.out_degree == 0)
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


def _at(where: str, line: int, message: str, hint: str = "") -> FileError:
    return FileError(f"{where}, line {line}: {message}", hint=hint)
