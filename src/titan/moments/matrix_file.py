"""Files of NumPy's (.npz) with a party's equations A x = b, as rows."""

# Rule: nothing in a file is executed: arrays of Python objects are refused, not unpickled.

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import FileError
from titan.moments.tables import Table

_MATRICES = "write it with numpy.savez(file, A=A, b=b), A having one row for each entry of b"


def open_matrix_file(path: Path, *, decimal: bool, label: str = "") -> Table:
    """A party's equations A x = b in a file of NumPy's (.npz), as rows of columns x1, x2, … and b.

    FileError for all that is not two arrays of numbers, A and b, that fit together.
    """
    told = label or path.name
    A, b = _array(path, told, "A"), _array(path, told, "b")
    if A.ndim != 2 or b.shape != A.shape[:1]:
        raise FileError(f"{told} has A of shape {A.shape} and b of shape {b.shape}", hint=_MATRICES)
    columns = {f"x{at}": column for at, column in enumerate(A.T, 1)}
    return Table({**columns, "b": b}, decimal=decimal, label=told)


def _array(path: Path, told: str, name: str) -> npt.NDArray[Any]:
    try:
        with zipfile.ZipFile(path) as whole:
            missing = f"{name}.npy" not in whole.namelist()
            array = None if missing else _read(whole, f"{name}.npy")
    except Exception:  # zipfile, zlib and NumPy have a dozen kinds for damaged bytes
        raise FileError(
            f"{told}: the array {name} cannot be read: it is damaged, or holds Python objects",
            hint=_MATRICES,
        ) from None
    if array is None:
        raise FileError(f"{told} has no array called {name}", hint=_MATRICES)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise FileError(f"{told}: the array {name} is of type {array.dtype}", hint=_MATRICES)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _read(whole: zipfile.ZipFile, member: str) -> npt.NDArray[Any]:
    with whole.open(member) as file:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # also lets zipfile compare the checksum, at the end
            raise ValueError("something stands behind the array")
    return array
