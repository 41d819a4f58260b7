"""From which coalitions a network hides, and what the others learn.

A coalition learns the sum over each weak component of the honest parties, and no more. It is
harmless if there is one component, of two parties or more: then it learns the pooled sum alone.
With κ the weak vertex-connectivity, all coalitions of fewer than κ parties are harmless as long as
they leave two honest ones. Of every size from κ to m - 2 some are not: to a smallest cut, parties
of a component can be added until each component has one party left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from titan.errors import NetworkError, PlanError
from titan.network import Network
from titan.network.names import Party
from titan.network.refusals import checked_tau
from titan.privacy.view import members_of
from titan.ring.whole import whole_number
from titan_lab.privacy.cuts import minimal_cuts, neighbours


@dataclass(frozen=True)
class Inference:
    """What one coalition learns: the sum over each of these groups of honest parties."""

    coalition: tuple[str, ...]
    components: tuple[tuple[str, ...], ...]

    @property
    def harmless(self) -> bool:
        """Whether this is the pooled sum without its own part, of two parties or more."""
        return len(self.components) == 1 and len(self.components[0]) > 1


@dataclass(frozen=True)
class Audit:
    """All coalitions of at most `tau` parties.

    `dangerous` are the minimal ones (no proper subset is dangerous), smallest first, as many as
    were asked for; `more` says that there are others.
    """

    tau: int
    harmless: dict[int, bool]
    """For every size up to tau, whether all coalitions of that size are harmless."""
    dangerous: tuple[Inference, ...]
    more: bool


def infer(network: Network, coalition: Iterable[Party]) -> Inference:
    """What these parties learn together."""
    network.check_strongly_connected()
    members = tuple(network.parties[i] for i in members_of(network, coalition))
    return Inference(members, tuple(network.honest_components(members)))


def audit(network: Network, tau: int | None = None, *, limit: int = 20) -> Audit:
    """Which coalitions of at most τ parties are dangerous; without τ, up to the smallest ones."""
    network.check_strongly_connected()
    limit = whole_number("limit", limit)
    if limit < 0:
        raise PlanError(f"limit={limit} is below 0", hint="it is the number of coalitions to name")
    tau = (
        min(network.weak_connectivity, len(network) - 2) if tau is None else _checked(network, tau)
    )
    safe = network.tolerates(tau)
    kappa = tau + 1 if safe else network.weak_connectivity
    harmless = {size: size < kappa for size in range(1, tau + 1)}
    if safe:
        return Audit(tau, harmless, (), more=False)
    graph = neighbours(network)
    cuts = (cut for size in range(kappa, tau + 1) for cut in minimal_cuts(graph, size))
    named = ([network.parties[i] for i in cut] for cut in cuts)
    found = [infer(network, coalition) for coalition in islice(named, limit + 1)]
    return Audit(tau, harmless, tuple(found[:limit]), more=len(found) > limit)


def _checked(network: Network, tau: int) -> int:
    m, tau = len(network), checked_tau(tau)
    if tau >= m - 1:
        raise NetworkError(
            f"τ = {tau} of {m} parties leaves at most one honest party, which nothing can hide",
            hint=f"choose τ of at most {m - 2}" if m > 2 else "two parties hide nothing",
        )
    return tau
