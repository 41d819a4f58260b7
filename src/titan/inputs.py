"""What callers hand in: one item per party, in the order of the network or by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, NetworkError, NumberError
from titan.listing import listing
from titan.moments import Model, Source, open_source
from titan.moments.workers import GivenExecutor, Workers
from titan.network import Network

_FAMILIES = {"cycle": Network.cycle, "complete": Network.complete}


def network_for(given: Network | str, items: Any) -> Network:
    """The network itself, or one of a family by its name, among as many parties as have items.

    The parties of a mapping keep its names; those of a list are numbered.
    """
    if isinstance(given, Network):
        return given
    if isinstance(given, str) and given in _FAMILIES:
        if not isinstance(items, Mapping | Sequence | np.ndarray) or isinstance(items, str):
            raise _not_by_party(items)
        return _FAMILIES[given](list(items) if isinstance(items, Mapping) else len(items))
    found = repr(given) if isinstance(given, str) else type(given).__name__
    raise NetworkError(
        f"{found} is not a network",
        hint=f"for example titan.Network.cycle(5), or one of {', '.join(map(repr, _FAMILIES))}",
    )


def model_of(
    formula: str | None,
    response: str | None,
    columns: Sequence[str] | None,
    intercept: bool,
    weights: str | None,
    *,
    pooled: bool = False,
) -> Model:
    """`pooled`: its columns may be centred, as `Model.pooled` has them."""
    if weights is not None and not isinstance(weights, str):
        raise InputError(
            f"weights is {type(weights).__name__}, where the name of a column was expected",
            hint='put the weights into a column of the table: weights="w"',
        )
    texts: list[Any] = [text for text in (formula, response) if text is not None]
    if columns is not None:
        several = isinstance(columns, Sequence) and not isinstance(columns, str)
        texts += columns if several else [columns]
    for text in texts:
        if not isinstance(text, str) or text is columns:
            raise InputError(
                f"{type(text).__name__} does not name a column or a model",
                hint='formula="y ~ a + b", or response="y" and columns=["a", "b"]',
            )
    if formula is not None and response is None and columns is None:
        if not intercept:
            raise InputError("intercept=False beside a formula", hint='write "y ~ x - 1"')
        make = Model.pooled if pooled else Model
        return make(formula, weights=weights)
    if formula is None and response is not None and columns is not None:
        return Model.from_columns(response, columns, intercept=intercept, weights=weights)
    raise InputError(
        "the model is not clear",
        hint='give formula="y ~ a + b", or response="y" and columns=["a", "b"]',
    )


def by_party(values: Any, network: Network) -> list[Any]:
    """One item per party, in order of `network.parties`, from a mapping or a sequence."""
    if isinstance(values, Mapping):
        return _in_order(values, network)
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise _not_by_party(values)
    one_per_party(len(values), network)
    return list(values)


def _not_by_party(values: Any) -> InputError:
    return InputError(
        f"{type(values).__name__} does not hold one item per party",
        hint="give a list in the order of network.parties, or a mapping from party to item",
    )


def sources(
    data: Any,
    network: Network,
    decimal: bool,
    csv: Any = None,
    executor: GivenExecutor | None = None,
) -> list[Source]:
    """One table of every party, in the same order."""
    workers = Workers.of(executor).executor  # a scheduler is connected to once
    return [
        open_source(
            table, decimal=decimal, label=f"the table of {party!r}", csv=csv, executor=workers
        )
        for party, table in zip(network.parties, by_party(data, network), strict=True)
    ]


def one_per_party(found: int, network: Network) -> None:
    if found != len(network):
        raise InputError(f"{found} items for {len(network)} parties", hint="one each, in order")


def _in_order(values: Mapping[str, Any], network: Network) -> list[Any]:
    named: dict[str, Any] = {}
    for name, value in values.items():
        party = network.parties[network.index(name)]  # refuses a name that is not in the network
        if party in named:
            raise InputError(f"two items are said to be of {party!r}", hint="one per party")
        named[party] = value
    absent = [party for party in network.parties if party not in named]
    if absent:
        raise InputError(
            f"nothing for {listing(map(repr, absent))}",
            hint="a mapping must have one item for every party",
        )
    return [named[party] for party in network.parties]


def as_array(value: Any) -> npt.NDArray[Any]:
    """Numbers as an array of the kind they are; NumPy's own choice for a list may round."""
    refuse_masked(value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    exact = np.array(value, object)
    kinds = {type(item) for item in exact.flat}
    if kinds == {float}:
        return exact.astype(np.float64)
    if kinds == {int} and all(-(2**63) <= item < 2**63 for item in exact.flat):
        return exact.astype(np.int64)
    return exact


def refuse_masked(value: Any) -> None:
    if np.ma.is_masked(value):
        raise NumberError("a masked array has entries that are not there", hint="fill them in")


# -- one number or array of every party -------------------------------------------------------


def arrays_by_party(values: Any, network: Network) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
    """All parties' numbers, flattened one party after another, and the shape of one's."""
    refuse_masked(values)
    if isinstance(values, np.ndarray) and values.ndim and values.dtype != object:
        one_per_party(len(values), network)
        return values.reshape(-1), values.shape[1:]
    arrays = [as_array(value) for value in by_party(values, network)]
    for party, array in zip(network.parties, arrays, strict=True):
        if array.shape != arrays[0].shape:
            raise InputError(
                f"the value of {party!r} has shape {array.shape}, that of "
                f"{network.parties[0]!r} {arrays[0].shape}",
                hint="all parties' values must have the same shape",
            )
    if any(array.dtype != arrays[0].dtype for array in arrays):  # no silent conversion
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate([array.reshape(-1) for array in arrays]), arrays[0].shape


def place_in(network: Network, shape: tuple[int, ...]) -> Callable[[int], str]:
    """What errors call an entry of the flattened arrays."""
    size = max(int(np.prod(shape, dtype=np.int64)), 1)

    def where(flat: int) -> str:
        party = network.parties[flat // size]
        if not shape:
            return f"the value of {party!r}"
        index = tuple(int(i) for i in np.unravel_index(flat % size, shape))
        return f"entry {index if len(index) > 1 else index[0]} of {party!r}"

    return where


def texts(what: str, given: Any) -> list[str]:
    """A list of texts; a text alone is not one, though Python may think so."""
    if given is None:
        return []
    found: list[Any] = [None]
    if isinstance(given, Iterable) and not isinstance(given, str):
        found = [*given]
    if not all(isinstance(text, str) for text in found):
        raise InputError(f"{what}={given!r} is not a list of texts", hint=f"such as {what}=[…, …]")
    return found
