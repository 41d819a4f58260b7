"""What commands read: one file of rows or of moments for each party."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import has_magic
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from titan.errors import DataError, FileError, UsageError
from titan.files import attempt
from titan.moments.sources import Source
from titan.moments.workers import RowsRead as RowsRead

if TYPE_CHECKING:
    from titan.moments import Moments
    from titan.moments.sql import Query


def by_party(files: Sequence[Path]) -> dict[str, Path]:
    """Party → file; the party is called like its file, without the ending.

    Where it is a pattern, like the folder that the pattern is in.
    """
    parties: dict[str, Path] = {}
    for file in files:
        name = next(part for part in (file.stem, *file.parts[-2::-1]) if not has_magic(part))
        if name in parties:
            raise UsageError(f"two files would both be party {name!r}", hint="rename one of them")
        parties[name] = file
    return parties


def open_rows(
    path: PathLike[str] | Query, *, decimal: bool = False, watch: RowsRead | None = None
) -> Source:
    """The rows of a CSV or Parquet file, of several, or of a query."""
    from titan.moments import open_source

    source = open_source(path, decimal=decimal)
    source.workers = replace(source.workers, watch=watch)
    return source


def divided(source: Source, column: str) -> dict[str, Source]:
    """One file's rows, by the party that a column names."""
    from titan.moments import split_by

    parts: dict[str, Source] = {**split_by(source, column)}
    if not parts:
        raise DataError(f"{source.label} has no rows")
    if len(parts) == 1:
        raise DataError(
            f'{source.label} has only one party: column "{column}" is the same in all rows',
            hint="leave --party out to look at one party alone",
        )
    return parts


def load_moments(path: Path) -> Moments | None:
    """The moments in a moments file; None where the file is of another kind."""
    from titan.moments import Moments
    from titan.moments.moments_file import MAGIC
    from titan.moments.several_files import are_several

    if are_several(path):
        return None
    of_moments = _start(path) == MAGIC or path.suffix == ".moments"
    return Moments.load(path) if of_moments else None


def _start(path: Path) -> bytes:
    """The first eight bytes, which tell what kind of file it is."""
    with attempt("read", path), path.open("rb") as file:
        return file.read(8)


# -- matrices ---------------------------------------------------------------------------------


def open_matrix(
    path: Path, *, header: bool | None, decimal: bool, watch: RowsRead | None
) -> Source:
    """The rows [A b] of a file; a CSV without a header has the columns x1, x2, …, b.

    Without `header` the first line is one if none of its cells is a number.
    """
    from titan.moments.csv_file import CsvFile

    if load_moments(path) is not None:
        raise FileError(f"{path.name} holds moments, where rows were expected", hint="titan fit")

    def names(first: Sequence[str]) -> list[str] | None:
        numbers = sum(map(_is_number, first))
        if header is None and 0 < numbers < len(first):
            raise FileError(
                f"{path}, line 1: {numbers} of {len(first)} fields are numbers",
                hint="--header if it is a header, --no-header if it is a row",
            )
        if header or (header is None and not numbers):
            return None
        return [*(f"x{j}" for j in range(1, len(first))), "b"]

    if _start(path).startswith(b"PAR1") or path.suffix.lower() in (
        ".parquet", ".pq", ".npz",
    ):  # fmt: skip
        return open_rows(path, decimal=decimal, watch=watch)
    source = CsvFile(path, names=names)
    source.workers = replace(source.workers, watch=watch)
    return source


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
