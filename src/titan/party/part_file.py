"""A part: what a party made of its rows once, where they lie, to take part from elsewhere.

    magic      8 bytes   "TITANPRT"
    version    u32       2
    header     u64       its length in bytes
    header     JSON      canonical; see `_header`
    digests    of every source, of every piece of its rows, whose lengths are in `rows`: of every
                         column named in its `digested`, u64 × rows; then of every question, which
                         rows it uses: a bit each, eight to a byte
    checksum   32 bytes  SHA-256 of everything before

All numbers are little-endian. Digests are written and read piece by piece: of however many rows,
few are in memory. It has the counts and moments of all questions, the digests of every
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
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from titan import canonical, files
from titan.canonical import MOST_NAME, exact_text, read_integer
from titan.errors import FileError
from titan.moments.same_rows import Columns, Sum
from titan.protocol.masking import SEED_BYTES
from titan.study.row_digests import OwnRows, Piece, RowKey
from titan.study.spool import Array, InFile, OpenFile

MAGIC = b"TITANPRT"
VERSION = 2
_FRONT = struct.Struct("<8sIQ")
_CHECKSUM = 32
_BLOCK = 1 << 20
_MOST_HEADER = 1 << 30
_MOST_ROWS = 1 << 34
_WORD = 1 << 64


@dataclass(frozen=True)
class SourcePart:
    """Of one source of rows."""

    label: str
    column_names: tuple[str, ...]
    own: OwnRows = field(repr=False)
    """The digests of cells; `own.questions` are those that read this source."""
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
    return b"".join(_written(part))


def _written(part: PartFile) -> Iterator[bytes]:
    """All bytes of the file, some at a time."""
    header, digest = canonical.canonical(_header(part)), hashlib.sha256()
    front = [_FRONT.pack(MAGIC, VERSION, len(header)), header]
    for data in chain(front, *map(_source_bytes, part.sources)):
        digest.update(data)
        yield data
    yield digest.digest()


def _source_bytes(source: SourcePart) -> Iterator[bytes]:
    for piece in source.own.pieces:
        for name in source.own.columns:
            yield piece.cells[name].load().astype("<u8", copy=False).tobytes()
        for used in piece.used.values():
            yield np.packbits(used.load(), bitorder="little").tobytes()


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
        "digested": list(own.columns),
        "questions": list(own.questions),
        "rows": [piece.rows for piece in own.pieces],
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
    return read(BytesIO(data), name)


def read(file: IO[bytes], name: str) -> PartFile:
    """What is in a file, from which digests are read later, as they are needed."""
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = _FRONT.size
    size = _header_size(file.read(start), name)
    if start + size + _CHECKSUM > length:
        _refuse(name, "its length is not the one its header tells")
    header = file.read(size)
    if _digest(file, length - _CHECKSUM) != file.read(_CHECKSUM):
        _refuse(name, "its checksum is wrong: it was altered, or not copied whole")
    try:
        fields = canonical.parsed(header, _MOST_HEADER)
        part = _part(fields, _Body(OpenFile(file, name), start + size, length - _CHECKSUM))
    except ValueError as error:
        _refuse(name, str(error))
    if canonical.canonical(fields) != header:
        _refuse(name, "its text is not exactly as TITAN writes it")
    return part


def _digest(file: IO[bytes], length: int) -> bytes:
    """Of so many bytes, of which few are in memory."""
    found = hashlib.sha256()
    file.seek(0)
    while length and (data := file.read(min(length, _BLOCK))):
        found.update(data)
        length -= len(data)
    return found.digest()


@dataclass
class _Body:
    """The digests in a file: what comes next, and where they end."""

    file: OpenFile
    at: int
    end: int

    def skip(self, size: int) -> int:
        """Where the next so many bytes begin."""
        start, self.at = self.at, self.at + size
        return start


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
    if version != VERSION:
        _refuse(name, f"its format is {version}, and this program reads {VERSION}")
    if size > _MOST_HEADER:
        _refuse(name, "its header is larger than any that there is")
    return int(size)


def _part(fields: dict[str, Any], body: _Body) -> PartFile:
    known = ("study", "party", "software", "key", "columns", "asked", "sources", "parts", "again")
    found = canonical.keys(fields, [*known, "apart"])
    columns = {n: canonical.mapping(c) for n, c in canonical.mapping(found["columns"]).items()}
    secret = bytes.fromhex(canonical.hexadecimal(found["key"], exactly=2 * SEED_BYTES))
    key = RowKey(secret, columns)
    states = [_source_fields(each) for each in canonical.listed(found["sources"])]
    if body.end - body.at != sum(map(_digest_bytes, states)):
        raise ValueError("its length is not the one its header tells")
    sources = [_source(state, body, key) for state in states]
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
    rows = [canonical.whole(each, 1, _MOST_ROWS) for each in canonical.listed(found["rows"])]
    canonical.whole(sum(rows), 1, _MOST_ROWS)
    return found


def _digest_bytes(state: Mapping[str, Any]) -> int:
    columns, questions = len(state["digested"]), len(state["questions"])
    return sum(columns * 8 * rows + questions * -(-rows // 8) for rows in state["rows"])


def _source(state: Mapping[str, Any], body: _Body, key: RowKey) -> SourcePart:
    pieces = [_piece(state, rows, body) for rows in state["rows"]]
    finer = read_integer(state["finer"])
    if not 0 <= finer < _WORD:
        raise ValueError("a digest is out of range")
    same = dict(map(_same, canonical.listed(state["same"])))
    same_key = bytes.fromhex(canonical.hexadecimal(state["same_key"], exactly=2 * SEED_BYTES))
    own = OwnRows(key, pieces, finer)
    label, names = state["label"], tuple(state["columns"])
    return SourcePart(label, names, own, same_key, same, state["looks"])


def _piece(state: Mapping[str, Any], rows: int, body: _Body) -> Piece:
    words, bits = np.dtype("<u8"), -(-rows // 8)
    cells = {
        name: InFile(body.file, body.skip(8 * rows), rows, words) for name in state["digested"]
    }
    used = {name: _Bits(body.file, body.skip(bits), rows) for name in state["questions"]}
    if any(each.beyond for each in used.values()):
        raise ValueError("it uses rows that are not there")
    return Piece(rows, cells, used)


@dataclass(frozen=True, eq=False)
class _Bits:
    """Which rows a question uses: a bit each, from a place of a file on."""

    file: OpenFile = field(repr=False)
    start: int
    rows: int

    def __len__(self) -> int:
        return self.rows

    @property
    def beyond(self) -> bool:
        """Whether there are bits after the last row's."""
        (last,) = self.file.read(self.start + (self.rows - 1) // 8, 1)
        return last >> (self.rows - 1) % 8 + 1 != 0

    def load(self, start: int = 0, stop: int | None = None) -> Array:
        data = self.file.read(self.start, -(-self.rows // 8))
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=self.rows, bitorder="little")
        return bits.astype(bool)[start:stop]


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
    return files.write_stream(path, _written(part), mode=0o600, force=force)


def load(path: Path) -> PartFile:
    """Read what `save` wrote; refused if others can read it."""
    with files.attempt("read", path):
        file = path.open("rb")
    try:
        mode = os.fstat(file.fileno()).st_mode
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise FileError(
                f'the part "{path}" can be read by people other than its owner',
                hint=f'run: chmod 600 "{path}"',
            )
        with files.attempt("read", path):
            return read(file, str(path))
    except BaseException:
        file.close()
        raise


def questions_of(sources: Sequence[SourcePart]) -> dict[str, SourcePart]:
    """Which source each question reads."""
    return {name: source for source in sources for name in source.own.questions}
