"""The shipped data as studies describe them, and what two checks make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from titan.leastsquares.pooled import exact
from titan.leastsquares.whitening import whiten
from titan.moments import Source, open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.moments.sources import split_by
from titan.release import Dictionary
from titan.release.cells import cells_of
from titan.release.dictionary import Flag, Number
from titan.release.leverage import own_leverage, pooled_leverage
from titan_lab import datasets

HEART = Dictionary.of(
    {
        "thalach": Number.read("0", "250", "1"),
        "age": Number.read("0", "120", "1"),
        "trestbps": Number.read("0", "300", "1"),
        "oldpeak": Number.read("-5", "10", "0.1"),
        **{name: Flag() for name in ("sex", "exang", "cp2", "cp3", "cp4")},
    }
)
GRUNFELD = Dictionary.of(
    {
        "invest": Number.read("0", "2000", "0.01"),
        "value": Number.read("0", "10000", "0.1"),
        "capital": Number.read("0", "5000", "0.1"),
    }
)


def hospitals() -> dict[str, Source]:
    return split_by(open_source(datasets.path("heart_disease")), "hospital")


def firms() -> dict[str, Source]:
    return split_by(open_source(datasets.path("grunfeld")), "firm")


def check_own(
    source: Any, known: Dictionary, formula: str, others: Sequence[Any] | None = None
) -> None:
    """What a party looks at before the regressors' Gram matrix leaves it.

    If nobody else is given, others have three rows in every cell.
    """
    model = known.model(formula)
    rows, cells = ModelRows(model, check=known.place), cells_of(model, known)
    reading = CollectMoments(rows, cells.count)
    found = read(open_source(source), reading)
    pooled = [n + 3 for n in found.counts]
    if others is not None:
        counts = [read(open_source(other), reading).counts for other in others]
        pooled = [sum(each) for each in zip(found.counts, *counts, strict=True)]
    own_leverage(rows, open_source(source), found.moments, cells, found.counts, pooled)


def check_pooled(
    parties: Mapping[str, Source], known: Dictionary, formula: str, k: int = 3
) -> Iterator[str]:
    """What every party looks at before an outcome leaves it; those who do."""
    rows = ModelRows(known.model(formula), check=known.place)
    moments = [read(source, CollectMoments(rows)).moments for source in parties.values()]
    whitening = whiten(exact(reduce(add, moments)))
    for name, source in parties.items():
        pooled_leverage(rows, source, whitening, k)
        yield name
