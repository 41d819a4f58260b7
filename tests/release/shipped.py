"""The shipped data as studies describe them, and what two checks make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from titan.leastsquares.pooled import exact
from titan.leastsquares.whitening import whiten
from titan.moments import Model, Source, open_source
from titan.moments.collecting import CollectMoments
from titan.moments.reading import read
from titan.moments.rows import ModelRows
from titan.moments.sources import split_by
from titan.release import Dictionary
from titan.release.dictionary import Flag, Number
from titan.release.joint_rows import JointRows
from titan.release.leverage import own_leverage, pooled_leverage
from titan.release.model_cells import cells_of
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


def heart_lines() -> list[str]:
    return datasets.path("heart_disease").read_text().splitlines()


def hospitals() -> dict[str, Source]:
    return split_by(open_source(datasets.path("heart_disease")), "hospital")


def firms() -> dict[str, Source]:
    return split_by(open_source(datasets.path("grunfeld")), "firm")


def check_own(
    source: Any,
    known: Dictionary,
    formulas: str | Sequence[str],
    pooled: Sequence[Sequence[int]] | None = None,
) -> None:
    """What a party looks at before the regressors' Gram matrix leaves it.

    If no pooled counts are given, one list for each formula, others have three rows in every cell.
    """
    models = _models(known, formulas)
    own = counts_of(source, known, formulas)
    together = pooled or [[n + 3 for n in counts] for counts in own]
    cells = [cells_of(model, known) for model in models]
    counted = list(zip(cells, own, together, strict=True))
    rows = JointRows.of([ModelRows(model, check=known.place) for model in models])
    own_leverage(rows, open_source(source), counted, k=3)


def counts_of(source: Any, known: Dictionary, formulas: str | Sequence[str]) -> list[list[int]]:
    """How many rows are in the cells of every formula."""
    found = []
    for model in _models(known, formulas):
        rows = ModelRows(model, check=known.place)
        reading = CollectMoments(rows, cells_of(model, known).count)
        found.append([int(n) for n in read(open_source(source), reading).counts])
    return found


def _models(known: Dictionary, formulas: str | Sequence[str]) -> list[Model]:
    return list(map(known.model, [formulas] if isinstance(formulas, str) else formulas))


def check_everybody(
    parties: Mapping[str, Source], known: Dictionary, formulas: str | Sequence[str]
) -> None:
    """`check_own` at every party."""
    everybody = [counts_of(source, known, formulas) for source in parties.values()]
    pooled = [np.sum(each, axis=0).tolist() for each in zip(*everybody, strict=True)]
    for source in parties.values():
        check_own(source, known, formulas, pooled)


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
