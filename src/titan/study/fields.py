"""TOML from other parties, read strictly: no key is ignored, no type is guessed, sizes are bounded.

Every error names the file and the key.
"""

# Rule 1: text is bounded before it is parsed, and parsing takes time in proportion to it.
# Rule 2: what is not asked for is refused, so that a misspelt key cannot be a silent default.

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from titan.errors import FileError
from titan.files import attempt

MOST_BYTES = 16 << 20  # a study of 10,000 parties has about 10 MB
MOST_TEXT = 1 << 20
_MOST_DOTS = 100
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*+(?:"|$)|'[^']*+(?:'|$)""")


def read_text(path: str | PathLike[str], most: int = MOST_BYTES) -> str:
    """The text of a file of at most so many bytes."""
    with attempt("read", path), Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise FileError(f"{path}: more than {most} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path}: not UTF-8 text", hint="save the file as UTF-8") from None


def parse(
    text: str, where: str, most: int = MOST_BYTES, *, what: str = "", hint: str = ""
) -> Fields:
    """The top table of a TOML document; `where` is the file's name, for errors.

    Fractions are read as the decimal numbers they are. `what` was expected (a card, a study), and
    `hint` says where one comes from.
    """
    if len(text) > most:
        raise FileError(f"{where}: more than {most} characters")
    _refuse_deep_keys(text, where)
    wrong = f"not a {what}: " if what else ""
    try:
        return Fields(tomllib.loads(text, parse_float=Decimal), where)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        raise FileError(
            f"{where}: {wrong}not TOML: {reason[:1].lower()}{reason[1:]}", hint=hint
        ) from None
    except (ValueError, ArithmeticError, RecursionError):
        raise FileError(
            f"{where}: {wrong}not TOML that can be read: a number or nesting out of range",
            hint=hint,
        ) from None


def _refuse_deep_keys(text: str, where: str) -> None:
    """A key a.b.c.… takes the parser time in the square of its length."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS and _QUOTED.sub("", line).count(".") > _MOST_DOTS:
            raise FileError(f"{where}, line {number}: more than {_MOST_DOTS} dots outside text")


class Fields:
    """One table of a document: take what is known, then say that this was `all`."""

    def __init__(self, table: Mapping[str, Any], where: str, path: str = "") -> None:
        self._left = dict(table)
        self._where = where
        self._path = path

    def text(self, key: str, default: str | None = None) -> str:
        found = self._take(key, str, "text", default)
        if len(found) > MOST_TEXT:
            self.refuse(key, f"has {len(found)} characters, where {MOST_TEXT} are the most")
        return str(found)

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if key in self._left else None

    def whole(self, key: str, default: int | None = None) -> int:
        return int(self._take(key, int, "a whole number", default))

    def optional_whole(self, key: str) -> int | None:
        return self.whole(key) if key in self._left else None

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> Fields:
        return Fields(self._take(key, dict, "a table", default), self._where, self._name(key))

    def tables(self, key: str, most: int) -> list[Fields]:
        found = self._take(key, list, "a list of tables", None)
        if len(found) > most:
            self.refuse(key, f"has {len(found)} items, where {most} are the most")
        for at, item in enumerate(found, 1):
            if type(item) is not dict:
                self.refuse(f"{key}[{at}]", f"is {_kind(item)}, where a table was expected")
        return [
            Fields(item, self._where, self._name(f"{key}[{at}]"))
            for at, item in enumerate(found, 1)
        ]

    def has(self, *keys: str) -> bool:
        return all(key in self._left for key in keys)

    def names(self) -> list[str]:
        """The keys of everything that is left, for a table whose keys are the writer's own."""
        return list(self._left)

    def sequence(self, key: str) -> list[Any]:
        return list(self._take(key, list, "a list", None))

    def texts(self, key: str) -> tuple[str, ...]:
        found = self.sequence(key)
        for at, item in enumerate(found, 1):
            if type(item) is not str:
                self.refuse(f"{key}[{at}]", f"is {_kind(item)}, where text was expected")
        return tuple(found)

    def text_or_texts(self, key: str) -> str | tuple[str, ...]:
        return self.texts(key) if type(self._left.get(key)) is list else self.text(key)

    def anything(self, key: str) -> Any:
        """Of whatever type, for the caller to check; None where it is not there."""
        return self._left.pop(key, None)

    def all(self) -> None:
        """Refuse what nobody took."""
        for key in self._left:
            self.refuse(key, "is not known here", hint="remove it, or look for a misspelling")

    def refuse(self, key: str, reason: str, *, hint: str = "") -> NoReturn:
        raise FileError(f"{self._where}: {self._name(key)} {reason}", hint=hint)

    def _take(self, key: str, kind: type, expected: str, default: Any) -> Any:
        found = self._left.pop(key, default)
        if found is None:
            self.refuse(key, f"is missing; {expected} was expected")
        if type(found) is not kind:
            self.refuse(key, f"is {_kind(found)}, where {expected} was expected")
        return found

    def _name(self, key: str) -> str:
        shown = key if len(key) <= 80 and key.isprintable() else ascii(key[:80])
        return f"{self._path}.{shown}" if self._path else shown


def _kind(value: object) -> str:
    names = {
        str: "text", bool: "true or false", int: "a whole number", Decimal: "a number",
        dict: "a table", list: "a list",
    }  # fmt: skip
    return names.get(type(value), "a date or time")
