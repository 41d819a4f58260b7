"""Who can dial whom: of two neighbours one must be dialled, and some parties can only dial out.

A party says so on its card (`titan keys new --dials-only`), or whoever gathers the study for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from titan.errors import NetworkError
from titan.listing import listing
from titan.study.identity import Card
from titan.study.links import Link
from titan.study.manifest import Study

_NAMED = 5  # pairs of neighbours; of more the number is told


def only_dialling(cards: Iterable[Card]) -> frozenset[str]:
    return frozenset(card.name for card in cards if card.dials_only)


Edge = tuple[str, str]


def dialled(edge: Edge, pulled: Collection[tuple[str, ...]], only: Collection[str]) -> Link:
    """A link that its sender dials; the receiver, if it is asked for, or cannot be dialled."""
    sender, receiver = edge
    pull = edge in pulled or (receiver in only and sender not in only)
    return Link(sender, receiver, "pull" if pull else "push")


def unreachable(study: Study) -> Iterator[NetworkError]:
    """What stands in the way of connections that the study wants."""
    only = only_dialling(study.parties)
    neighbours = [link for link in study.links if {link.sender, link.receiver} <= only]
    if neighbours:
        pairs = dict.fromkeys(" and ".join(sorted((a.sender, a.receiver))) for a in neighbours)
        yield NetworkError(
            f"neighbours that can both only dial out: {listing(pairs, _NAMED)}; neither can dial "
            "the other",
            hint="titan study new --network design makes a network without such links, if there "
            "is one; or let one of them be dialled",
        )
    for link in study.links:
        if link.listener in only and link.dialler not in only:
            other = "pull" if link.dial == "push" else "push"
            yield NetworkError(
                f'"{link.dialler}" is to dial "{link.listener}", who can only dial out',
                hint=f'on the link from "{link.sender}" to "{link.receiver}" say dial = "{other}"',
            )
