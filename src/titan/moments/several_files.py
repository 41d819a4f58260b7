"""Several files as one source of rows: a list of them, a pattern, or a folder of Parquet files.

In a folder, a name such as year=2024 is a column of all files below it (as Hive, Spark, Arrow and
Polars write them), whose text is read as that of a CSV.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from titan.errors import DataError, FileError
from titan.listing import listing
from titan.moments import headings
from titan.moments.arrow import pa
from titan.moments.blocks import BATCH_ROWS, Block, Piece
from titan.moments.cells import ArrowCells, Cells
from titan.moments.sources import Source

_PARQUET = (".parquet", ".pq")
_GAP = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Found:
    """A file, what errors call it, and the columns that its folders are named for."""

    path: Path
    name: str
    constants: Mapping[str, str | None] = field(default_factory=dict)


def files_of(data: Any) -> list[Found]:
    """Those of a path, a pattern, a folder, or a list of such; in the order of their names."""
    if not isinstance(data, str | PathLike):
        return [each for one in data for each in files_of(one)]
    path = Path(fspath(data))
    if path.is_dir():
        return _in_folder(path)
    if path.exists() or not glob.has_magic(str(path)):
        return [Found(path, path.name)]
    matching = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 - absolute too
    files = [each for each in matching if each.is_file()]
    if not files:
        raise FileError(
            f"no file matches {path}",
            hint="put the pattern into quotes, and look whether its folder is right",
        )
    names = [each.name for each in files]
    return [Found(each, str(each) if names.count(each.name) > 1 else each.name) for each in files]


def are_several(data: Any) -> bool:
    """Whether it is more than the path of one file."""
    if isinstance(data, str | PathLike):
        path = Path(fspath(data))
        return path.is_dir() or (not path.exists() and glob.has_magic(str(path)))
    return isinstance(data, list | tuple) and all(isinstance(x, str | PathLike) for x in data)


def _in_folder(folder: Path) -> list[Found]:
    for sign, kind in (("_delta_log", "Delta"), ("metadata/version-hint.text", "Iceberg")):
        if (folder / sign).exists():
            raise DataError(
                f"{folder} is a table of {kind}, whose files are not all its rows",
                hint="give it as an Arrow dataset, table or stream",
            )
    paths = [each.relative_to(folder) for each in folder.rglob("*") if each.is_file()]
    kept = sorted(
        each
        for each in paths
        if each.suffix.lower() in _PARQUET and not any(x[0] in "._" for x in each.parts)
    )
    if not kept:
        raise FileError(
            f"{folder} is a folder without Parquet files",
            hint=f"for others say which: '{folder}/*.csv'",
        )
    return [Found(folder / each, each.as_posix(), _constants(each)) for each in kept]


def _constants(path: Path) -> dict[str, str | None]:
    pairs = (part.partition("=") for part in path.parts[:-1])
    return {
        unquote(name): None if value == _GAP else unquote(value)
        for name, sign, value in pairs
        if sign and name
    }


class SeveralFiles(Source):
    """The rows of one file after the other, all with the same columns."""

    def __init__(self, files: Sequence[Source], label: str) -> None:
        self.files, self.label = files, label
        self.column_names = files[0].column_names
        for other in files[1:]:
            if set(other.column_names) != set(self.column_names):
                raise _other_columns(files[0], other)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        return chain.from_iterable(file.batches(columns, size) for file in self.files)

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterator[Piece]:
        of_files = (file.pieces(columns, size, apart=apart) for file in self.files)
        return chain.from_iterable(of_files)


def _other_columns(first: Source, other: Source) -> DataError:
    lacks = [name for name in first.column_names if name not in other.column_names]
    more = [name for name in other.column_names if name not in first.column_names]
    hint = "all files of one party need the same columns"
    if not headings.may_be_shown(first.column_names) or not headings.may_be_shown(
        other.column_names
    ):
        return DataError(f"{other.label} has other columns than {first.label}", hint=hint)
    found = [f"lacks {listing(map(repr, lacks))}"] if lacks else []
    found += [f"has {listing(map(repr, more))} besides"] if more else []
    return DataError(
        f"{other.label} has other columns than {first.label}: it {' and '.join(found)}", hint=hint
    )


class WithConstants(Source):
    """The rows of another source, and columns that are the same in all of them."""

    def __init__(self, source: Source, constants: Mapping[str, str | None]) -> None:
        self.source, self.label = source, source.label
        self.constants = {k: v for k, v in constants.items() if k not in source.column_names}
        self.column_names = (*source.column_names, *self.constants)

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        for piece in self.pieces(columns, size, apart=False):
            yield from piece.blocks()

    def pieces(self, columns: Sequence[str], size: int, *, apart: bool) -> Iterator[Piece]:
        constants = {name: self.constants[name] for name in columns if name in self.constants}
        own = [name for name in columns if name not in constants]
        for piece in self.source.pieces(own, size, apart=apart):
            yield _WithConstants(piece, constants)


@dataclass(frozen=True)
class _WithConstants:
    piece: Piece
    constants: Mapping[str, str | None]

    def blocks(self) -> Iterator[Block]:
        for block in self.piece.blocks():
            made: dict[str, Cells] = {
                name: ArrowCells(
                    name, pa.repeat(pa.scalar(value, pa.string()), block.rows), block.place
                )
                for name, value in self.constants.items()
            }
            yield replace(block, cells={**block.cells, **made})


def _repeated(value: str | None, rows: int) -> Any:
    return pa.repeat(pa.scalar(value, pa.string()), rows)
