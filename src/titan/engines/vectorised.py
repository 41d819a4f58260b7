"""The whole network as arrays: the same sums and the same costs as real agents, for scale.

Residues are laid out (limbs, d, m), one column per party. Masks are really drawn and really
cancel, partial sums really travel up and down the trees, and Top-k really computes every party's
list in every round (`Scheme.total_of`); only the envelopes are not made. What they would have cost
is known from the plan, and tests hold both engines to the same counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from titan.engines.local import Outcome, Secrets, inputs_of
from titan.errors import PlanError
from titan.network import Network
from titan.protocol import IN_ONE_PROCESS, Binding, MaskSource, Plan, SystemMasks
from titan.protocol.recovery.interface import Progress
from titan.ring import Residues

Indices = npt.NDArray[np.intp]
_WORDS_AT_ONCE = 1 << 22  # of masks: 32 MiB


def run(
    plan: Plan,
    secrets: Secrets,
    *,
    binding: Binding = IN_ONE_PROCESS,
    source: Callable[[], MaskSource] = SystemMasks,
    record: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Run the plan on secrets of shape (limbs, m, d)."""
    if record:
        raise PlanError(
            "the vectorised engine sends no messages, so there is nothing to record",
            hint='record=True needs engine="local"',
        )
    ring, m = plan.ring, len(plan.network)
    inputs = ring.zeros(plan.entries, m)
    inputs[:, :-1] = inputs_of(plan, secrets).transpose(0, 2, 1)
    inputs[0, -1] = 1
    masked = _obfuscate(plan, inputs, source(), binding)
    total = plan.scheme.total_of(masked, progress)
    counted = ring.to_ints(total[:, -1:])[0]
    return Outcome(plan.without_carried_one(total), counted, plan.cost)


# -- obfuscation ------------------------------------------------------------------------------


def _obfuscate(plan: Plan, inputs: Residues, source: MaskSource, binding: Binding) -> Residues:
    """Add each edge's mask at its receiver, subtract it at its sender; some entries at a time."""
    ring, (out_starts, by_receiver, in_starts) = plan.ring, _edges(plan.network)
    size = max(1, _WORDS_AT_ONCE // (ring.limbs * len(plan.network.senders)))
    if plan.masks == "seeded":
        size = plan.entries  # a key stands for a whole vector
    for start in range(0, plan.entries, size):
        part = inputs[:, start : start + size]
        masks = _draw(plan, part.shape[1], source, binding)
        ring.add_into(part, ring.sum_groups(masks[..., by_receiver], in_starts))
        ring.subtract_into(part, ring.sum_groups(masks, out_starts))
    return inputs


def _draw(plan: Plan, entries: int, source: MaskSource, binding: Binding) -> Residues:
    """Every edge's mask. Where r is sent, r with bits flipped is as uniform as r: it is drawn
    as it comes out."""
    ring, network = plan.ring, plan.network
    if plan.masks == "seeded":
        edges = zip(network.senders.tolist(), network.receivers.tolist(), strict=True)
        columns = [binding.mask(plan.draw(source), edge, ring, entries) for edge in edges]
        return np.stack(columns, axis=-1)
    drawn = ring.uniform(entries * len(network.senders), source.words)
    return drawn.reshape(ring.limbs, entries, len(network.senders))


@lru_cache(maxsize=8)
def _edges(network: Network) -> tuple[Indices, Indices, Indices]:
    """Where each party's edges begin among all, which are ordered by sender; their order by
    receiver, and where each party's begin in that.

    Every party of a strongly connected network has an edge of either kind, so no group is empty.
    """
    parties = np.arange(len(network))
    by_receiver = np.argsort(network.receivers, kind="stable")
    in_starts = np.searchsorted(network.receivers[by_receiver], parties)
    return np.searchsorted(network.senders, parties), by_receiver, in_starts
