"""Who passes on what to whom, so that all hear everything once: in few messages, none too late.

A message brings all that its sender knows and its receiver does not. With one along every link in
every round all know everything after as many rounds as the diameter. Most of those messages are not
needed: they are taken away one by one, wherever all still hear everything in time. Every message is
work for two parties, whatever it brings.

On large networks, where trying every message would take too long, an item takes a shortest way.
"""

# Rule 1: the same links give the same messages; nothing is drawn at random.
# Rule 2: everybody tells its own in the first round, before it passes anything on.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from titan.network.links import Distances, Links

Told = Mapping[int, tuple[int, ...]]
"""Round → whose items one party tells another in it, ascending."""
Brought = Mapping[tuple[int, int], Told]
"""(sender, receiver) → what the one tells the other."""

MOST_TRIED = 1500  # messages
_Message = tuple[int, int]  # sender, receiver; all of one round bring what was known before it
_Known = list[int]  # of every party whose items it knows, a bit for each


def in_few_messages(links: Links, rounds: int) -> Brought | None:
    """None where the network is too large for that."""
    every = list(zip(links.senders.tolist(), links.receivers.tolist(), strict=True))
    if rounds * len(every) > MOST_TRIED:
        return None
    # Links that lead equally far are tried together: so the work stays evenly spread where all
    # parties have links alike.
    every.sort(key=lambda message: ((message[1] - message[0]) % links.parties, message))
    needed, known = [every] * rounds, [1 << party for party in range(links.parties)]
    for n in range(rounds):
        for message in every:
            fewer = [each for each in needed[n] if each != message]
            begins = n > 0 or any(sender == message[0] for sender, _ in fewer)
            if begins and _all_hear(known, [fewer, *needed[n + 1 :]]):
                needed[n] = fewer
        known = _after(known, needed[n])
    return _brought(needed, links.parties)


def _all_hear(known: _Known, rounds: Iterable[Sequence[_Message]]) -> bool:
    for messages in rounds:
        known = _after(known, messages)
    everything = (1 << len(known)) - 1
    return all(each == everything for each in known)


def _after(known: _Known, messages: Iterable[_Message]) -> _Known:
    found = known.copy()
    for sender, receiver in messages:
        found[receiver] |= known[sender]
    return found


def _brought(rounds: Iterable[Sequence[_Message]], parties: int) -> Brought:
    """What comes with each. Where several could bring an item in one round they take turns."""
    brought: dict[tuple[int, int], dict[int, tuple[int, ...]]] = {}
    known = [1 << party for party in range(parties)]
    for n, messages in enumerate(rounds, start=1):
        for receiver in range(parties):
            senders = sorted(sender for sender, to in messages if to == receiver)
            items: dict[int, list[int]] = {sender: [] for sender in senders}
            for item in range(parties):
                bringing = [sender for sender in senders if known[sender] >> item & 1]
                if bringing and not known[receiver] >> item & 1:
                    items[bringing[item % len(bringing)]].append(item)
            for sender, whose in items.items():
                brought.setdefault((sender, receiver), {})[n] = tuple(whose)
        known = _after(known, messages)
    return brought


def by_shortest_ways(
    steps: Distances, nearer: Mapping[int, Distances], *, once: bool
) -> dict[int, Told]:
    """What every neighbour tells a party that is so many `steps` from each, as soon as it can.

    `nearer` has the neighbours' own steps. With `once`, where several could bring an item one does:
    they take turns.
    """
    brings = np.stack([each + 1 == steps for each in nearer.values()])
    if once:
        turn = np.arange(len(steps)) % np.maximum(brings.sum(axis=0), 1)
        brings &= brings.cumsum(axis=0) == turn + 1
    found: dict[int, Told] = {}
    for neighbour, whose in zip(nearer, brings, strict=True):
        told: dict[int, list[int]] = {}
        for item in np.flatnonzero(whose).tolist():
            told.setdefault(int(steps[item]), []).append(item)
        found[neighbour] = {round_: tuple(items) for round_, items in told.items()}
    return found
