"""Invariant: a .npz with A and b is rows of numbers, and whatever else it holds is refused."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from titan.errors import FileError, TitanError
from titan.moments import Model, collect, open_source

A = np.array([[1.5, 2], [3, 4], [5, 0.1]])
b = np.array([1, 2, 3])


def saved(path: Path, how: Callable[..., None] = np.savez, **arrays: Any) -> Path:
    how(path / "own.npz", **arrays)
    return path / "own.npz"


@pytest.mark.parametrize("how", [np.savez, np.savez_compressed])
def test_rows_are_those_of_both_arrays(tmp_path: Path, how: Callable[..., None]) -> None:
    source = open_source(saved(tmp_path, how, A=A, b=b, other=A), label="north")
    assert source.column_names == ("x1", "x2", "b")
    assert source.label == "own.npz (north)"
    model = Model.from_columns("b", ["x1", "x2"], intercept=False)
    arrays = collect({"x1": A[:, 0], "x2": A[:, 1], "b": b}, model).moments
    for _ in range(2):  # it can be read again
        assert collect(source, model).moments == arrays
    assert arrays.fraction(0, 2) == Fraction(1.5) + 6 + 15


@pytest.mark.parametrize("kind", ["<i4", ">i4", ">f8", "<f4", "<f2", "|u1", ">u8", "?"])
def test_numbers_of_every_kind(tmp_path: Path, kind: str) -> None:
    whole = np.array([[1, 0], [1, 1]])
    source = open_source(saved(tmp_path, A=whole.astype(kind), b=np.array([1, 0], kind)))
    (batch,) = source.batches(["x2"])
    column, gaps = batch.cells["x2"].numbers()
    assert column.fractions() == [0, 1]
    assert not gaps.any()


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"A": A}, "no array called b"),
        ({"b": b}, "no array called A"),
        ({"A": A, "b": A}, r"A of shape \(3, 2\) and b of shape \(3, 2\)"),
        ({"A": A, "b": b[:2]}, r"b of shape \(2,\)"),
        ({"A": b, "b": b}, r"A of shape \(3,\)"),
        ({"A": A, "b": b.reshape(3, 1)}, r"b of shape \(3, 1\)"),
        (
            {"A": A.astype(object), "b": b},
            "A cannot be read: it is damaged, or holds Python objects",
        ),
        ({"A": A + 1j, "b": b}, "A is of type complex128"),
        ({"A": A, "b": np.array(["1", "2", "3"])}, "b is of type <U1"),
        ({"A": A.astype("M8[s]"), "b": b}, "A is of type datetime64"),
    ],
)
def test_arrays_that_are_not_equations(tmp_path: Path, arrays: Any, complaint: str) -> None:
    with pytest.raises(FileError, match=complaint) as error:
        open_source(saved(tmp_path, **arrays))
    assert "numpy.savez(file, A=A, b=b)" in error.value.hint


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_files_that_are_something_else(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "own.npz").write_bytes(data)
    with pytest.raises(FileError, match=r"own\.npz: the array A cannot be read"):
        open_source(tmp_path / "own.npz")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "fired",))

    path = saved(tmp_path, A=np.array([[Bomb()]], object), b=np.array([1]))
    with pytest.raises(FileError):
        open_source(path)
    assert not (tmp_path / "fired").exists()


def test_bytes_behind_an_array_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, A=A, b=b)
    with zipfile.ZipFile(path) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(path, "w") as whole:
        for name, data in members.items():
            whole.writestr(name, data + b"\x00")
    with pytest.raises(FileError, match="A cannot be read"):
        open_source(path)


def test_a_damaged_file_is_refused_or_means_the_same(tmp_path: Path) -> None:
    path = saved(tmp_path, np.savez_compressed, A=A, b=b)
    sound, rng, refused = path.read_bytes(), random.Random(7), 0
    for _ in range(300):
        data = bytearray(sound)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(data))
        try:
            source = open_source(path)
        except TitanError:
            refused += 1
        else:
            values = next(iter(source.batches(["x1"]))).cells["x1"].numbers()[0].fractions()
            assert values == [Fraction(1.5), 3, 5]
    assert refused > 150
