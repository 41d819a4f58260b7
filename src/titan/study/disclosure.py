"""What taking part in a study tells everybody: exactly, item by item, and in words.

Two private sums open the pooled normal equations, and that is the whole of what they open: as long
as no more than τ parties put what they saw together, what a party sees depends on the others' rows
through these numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from titan.study.manifest import Study

_SEE = "see the problems, and do not take part"


@dataclass(frozen=True)
class Item:
    """One thing that every party learns: how many numbers it is, and a sentence that says it."""

    what: str
    numbers: int
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        return {"what": self.what, "numbers": self.numbers, "sentence": self.sentence}


def learned(study: Study) -> tuple[Item, ...]:
    """What every party of the study will know at its end, besides what it knew."""
    n, (*_, response) = study.parameters, study.model.names
    over = "over all parties' rows" + (f", weighted by {study.weights}" if study.weights else "")
    items = [
        Item("rows", 1, "the number of rows of all parties together"),
        Item("AᵀA", n * (n + 1) // 2, _products(study, over)),
        Item("Aᵀb", n, f"for each column, the sum {over} of its product with {response}"),
    ]
    if study.release == "inference":
        items.append(Item("bᵀb", 1, f"the sum {over} of the square of {response}"))
    return (*items, *_consequences(study))


def _products(study: Study, over: str) -> str:
    if study.parameters == 1:
        return f"the sum {over} of the square of the model's one column"
    said = (
        f"for each of the model's {study.parameters} columns the sum {over} of its square, and for "
        "each two of them the sum of their product"
    )
    if study.model.constant:
        said += "; with that the columns' means, variances and correlations"
    if study.model.categories and not study.weights:
        said += "; for a column that is 1 at one level of a category and 0 elsewhere, the number "
        said += "of rows at that level"
    return said


def _consequences(study: Study) -> tuple[Item, ...]:
    """No further numbers, but what those above are good for."""
    inference = study.release == "inference"
    fits = "coefficients" + (", standard errors and R²" if inference else "")
    return (
        Item("fits", 0, f"by computing: the {fits} of this model and of every model of some of "
             "its columns, with any ridge or lasso penalty"),
        Item("others", 0, "by subtracting its own part: the same sums over the other "
             f"{_others(len(study.parties) - 1)} together"),
    )  # fmt: skip


def _others(count: int) -> str:
    return "party" if count == 1 else f"{count} parties"


def hidden(study: Study) -> str:
    """What stays hidden, from whom, and on which condition: no promise where one fails."""
    m, tau = len(study.parties), study.tau
    if not study.network.strongly_connected:
        return f"nothing is promised to be hidden: not every party can reach every other; {_SEE}"
    if not study.network.tolerates(tau):
        whom = "1 curious party" if tau == 1 else f"{tau} curious parties together"
        return f"this network does not hide the others' rows from {whom}; {_SEE}"
    if m == 2:
        return "nothing of a party's sums is hidden from the other: two parties can but subtract"
    if tau == 0:
        return "no party is promised that one curious party learns nothing but the above"
    whom = "a curious party learns" if tau == 1 else f"any {tau} curious parties together learn"
    return (
        f"{whom} nothing else of the others' rows, provided that all follow the protocol; "
        f"{tau + 1} or more who put what they saw together may learn more"
    )
