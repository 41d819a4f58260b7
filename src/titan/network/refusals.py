"""What a network says when it is asked for more than it has."""

from __future__ import annotations

from collections.abc import Sequence

from titan.errors import NotPrivateError, NotStronglyConnectedError, PlanError
from titan.listing import listing
from titan.network.names import Names
from titan.network.paths import Gap
from titan.ring.whole import as_whole


def not_strongly_connected(names: Names, gap: Gap) -> NotStronglyConnectedError:
    source, target = names[gap.stuck[0]], names[gap.missed[0]]
    ends = f"from one of {_some(names, gap.stuck)} to one of {_some(names, gap.missed)}"
    more = f"at least {gap.links} links are missing; one of them may go {ends}"
    return NotStronglyConnectedError(
        f'the network is not strongly connected: "{source}" cannot reach "{target}"',
        source=source,
        target=target,
        hint=f"add a link {ends}" if gap.links == 1 else more,
    )


def not_private(
    names: Names, tau: int, cut: Sequence[int], groups: Sequence[Sequence[int]]
) -> NotPrivateError:
    """`cut`, at most τ parties, leaves the `groups`, two or more, without a link between them."""
    one, two = (_some(names, group) for group in groups[:2])
    why = (
        f"the coalition {_some(names, cut)} separates {one} from {two}"
        " and would learn the sum of each group"
        if cut
        else f"no link joins {one} with {two}"
    )
    return NotPrivateError(
        f"the network does not tolerate τ = {tau}: {why}",
        cut=[names[i] for i in cut],
        hint="add links between the groups, choose a smaller τ,"
        f" or take Network.design({len(names)}, tau={tau})",
    )


def nobody_hidden(names: Names, tau: int) -> NotPrivateError:
    m = len(names)
    fix = f"choose τ of at most {m - 2}" if m > 2 else "even τ = 1 needs three parties"
    return NotPrivateError(
        f"τ = {tau} of {m} parties leaves at most one honest party, which nothing can hide",
        cut=names.all[1:],
        hint=fix,
    )


def checked_tau(tau: object) -> int:
    """τ, if it is a number of parties."""
    found = as_whole(tau)
    if found is None or found < 0:
        raise PlanError(
            f"τ = {tau!r} is not a number of colluding parties",
            hint="τ is a whole number, 0 or more",
            choice="tau",
        )
    return found


def _some(names: Names, numbers: Sequence[int]) -> str:
    return f"{{{listing(names[i] for i in numbers)}}}"
