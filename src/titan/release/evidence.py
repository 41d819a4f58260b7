"""What was checked in a run, for whoever has to answer for it: rules, limits, what was found.

    {"format": 1, "study": …, "run": 1, "party": "north",
     "checks": [{"question": "main", "rule": "rows_total", "limit": 40, "found": 920,
                 "passed": true},
                {"question": "main", "rule": "leverage", "limit": 0.3333, "found": null, …}]}

`found` is null where it is a party's own secret; `passed` is null where the run ended before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from titan.errors import ReleaseError
from titan.release.policy import Policy

NAME = "evidence.json"
FORMAT = 1


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
    cells: Sequence[int] = (),
    held: Sequence[int] = (),
    digits: Sequence[int] = (),
    tau: int = 0,
    leverage: bool = False,
) -> Iterator[Check]:
    """Of one question after so many sums of its run, in the order of the checks.

    Once a sum has come out without a veto, everybody has passed what comes before it.
    """
    counted = True if sums > 0 else None
    compared = True if sums > 1 else None
    yield Check("range", None, None, counted)
    yield Check("rows_per_party", policy.rows_per_party, None, counted)
    if rows is not None:
        yield Check("rows_total", policy.rows_needed(0, parties), rows, counted)
        if parameters:
            least = policy.rows_per_parameter * parameters
            yield Check("rows_per_parameter", least, rows, counted)
            yield Check("residual_df", policy.residual_df, rows - parameters, counted)
    if cells:
        yield Check("cells", policy.rows_per_cell, min(filter(None, cells), default=0), counted)
        yield Check("cells_of_others", policy.rows_per_cell, None, compared)
    if held:
        least = policy.parties_needed(tau)
        yield Check("cell_parties", least, min(filter(None, held), default=0), counted)
    if digits:
        yield Check("digits", tau + 2, min(filter(None, digits), default=0), counted)
    if leverage and policy.rows_per_cell:
        highest = round(1 / policy.rows_per_cell, 4)
        yield Check("own_leverage", None, None, compared)
        yield Check("leverage", highest, None, True if sums > 2 else None)


def with_refusal(checks: Iterable[Check], refusal: ReleaseError | None) -> list[Check]:
    """The same where a rule refused: that one did not pass. Who vetoed is not among them."""
    found = list(checks)
    if refusal is None:
        return found
    rule = refusal.rule or "release"
    for at, check in enumerate(found):  # "cells" may be those of others: what has passed is not it
        of_question = check.question in (None, refusal.question)
        if of_question and rule in check.rule and check.passed is None:
            found[at] = replace(check, passed=False)
            return found
    return [*found, Check(rule, None, None, False, refusal.question or None)]
