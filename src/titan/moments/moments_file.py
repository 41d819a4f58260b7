"""The moments file: what a party computed from its rows once, to be used again.

    magic      8 bytes   "TITANMOM"
    version    u32       1
    header     u32       its length in bytes
    header     JSON      {"constant":[…],"limbs":L,"names":[…],"rows":r,"units":[[two,five],…],
                         "weights":null or "…"}, keys in this order, no spaces, ASCII with escapes
    integers   L · n(n+1)/2 · u64   the lower triangle row after row: first the low 64 bits of all
                         entries, then the next 64, …; two's complement, in the fewest limbs
    checksum   32 bytes  SHA-256 of everything before

All numbers are little-endian. The moment of columns j and k is integer_jk · unit_j · unit_k with
unit = 2^two · 5^five. `constant` names columns that add up to 1 in every row, `weights` what rows
were weighted by. A file has one valid form only: what is accepted encodes to the same bytes. The
checksum finds accidents, not forgers: whoever can write the file can write its checksum. Moments
are as secret as sums over the rows are; the file is written for its owner's eyes only.
"""

# Rule 1: sizes are checked before anything of that size is allocated.
# Rule 2: a file is there whole or not at all.

from __future__ import annotations

import hashlib
import json
import os
import struct
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from titan import files
from titan.errors import DataError, FileError
from titan.moments import limbs, triangle
from titan.moments.moments import Moments
from titan.ring.whole import is_whole

MAGIC = b"TITANMOM"
VERSION = 1

_FRONT = struct.Struct("<8sII")
_CHECKSUM = 32
_MAX_HEADER = 1 << 24
_MAX_COLUMNS = 1 << 16
_MAX_LIMBS = 1 << 12
_MAX_EXPONENT = 1 << 16
_MAX_ROWS = 1 << 63
_KEYS = {"constant", "limbs", "names", "rows", "units", "weights"}


# -- bytes ------------------------------------------------------------------------------------


def encode(moments: Moments) -> bytes:
    """The file's bytes."""
    header = _header(moments)
    integers = moments.gram.astype("<u8", copy=False).tobytes()
    body = _FRONT.pack(MAGIC, VERSION, len(header)) + header + integers
    return body + hashlib.sha256(body).digest()


def _header(moments: Moments) -> bytes:
    fields = {
        "constant": moments.constant,
        "limbs": len(moments.gram),
        "names": moments.names,
        "rows": moments.rows,
        "units": moments.units,
        "weights": moments.weights,
    }
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def decode(data: bytes, name: str) -> Moments:
    """The inverse of `encode`; FileError, naming the file, for every other sequence of bytes."""
    start = _FRONT.size + _header_size(data, name)
    fields = _fields(data[_FRONT.size : start], name)
    _check_size(len(data), start, fields, name)
    if hashlib.sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        _refuse(name, "its checksum is wrong")
    return _moments(fields, data[start:-_CHECKSUM], data, name)


def _header_size(data: bytes, name: str) -> int:
    if len(data) < _FRONT.size or data[: len(MAGIC)] != MAGIC:
        _refuse(name, "it does not begin like one")
    _, version, size = _FRONT.unpack_from(data)
    if version != VERSION:
        _refuse(name, f"it has version {version}, and this program reads version {VERSION}")
    if size > _MAX_HEADER:
        _refuse(name, f"its header has more than {_MAX_HEADER} bytes")
    return int(size)


def _check_size(size: int, start: int, fields: dict[str, Any], name: str) -> None:
    integers = 8 * fields["limbs"] * triangle.entries(len(fields["names"]))
    if size != start + integers + _CHECKSUM:
        _refuse(name, "its length is not the one its header tells")


def _fields(header: bytes, name: str) -> dict[str, Any]:
    """The header's fields, of the right types and within the limits."""
    try:
        fields = json.loads(header)
    except (ValueError, RecursionError):
        _refuse(name, "its header is not JSON, or is cut short")
    if not isinstance(fields, dict) or set(fields) != _KEYS:
        _refuse(name, f"its header does not have exactly the fields {', '.join(sorted(_KEYS))}")
    names, units, constant = fields["names"], fields["units"], fields["constant"]
    if not isinstance(names, list) or not isinstance(units, list) or len(units) != len(names):
        _refuse(name, "its header does not have one unit for every name")
    if len(names) > _MAX_COLUMNS or not is_whole(fields["limbs"], 1, _MAX_LIMBS):
        _refuse(name, f"it has more than {_MAX_COLUMNS} columns or {_MAX_LIMBS} limbs, or no limb")
    named = isinstance(constant, list) and all(each in names for each in constant)
    if not named or not isinstance(fields["weights"], str | None):
        _refuse(name, "its constant, or its weights, are not names of its columns")
    if not is_whole(fields["rows"], 0, _MAX_ROWS) or not all(map(_is_unit, units)):
        _refuse(name, "its number of rows, or a unit, is out of range")
    return fields


def _is_unit(unit: Any) -> bool:
    most = _MAX_EXPONENT
    is_pair = isinstance(unit, list) and len(unit) == 2
    return is_pair and all(is_whole(exponent, -most, most) for exponent in unit)


def _moments(fields: dict[str, Any], integers: bytes, data: bytes, name: str) -> Moments:
    gram = np.frombuffer(integers, "<u8").astype(np.uint64).reshape(fields["limbs"], -1)
    units = tuple((two, five) for two, five in fields["units"])
    names, constant = tuple(fields["names"]), tuple(fields["constant"])
    try:
        moments = Moments(names, units, fields["rows"], gram, constant, fields["weights"])
    except DataError as error:
        _refuse(name, error.message)
    if len(limbs.trim(gram)) != len(gram) or encode(moments) != data:
        _refuse(name, "its text is not exactly as TITAN writes it")
    diagonal = np.arange(len(moments.names), dtype=np.int64)
    negative = limbs.negative(gram[:, triangle.place(diagonal, diagonal)])
    if negative.any() or (not moments.rows and gram.any()):
        _refuse(name, "no rows have such moments")
    return moments


def _refuse(name: str, reason: str) -> NoReturn:
    raise FileError(
        f'"{name}" is not a usable moments file: {reason}', hint="compute it again from the rows"
    )


# -- files ------------------------------------------------------------------------------------


def save(moments: Moments, path: str | PathLike[str]) -> None:
    """Write the file in one step, with mode 600; an older one at this place is replaced."""
    _fields(_header(moments), str(path))  # what nobody could load is not saved
    files.write(Path(path), encode(moments), mode=0o600, force=True)


def load(path: str | PathLike[str]) -> Moments:
    """Read a file that `save` wrote."""
    name = str(path)
    with files.attempt("read", f'"{path}"'), Path(path).open("rb") as file:
        front = file.read(_FRONT.size)
        header = file.read(_header_size(front, name))
        size = os.fstat(file.fileno()).st_size
        _check_size(size, len(front) + len(header), _fields(header, name), name)
        return decode(front + header + file.read(size), name)
