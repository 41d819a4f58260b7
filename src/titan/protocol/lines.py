"""How long a sum takes on given lines: what `auto` weighs, and a study's check predicts.

    seconds = latencies of the links that follow one another
            + bytes of the busiest party / its bandwidth       (all it sends, or all it receives;
                                                                both, where no line is known)
            + bytes that pass before the last link has anything to do / the least bandwidth

The first part is the scheme's: a recovery that keeps rounds waits for the slowest link in each; in
a tree, pieces follow each other closely, so that each latency of the longest way counts once, and
the third part is one piece for every further link of that way. What computing takes is not in it.
"""

# Rule: whole numbers only. All parties make the same choice of it, on whatever machine.

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from titan.network import Network
from titan.protocol.messages import HEADER_BYTES
from titan.protocol.recovery.interface import Counts, Scheme

NANOSECONDS = 1_000_000  # in a millisecond
_BYTES_PER_MBIT = 125  # in a millisecond
_WALKED_UP_TO = 1000  # parties; of more, the furthest way is bounded instead
TOLD_BYTES = 128  # what one party tells all: 32 bytes, its signature, heads


@dataclass(frozen=True, eq=False)
class Lines:
    """Of every link, in the network's order: latency in nanoseconds, bytes in a millisecond."""

    network: Network = field(repr=False)
    latency: Counts
    speed: Counts
    shared: bool = False
    """Whether what a party sends and what it receives share one line."""

    @classmethod
    def alike(cls, network: Network, latency: int, speed: int) -> Lines:
        """Where no line is known, a party's processor is what has to keep up."""
        count = len(network.senders)
        latencies, speeds = (np.full(count, each, np.int64) for each in (latency, speed))
        return cls(network, latencies, speeds, shared=True)

    @classmethod
    def of(cls, network: Network, latency_ms: list[int], bandwidth_mbit: list[int]) -> Lines:
        """Of every link, as people say it."""
        speed = np.array(bandwidth_mbit, np.int64) * _BYTES_PER_MBIT
        return cls(network, np.array(latency_ms, np.int64) * NANOSECONDS, speed)

    @cached_property
    def slowest(self) -> int:
        return int(self.latency.max())

    @cached_property
    def furthest(self) -> int:
        """Until what one party tells, and each passes on at once, has come to all."""
        network = self.network
        if len(network) > _WALKED_UP_TO or self.latency.min() == self.slowest:
            return network.diameter * self.slowest
        far = np.iinfo(np.int64).max // 2
        found = np.full((len(network), len(network)), far)  # to, from
        np.fill_diagonal(found, 0)
        before = None
        while before is None or np.any(found != before):
            before = found.copy()
            ways = found[network.senders] + self.latency[:, None]
            np.minimum.at(found, network.receivers, ways)
        return int(found.max())

    def busiest(self, bytes_: Counts) -> int:
        """What the party needs that has most to send or to receive: its links share one line."""
        each = bytes_ * NANOSECONDS // self.speed
        found = []
        for ends in (self.network.senders, self.network.receivers):
            sums = np.zeros(len(self.network), np.int64)
            np.add.at(sums, ends, each)
            found.append(sums)
        sent, received = found
        return int((sent + received if self.shared else np.maximum(sent, received)).max())

    def telling(self) -> int:
        """Every party tells all something small."""
        bytes_ = np.full(len(self.latency), len(self.network) * TOLD_BYTES, np.int64)
        return self.furthest + self.busiest(bytes_)

    def recovery(self, scheme: Scheme, mask_bytes: int = 0) -> int:
        """Nanoseconds of a whole sum but for the latency of its masks."""
        traffic = scheme.traffic()
        bytes_ = traffic.envelopes * HEADER_BYTES + traffic.payload_bytes + mask_bytes
        filling = scheme.filling_bytes * NANOSECONDS // int(self.speed.min())
        return scheme.longest_way(self.latency) + self.busiest(bytes_) + filling
