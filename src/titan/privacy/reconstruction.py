"""What a coalition works out from its view: the sum over each group of honest parties.

Without the coalition the honest parties fall into weak components. For such a group C all masks
between two members cancel in Σ x̃_i, and every other mask of a member was exchanged with the
coalition, which therefore knows it:

    Σ_C x_i = Σ_C x̃_i - Σ (masks from the coalition into C) + Σ (masks from C to the coalition)

How Σ_C x̃_i follows from what was seen is the recovery's to say: `Scheme.sum_over`.
"""

from __future__ import annotations

from titan.privacy.view import Message, View
from titan.protocol import Kind, Plan
from titan.ring import Residues

Group = tuple[str, ...]


def partial_sums(view: View, sum_: int = 0) -> dict[Group, list[int]]:
    """For every group of honest parties the sum of its inputs, from the view alone.

    Signed integers in units of 2^-view.sums[sum_].fraction, as the parties encoded them. With one
    group only, this is the pooled sum without the coalition's own part: nothing more than everybody
    is meant to learn.
    """
    messages = [message for message in view if message.sum == sum_]
    plan = view.sums[sum_].plan
    return {
        group: plan.ring.to_signed(_unmasked(plan, group, messages)[:, :-1])
        for group in view.network.honest_components(view.coalition)
    }


def own_input(plan: Plan, party: str, messages: list[Message]) -> Residues:
    """What one party put into a sum, the carried 1 last, from all it sent and received in it.

    The equation above for C = {party}, whose every mask is there.
    """
    return _unmasked(plan, (party,), messages)


def total_seen(plan: Plan, party: str, messages: list[Message]) -> Residues:
    """The total of a sum, without the carried 1, from all that one party sent and received in it.

    Masked or not, the vectors have the same sum.
    """
    shown = [message.shown for message in messages if message.kind is not Kind.MASK]
    total = plan.ring.zeros(plan.entries)
    for group in [*plan.network.honest_components([party]), (party,)]:
        members = {plan.network.index(name) for name in group}
        plan.ring.add_into(total, plan.scheme.sum_over(members, shown))
    return plan.without_carried_one(total)


def _unmasked(plan: Plan, group: Group, messages: list[Message]) -> Residues:
    """Σ x over a group, all of whose masks with others are among the messages."""
    members = {plan.network.index(party) for party in group}
    shown = [message.shown for message in messages]
    total = plan.scheme.sum_over(members, (one for one in shown if one.kind is not Kind.MASK))
    for one in shown:
        if one.kind is Kind.MASK and one.receiver in members:
            plan.ring.subtract_into(total, one.residues)
        elif one.kind is Kind.MASK and one.sender in members:
            plan.ring.add_into(total, one.residues)
    return total
