"""TOML from other parties, read strictly: no key is ignored, no type is guessed, sizes are bounded.

Every error names the file and the key.
"""

# Rule 1: text is bounded before it is parsed, and parsing takes time in proportion to it.
# Rule 2: what is not asked for is refused, so that a misspelt key cannot be a silent default.
# Rule 3: an error is one short line that prints, whatever the file has in it.

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
from titan.listing import told_of

MOST_BYTES = 16 << 20  # a study of 10,000 parties has about 10 MB
MOST_TEXT = 1 << 20
_MOST_DOTS = 100
_KINDS: dict[type, str] = {
    str: "text", bool: "true or false", int: "a whole number", Decimal: "a number",
    dict: "a table", list: "a list",
}  # fmt: skip
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
    try:
        return Fields(tomllib.loads(text, parse_float=Decimal), where)
    except tomllib.TOMLDecodeError as error:
        wrong = f"not TOML: {str(error)[:1].lower()}{str(error)[1:]}"
    except (ValueError, ArithmeticError, RecursionError):
        wrong = "not TOML that can be read: a number or nesting out of range"
    raise FileError(f"{where}: {f'not a {what}: ' if what else ''}{wrong}", hint=hint)


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

    def whole(self, key: str) -> int:
        return int(self._take(key, int, "a whole number"))

    def flag(self, key: str) -> bool:
        """True or false; false where it is not there."""
        return bool(self._take(key, bool, "true or false", False))

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> Fields:
        return Fields(self._take(key, dict, "a table", default), self._where, self._name(key))

    def tables(self, key: str, most: int) -> list[Fields]:
        found = self._take(key, list, "a list of tables")
        if len(found) > most:
            self.refuse(key, f"has {len(found)} items, where {most} are the most")
        items = Fields(self._items(key, found, dict, "a table"), self._where, self._path)
        return [items.table(name) for name in items.names()]

    def has(self, *keys: str) -> bool:
        return all(key in self._left for key in keys)

    def names(self) -> list[str]:
        """The keys of everything that is left, for a table whose keys are the writer's own."""
        return list(self._left)

    def sequence(self, key: str) -> list[Any]:
        return list(self._take(key, list, "a list"))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self._items(key, self.sequence(key), str, "text").values())

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
        told = told_of(f"{self._name(key)} {reason}")
        raise FileError(f"{self._where}: {told}", hint=told_of(hint))

    def _take(self, key: str, kind: type, expected: str, default: Any = None) -> Any:
        found = self._left.pop(key, default)
        if found is None:
            self.refuse(key, f"is missing; {expected} was expected")
        self._check(key, found, kind, expected)
        return found

    def _items(self, key: str, found: list[Any], kind: type, expected: str) -> dict[str, Any]:
        """Those of a list, all of one type, by their place in it."""
        items = {f"{key}[{at}]": item for at, item in enumerate(found, 1)}
        for place, item in items.items():
            self._check(place, item, kind, expected)
        return items

    def _check(self, key: str, found: object, kind: type, expected: str) -> None:
        if type(found) is not kind:
            named = _KINDS.get(type(found), "a date or time")
            self.refuse(key, f"is {named}, where {expected} was expected")

    def _name(self, key: str) -> str:
        shown = key if len(key) <= 80 and key.isprintable() else ascii(key[:80])
        return f"{self._path}.{shown}" if self._path else shown
