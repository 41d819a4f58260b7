"""What it costs that one party tells all."""

from __future__ import annotations

from titan.network import Network
from titan_lab.compare.method import Tally


def flood(cost: Tally, network: Network, origin: int, numbers: int) -> None:
    """Everybody passes the numbers on when they first arrive; the last to learn need not."""
    distance = network.distances_from(origin)
    last = int(distance.max())
    cost.rounds += last
    cost.broadcast(numbers, distance < last)
