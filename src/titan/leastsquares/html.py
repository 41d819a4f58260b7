"""A regression's summary as HTML: the same numbers, with the digits that are proven."""

# Rule 1: names come from other parties: `markup` escapes them.

from __future__ import annotations

from typing import TYPE_CHECKING

from titan.leastsquares.summary import coefficient_cells, header, headings, notes, title
from titan.markup import items, table, tag

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression


def as_html(fit: Regression, alpha: float) -> str:
    """A fragment: header, coefficients, notes. It loads nothing and runs nothing."""
    left, right = header(fit)
    pairs = [(*one, *other) for one, other in zip(left, right, strict=True)]
    coefficients = [(name, *cells) for name, cells in coefficient_cells(fit, alpha)]
    return str(
        tag(
            "div",
            tag("h3", title(fit)),
            table((), pairs),
            table(("", *headings(fit, alpha)), coefficients),
            items(notes(fit), "ol"),
            kind="titan-regression",
        )
    )
