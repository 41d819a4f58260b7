"""What a coalition works out from its view: the sum over each group of honest parties.

Without the coalition the honest parties fall into weak components. For such a group C all masks
between two members cancel in Σ x̃_i, and every other mask of a member was exchanged with the
coalition, which therefore knows it:

    Σ_C x_i = Σ_C x̃_i - Σ (masks from the coalition into C) + Σ (masks from C to the coalition)

`topk` and `flood` show every x̃_i to everybody. `tree` shows sums of them, which is enough: whatever
enters or leaves C on its way to the root passes through the coalition, so

    Σ_C x̃_i = Σ (partial sums from C to the coalition) - Σ (those from the coalition into C)
              + the total, if the root is in C.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from titan.errors import InputError
from titan.privacy.view import Message, View
from titan.protocol import Kind, Plan
from titan.protocol.recovery import Tree
from titan.ring import Residues

Indices = npt.NDArray[np.intp]
Group = tuple[str, ...]


def partial_sums(view: View, sum_: int = 0) -> dict[Group, list[int]]:
    """For every group of honest parties the sum of its inputs, from the view alone.

    Signed integers in units of 2^-view.sums[sum_].fraction, as the parties encoded them. With one
    group only, this is the pooled sum without the coalition's own part: nothing more than everybody
    is meant to learn.
    """
    messages = [message for message in view if message.sum == sum_]
    plan = view.sums[sum_].plan
    honest = set(plan.network.parties) - set(view.coalition)
    masked = _masked_vectors(plan, honest, messages)
    return {
        group: plan.ring.to_signed(_unmasked(plan, group, masked, messages)[:, :-1])
        for group in view.network.honest_components(view.coalition)
    }


def own_input(plan: Plan, party: str, messages: list[Message]) -> Residues:
    """What one party put into a sum, the carried 1 last, from all it sent and received in it.

    The equation above for C = {party}, whose every mask is there.
    """
    return _unmasked(plan, (party,), _masked_vectors(plan, {party}, messages), messages)


def _unmasked(
    plan: Plan, group: Group, masked: dict[str, Residues], messages: list[Message]
) -> Residues:
    """Σ x over a group, all of whose masks with others are among the messages."""
    ring = plan.ring
    if isinstance(plan.scheme, Tree):
        total = _passed_by(plan, plan.scheme.root, group, messages)
    else:
        total = ring.sum((masked[party] for party in group), plan.entries)
    for message in messages:
        if message.kind is Kind.MASK and message.receiver in group:
            ring.subtract_into(total, message.residues)
        elif message.kind is Kind.MASK and message.sender in group:
            ring.add_into(total, message.residues)
    return total


def _masked_vectors(plan: Plan, wanted: set[str], messages: list[Message]) -> dict[str, Residues]:
    """The x̃ of some parties, from lists and masked vectors that went by; `tree` shows none."""
    if isinstance(plan.scheme, Tree):
        return {}
    found: dict[str, Residues] = {}
    seen: dict[str, npt.NDArray[np.bool_]] = {}
    for party, where, values in _shown(messages):
        vector = found.setdefault(party, plan.ring.zeros(plan.entries))
        vector[:, where] = values
        seen.setdefault(party, np.zeros(plan.entries, np.bool_))[where] = True
    absent = wanted - {party for party, entries in seen.items() if entries.all()}
    if absent:
        raise InputError(
            f"the view does not show the masked vectors of {len(absent)} parties",
            hint="it is not the view of a whole run",
        )
    return found


def _passed_by(plan: Plan, root: int, group: Group, messages: list[Message]) -> Residues:
    """Σ x̃ over a group, from the partial sums on the links between it and the coalition."""
    ring, rooted = plan.ring, plan.network.parties[root] in group
    total = ring.zeros(plan.entries)
    for message in messages:
        part = slice(message.entries.start, message.entries.stop)
        if message.kind is Kind.PARTIAL and message.sender in group:
            ring.add_into(total[:, part], message.residues)
        elif message.kind is Kind.PARTIAL and message.receiver in group:
            ring.subtract_into(total[:, part], message.residues)
    if rooted:
        whole = {m.entries: m for m in messages if m.kind is Kind.TOTAL}
        for message in whole.values():
            part = slice(message.entries.start, message.entries.stop)
            ring.add_into(total[:, part], message.residues)
    return total


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
