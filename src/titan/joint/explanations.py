"""What a joint computation tells everybody, in sentences, beyond the names of its sums.

A computation may have an `explanation`; without one, its sums speak for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from titan.joint.computation import Computation, Sum
from titan.moments import Model


@dataclass(frozen=True)
class Item:
    """One thing that every party learns: how many numbers it is, and a sentence that says it."""

    what: str
    numbers: int
    sentence: str
    question: str | None = None
    """Whose answer it belongs to, among several; None for what holds of all."""

    @property
    def said(self) -> str:
        """With the question's name, where there are several."""
        return self.sentence if self.question is None else f"{self.question}: {self.sentence}"

    def as_dict(self) -> dict[str, Any]:
        return {"question": self.question} | asdict(self)


@dataclass(frozen=True)
class Explanation:
    """The items, of as many numbers together as the sums have entries, and what else is known."""

    items: tuple[Item, ...]
    columns: tuple[str, ...] | None = None
    """The columns of the data that are read; None where that is not told."""
    parameters: int | None = None
    """How many, where rows per parameter count."""
    counts_levels: bool = False
    """Whether the rows at each level of a category are checked on the way."""


def explained(computation: Computation[Any, Any, Any]) -> Explanation:
    own = getattr(computation, "explanation", None)
    if isinstance(own, Explanation):
        return own
    reading = getattr(computation, "reading", None)
    columns = None if reading is None else tuple(reading.columns)
    return Explanation(_of_sums(computation.sums), columns)


def _of_sums(sums: Sequence[Sum]) -> tuple[Item, ...]:
    return tuple(Item(each.name, each.entries, each.opens) for each in sums)


def explain_model(
    model: Model,
    *,
    inference: bool,
    counted: Sequence[Item] = (),
    further: Sequence[Sum] = (),
    log_bits: int | None = None,
) -> Explanation:
    """Of the pooled normal equations of a model, what is `counted` first, and `further` sums.

    With `log_bits`, the sum of the weights' logarithms is pooled to so many bits after the point.
    """
    n, (*_, response) = len(model.names) - 1, model.names
    over = "over all parties' rows" + (f", weighted by {model.weights}" if model.weights else "")
    fits = "coefficients" + (", standard errors and R²" if inference else "")
    items = (
        Item("rows", 1, "the number of rows of all parties together"),
        *counted,
        Item("AᵀA", n * (n + 1) // 2, _products(model, over)),
        Item("Aᵀb", n, f"for each column, the sum {over} of its product with {response}"),
        *([Item("bᵀb", 1, f"the sum {over} of the square of {response}")] if inference else []),
        *([Item("Σ log w", 1, _logarithms(model, log_bits))] if log_bits is not None else []),
        *_of_sums(further),
        Item(
            "fits",
            0,
            f"by computing: the {fits} of this model and of every model of some of its columns, "
            "with any ridge or lasso penalty",
        ),
    )
    counts_levels = bool(counted) or (bool(model.categories) and model.weights is None)
    return Explanation(items, model.columns_needed, n, counts_levels)


def _logarithms(model: Model, bits: int) -> str:
    of = f"the sum over all parties' rows of the logarithm of {model.weights}"
    return f"{of}, of which each party's part is rounded to 2^-{bits}"


def _products(model: Model, over: str) -> str:
    n = len(model.names) - 1
    if n == 1:
        return f"the sum {over} of the square of the model's one column"
    said = (
        f"for each of the model's {n} columns the sum {over} of its square, and for each two of "
        "them the sum of their product"
    )
    if model.constant:
        said += "; with that the columns' means, variances and correlations"
    if model.categories and not model.weights:
        said += "; for a column that is 1 at one level of a category and 0 elsewhere, the number "
        said += "of rows at that level"
    return said
