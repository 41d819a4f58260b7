"""What a party brings to each question, and looks at its rows, as JSON and back.

Numbers are text as in `titan.canonical`, moments the bytes of a moments file in hexadecimal. What
is read must be of the shape that the study's question has; everything else is a ValueError.
"""

# Rule: a kind of part that is not listed here is not kept; its question reads the rows again.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from titan import canonical
from titan.canonical import exact_text, read_exact, read_integer
from titan.errors import FileError
from titan.joint.average_question import AveragingRows
from titan.joint.describe import RowsCounted
from titan.joint.exits import ExitsPart
from titan.joint.pooled_model import RowsPart
from titan.moments import Moments, Source, moments_file
from titan.moments.columns import Column
from titan.moments.grain import Grain
from titan.moments.model import Readings
from titan.moments.rows import Batch, ModelRows
from titan.moments.terms import Category
from titan.release.joint_rows import JointRows
from titan.release.kept_rows import MOST_STANDING, Look, batch_of, rows_of

State = dict[str, Any]
Counts = npt.NDArray[np.int64]
_MOST_MOMENTS = 1 << 27
_MOST_PLACE = 1 << 12


# -- parts ----------------------------------------------------------------------------------------


def part_state(computation: Any, part: Any) -> State | None:
    """None of a part that cannot be kept."""
    if isinstance(computation, AveragingRows):
        return {"numbers": list(map(exact_text, computation.ring.to_signed(part)))}
    if type(part) is RowsCounted:
        numbers = [list(map(exact_text, each)) for each in part.numbers]
        return {"numbers": numbers, "rounded": dict(part.rounded)}
    if type(part) is ExitsPart:
        counted = {"counts": list(part.counts), "events": list(part.events), "rows": part.rows}
        return counted | {"dropped": part.dropped, "rounded": dict(part.rounded)}
    if type(part) is RowsPart and isinstance(part.moments, Moments):
        return _rows_state(part, part.moments)
    return None


def _rows_state(part: RowsPart, moments: Moments) -> State:
    logs = part.log_weights
    return {
        "moments": moments_file.encode(moments).hex(),
        "weightless": part.weightless,
        "dropped": part.dropped,
        "rounded": dict(part.rounded),
        "counts": list(part.counts),
        "grains": [[grain.two, grain.five, grain.indicator] for grain in part.grains],
        "log_weights": None if logs is None else exact_text(logs),
        "earlier": [str(rows.model) for rows in part.earlier],
    }


def read_part(
    computation: Any, state: object, source: Source, earlier: Mapping[str, ModelRows]
) -> Any:
    """The inverse; `earlier` are the models that the ledger knows of, by their words."""
    found = canonical.mapping(state)
    owner = source.label
    if isinstance(computation, AveragingRows):
        numbers = canonical.listed(canonical.keys(found, ["numbers"])["numbers"])
        return computation.ring.from_ints(list(map(read_integer, numbers)))
    if "events" in found:
        found = canonical.keys(found, ["counts", "events", "rows", "dropped", "rounded"])
        counts, events = (_counts(found[key]) for key in ("counts", "events"))
        rows, dropped = (canonical.whole(found[key]) for key in ("rows", "dropped"))
        return ExitsPart(owner, counts, events, rows, dropped, _rounded(found["rounded"]), source)
    if "moments" in found:
        return _read_rows(found, source, earlier)
    found = canonical.keys(found, ["numbers", "rounded"])
    of_sums = (canonical.listed(each) for each in canonical.listed(found["numbers"]))
    whole = tuple(tuple(map(read_integer, each)) for each in of_sums)
    return RowsCounted(whole, _rounded(found["rounded"]), owner, source)


def _read_rows(state: State, source: Source, earlier: Mapping[str, ModelRows]) -> RowsPart:
    keys = ("moments", "weightless", "dropped", "rounded", "counts", "grains", "log_weights")
    found = canonical.keys(state, [*keys, "earlier"])
    moments, logs = read_moments(found["moments"]), found["log_weights"]
    models = [
        canonical.text(each, canonical.MOST_NAME) for each in canonical.listed(found["earlier"])
    ]
    if not set(models) <= set(earlier):
        raise ValueError("it knows of earlier questions that the ledger does not have")
    return RowsPart(
        source.label,
        moments,
        canonical.whole(found["weightless"]),
        canonical.whole(found["dropped"]),
        source,
        _rounded(found["rounded"]),
        _counts(found["counts"]),
        tuple(map(_grain, canonical.listed(found["grains"], len(moments.names)))),
        None if logs is None else read_integer(logs),
        tuple(earlier[each] for each in models),
    )


