"""Reading rows once, for all who want something of them.

    read(source, reading)           what one reading makes of all rows
    read_all(source, [one, other])  the same for several, in one pass over the columns of all

A reading says which columns it needs, what it makes of a block of rows, and how two such parts
become one. Parts are small; rows are gone when their block is.
"""

# Rule 1: `merge` is associative, and commutative unless the order of rows is what is wanted: blocks
#         may be read elsewhere and come back in any grouping.
# Rule 2: a reading keeps nothing between blocks and can be pickled: a frozen dataclass.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from titan.errors import DataError
from titan.moments.sources import BATCH_ROWS, Block, Source

Part = TypeVar("Part")
Result = TypeVar("Result")


class Reading(ABC, Generic[Part, Result]):
    """What somebody wants of all rows of a source."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The columns whose cells are needed."""

    @property
    def size(self) -> int:
        """The most rows of a block: fewer, where each row becomes much."""
        return BATCH_ROWS

    @abstractmethod
    def block(self, rows: Block) -> Part:
        """What is kept of some rows. A block may have more columns than were asked for."""

    def merge(self, one: Part, other: Part) -> Part:
        """What is kept of the rows of both: unless told otherwise, the sum."""
        return cast("Part", cast("Any", one) + other)

    def finish(self, whole: Part, label: str) -> Result:
        """What is made of all rows in the end; `label` is what errors call their source.

        Unless told otherwise, the whole as it is.
        """
        return cast("Result", whole)


def read(source: Source, reading: Reading[Part, Result]) -> Result:
    """One pass over the rows; DataError where there are none."""
    whole = source.map_blocks(
        reading.block, reading.merge, columns=reading.columns, size=reading.size
    )
    if whole is None:
        raise DataError(f"{source.label} has no rows")
    return reading.finish(whole, source.label)


def read_all(source: Source, readings: Sequence[Reading[Any, Any]]) -> tuple[Any, ...]:
    """One pass over the rows for all of these, whose results come in the same order."""
    return read(source, Several(tuple(readings))) if readings else ()


@dataclass(frozen=True)
class Several(Reading[tuple[Any, ...], tuple[Any, ...]]):
    """Several readings as one. Where more than one refuses the rows, the first is heard."""

    readings: tuple[Reading[Any, Any], ...]

    @property
    def columns(self) -> Sequence[str]:
        return tuple(dict.fromkeys(name for each in self.readings for name in each.columns))

    @property
    def size(self) -> int:
        return min((each.size for each in self.readings), default=BATCH_ROWS)

    def block(self, rows: Block) -> tuple[Any, ...]:
        return tuple(each.block(rows) for each in self.readings)

    def merge(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
        parts = zip(self.readings, one, other, strict=True)
        return tuple(each.merge(a, b) for each, a, b in parts)

    def finish(self, whole: tuple[Any, ...], label: str) -> tuple[Any, ...]:
        parts = zip(self.readings, whole, strict=True)
        return tuple(each.finish(part, label) for each, part in parts)
