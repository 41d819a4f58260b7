"""What a coalition works out from its view: the sum over each group of honest parties.

Without the coalition the honest parties fall into weak components. For such a group C all masks
between two members cancel in Σ x̃_i, and every other mask of a member was exchanged with the
coalition, which therefore knows it:

    Σ_C x_i = Σ_C x̃_i - Σ (masks from the coalition into C) + Σ (masks from C to the coalition)

`topk` and `flood` show every x̃_i to everybody; what `tree` shows are sums of them, from which the
same sum follows only where the trees happen to pass it by the coalition.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.privacy.view import Message, View
from titan.protocol import Kind
from titan.ring import Residues

Indices = npt.NDArray[np.intp]
Group = tuple[str, ...]


def partial_sums(view: View, sum_: int = 0) -> dict[Group, list[int]]:
    """For every group of honest parties the sum of its inputs, from the view alone.

    Signed integers in units of 2^-view.sums[sum_].fraction, as the parties encoded them. With one
    group only, this is the pooled sum without the coalition's own part: nothing more than everybody
    is meant to learn.
    """
    ring = view.sums[sum_].ring
    messages = [message for message in view if message.sum == sum_]
    masked = _masked_vectors(view, sum_, messages)
    sums: dict[Group, list[int]] = {}
    for group in view.network.honest_components(view.coalition):
        total = ring.sum((masked[party] for party in group), view.sums[sum_].plan.entries)
        for message in messages:
            if message.kind is Kind.MASK and message.receiver in group:
                ring.subtract_into(total, message.residues)
            elif message.kind is Kind.MASK and message.sender in group:
                ring.add_into(total, message.residues)
        sums[group] = ring.to_signed(total[:, :-1])
    return sums


def _masked_vectors(view: View, sum_: int, messages: list[Message]) -> dict[str, Residues]:
    """Every honest party's x̃, from lists and masked vectors that went by."""
    plan = view.sums[sum_].plan
    found: dict[str, Residues] = {}
    seen: dict[str, npt.NDArray[np.bool_]] = {}
    for party, where, values in _shown(messages):
        vector = found.setdefault(party, plan.ring.zeros(plan.entries))
        vector[:, where] = values
        seen.setdefault(party, np.zeros(plan.entries, np.bool_))[where] = True
    absent = set(plan.network.parties) - set(view.coalition)
    absent -= {party for party, entries in seen.items() if entries.all()}
    if absent:
        raise InputError(
            f"the view does not show the masked vectors of {len(absent)} honest parties",
            hint=f"{plan.scheme.name} showed sums of them; topk and flood show each",
        )
    return found


def _shown(messages: list[Message]) -> Iterator[tuple[str, Indices, Residues]]:
    """(party, entries, its masked values in these entries) for all that was shown."""
    for message in messages:
        if message.kind is Kind.MASKED:
            every = np.arange(len(message.entries))
            for at, party in enumerate(message.origins):
                yield party, every, message.residues[:, at]
        elif message.kind is Kind.LIST:
            for slot, origins in enumerate(message.origins):
                for party in set(origins) - {None}:
                    where = np.flatnonzero(origins == party)
                    yield party, where, message.residues[:, slot, where]
