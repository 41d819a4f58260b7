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
        if rows - weightless < self.rows_per_party:
            without = f" without {weightless} of weight zero" if weightless else ""
            raise ReleaseError(
                f"{party!r} has {_counted(rows - weightless)}{without}, and a party needs at least "
                f"{self.rows_per_party}",
                hint=f"use more rows, or {self.otherwise}",
            )

    def check_pooled(self, rows: int, parameters: int, parties: int) -> None:
        """Between the sums: refuse too few rows in all, or too few for so many parameters."""
        needed = self._rows_in_all(parties)
        if rows < needed:
            raise ReleaseError(
                f"{_counted(rows)} in all, and {parties} parties need at least {needed} together",
                hint=f"use more rows, or {self.otherwise}",
            )
        if rows < self.rows_per_parameter * parameters:
            raise ReleaseError(
                f"{_counted(rows)} in all for {_counted(parameters, 'parameter')}, where at least "
                f"{self.rows_per_parameter * parameters} are needed, {self.rows_per_parameter} "
                "for each",
                hint=f"name fewer columns, use more rows, or {self.otherwise}",
            )

    def check_levels(self, counts: Mapping[str, int]) -> None:
        """Between the sums: refuse a level of a category that few rows have; none is no matter."""
        for level, rows in counts.items():
            if 0 < rows < self.rows_per_level:
                raise ReleaseError(
                    f"{level} is the level of {_counted(rows)} in all, and one that occurs needs "
                    f"at least {self.rows_per_level}",
                    hint=f"merge it with another level, leave the column out, or {self.otherwise}",
                )

    def check_cells(self, counts: Mapping[str, int]) -> None:
        """Between the sums: refuse a cell of a table that few rows are in; none is no matter."""
        for cell, rows in counts.items():
            if 0 < rows < self.rows_per_level:
                raise ReleaseError(
                    f"{cell} holds for {_counted(rows)} in all, and what occurs needs at least "
                    f"{self.rows_per_level}",
                    hint="merge levels or choose wider cells, leave the column out, or "
                    f"{self.otherwise}",
                )

    def check_values(self, values: int, column: str) -> None:
        """Between the sums: refuse the mean and standard deviation of few values; none is no
        matter."""
        needed = max(self.rows_per_level, 2 * self.rows_per_parameter)
        if 0 < values < needed:
            raise ReleaseError(
                f"{column} has {_counted(values, 'value')} in all, and a mean and a standard "
                f"deviation need at least {needed}",
                hint=f"leave the column out, use more rows, or {self.otherwise}",
            )


DEFAULT = Limits()
NONE = Limits(0, 0, 0, 0)


def limits_for(allow_small: bool) -> Limits:
    """The default limits, or none where that was asked for in so many words."""
    if not isinstance(allow_small, bool):
        raise PlanError(f"allow_small={allow_small!r} is neither True nor False")
    return NONE if allow_small else DEFAULT


def _counted(number: int, what: str = "row") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
