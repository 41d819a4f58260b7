"""The names of the parties: what may be one, and which number it has.

A name is a non-empty string without blanks around it and without control characters, since names
come from other parties' files and end in messages on a terminal. An integer stands for its decimal
text. A network of a million numbered parties holds no string until one is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import SupportsIndex

from titan.errors import NetworkError
from titan.ring.whole import as_whole

Party = str | SupportsIndex
"""What a caller may call a party by."""

_FEW = 12
_MOST = 2**31
_CLOSE_AMONG = 10_000


def party_name(name: object) -> str:
    """The name as text, or an error that says what is wrong with it."""
    if not isinstance(name, str):
        number = as_whole(name)
        if number is not None:
            return str(number)
        raise NetworkError(
            f"a party cannot be called {name!r}, of type {type(name).__name__}",
            hint="a party's name is text, or an integer that stands for its digits",
        )
    if not name:
        raise NetworkError("a party has an empty name", hint="give every party a name")
    if name != name.strip() or not name.isprintable():
        raise NetworkError(
            f"the party name {name!r} has blanks around it or characters that do not print",
            hint="remove them",
        )
    return str(name)


@dataclass(frozen=True, eq=False)
class Names:
    """Names in order: a tuple of them, or a number m for "1" to "m" as in the paper."""

    given: tuple[str, ...] | int

    @classmethod
    def of(cls, parties: SupportsIndex | Iterable[Party]) -> Names:
        """Checked names: a number of parties, or each one's name."""
        count = as_whole(parties)
        if count is not None:
            return cls(_enough(count))
        if isinstance(parties, str | bytes | bool) or not isinstance(parties, Iterable):
            raise NetworkError(
                f"{parties!r} is not a list of parties",
                hint="give a number of parties, or a sequence of their names",
            )
        names = tuple(party_name(name) for name in parties)
        _enough(len(names))
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise NetworkError(f'two parties are called "{name}"', hint="names must differ")
        return cls(names)

    @cached_property
    def all(self) -> tuple[str, ...]:
        if isinstance(self.given, tuple):
            return self.given
        return tuple(map(str, range(1, self.given + 1)))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.all)}

    def __len__(self) -> int:
        return self.given if isinstance(self.given, int) else len(self.given)

    def __getitem__(self, i: int) -> str:
        return str(i + 1) if isinstance(self.given, int) else self.given[i]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names):
            return NotImplemented
        if isinstance(self.given, int) and isinstance(other.given, int):
            return self.given == other.given
        return len(self) == len(other) and self.all == other.all

    def __hash__(self) -> int:
        return hash(len(self))

    def find(self, name: str) -> int | None:
        if isinstance(self.given, int):
            # Only the text that str() makes: "07" and "٣" are other names.
            plain = name.isascii() and name.isdigit() and name[0] != "0" and len(name) < 20
            return int(name) - 1 if plain and int(name) <= self.given else None
        return self._numbers.get(name)

    def index(self, party: object) -> int:
        name = "" if isinstance(party, str) and not party else party_name(party)
        found = self.find(name)
        if found is None:
            raise NetworkError(f'there is no party "{name}"', hint=self._suggestion(name))
        return found

    def _suggestion(self, name: str) -> str:
        if len(self) <= _FEW:
            return f"the parties are {', '.join(self.all)}"
        if isinstance(self.given, int):
            return f"the parties are numbered 1 to {self.given}"
        from difflib import get_close_matches

        close = get_close_matches(name, self.all[:_CLOSE_AMONG])
        return f"did you mean {' or '.join(close)}?" if close else f"there are {len(self)} parties"


def _enough(count: int) -> int:
    if count < 2:
        raise NetworkError(
            f"a network of {count} {'party' if count == 1 else 'parties'}",
            hint="at least two parties are needed",
        )
    if count > _MOST:
        raise NetworkError(f"a network of {count} parties", hint=f"there may be {_MOST}")
    return count
