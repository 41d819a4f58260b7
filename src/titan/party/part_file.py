"""A part: what a party made of its rows once, where they lie, to take part from elsewhere.

    magic      8 bytes   "TITANPRT"
    version    u32       1
    header     u64       its length in bytes
    header     JSON      canonical; see `_header`
    digests    of every source, of every column named in its `digested`: u64 × rows; then of every
                         question, which rows it uses: a bit each, eight to a byte
    checksum   32 bytes  SHA-256 of everything before

All numbers are little-endian. It has the counts and moments of all questions, the digests of every
cell for the ledger, under the ledger's key, which is in it as well, and the few rows that may stand
out (`titan.release.kept_rows`). It is as secret as the rows: mode 600, for its owner alone. A file
has one valid form. The checksum finds accidents, not forgers.
"""

# Rule 1: sizes are checked before anything of that size is made.
# Rule 2: nothing in it is run, and nothing is unpickled.

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from titan import canonical, files
from titan.canonical import MOST_NAME, exact_text, read_integer
from titan.errors import FileError
from titan.moments.same_rows import Columns, Sum
from titan.protocol.masking import SEED_BYTES
from titan.study.row_digests import OwnRows, RowKey

MAGIC = b"TITANPRT"
VERSION = 1
_FRONT = struct.Struct("<8sIQ")
_CHECKSUM = 32
_MOST_HEADER = 1 << 30
_MOST_ROWS = 1 << 34
_WORD = 1 << 64


@dataclass(frozen=True)
class SourcePart:
    """Of one source of rows."""

    label: str
    column_names: tuple[str, ...]
    own: OwnRows = field(repr=False)
    """The digests of cells; `own.used` has the questions that read this source."""
    same_key: bytes = field(repr=False)
    same: Mapping[Columns, Sum] = field(repr=False)
    """Digests of all rows, to know them again: see `titan.moments.same_rows`."""
    looks: Mapping[str, Any] = field(repr=False)
    """States of looks at the rows, by name."""


@dataclass(frozen=True)
class PartFile:
    """All that is in it."""

    study: str
    party: str
    software: str
    key: RowKey
    asked: tuple[str, ...]
    """The questions that were in the ledger."""
    sources: tuple[SourcePart, ...]
    parts: Mapping[str, Any] = field(repr=False)
    """The state of every question's part; None where it could not be kept."""
    again: Mapping[str, str]
    """Questions that need the rows again, and why."""
    apart: tuple[int, ...] | None = field(repr=False)


# -- bytes ----------------------------------------------------------------------------------------


def encode(part: PartFile) -> bytes:
    header = canonical.canonical(_header(part))
    body = [_FRONT.pack(MAGIC, VERSION, len(header)), header]
    for source in part.sources:
        body += (cells.astype("<u8", copy=False).tobytes() for cells in source.own.cells.values())
        used = source.own.used.values()
        body += (np.packbits(rows, bitorder="little").tobytes() for rows in used)
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    return b"".join([*body, digest.digest()])


def _header(part: PartFile) -> dict[str, Any]:
    return {
        "study": part.study,
        "party": part.party,
        "software": part.software,
        "key": part.key.secret.hex(),
        "columns": dict(part.key.columns),
        "asked": list(part.asked),
        "sources": list(map(_source_state, part.sources)),
        "parts": dict(part.parts),
        "again": dict(part.again),
        "apart": None if part.apart is None else list(part.apart),
    }


def _source_state(source: SourcePart) -> dict[str, Any]:
    own = source.own
    return {
        "label": source.label,
        "columns": list(source.column_names),
        "digested": list(own.cells),
        "questions": list(own.used),
        "rows": len(next(iter(own.used.values()))),
        "finer": exact_text(own.finer),
        "same_key": source.same_key.hex(),
        "same": [
            [sorted(columns), *map(exact_text, sums)]
            for columns, sums in sorted(source.same.items(), key=lambda each: sorted(each[0]))
        ],
        "looks": dict(source.looks),
    }


