"""What a coalition works out from its view: the sum over each group of honest parties.

Without the coalition the honest parties fall into weak components. All masks of such a group that
do not cancel inside it were exchanged with the coalition, which therefore knows them.
"""

from __future__ import annotations

from titan.privacy.view import View, sum_of_inputs

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
        group: plan.ring.to_signed(sum_of_inputs(plan, group, messages)[:, :-1])
        for group in view.network.honest_components(view.coalition)
    }
