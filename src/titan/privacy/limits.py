"""Too few rows to release: what every party checks itself before its numbers leave its machine.

The pooled sums are made to be known, so no masking protects what they give away. Sums over very few
rows give those rows away, and a model with nearly as many parameters as rows can be solved for
them. A party therefore looks twice:

1. at its own rows before the first sum: where they are too few, nothing leaves at all;
2. at the pooled row count, which the first sum opens, before the second sum: where the rows are too
   few in all, or too few for the parameters, the rest stays where it is. So it does where a level
   of a category is that of very few rows in all: its column of AᵀA would nearly show them.

A row counts once, whatever its weight; of a party's own, those of weight zero do not count.
"""

# Rule 1: nothing here reads, sends or remembers anything; the same numbers get the same answer at
#         every party, so that all of them stop between the same two sums.
# Rule 2: only the party itself is told how many rows it has.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from titan.errors import PlanError, ReleaseError
from titan.ring.whole import whole_number

_ALLOW = "allow_small=True if all parties agree to what so few give away"


@dataclass(frozen=True)
class Limits:
    """The fewest rows: of a party, in all, for each parameter, and at a level that occurs."""

    rows_per_party: int = 10
    rows: int | None = None
    """In all; left open, it is `rows_per_party` for every party."""
    rows_per_parameter: int = 3
    rows_per_level: int = 3
    otherwise: str = field(default=_ALLOW, compare=False)
    """How to go below these limits all the same, for the hint of an error."""

    def __post_init__(self) -> None:
        for name in ("rows_per_party", "rows", "rows_per_parameter", "rows_per_level"):
            given = getattr(self, name)
            if given is not None and whole_number(name, given) < 0:
                raise PlanError(f"{name}={given} is negative", hint="0 sets no limit")

    def rows_needed(self, parameters: int, parties: int) -> int:
        """The fewest rows in all with which the second sum is made."""
        return max(self._rows_in_all(parties), self.rows_per_parameter * parameters)

    def _rows_in_all(self, parties: int) -> int:
        return self.rows_per_party * parties if self.rows is None else self.rows

    def check_own(self, rows: int, party: str, *, weightless: int = 0) -> None:
        """Before the first sum: refuse too few rows of one's own. Only `party` may be told.

        Rows of weight zero add nothing to any sum, so that nobody hides behind them.
        """
        own, without = rows - weightless, f" without {weightless} of weight zero"
        found = f"{party!r} has {_counted(own)}{without if weightless else ''}"
        needed = f"a party needs at least {self.rows_per_party}"
        self._refuse(own < self.rows_per_party, f"{found}, and {needed}", "use more rows")

    def check_pooled(self, rows: int, parameters: int, parties: int) -> None:
        """Between the sums: refuse too few rows in all, or too few for so many parameters."""
        found, least = f"{_counted(rows)} in all", self._rows_in_all(parties)
        together = f"{parties} parties need at least {least} together"
        self._refuse(rows < least, f"{found}, and {together}", "use more rows")
        each, least = self.rows_per_parameter, self.rows_per_parameter * parameters
        found += f" for {_counted(parameters, 'parameter')}"
        needed = f"at least {least} are needed, {each} for each"
        advice = "name fewer columns, use more rows"
        self._refuse(rows < least, f"{found}, where {needed}", advice)

    def check_levels(self, counts: Mapping[str, int]) -> None:
        """Between the sums: refuse a level of a category that few rows have; none is no matter."""
        needed = f"one that occurs needs at least {self.rows_per_level}"
        advice = "merge it with another level, leave the column out"
        for level, rows in counts.items():
            found = f"{level} is the level of {_counted(rows)} in all"
            self._refuse(0 < rows < self.rows_per_level, f"{found}, and {needed}", advice)

    def check_cells(self, counts: Mapping[str, int]) -> None:
        """Between the sums: refuse a cell of a table that few rows are in; none is no matter."""
        needed = f"what occurs needs at least {self.rows_per_level}"
        advice = "merge levels or choose wider cells, leave the column out"
        for cell, rows in counts.items():
            found = f"{cell} holds for {_counted(rows)} in all"
            self._refuse(0 < rows < self.rows_per_level, f"{found}, and {needed}", advice)

    def check_values(self, values: int, column: str) -> None:
        """Between the sums: refuse mean and standard deviation of few values; none is no matter."""
        least = max(self.rows_per_level, 2 * self.rows_per_parameter)
        found = f"{column} has {_counted(values, 'value')} in all"
        needed = f"a mean and a standard deviation need at least {least}"
        advice = "leave the column out, use more rows"
        self._refuse(0 < values < least, f"{found}, and {needed}", advice)

    def _refuse(self, too_few: bool, message: str, advice: str) -> None:
        if too_few:
            raise ReleaseError(message, hint=f"{advice}, or {self.otherwise}")


DEFAULT = Limits()
NONE = Limits(0, 0, 0, 0)


def limits_for(allow_small: bool) -> Limits:
    """The default limits, or none where that was asked for in so many words."""
    if not isinstance(allow_small, bool):
        raise PlanError(f"allow_small={allow_small!r} is neither True nor False")
    return NONE if allow_small else DEFAULT


def _counted(number: int, what: str = "row") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
