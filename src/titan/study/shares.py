"""What a study tells of tables of single values, and from how many rows on that is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from titan.joint.glm import SteppedModel
from titan.release.budget import Share
from titan.release.cells import counted_numbers
from titan.release.step_budget import LEAST_BITS, Told
from titan.study.manifest import Study
from titan.study.preflight import explanations


def shares(study: Study) -> list[dict[str, Any]]:
    """Of made columns, and of the steps of GLMs and Cox's models, with the fewest rows that there
    may be: bits, their limit, and the rows with which they stay within it. Empty without a limit.
    """
    if study.meeting.budget is None:
        return []
    parameters = max((each.parameters or 0 for each in explanations(study)), default=0)
    rows = study.release.rows_needed(parameters, len(study.parties))
    made = [_made(share, max(rows // share.cells, 1)) for share in study.budget.shares]
    return [*made, *_steps(study, rows)]


def _made(share: Share, rows: int) -> dict[str, Any]:
    bits, limit = share.measured(rows)
    return {
        "of": str(share),
        "numbers": share.entries,
        "rows": rows,
        "bits": round(bits),
        "limit": round(limit),
        "least_rows": share.least_rows,
        "cells": share.cells,
    }


def _steps(study: Study, rows: int) -> Iterator[dict[str, Any]]:
    """Of each such model the table of which it tells most, for its limit, with as few bits as
    can be."""
    for name, computation in study.meeting.computations:
        if not isinstance(computation, SteppedModel) or computation.told is None:
            continue
        budget, asked = computation.told, computation.bits
        counted = counted_numbers(computation.cells)
        found = list(budget.told(LEAST_BITS, rows, counted=counted))
        if found:
            worst = max(found, key=lambda each: each.bits / max(each.limit, 1))
            yield {
                "question": name,
                **_told(worst),
                "least_rows": budget.least_rows(LEAST_BITS, rows, counted),
                "step_bits": asked,
                "rows_for_all_bits": budget.least_rows(asked, rows, counted),
            }


def _told(told: Told) -> dict[str, Any]:
    return {
        "of": told.table,
        "numbers": told.numbers,
        "rows": told.rows,
        "bits": round(told.bits),
        "limit": round(told.limit),
        "cells": 1,  # rows of the whole study are what is needed
    }


def in_words(share: dict[str, Any]) -> str:
    least, rows = share["least_rows"], share["rows"]
    where = " in each cell" if share["cells"] > 1 else ""
    what, more = "columns that formulas make", ""
    if "question" in share:
        what = f"the steps of {share['question']}, with {LEAST_BITS} bits each,"
        all_bits = share["rows_for_all_bits"]
        if least:
            fewer = f"; {share['step_bits']} bits need about {all_bits} rows, fewer rows fewer bits"
            more = fewer if all_bits else f"; {share['step_bits']} bits are never allowed"
    needed = f"needs {least} rows{where}" if least else "never passes"
    return (
        f"of {share['of']}: {share['numbers']} numbers of {what} tell {share['bits']} bits at "
        f"{rows} rows{where}, where {share['limit']} are the most; {needed}{more}"
    )
