"""Whose agents live on which rank: as many on each, and few links between ranks.

Two orders of the parties are cut into equal pieces: their own, and reverse Cuthill-McKee, which
brings neighbours together. Whichever cuts fewer links is taken.
"""

from __future__ import annotations

import numpy as np

from titan.network import Network
from titan.network.links import Indices


def homes(network: Network, ranks: int) -> Indices:
    """The rank of every party's agent."""
    parties = np.arange(len(network))
    if ranks == 1 or len(network) < ranks:
        return parties % ranks
    candidates = [_cut(order, ranks) for order in (parties, _neighbours_together(network))]
    return min(candidates, key=lambda found: _between_ranks(network, found))


def _cut(order: Indices, ranks: int) -> Indices:
    found = np.empty(len(order), np.intp)
    found[order] = np.arange(len(order)) * ranks // len(order)
    return found


def _between_ranks(network: Network, found: Indices) -> int:
    return int(np.count_nonzero(found[network.senders] != found[network.receivers]))


def _neighbours_together(network: Network) -> Indices:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ends = network.senders, network.receivers
    rows, columns = np.concatenate(ends), np.concatenate(ends[::-1])
    links = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(network),) * 2)
    return np.asarray(reverse_cuthill_mckee(links, symmetric_mode=True), np.intp)
