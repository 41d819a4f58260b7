"""An error of one rank, as bytes for the others: they raise it too.

    {"kind": "DataError", "fields": {"message": …, "hint": …, …}}

Errors of TITAN hold names, sizes and positions, never a row. Of any other error, whose words nobody
has checked, the others learn the kind alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from titan.errors import TitanError

_MOST_TEXT = 10_000


def as_bytes(error: Exception, rank: int) -> bytes:
    if not isinstance(error, TitanError):
        error = TitanError(
            f"rank {rank} failed with {type(error).__name__}",
            hint="what that rank prints says more",
        )
    fields = {name: _plain(value) for name, value in vars(error).items()}
    return json.dumps({"kind": type(error).__name__, "fields": fields}).encode()


def from_bytes(data: bytes) -> TitanError:
    found = json.loads(data)
    kind = next((each for each in _tree(TitanError) if each.__name__ == found["kind"]), TitanError)
    error = kind.__new__(kind)
    fields = {key: tuple(x) if isinstance(x, list) else x for key, x in found["fields"].items()}
    vars(error).update(fields)
    error.args = (error.message,)
    return error


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MOST_TEXT]
    if value is None or isinstance(value, bool | int | float):
        return value
    return sorted(map(str, value)) if isinstance(value, frozenset) else [str(x) for x in value]


def _tree(root: type[TitanError]) -> Iterator[type[TitanError]]:
    yield root
    for below in root.__subclasses__():
        yield from _tree(below)
