"""Networks to order: few links, short ways, and connectivity that is verified.

What is sought. Weak connectivity k = τ + 1 needs k neighbours for everybody, so some party has
out-degree h = ⌈k/2⌉ at least, and m·h links is about the fewest there can be. With h = 1 that is
the cycle, whose diameter m - 1 is the largest there is. Hence the rule:

    the smallest out-degree for which some candidate is verified to have weak connectivity k and a
    diameter of at most 2⌈log₂ m⌉ (or `max_diameter`); among the candidates of that out-degree
    the smallest diameter, then the fewest links.

Candidates of out-degree δ: circulant graphs, Kautz and de Bruijn graphs, a backbone
(i -> i + 1, …, i + h) with doubling links, and the union of δ cycles through everybody in different
orders, which for δ = h meets the bound on links and yet is short, as random graphs are.

Up to seven parties and τ ≤ 1 that is the cycle. Beyond 2,000 parties only the backbone with
doubling links is taken: out-degree h + 1, the diameter proven instead of measured, and a
connectivity that anyone verifies at once by looking for the backbone. (Where `degree` = h > 1 is
asked for it is the union of cycles again, since the backbone alone has diameter m/h.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress

from titan.errors import NetworkError
from titan.network import families, paths
from titan.network.apart import apart
from titan.network.connectivity import cut_below
from titan.network.links import Links
from titan.ring.whole import whole_number

_LARGE = 2_000
_TRIES = 4


def design(
    m: int,
    tau: int,
    degree: int | None,
    max_diameter: int | None,
    only_dial: Sequence[int] = (),
) -> Links:
    """Links between m parties that tolerate τ; none between two of `only_dial`.

    Where these are two or more, a network by the rule above is looked for first, and else one is
    built of such a network and links to them, as `apart` says.
    """
    if len(only_dial) < 2:
        return _designed(m, tau, degree, max_diameter)

    def core(parties: int, longer: int) -> Links:
        most = max_diameter and max(1, max_diameter - longer)
        return _designed(parties, tau, degree, most)

    ways = apart(m, tau, only_dial, core)
    for make in ways if degree is None else ways[:1]:  # the other has no out-degree to be fixed
        with suppress(NetworkError):  # the next may do
            links = make()
            short = max_diameter is None or paths.diameter(links) <= max_diameter
            if short and paths.find_gap(links) is None and cut_below(links, tau + 1) is None:
                return links
    raise NetworkError(
        f"no network found for {m} parties of whom {len(only_dial)} can only dial out, and τ = "
        f"{tau}, with what is asked for besides",
        hint="leave out degree= or max_diameter=, or allow more",
    )


def _designed(m: int, tau: int, degree: int | None, max_diameter: int | None) -> Links:
    """Links between m parties that tolerate τ, by the rule above.

    `degree` fixes the out-degree and `max_diameter` the diameter allowed; an error says what the
    candidates reach where they cannot have both.
    """
    if tau > m - 2:
        raise NetworkError(
            f"no network of {m} parties tolerates τ = {tau}: at most one honest party is left",
            hint=f"choose τ of at most {m - 2}, or add parties",
        )
    least = (tau + 2) // 2
    if degree is not None and not least <= whole_number("degree", degree, NetworkError) <= m - 1:
        raise NetworkError(
            f"an out-degree of {degree} does not let {m} parties tolerate τ = {tau}",
            hint=f"choose one from {least} to {m - 1}",
        )
    if max_diameter is not None and whole_number("max_diameter", max_diameter, NetworkError) < 1:
        raise NetworkError(
            f"a diameter of {max_diameter} is below 1",
            hint="two parties are at least one step apart",
        )
    degrees = range(least, m) if degree is None else range(degree, degree + 1)
    limit = max_diameter or (2 * _log(m, 2) if degree is None else m - 1)
    for links in (_large if m > _LARGE else _small)(m, least, degrees, limit):
        if paths.find_gap(links) is None and cut_below(links, tau + 1) is None:
            return links
    raise NetworkError(
        f"no network found for {m} parties, τ = {tau}, out-degree {degree or 'any'}"
        f" and diameter {limit}",
        hint="leave out degree= or max_diameter=, or allow more",
    )


def _small(m: int, least: int, degrees: range, limit: int) -> Iterator[Links]:
    """The candidates that are short enough: by degree, by diameter, then by number of links."""
    for degree in degrees:
        if sum(min(degree**step, m) for step in range(min(limit, m) + 1)) < m:
            continue  # not even a tree of that degree and depth has room for everybody
        short = [  # the bound, at most twice the diameter, is quicker to have
            (paths.diameter(links), len(links), links)
            for links in _candidates(m, least, degree)
            if 0 <= paths.diameter_bound(links) <= 2 * limit
        ]
        short.sort(key=lambda found: found[:2])
        yield from (links for diameter, _, links in short if diameter <= limit)


def _candidates(m: int, least: int, degree: int) -> Iterator[Links]:
    yield families.circulant(m, range(1, degree + 1))
    powers = sorted({round(m ** (step / degree)) for step in range(degree)})
    if len(powers) == degree and powers[-1] < m:
        yield families.circulant(m, powers)
    if degree > 1:
        yield families.kautz(m, degree)
        yield families.de_bruijn(m, degree)
        for seed in range(_TRIES):
            yield families.cycles(m, degree, seed)
    if degree > least:
        yield _backbone(m, least, degree - least)


def _large(m: int, least: int, degrees: range, limit: int) -> Iterator[Links]:
    """One candidate at most."""
    if degrees == range(least, least + 1) and least > 1:
        links = families.cycles(m, least, seed=0)
        if limit >= m - 1 or paths.diameter(links) <= limit:
            yield links
        return
    for degree in degrees:
        if _proven(m, degree - least) <= limit:
            yield _backbone(m, least, degree - least)
            return


def _backbone(m: int, least: int, more: int) -> Links:
    """i -> i + 1, …, i + least, and `more` links spent on short ways."""
    return families.backbone(m, least, max(2, more), more)


def _proven(m: int, more: int) -> int:
    """What `more` links i -> q·i + a add to a backbone, as a bound on the diameter.

    t steps along q = more ≥ 2 links lead from i to q^t·i + 0, …, q^t - 1: everybody once q^t ≥ m.
    With q = 2 and the single link i -> 2i, adding one is a second step, along the backbone.
    """
    if more == 0:
        return m - 1
    return 2 * _log(m, 2) if more == 1 else _log(m, more)


def _log(m: int, base: int) -> int:
    """⌈log_base m⌉, in whole numbers."""
    return next(steps for steps in itertools.count() if base**steps >= m)