def _counts(value: object) -> tuple[int, ...]:
    return tuple(map(canonical.whole, canonical.listed(value)))


def _rounded(value: object) -> dict[str, int]:
    return {name: canonical.whole(n, 1) for name, n in canonical.mapping(value).items()}


def _grain(value: object) -> Grain:
    two, five, indicator = canonical.listed(value, 3)
    powers = canonical.exponents([two, five], 2)
    return Grain(powers[0], powers[1], canonical.flag(indicator))


def read_moments(value: object) -> Moments:
    data = bytes.fromhex(canonical.hexadecimal(value, most=_MOST_MOMENTS))
    try:
        return moments_file.decode(data, "its moments")
    except FileError as error:
        raise ValueError(error.message) from None


# -- looks at rows ----------------------------------------------------------------------------


def look_state(look: Look) -> State:
    return {
        "moments": moments_file.encode(look.moments).hex(),
        "least": exact_text(look.least),
        "donors": list(map(_readings_state, look.donors)),
        "high_leverage": [
            [place, list(map(exact_text, row))] for place, row in rows_of(look.high_leverage)
        ],
    }


def read_look(state: object, rows: JointRows | ModelRows) -> Look:
    found = canonical.keys(state, ["moments", "least", "donors", "high_leverage"])
    moments, donors = read_moments(found["moments"]), canonical.listed(found["donors"])
    if len(donors) not in (0, 2) or (donors and isinstance(rows, ModelRows)):
        raise ValueError("it does not have two sets of rows to compare with")
    categories = () if isinstance(rows, ModelRows) else _categories(rows)
    sets = tuple(_read_readings(each, categories) for each in donors)
    high_leverage = _read_high_leverage(found["high_leverage"], len(moments.names))
    return Look(moments, sets, high_leverage, read_exact(found["least"]))


def _categories(rows: JointRows) -> tuple[Category, ...]:
    """Of the data, in a fixed order."""
    return tuple(dict.fromkeys(c for group in rows.groups for c in group.model.categories))


def _readings_state(readings: Readings) -> State:
    numbers = {
        name: list(map(exact_text, column.fractions())) for name, column in readings.numbers.items()
    }
    return {"numbers": numbers, "codes": [codes.tolist() for codes in readings.codes.values()]}


def _read_readings(state: object, categories: Sequence[Category]) -> Readings:
    found = canonical.keys(state, ["numbers", "codes"])
    numbers = {
        canonical.name(name): list(map(read_exact, canonical.listed(column)))
        for name, column in canonical.mapping(found["numbers"]).items()
    }
    lists = zip(canonical.listed(found["codes"], len(categories)), categories, strict=True)
    codes = {category: _read_codes(own, category) for own, category in lists}
    lengths = {len(column) for column in numbers.values()} | {len(c) for c in codes.values()}
    if len(lengths) != 1:
        raise ValueError("its rows to compare with have columns of different lengths")
    columns = {name: Column.of_fractions(column)[0] for name, column in numbers.items()}
    return Readings(lengths.pop(), columns, codes, "row {}".format)


def _read_codes(value: object, category: Category) -> Counts:
    most = len(category.levels) - 1
    return np.array([canonical.whole(n, most=most) for n in canonical.listed(value)], np.int64)


def _read_high_leverage(state: object, width: int) -> Batch:
    rows = canonical.listed(state)
    if len(rows) > MOST_STANDING:
        raise ValueError(f"it has more than {MOST_STANDING} rows")
    pairs = (canonical.listed(each, 2) for each in rows)
    found = [
        (
            canonical.text(place, _MOST_PLACE),
            tuple(map(read_exact, canonical.listed(row, width + 1))),
        )
        for place, row in pairs
    ]
    return batch_of(found, width)
