"""The private average: m parties each hold a vector, all end with the average, nobody with more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from titan.engines import local, vectorised
from titan.engines.local import Outcome, Progress
from titan.errors import InputError, NetworkError, NumberError, PlanError
from titan.network import Network
from titan.network.names import Party
from titan.privacy.view import Record, RecordedSum, Sum, View, check_recordable, view_of
from titan.protocol import Cost, MaskMode, Plan, RecoveryName
from titan.ring import FixedPoint, Residues, Ring
from titan.ring.whole import whole_number

EngineName = Literal["local", "vectorised"]
_ENGINES: dict[str, Callable[..., Outcome]] = {"local": local.run, "vectorised": vectorised.run}

Number = float | int | Fraction | Decimal
Values = Sequence[Any] | Mapping[str, Any] | npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Average:
    """What every party ends with.

    `value` and `total` have the shape of one party's input, each entry correctly rounded from the
    exact sum of the encoded inputs; `error_bound` is a proven bound on |value - true average|.
    """

    value: float | Floats
    total: float | Floats
    error_bound: float | Floats
    cost: Cost
    recovery: str
    bits: int
    fraction: int
    sums: tuple[int, ...] = field(repr=False)
    parties: int
    record: Record | None = field(default=None, repr=False)

    def view(self, coalition: Iterable[Party]) -> View:
        """Exactly what these parties saw, of a run with record=True."""
        return view_of(self.record, coalition)

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The average of the encoded inputs, exactly, flattened."""
        unit = Fraction(2) ** -self.fraction / self.parties
        return tuple(n * unit for n in self.sums)


def average(
    values: Values,
    network: Network,
    *,
    recovery: RecoveryName = "auto",
    k: int | None = None,
    rounds: int | None = None,
    bits: int = 128,
    bound: Number | None = None,
    engine: EngineName = "local",
    tau: int | None = None,
    masks: MaskMode = "sent",
    progress: Progress | None = None,
    record: bool = False,
) -> Average:
    """Average one scalar or array per party, in order of `network.parties` or as a mapping.

    recovery  "topk" (the paper's, with `k` and `rounds` = T), "flood", "tree", or "auto"
    bits      the ring is the integers modulo 2^bits; half of them are fractional, unless
    bound     a public bound on the entries' magnitude sets the finest scale that cannot overflow
    tau       refuse unless any τ curious parties together learn nothing but the total
    masks     "sent" as they are, or "seeded": 32 bytes per edge, expanded at both ends
    engine    "local" drives real agents, "vectorised" whole-network arrays
    record    keep every message ("local" only), so that `view` can show who saw what
    """
    run = engine_named(engine)
    numbers, shape = _by_party(values, network)
    entries = int(np.prod(shape, dtype=np.int64))
    plan = Plan.make(
        network, Ring(bits), entries, recovery=recovery, k=k, rounds=rounds, masks=masks, tau=tau
    )
    scale = _scale(plan.ring, bound, len(network))
    encoded = scale.encode(numbers, _where(network, shape))
    secrets = _per_party(encoded, len(network))
    if not record:
        return _present(run(plan, secrets, progress=progress), plan, scale, shape)
    check_recordable(plan, engine)
    outcome = local.run(plan, secrets, progress=progress, record=True)
    kept = RecordedSum(Sum("average", plan, scale.fraction), secrets, outcome.envelopes)
    return replace(_present(outcome, plan, scale, shape), record=Record(network, (kept,)))


def count(
    network: Network, *, at_most: int, k: int | None = None, rounds: int | None = None
) -> int:
    """How many parties there are, found by parties who know only that there are at most so many.

    The paper's footnote to Theorem 2: everyone adds a 1, in a ring that holds `at_most`, and runs
    Top-k as if there were `at_most` parties. Without `rounds`, T = at_most - 1 ≥ the diameter.
    """
    at_most = whole_number("at_most", at_most)
    if at_most < len(network):
        raise PlanError(
            f"at_most={at_most} is below the number of parties",
            hint="counting needs a true upper bound on the number of parties",
        )
    plan = Plan.make(
        network,
        Ring(at_most.bit_length()),
        0,
        recovery="topk",
        k=k,
        rounds=at_most - 1 if rounds is None else rounds,
        at_most=at_most,
    )
    return local.run(plan, plan.ring.zeros(len(network), 0)).counted


