"""What a party's ledger writes down about a study: digests of the rows that are used.

Rows are looked at in two ways. Whole records catch another model on nearly the same rows; the used
columns alone, as the numbers and levels that the model reads, catch the same model after other
columns were edited or the file was written anew in another format. A row that is left out for a gap
is used in neither: where another model leaves one row more out, the two sums differ by that row.
"""

# Rule 1: the source is read once, in batches; 8 bytes of each row and view are kept.
# Rule 2: digests are made under the ledger's key and go to the ledger only.

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import DataError
from titan.moments import Model, Source, open_source
from titan.moments.cells import Cells, Mask
from titan.moments.rows import read_rows
from titan.moments.sources import BATCH_ROWS, RawBatch
from titan.moments.terms import Category
from titan.party import row_bytes
from titan.study.ledger import Entry, Ledger
from titan.study.manifest import Study
from titan.study.row_digests import RowDigests

RECORD = "record"
_BATCH_CELLS = 1 << 20
_LEAST_ROWS = 256


def entry_of(study: Study, run: int, source: Any, ledger: Ledger) -> Entry:
    """The study as the ledger of the party with these rows sees it.

    `source` is anything that `open_source` takes. DataError where rows cannot be used: it is the
    error that `collect` has for them.
    """
    model, source = study.model, open_source(source)
    source.check(model.columns_needed)
    return Entry(
        study=study.digest,
        title=study.title,
        run=run,
        parties={card.name: card.fingerprint for card in study.parties},
        tau=study.tau,
        minimum=study.min_rows_party,
        columns=frozenset(model.columns_needed),
        model=str(model),
        rows=_digests(study, source, ledger),
    )


def view_of(model: Model) -> str:
    """The name of the view of the used columns alone: it lists them."""
    return "columns " + json.dumps(sorted(model.columns_needed), ensure_ascii=False)


def _digests(study: Study, source: Source, ledger: Ledger) -> dict[str, RowDigests]:
    views: dict[str, list[npt.NDArray[np.uint64]]] = {RECORD: [], view_of(study.model): []}
    for batch, used in _used_rows(study, source):
        rows = batch.rows
        cells = [row_bytes.as_held(batch.cells[name]) for name in sorted(batch.cells)]
        found = _names(sorted(batch.cells), row_bytes.joined(cells, rows)), used
        for kept, each in zip(views.values(), found, strict=True):
            kept.append(ledger.row_digests(each).digests)
    if not any(map(len, views[RECORD])):
        raise DataError(f"{source.label} has no rows that can be used")
    return {name: RowDigests(np.sort(np.concatenate(kept))) for name, kept in views.items()}


def _names(names: list[str], rows: Iterator[bytes]) -> Iterator[bytes]:
    """The same cells under other names are another record."""
    header = json.dumps(names).encode() + b"\n"
    return (header + row for row in rows)


def _used_rows(study: Study, source: Source) -> Iterator[tuple[RawBatch, Iterator[bytes]]]:
    """Batches of the rows that are used, and each row's used columns as bytes."""
    names = source.column_names
    size = max(_LEAST_ROWS, min(BATCH_ROWS, _BATCH_CELLS // len(names)))
    for batch in source.batches(names, size):
        used, gaps = _used_columns(batch, study.model)
        if not gaps.any():
            yield batch, row_bytes.joined(used, batch.rows)
            continue
        if study.missing == "refuse":
            for _ in read_rows(source, study.model):  # which counts them all in its error
                pass
        rows = np.flatnonzero(~gaps)
        kept = batch.take(rows)
        yield kept, row_bytes.joined([text.take(rows) for text in used], kept.rows)


def _used_columns(batch: RawBatch, model: Model) -> tuple[list[row_bytes.Texts], Mask]:
    """What the model reads, in the order of the columns' names, and which rows have a gap."""
    texts: dict[tuple[str, bool], list[row_bytes.Texts]] = {}
    gaps = np.zeros(batch.rows, bool)
    for name in model.number_columns:
        column, missing = batch.cells[name].numbers()
        texts[name, False], gaps = row_bytes.as_values(column), gaps | missing
    for category in model.categories:
        levels, missing = _levels(batch.cells[category.column], category)
        texts[category.column, True], gaps = [levels], gaps | missing
    return [text for key in sorted(texts) for text in texts[key]], gaps


def _levels(cells: Cells, category: Category) -> tuple[row_bytes.Texts, Mask]:
    """Every cell's level by its name: their order is the model's affair."""
    import pyarrow as pa

    codes, missing = cells.codes(category.levels)
    return pa.array([level.text for level in category.levels]).take(pa.array(codes)), missing
