"""The rules of release as numbers: what every party checks before its own leave its machine.

The pooled sums are made to be known, so no masking protects what they give away. Sums over very few
rows give those rows away, and a model with nearly as many parameters as rows can be solved for
them. A party therefore looks three times:

1. at its own rows before the first sum: where they are too few, it refuses;
2. at the counts that the first sum opens, before any number leaves: rows in all, and the cells of
   every table (`titan.release.cells`), in all and without its own rows;
3. at the leverage of its rows (`titan.release.leverage`), before anything with an outcome leaves.

A row counts once, whatever its weight; of a party's own, those of weight zero do not count.
"""

# Rule 1: nothing here reads, sends or remembers anything; the same numbers get the same answer at
#         every party.
# Rule 2: what is in the own rows is told to their owner alone; to all, what all have seen.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from titan.errors import InputError, PlanError, ReleaseError
from titan.listing import listing
from titan.ring.whole import whole_number

Cells = Literal["pooled", "local"]
_ALLOW = "allow_small=True if all parties agree to what so few give away"
_WHOLE = (
    "rows_per_party",
    "rows",
    "rows_per_parameter",
    "rows_per_cell",
    "parties_per_cell",
    "residual_df",
)


@dataclass(frozen=True)
class Policy:
    """The fewest rows: of a party, in all, for each parameter, and in a cell that occurs."""

    rows_per_party: int = 10
    rows: int | None = None
    """In all; left open, it is `rows_per_party` for every party."""
    rows_per_parameter: int = 3
    rows_per_cell: int = 3
    """k: also 1/k is the largest leverage of a row."""
    parties_per_cell: int | None = None
    """That have rows in a cell which is summed over; left open, two more than are curious."""
    residual_df: int = 0
    cells: Cells = "pooled"
    """With "local" no small count is opened at all: a party's own is 0 or at least k."""
    precision: int | None = None
    """Bits of the columns that a formula makes; None is exact."""
    otherwise: str = field(default=_ALLOW, compare=False)
    """How to go below these limits all the same, for the hint of an error; {limit} is which."""

    def __post_init__(self) -> None:
        for name in _WHOLE:
            given = getattr(self, name)
            if given is not None and whole_number(name, given) < 0:
                raise PlanError(f"{name}={given} is negative", hint="0 sets no limit")

    def rows_needed(self, parameters: int, parties: int) -> int:
        """The fewest rows in all with which the second sum is made."""
        for_parameters = self.rows_per_parameter * parameters
        left = parameters + self.residual_df if parameters and self.residual_df else 0
        return max(self._rows_in_all(parties), for_parameters, left)

    def _rows_in_all(self, parties: int) -> int:
        return self.rows_per_party * parties if self.rows is None else self.rows

    # -- what one party may know ----------------------------------------------------------------

    def check_own(self, rows: int, party: str, *, weightless: int = 0) -> None:
        """Before the first sum: refuse too few rows of one's own. Only `party` may be told.

        Rows of weight zero add nothing to any sum, so that nobody hides behind them.
        """
        own, without = rows - weightless, f" without {weightless} of weight zero"
        found = f"{party!r} has {counted(own)}{without if weightless else ''}"
        needed = f"a party needs at least {self.rows_per_party}"
        advice = "use more rows"
        self._refuse(own < self.rows_per_party, f"{found}, and {needed}", advice, "rows_per_party")

    def check_local(self, cells: Iterable[tuple[str, int]]) -> None:
        """Before the first sum, where no small count is to be opened: refuse a small one of one's
        own."""
        if self.cells == "pooled":
            return
        needed = f"a party's own count is 0 or at least {self.rows_per_cell}"
        for cell, own in cells:
            found = f"{cell} holds for {counted(own)} here"
            small = 0 < own < self.rows_per_cell
            self._refuse(small, f"{found}, and {needed}", _MERGE, "cells", cell)

    def check_others(self, cells: Iterable[tuple[str, int, int]]) -> None:
        """Between the sums: of every cell its rows in all and the own ones.

        Refuse a cell of the others' that is small, since this party could tell it from its own, and
        one where the own rows stand without enough of the others'.
        """
        k = self.rows_per_cell
        for cell, total, own in cells:
            others = total - own
            found = f"{cell} holds for {counted(others)} of the other parties"
            seen = f"{found}: this party would see {'it' if others == 1 else 'them'}"
            self._refuse(0 < others < k, seen, _MERGE, "cells", cell)
            alone = f"{found} and {own} here: what is summed there would be this party's own"
            self._refuse(own > 0 and others < k, alone, _SITE, "cells", cell)

    def check_coarse(self, what: str, steps: int, rows: int) -> None:
        """Between the sums: refuse where all own numbers lie on a grid of so many steps, and those
        of others do not.

        A sum of whole numbers of u (pounds, in steps) and of multiples of c (the own) is told apart
        if c u is above what the sum can be, rows times the range; with c up to the rows it never
        is, since u is within the range.
        """
        found = f"no row here is {what}, and rows of other parties are"
        apart = f"with {steps} steps in one and {counted(rows)} in all, sums may be told apart"
        wrong = self.rows_per_cell > 0 and steps > rows
        self._refuse(wrong, f"{found}: {apart}", "agree on a coarser step", "digits", what)

    # -- what all may know ----------------------------------------------------------------------

    def check_pooled(self, rows: int, parameters: int, parties: int) -> None:
        """Between the sums: refuse too few rows in all, or too few for so many parameters."""
        found, least = f"{counted(rows)} in all", self._rows_in_all(parties)
        together = f"{parties} parties need at least {least} together"
        self._refuse(rows < least, f"{found}, and {together}", "use more rows", "rows_total")
        each, least = self.rows_per_parameter, self.rows_per_parameter * parameters
        found += f" for {counted(parameters, 'parameter')}"
        needed = f"at least {least} are needed, {each} for each"
        advice = "name fewer columns, use more rows"
        self._refuse(rows < least, f"{found}, where {needed}", advice, "rows_per_parameter")
        few = parameters > 0 < self.residual_df > rows - parameters
        needed = f"{self.residual_df} residual degrees of freedom are needed"
        self._refuse(few, f"{found}, where {needed}", advice, "residual_df")

    def check_possible(self, possible: bool) -> None:
        """Between the sums: refuse counts that no rows can have, whatever the limits."""
        found = "the pooled counts are not those of any rows"
        advice = "some party entered other numbers than its rows'; start a new run"
        if not possible:
            raise ReleaseError(found, hint=advice, rule="counts")

    def check_cells(self, counts: Iterable[tuple[str, int]] | Mapping[str, int]) -> None:
        """Between the sums: refuse a cell of a table that few rows are in; an empty one may be."""
        needed = f"what occurs needs at least {self.rows_per_cell}"
        for cell, rows in counts.items() if isinstance(counts, Mapping) else counts:
            found = f"{cell} holds for {counted(rows)} in all"
            small = 0 < rows < self.rows_per_cell
            self._refuse(small, f"{found}, and {needed}", _MERGE, "cells", cell)

    def check_values(self, values: int, column: str) -> None:
        """Between the sums: refuse mean and standard deviation of few values; of none is fine."""
        least = max(self.rows_per_cell, 2 * self.rows_per_parameter)
        found = f"{column} has {counted(values, 'value')} in all"
        needed = f"a mean and a standard deviation need at least {least}"
        advice = "leave the column out, use more rows"
        self._refuse(0 < values < least, f"{found}, and {needed}", advice, "values", column)

    def check_off_grid(self, what: str, parties: int, least: int) -> None:
        """Between the sums: refuse last digits that few parties have; none may have any."""
        self._check_parties(what, parties, least, "agree on a coarser step", "digits")

    def check_parties(self, cells: Iterable[tuple[str, int]], tau: int) -> None:
        """Between the sums: refuse a cell that is summed over and is of few parties."""
        least = self.parties_needed(tau)
        for cell, parties in cells:
            advice = f"{_SITE} (an outcome needs more parties that have such rows)"
            self._check_parties(f"{cell} holds", parties, least, advice, "cell_parties", cell)

    def check_rows_apart(self, one: str, other: str, parties: int, tau: int) -> None:
        """Between the sums: refuse rows of few parties that are the difference of two answers."""
        what, least = f"rows that {one} uses and {other} leaves out are", self.parties_needed(tau)
        advice = "fill the gaps, or ask both of the same columns"
        cell = f"{one} without {other}"
        self._check_parties(what, parties, least, advice, "cell_parties", cell)

    def check_varies(self, columns: Iterable[tuple[str, int]], tau: int) -> None:
        """Between the sums: refuse a number that is the same in all rows of most parties."""
        least = self.parties_needed(tau)
        for column, parties in columns:
            found = (
                f"{column} varies within the rows of {counted(parties, 'party', 'parties')} only"
            )
            needed = f"where at least {least} are needed: it says whose rows they are"
            few = self.rows_per_cell > 0 and parties < least
            self._refuse(few, f"{found}, {needed}", _SITE, "cell_parties", column)

    def parties_needed(self, tau: int) -> int:
        """The fewest with rows in a cell: without those who are curious, two are left."""
        return tau + 2 if self.parties_per_cell is None else self.parties_per_cell

    def _check_parties(
        self, what: str, parties: int, least: int, advice: str, rule: str, cell: str = ""
    ) -> None:
        found = f"{what} in the rows of {counted(parties, 'party', 'parties')} only"
        needed = f"where at least {least} are needed to hide each other"
        few = self.rows_per_cell > 0 and 0 < parties < least
        self._refuse(few, f"{found}, {needed}", advice, rule, cell or what)

    def lower(self, rule: str) -> str:
        """How to go below the limit of this rule all the same."""
        return self.otherwise.replace("{limit}", LIMITS[rule])

    def _refuse(self, wrong: bool, message: str, advice: str, rule: str, cell: str = "") -> None:
        if wrong:
            # what is small stays small: a lower limit would show it, so it is not one way of three
            lower = self.lower(rule)
            last = f"; as a last resort, {lower}"
            hint = advice + (last if rule.startswith("cell") else f", or {lower}")
            raise ReleaseError(message, hint=hint, rule=rule, cell=cell)


