"""Whether one row is too large a part of Pearson's χ² for it to be told: its owner's own look.

A row adds w (y − μ)²/v. Where an event comes that had a chance of one in a million it adds a
million: χ² is that row's, and tells its linear predictor to many digits. So no row may have more
than one of k parts, as of anything else that is opened. A party knows its own rows, and takes those
of others to be like them, without the k − 1 largest, so that all others' rows and its own add

    rest = Σw · (own χ² without the k − 1 largest) / (Σw of own rows)

and a row that adds rest/(k − 1) has one of k parts. If one adds more, its owner counts it as so
much (the sum still hides what others have) and marks the sum: all learn that χ² is not told.
"""

# Rule 1: nothing here leaves its owner's machine but the sum.

from __future__ import annotations

from dataclasses import replace

from titan.generalised.rows import SHIFT, Totals, whole
from titan.generalised.steps import Problem


def looked_at(totals: Totals, problem: Problem) -> Totals:
    """A party's own totals as it may enter them."""
    layout, k = problem.layout, len(totals.largest)
    if not k or totals.overflow or totals.weight <= 0:
        return totals
    place = layout.of_step + layout.statistics.index("pearson")
    usual = max(totals.sums[place] / 2**SHIFT - sum(totals.largest[:-1]), 0.0) / totals.weight
    most = float(problem.weight) * usual / max(k - 1, 1)
    beyond = [part - most for part in totals.largest if part > most]
    if not beyond:
        return totals
    sums = list(totals.sums)
    sums[place] = max(sums[place] - whole(sum(beyond)), 0)
    return replace(totals, sums=tuple(sums), withheld=True)