def engine_named(name: str) -> Callable[..., Outcome]:
    if not isinstance(name, str) or name not in _ENGINES:
        raise PlanError(f"engine={name!r} is unknown", hint=f"one of {', '.join(_ENGINES)}")
    return _ENGINES[name]


def _scale(ring: Ring, bound: Number | None, parties: int) -> FixedPoint:
    if bound is None:
        return FixedPoint(ring, ring.bits // 2, parties)
    try:
        exact = Fraction(bound.item() if isinstance(bound, np.generic) else bound)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"bound={bound!r} is no finite number") from None
    return FixedPoint.for_bound(ring, exact, parties)


# -- inputs -----------------------------------------------------------------------------------


def _by_party(values: Values, network: Network) -> tuple[npt.NDArray[Any], tuple[int, ...]]:
    """All parties' numbers, flattened one party after another, and the shape of one's."""
    _refuse_masked(values)
    if isinstance(values, np.ndarray) and values.ndim and values.dtype != object:
        _one_per_party(len(values), network)
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


def by_party(values: Any, network: Network) -> list[Any]:
    """One item per party, in order of `network.parties`, from a mapping or a sequence."""
    if not isinstance(network, Network):
        raise NetworkError(
            f"{type(network).__name__} is no network", hint="for example titan.Network.cycle(5)"
        )
    if isinstance(values, Mapping):
        return _in_order(values, network)
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise InputError(
            f"{type(values).__name__} does not hold one item per party",
            hint="give a list in the order of network.parties, or a mapping from party to item",
        )
    _one_per_party(len(values), network)
    return list(values)


def _one_per_party(found: int, network: Network) -> None:
    if found != len(network):
        raise InputError(f"{found} items for {len(network)} parties", hint="one each, in order")


def _refuse_masked(value: Any) -> None:
    if np.ma.is_masked(value):
        raise NumberError("a masked array has entries that are not there", hint="fill them in")


def as_array(value: Any) -> npt.NDArray[Any]:
    """Numbers as an array of the kind they are; NumPy's own choice for a list may round."""
    _refuse_masked(value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    exact = np.array(value, object)
    kinds = {type(item) for item in exact.flat}
    if kinds == {float}:
        return exact.astype(np.float64)
    if kinds == {int} and all(-(2**63) <= item < 2**63 for item in exact.flat):
        return exact.astype(np.int64)
    return exact


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
            f"nothing for {', '.join(map(repr, absent[:5]))}"
            + (f" and {len(absent) - 5} more" if len(absent) > 5 else ""),
            hint="a mapping must have one item for every party",
        )
    return [named[party] for party in network.parties]


def _where(network: Network, shape: tuple[int, ...]) -> Callable[[int], str]:
    size = max(int(np.prod(shape, dtype=np.int64)), 1)

    def where(flat: int) -> str:
        party = network.parties[flat // size]
        if not shape:
            return f"the value of {party!r}"
        index = tuple(int(i) for i in np.unravel_index(flat % size, shape))
        return f"entry {index if len(index) > 1 else index[0]} of {party!r}"

    return where


def _per_party(encoded: Residues, parties: int) -> Residues:
    return encoded.reshape(encoded.shape[0], parties, -1)


# -- results ----------------------------------------------------------------------------------


def _present(outcome: Outcome, plan: Plan, scale: FixedPoint, shape: tuple[int, ...]) -> Average:
    sums = plan.ring.to_signed(outcome.total)
    m = len(plan.network)
    value, total = scale.decode(sums, m), scale.decode(sums)
    bound = scale.rounding(value)

    def shaped(x: Floats) -> float | Floats:
        return x.reshape(shape) if shape else float(x[0])

    return Average(
        shaped(value),
        shaped(total),
        shaped(bound),
        outcome.cost,
        plan.scheme.name,
        plan.ring.bits,
        scale.fraction,
        tuple(sums),
        m,
    )
