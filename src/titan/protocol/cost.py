"""What a sum costs: counted by the engines, predicted exactly by the plan.

Nothing that is sent depends on values, so the prediction is no estimate: the engines' counts must
equal it to the last byte, and tests hold them to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titan.network import Network
from titan.protocol.messages import HEADER_BYTES
from titan.protocol.recovery.interface import Counts, Scheme


class PerParty(Mapping[str, int]):
    """Party → count, with `total` and `largest`; the counts themselves are `array`."""

    def __init__(self, network: Network, array: Counts) -> None:
        self._network = network
        self.array = array

    def __getitem__(self, party: str) -> int:
        return int(self.array[self._network.index(party)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._network.parties)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def total(self) -> int:
        return int(self.array.sum())

    @property
    def largest(self) -> int:
        return int(self.array.max())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerParty):
            return Mapping.__eq__(self, other)
        return self._network == other._network and np.array_equal(self.array, other.array)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<PerParty: {len(self)} parties, total {self.total}, largest {self.largest}>"


@dataclass(frozen=True)
class Cost:
    """Rounds, messages, bytes of encoded envelopes, and numbers in the paper's units.

    `numbers_sent` counts values and ids alike, d including the carried 1, lists padded to k;
    `numbers_held` is the memory of the recovery in the same units.
    """

    rounds: int
    recovery_rounds: int
    messages: int
    bytes_sent: PerParty
    bytes_received: PerParty
    numbers_sent: PerParty
    numbers_held: PerParty

    def __add__(self, other: Cost) -> Cost:
        """The cost of one sum after another; memory is that of the larger."""
        return Cost(
            self.rounds + other.rounds,
            self.recovery_rounds + other.recovery_rounds,
            self.messages + other.messages,
            _combine(np.add, self.bytes_sent, other.bytes_sent),
            _combine(np.add, self.bytes_received, other.bytes_received),
            _combine(np.add, self.numbers_sent, other.numbers_sent),
            _combine(np.maximum, self.numbers_held, other.numbers_held),
        )

    def as_dict(self) -> dict[str, int | dict[str, int]]:
        """For JSON."""
        return {
            key: value if isinstance(value, int) else dict(value)
            for key, value in vars(self).items()
        }

    @classmethod
    def from_dict(cls, cost: Mapping[str, Any]) -> Cost:
        """The inverse of `as_dict`; of the network only the names are known then."""

        def read(value: Any) -> Any:
            if isinstance(value, int):
                return value
            return PerParty(Network((), list(value)), np.array(list(value.values()), np.int64))

        return cls(**{key: read(value) for key, value in cost.items()})


def _combine(how: np.ufunc, a: PerParty, b: PerParty) -> PerParty:
    return PerParty(a._network, how(a.array, b.array))


def predict(network: Network, scheme: Scheme, masks: Sequence[int], mask_numbers: int) -> Cost:
    """One mask per edge, in pieces of so many bytes, then the recovery's traffic."""
    traffic = scheme.traffic()
    envelopes = traffic.envelopes + len(masks)
    bytes_ = envelopes * HEADER_BYTES + traffic.payload_bytes + sum(masks)

    def gather(ends: Counts, per_edge: Counts) -> PerParty:
        sums = np.zeros(len(network), np.int64)
        np.add.at(sums, ends, per_edge)
        return PerParty(network, sums)

    return Cost(
        rounds=traffic.rounds + 1,
        recovery_rounds=traffic.rounds,
        messages=int(envelopes.sum()),
        bytes_sent=gather(network.senders, bytes_),
        bytes_received=gather(network.receivers, bytes_),
        numbers_sent=gather(network.senders, traffic.numbers + mask_numbers),
        numbers_held=PerParty(network, np.full(len(network), scheme.numbers_held, np.int64)),
    )
