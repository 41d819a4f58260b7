"""What steps tell a party of the others' rows: it knows its own, and takes them out of all sums."""

# Rule 1: a party looks at this by itself, before its first step; that it vetoes, or marks, is told.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from titan.errors import ReleaseError
from titan.joint.pooled_model import RowsPart
from titan.release.budget import smallest_of
from titan.release.cells import counted_numbers
from titan.release.step_budget import StepBudget, Told
from titan.release.steps_told import StepTable

if TYPE_CHECKING:
    from titan.joint.glm import KnownSteps, SteppedModel


def check_others_tables(model: SteppedModel, known: KnownSteps, part: RowsPart) -> None:
    """That steps do not tell too much of a table of the others' rows."""
    if model.told is None or known.bits is None:
        return
    for each in _told(model, model.told, known, part, known.bits):
        if each.bits > each.limit_without:
            raise ReleaseError(
                f"{known.bits} bits of every step tell {each.bits:.0f} bits of {each.table} "
                f"among the {each.rows} rows that are left without this party's own, where "
                f"{each.limit_without:.0f} are the most",
                hint="ask for fewer bits (precision=12), or use fewer rows of this party",
                rule="bits",
                cell=each.table,
            )


def knows_too_much_of_offsets(model: SteppedModel, known: KnownSteps, part: RowsPart) -> bool:
    """By the sums of the model of a constant alone: these can be left out."""
    if model.told is None or known.bits is None:
        return False
    found = _told(model, model.told, known, part, known.bits, model.told.null_tables)
    return any(each.bits > each.limit_without for each in found)


def _told(
    model: SteppedModel, told: StepBudget, known: KnownSteps, part: RowsPart, bits: int,
    tables: Sequence[StepTable] | None = None,
) -> Iterator[Told]:  # fmt: skip
    counts, cells = known.opened.counts, model.cells
    left = [_without(n, own, model.parties, model.tau)
            for n, own in zip(counts, part.counts, strict=True)]  # fmt: skip
    there = counts[0], smallest_of(cells, counts), counted_numbers(cells)
    times, rest = model.event_times(told, known, part), (left[0], smallest_of(cells, left))
    return told.told(bits, *there, times, rest, tables)


def _without(rows: int, own: int, parties: int, tau: int) -> int:
    """Those that are left for honest parties, where a coalition of this size has own ones: each of
    it as many, or as many as the others have on average."""
    of_average = (rows - own) * max(parties - max(tau, 1), 1) // max(parties - 1, 1)
    return max(rows - max(tau, 1) * own, of_average, 0)