def decode(data: bytes, name: str) -> PartFile:
    """The inverse of `encode`; FileError, naming the file, for every other sequence of bytes."""
    start, size = _FRONT.size, _header_size(data[: _FRONT.size], name)
    try:
        fields = canonical.parsed(data[start : start + size], _MOST_HEADER)
        rest = memoryview(data)[start + size : -_CHECKSUM]
        part = _part(fields, rest)
    except ValueError as error:
        _refuse(name, str(error))
    if hashlib.sha256(memoryview(data)[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        _refuse(name, "its checksum is wrong: it was altered, or not copied whole")
    if canonical.canonical(fields) != data[start : start + size]:
        _refuse(name, "its text is not exactly as TITAN writes it")
    return part


def _header_size(front: bytes, name: str) -> int:
    if len(front) < _FRONT.size or not front.startswith(MAGIC):
        _refuse(name, "it does not begin like one")
    _, version, size = _FRONT.unpack(front)
    if version > VERSION:
        raise FileError(
            f'"{name}" was written by a later titan: its format is {version}, this program '
            f"reads {VERSION}",
            hint="join with the titan that prepared it, or prepare it again with this one",
        )
    if version != VERSION or size > _MOST_HEADER:
        _refuse(name, "its version, or the size of its header, is none that there is")
    return int(size)


def _part(fields: dict[str, Any], rest: memoryview) -> PartFile:
    known = ("study", "party", "software", "key", "columns", "asked", "sources", "parts", "again")
    found = canonical.keys(fields, [*known, "apart"])
    columns = {n: canonical.mapping(c) for n, c in canonical.mapping(found["columns"]).items()}
    secret = bytes.fromhex(canonical.hexadecimal(found["key"], exactly=2 * SEED_BYTES))
    key = RowKey(secret, columns)
    states = [_source_fields(each) for each in canonical.listed(found["sources"])]
    if len(rest) != sum(map(_digest_bytes, states)):
        raise ValueError("its length is not the one its header tells")
    sources = []
    for state in states:
        size = _digest_bytes(state)
        sources.append(_source(state, rest[:size], key))
        rest = rest[size:]
    again = canonical.mapping(found["again"])
    apart = found["apart"]
    return PartFile(
        canonical.hexadecimal(found["study"], exactly=64),
        canonical.text(found["party"], MOST_NAME),
        canonical.text(found["software"]),
        key,
        tuple(canonical.text(each, MOST_NAME) for each in canonical.listed(found["asked"])),
        tuple(sources),
        canonical.mapping(found["parts"]),
        {name: canonical.text(why) for name, why in again.items()},
        None if apart is None else tuple(map(canonical.whole, canonical.listed(apart))),
    )


def _source_fields(value: object) -> dict[str, Any]:
    keys = ("label", "columns", "digested", "questions", "rows", "finer", "same_key", "same")
    found = canonical.keys(value, [*keys, "looks"])
    canonical.text(found["label"], MOST_NAME)
    canonical.mapping(found["looks"])
    for names in ("columns", "questions"):
        canonical.names(found[names])
    if found["digested"] != [] and not {*canonical.names(found["digested"])} <= {*found["columns"]}:
        raise ValueError("it has digests of columns that its rows do not have")
    canonical.whole(found["rows"], 1, _MOST_ROWS)
    return found


def _digest_bytes(state: Mapping[str, Any]) -> int:
    rows = int(state["rows"])
    return len(state["digested"]) * 8 * rows + len(state["questions"]) * -(-rows // 8)


def _source(state: Mapping[str, Any], data: memoryview, key: RowKey) -> SourcePart:
    rows, pieces = int(state["rows"]), iter(_pieces(state, data))
    cells = {name: np.frombuffer(next(pieces), "<u8") for name in state["digested"]}
    used = {}
    for name in state["questions"]:
        bits = np.unpackbits(np.frombuffer(next(pieces), np.uint8), bitorder="little")
        if bits[rows:].any():
            raise ValueError("it uses rows that are not there")
        used[name] = bits[:rows].astype(bool)
    finer = read_integer(state["finer"])
    if not 0 <= finer < _WORD:
        raise ValueError("a digest is out of range")
    same = dict(map(_same, canonical.listed(state["same"])))
    same_key = bytes.fromhex(canonical.hexadecimal(state["same_key"], exactly=2 * SEED_BYTES))
    own = OwnRows(key, cells, used, finer)
    label, names = state["label"], tuple(state["columns"])
    return SourcePart(label, names, own, same_key, same, state["looks"])


def _pieces(state: Mapping[str, Any], data: memoryview) -> Iterator[memoryview]:
    rows, at = int(state["rows"]), 0
    for size in [8 * rows] * len(state["digested"]) + [-(-rows // 8)] * len(state["questions"]):
        yield data[at : at + size]
        at += size


def _same(value: object) -> tuple[Columns, Sum]:
    columns, one, other = canonical.listed(value, 3)
    names = [canonical.name(each) for each in canonical.listed(columns)]
    sums = read_integer(one), read_integer(other)
    if names != sorted(set(names)) or not all(0 <= each < _WORD for each in sums):
        raise ValueError("a digest of all rows is out of range, or of no columns")
    return frozenset(names), sums


def _refuse(name: str, reason: str) -> NoReturn:
    raise FileError(f'"{name}" is not a usable part: {reason}', hint="make it again: titan prepare")


# -- files ----------------------------------------------------------------------------------------


def save(part: PartFile, path: Path, *, force: bool = False) -> int:
    """Write it in one step, with mode 600; how many bytes it has."""
    data = encode(part)
    files.write(path, data, mode=0o600, force=force)
    return len(data)


def load(path: Path) -> PartFile:
    """Read what `save` wrote; refused if others can read it."""
    with files.attempt("read", path), path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise FileError(
                f'the part "{path}" can be read by people other than its owner',
                hint=f'run: chmod 600 "{path}"',
            )
        return decode(file.read(), str(path))


def questions_of(sources: Sequence[SourcePart]) -> dict[str, SourcePart]:
    """Which source each question reads."""
    return {name: source for source in sources for name in source.own.used}