LIMITS = {
    "rows_per_party": "min_rows_party",
    "rows_total": "min_rows_total",
    "rows_per_parameter": "rows_per_parameter",
    "residual_df": "min_residual_df",
    "cells": "min_cell",
    "cell_parties": "min_cell_parties",
    "values": "min_cell, rows_per_parameter",
    "digits": "min_cell",
    "leverage": "min_cell",
}
"""What a study calls the limit of each rule."""
_MERGE = "merge levels, choose wider cells, or leave the column out"
_SITE = (
    "centre the column within each party before the study, merge levels, or leave the column out"
)
DEFAULT = Policy()
NONE = Policy(0, 0, 0, 0)
DEFAULT_PRECISION = 20
PRECISIONS = 8, 64
"""The fewest and the most bits that may be asked for."""
POLICIES = {
    "titan": Policy(precision=DEFAULT_PRECISION),
    "safe-outputs": Policy(rows_per_cell=10, residual_df=10, precision=DEFAULT_PRECISION),
}


def policy_named(name: object) -> Policy:
    found = POLICIES.get(name) if isinstance(name, str) else None
    if found is None:
        raise InputError(f"policy is {name!a}", hint=f"one of {listing(POLICIES)}")
    return found


_IN_WORDS = {
    "rows_per_party": "a party may bring as few as {rows}",
    "rows_per_parameter": "there may be as few as {rows} for each parameter",
    "rows_per_cell": "cells of {rows} may be opened, and rows with a leverage of 1/{value}",
    "parties_per_cell": "sums over a cell may be those of as few as {value} of the parties",
    "residual_df": "residual degrees of freedom may be as few as {value}",
    "precision": "columns that a formula makes are opened to {value} bits",
}
_EXACT = "columns that a formula makes are opened EXACTLY, to the last digit"
_NO_LIMIT = "cells of any size and rows of any leverage may be opened: NOTHING is checked"


