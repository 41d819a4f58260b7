"""How a CSV file is written: what stands between cells, how numbers are, in which encoding.

Excel writes CSV as its machine's region does: in much of Europe with semicolons between cells,
commas in numbers, and in cp1252. Nothing of that is guessed: 1,234 is two numbers.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from titan.errors import InputError

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
_HINT = (
    'such as csv="europe", or csv={"delimiter": ";", "decimal_comma": True, "encoding": "cp1252"}'
)


@dataclass(frozen=True)
class CsvFormat:
    """Without a delimiter: commas, or tabs where the file's name ends in .tsv."""

    delimiter: str | None = None
    decimal_comma: bool = False
    """Whether 1,5 is one and a half; 1.5 is not a number then."""
    encoding: str = "utf-8"

    @classmethod
    def of(cls, given: Any) -> CsvFormat:
        """From None, "europe", a mapping of these fields, or one of its own kind."""
        if given is None:
            return PLAIN
        if isinstance(given, CsvFormat):
            return given
        if isinstance(given, str) and given == "europe":
            return EUROPE
        fields = {"delimiter", "decimal_comma", "encoding"}
        if not isinstance(given, Mapping) or not set(given) <= fields:
            said = f"csv={given!r} does not say how a CSV file is written"
            raise InputError(said, hint=_HINT, choice="csv")
        return cls(**given)

    @property
    def words(self) -> list[str]:
        """As options of a command."""
        said = [] if self.delimiter is None else ["--delimiter", self.delimiter]
        return [*said, *["--decimal-comma"] * self.decimal_comma, "--encoding", self.encoding]

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            named = _NAMED.get(str(self.delimiter), self.delimiter)
            sane = isinstance(named, str) and len(named) == 1 and named.isascii()
            if not sane or named.isalnum() or named in "\"'\r\n.+-":
                raise InputError(
                    f"delimiter {self.delimiter!r} cannot stand between cells",
                    hint="one character, such as ; or tab",
                    choice="delimiter",
                )
            object.__setattr__(self, "delimiter", named)
        if not isinstance(self.decimal_comma, bool):
            raise InputError("decimal_comma is not True or False", hint=_HINT)
        if self.decimal_comma and self.delimiter in (None, ","):
            raise InputError(
                "commas in numbers need another delimiter between cells",
                hint='csv={"delimiter": ";", "decimal_comma": True}',
                choice="decimal_comma",
            )
        object.__setattr__(self, "encoding", _checked(self.encoding))


def _checked(encoding: Any) -> str:
    """By the one name that Python has for it; of those that read text from bytes."""
    try:
        found = codecs.lookup(encoding)
        if not found._is_text_encoding:
            raise LookupError
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is not known",
            hint="such as utf-8, cp1252 or utf-16",
            choice="encoding",
        ) from None
    return found.name


@dataclass(frozen=True)
class RowsFile(PathLike[str]):
    """The path of a file of rows, how it is written if it is CSV, and who reads it.

    Without a Dask scheduler, this process.
    """

    path: Path
    written: CsvFormat
    scheduler: str | None = None

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @classmethod
    def of(cls, file: str | PathLike[str]) -> RowsFile:
        return file if isinstance(file, RowsFile) else cls(Path(file), PLAIN)

    def read_by(self, scheduler: str) -> RowsFile:
        return replace(self, scheduler=scheduler)

    @classmethod
    def all_of(cls, data: Any, csv: Any) -> Any:
        """The same rows with what is said of CSV; of a mapping each. Tables are as they were."""
        if csv is None:
            return data
        if isinstance(data, Mapping):
            return {name: cls.all_of(rows, csv) for name, rows in data.items()}
        is_path = isinstance(data, str | PathLike)
        return cls(Path(data), CsvFormat.of(csv)) if is_path else data


PLAIN = CsvFormat()
EUROPE = CsvFormat(";", decimal_comma=True, encoding="cp1252")
