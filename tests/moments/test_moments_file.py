"""A moments file is read as what was written, or not at all."""

from __future__ import annotations

import hashlib
import json
import stat
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import FileError
from titan.moments import Moments
from titan.moments.moments_file import MAGIC, decode, encode

SMALL = Moments.of_integers(
    ["größe", "y"], [(-3, -2), (5, 0)], 1234567890123, [2**70, -5, 12345678]
)


@st.composite
def any_moments(draw: st.DrawFn) -> Moments:
    n = draw(st.integers(0, 4))
    bits = draw(st.sampled_from([1, 64, 200]))
    exponents = st.integers(-2000, 2000)
    numbers = [
        draw(st.integers(0 if j == k else -(2**bits), 2**bits))
        for j in range(n)
        for k in range(j + 1)
    ]
    names = draw(st.lists(st.text(), min_size=n, max_size=n, unique=True))
    units = draw(st.lists(st.tuples(exponents, exponents), min_size=n, max_size=n))
    moments = Moments.of_integers(names, units, draw(st.integers(1, 2**62)), numbers)
    constant = tuple(draw(st.lists(st.sampled_from(names), unique=True)) if names else [])
    return replace(moments, constant=constant, weights=draw(st.none() | st.text()))


@given(any_moments())
def test_round_trip(moments: Moments) -> None:
    data = encode(moments)
    again = decode(data, "file")
    assert (again.names, again.units, again.rows) == (moments.names, moments.units, moments.rows)
    assert (again.constant, again.weights) == (moments.constant, moments.weights)
    assert np.array_equal(again.gram, moments.gram)
    assert encode(again) == data


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "north.moments"
    Moments.zero(["x"]).save(path)
    path.chmod(0o644)
    SMALL.save(path)
    assert Moments.load(path) == SMALL
    assert Moments.load(str(path)).units == SMALL.units
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]  # nothing is left beside it


def test_every_flipped_bit_and_every_length_is_refused() -> None:
    data = encode(SMALL)
    for at in range(len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            with pytest.raises(FileError, match='"north"'):
                decode(bytes(broken), "north")
    for end in range(len(data)):
        with pytest.raises(FileError):
            decode(data[:end], "north")
    with pytest.raises(FileError, match="length"):
        decode(data + b"\0", "north")


def forged(
    header: bytes, integers: bytes = b"", version: int = 1, size: int | None = None
) -> bytes:
    """A file whose checksum is right, whatever is in it."""
    size = len(header) if size is None else size
    body = struct.pack("<8sII", MAGIC, version, size) + header + integers
    return body + hashlib.sha256(body).digest()


def header(**changes: object) -> bytes:
    fields: dict[str, object] = {
        "constant": [],
        "limbs": 1,
        "names": ["a"],
        "rows": 3,
        "units": [[0, 0]],
        "weights": None,
    }
    return json.dumps({**fields, **changes}, separators=(",", ":")).encode()


ONE = (1).to_bytes(8, "little")


def test_the_forger_is_able_to_write_a_valid_file() -> None:
    assert decode(forged(header(), ONE), "file").integer(0, 0) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "does not begin"),
        (b"PK\x03\x04" * 9, "does not begin"),
        (forged(header(), ONE, version=2), "version 2"),
        (forged(header(), ONE, size=2**31), "header has more"),
        (forged(header(), ONE, size=10**6), "cut short"),
        (forged(b"{", ONE), "not JSON"),
        (forged(b"[" * 100_000, ONE), "not JSON"),
        (forged(b"[]", ONE), "exactly the fields"),
        (forged(header(more=1), ONE), "exactly the fields"),
        (forged(header(names="a"), ONE), "one unit for every name"),
        (forged(header(units=[]), ONE), "one unit for every name"),
        (forged(header(limbs=0), b""), "no limb"),
        (forged(header(limbs=2**62), ONE), "4096 limbs"),
        (forged(header(limbs=True), ONE), "no limb"),
        (forged(header(names=["a"] * 70_000, units=[[0, 0]] * 70_000), ONE), "65536 columns"),
        (forged(header(rows=-1), ONE), "out of range"),
        (forged(header(rows=3.0), ONE), "out of range"),
        (forged(header(units=[[0, 2**40]]), ONE), "out of range"),
        (forged(header(units=[[0]]), ONE), "out of range"),
        (forged(header(units=[0]), ONE), "out of range"),
        (forged(header(), ONE * 2), "length"),
        (forged(header(names=[1]), ONE), "not a string"),
        (forged(header(names=["a", "a"], units=[[0, 0]] * 2), ONE * 3), "two columns"),
        (forged(header(limbs=2), ONE + bytes(8)), "not exactly as TITAN writes it"),
        (forged(header().replace(b":3", b": 3"), ONE), "not exactly as TITAN writes it"),
        (
            forged(header(names=["ö"]).replace(b"\\u00f6", "ö".encode()), ONE),
            "not exactly as TITAN writes it",
        ),
        (forged(header(), b"\xff" * 8), "no rows have such moments"),
        (forged(header(rows=0), ONE), "no rows have such moments"),
    ],
)
def test_files_that_nobody_saved_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(FileError, match=reason) as caught:
        decode(data, "north")
    assert '"north"' in str(caught.value)


def test_broken_files_are_refused_before_they_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "north"
    data = encode(SMALL)
    for broken in (data[:5], data[:40], data[:-1], data + b"\0", b"x" * 99, data[:-1] + b"\0"):
        path.write_bytes(broken)
        with pytest.raises(FileError, match="north"):
            Moments.load(path)
    path.write_bytes(forged(header(limbs=4096, names=["a"] * 60_000, units=[[0, 0]] * 60_000)))
    with pytest.raises(FileError, match="length"):  # and not a MemoryError
        Moments.load(path)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r'missing" cannot be read: no such file'):
        Moments.load(tmp_path / "missing")
    with pytest.raises(FileError, match="cannot be read: is a directory"):
        Moments.load(tmp_path)
    with pytest.raises(FileError, match="cannot be written: no such file"):
        SMALL.save(tmp_path / "nowhere" / "file")
    with pytest.raises(FileError, match="out of range"):
        Moments.of_integers(["a"], [(0, 2**40)], 1, [1]).save(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