def lowered(policy: Policy, named: str = "titan", tau: int = 0) -> list[dict[str, Any]]:
    """What is below the default, or below the policy that is named; in words, and with its own."""
    usual = replace(policy_named(named), parties_per_cell=tau + 2)
    found = []
    for name in (one.name for one in fields(Policy) if one.compare):
        given, default = getattr(policy, name), getattr(usual, name)
        if name == "precision":
            low = given is None or given > default
        elif name == "cells" or default is None or given is None:
            low = False
        else:
            low = given < default
        if low:
            shown = "exact" if name == "precision" and given is None else given
            said = f"{_in_words(name, shown)} (default: {default})"
            found.append({"rule": name, "value": shown, "default": default, "said": said})
    return found


def _in_words(name: str, value: Any) -> str:
    if value == "exact":
        return _EXACT
    if (name, value) == ("rows_per_cell", 0):
        return _NO_LIMIT
    return _IN_WORDS[name].format(value=value, rows=counted(value))


def policy_for(allow_small: bool) -> Policy:
    """The default policy, or no limits where that was asked for in so many words."""
    if not isinstance(allow_small, bool):
        raise PlanError(f"allow_small={allow_small!r} is neither True nor False")
    return NONE if allow_small else DEFAULT


def counted(number: int, what: str = "row", several: str = "") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"
