"""What was checked in a run, for whoever has to answer for it: rules, limits, what was found.

    {"format": 1, "study": …, "run": 1, "party": "north",
     "refused": null, or {"rule", "question", "cell", "message", "hint"} as this party was told,
     "checks": [{"question": "main", "rule": "rows_total", "limit": 40, "found": 920,
                 "passed": true},
                {"question": "main", "rule": "leverage", "limit": 0.3333, "found": null, …}]}

`found` is null where it is a party's own secret; `passed` is null where the run ended before. What
each rule looks at is in docs/results.md.
"""

# Rule: the file is its party's own, mode 600: it has why this party refused. Nothing of it is sent.

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from titan import canonical
from titan.errors import FileError, ReleaseError, TitanError, VetoError
from titan.files import attempt
from titan.release.policy import Policy

NAME = "evidence.json"
FORMAT = 1
_MOST_BYTES = 1 << 24
_LOOKED_AT = {
    "cells": ("cells", "digits_rows", "cells_of_others"),
    "digits": ("digits", "digits_of_others"),
    "leverage": ("own_leverage", "leverage"),
}
"""Which checks an error of a rule may stand for, in the order in which they are made."""
OFF_GRID = " off steps of "
"""In the name of a cell: rows that need the last digits of a number."""
Found = Sequence[int] | None


@dataclass(frozen=True)
class Check:
    """One rule, as far as all may know what it found."""

    rule: str
    limit: float | str | None
    found: float | None = None
    passed: bool | None = None
    question: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def checks_of(
    policy: Policy,
    sums: int,
    *,
    rows: int | None,
    parties: int,
    parameters: int = 0,
    cells: Found = None,
    held: Found = None,
    off_grid: Found = None,
    digits: Found = None,
    tau: int = 0,
    leverage: bool = False,
) -> Iterator[Check]:
    """Of one question after so many sums of its run, in the order of the checks.

    Once a sum has come out without a veto, everybody has passed what comes before it. Rows in
    cells, rows off coarser grids and the parties that have some: None where there are none to
    count, empty as long as they are not opened.
    """
    counted = True if sums > 0 else None
    compared = True if sums > 1 else None
    k = policy.rows_per_cell
    yield Check("rows_per_party", policy.rows_per_party, None, counted)
    yield Check("rows_total", policy.rows_needed(0, parties), rows, counted)
    if parameters:
        least = policy.rows_per_parameter * parameters
        left = None if rows is None else rows - parameters
        yield Check("rows_per_parameter", least, rows, counted)
        yield Check("residual_df", policy.residual_df, left, counted)
    if cells is not None:
        yield Check("cells", k, _smallest(cells), counted)
    if held is not None:
        yield Check("cell_parties", policy.parties_needed(tau), _smallest(held), counted)
    if off_grid is not None:
        yield Check("digits_rows", k, _smallest(off_grid), counted)
    if digits is not None:
        yield Check("digits", tau + 2, _smallest(digits), counted)
    if cells is not None or off_grid is not None:
        yield Check("cells_of_others", k, None, compared)
    if digits is not None and leverage:
        yield Check("digits_of_others", rows, None, compared)
    if leverage and k:
        yield Check("own_leverage", k, None, compared)
        yield Check("leverage", round(1 / k, 4), None, True if sums > 2 else None)


def _smallest(counts: Sequence[int]) -> int | None:
    return min(filter(None, counts), default=0) if counts else None


def with_refusal(
    checks: Iterable[Check], refusal: ReleaseError | None, vetoes: tuple[int, int] | None = None
) -> list[Check]:
    """The same where a rule refused: that one did not pass. Who vetoed is not among them.

    `vetoes` are the most there may be on the same rows, and those there were with this one.
    """
    found = list(checks)
    if refusal is None:
        return found
    if isinstance(refusal, VetoError):
        most, so_far = vetoes or (None, None)
        return [*found, Check("veto", most, so_far, False)]
    rule, question = refusal.rule or "release", refusal.question or None
    rules = _LOOKED_AT.get(rule, (rule,))
    if rule == "cells" and OFF_GRID in refusal.cell:
        rules = rules[1:]
    for at, check in enumerate(found):  # what has passed is not it: then it is that of others
        if check.rule in rules and check.passed is None:
            if check.question == question:
                found[at] = replace(check, passed=False)
                return found
            if question is None:  # of several questions together
                return [*found, replace(check, passed=False, question=None)]
    return [*found, Check(rule, None, None, False, question)]


# -- reading ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """What a party kept of the checks of a run."""

    study: str
    run: int
    party: str
    checks: tuple[Check, ...]


def read(folder: Path) -> Evidence | None:
    """That of the run in this folder; None where none was kept, FileError for what is not valid."""
    path = folder / NAME
    if not path.exists():
        return None
    hint = "it was altered, or another version of TITAN wrote it: read it with that one"
    try:
        with attempt("read", path), path.open("rb") as file:
            told = canonical.mapping(json.loads(file.read(_MOST_BYTES)))
        if told.get("format") != FORMAT:
            raise ValueError(f"its format is {told.get('format')!r}, this program reads {FORMAT}")
        study, party = canonical.text(told["study"]), canonical.text(told["party"])
        checks = tuple(map(_read_check, canonical.listed(told["checks"])))
        return Evidence(study, canonical.whole(told["run"], 1), party, checks)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, TitanError):
            raise
        raise FileError(f'"{path}" is not valid: {error}', hint=hint) from None


def _read_check(value: object) -> Check:
    found = canonical.keys(value, (option.name for option in fields(Check)))
    for key in ("limit", "found"):
        if isinstance(found[key], bool) or not isinstance(found[key], int | float | str | None):
            raise ValueError(f"{key} of a check is not a number")
    if not isinstance(found["passed"], bool | None):
        raise ValueError("a check neither passed nor failed")
    question = None if found["question"] is None else canonical.text(found["question"])
    return Check(**(found | {"rule": canonical.text(found["rule"]), "question": question}))


# -- the refusal by itself ----------------------------------------------------------------------


def as_told(refusal: ReleaseError) -> dict[str, str | None]:
    """What this party's people are told, to be told again."""
    return {**refusal.refused(), "message": refusal.message, "hint": refusal.hint}


def refusal_in(folder: Path) -> ReleaseError | None:
    """What was refused in the run of this folder, as it was told; None where nothing is kept."""
    try:
        with (folder / NAME).open("rb") as file:
            told = json.loads(file.read(_MOST_BYTES))["refused"]
        kind = VetoError if told["rule"] == "veto" else ReleaseError
        said = {key: str(told[key] or "") for key in ("rule", "question", "cell", "hint")}
        return kind(str(told["message"]), **said)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
