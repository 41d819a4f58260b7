"""The links of a study: who sends to whom, who dials, and what is known of the line between them.

Latency and bandwidth decide nothing but how sums with recovery "auto" are made, and how long a run
is said to take. A study states them for all links, or a link for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from titan.network import Network
from titan.protocol import Lines, Plan
from titan.protocol.lines import NANOSECONDS

Dial = Literal["push", "pull"]
LINE = {"latency_ms": 20, "bandwidth_mbit": 100}
"""What a link is taken to have, one way, where nothing is said of it."""
BOUNDS = {"latency_ms": (0, 60_000), "bandwidth_mbit": (1, 1_000_000)}


@dataclass(frozen=True)
class Link:
    """`sender` can send to `receiver`; with "push" the sender dials, with "pull" the receiver."""

    sender: str
    receiver: str
    dial: Dial = "push"
    latency_ms: int | None = None
    """One way; left open, that of all links."""
    bandwidth_mbit: int | None = None

    @property
    def ends(self) -> tuple[str, str, Dial]:
        """By which links are sorted."""
        return self.sender, self.receiver, self.dial

    @property
    def dialler(self) -> str:
        return self.sender if self.dial == "push" else self.receiver

    @property
    def listener(self) -> str:
        return self.receiver if self.dial == "push" else self.sender


def said_of(it: object) -> dict[str, int]:
    """What a study says of all links, or a link of itself."""
    return {key: getattr(it, key) for key in LINE if getattr(it, key) is not None}


def lines_of(network: Network, links: Iterable[Link], of_all: object) -> Lines:
    """Of every link: what it says itself, else what is said of all, else what is usual."""
    usual, by_ends = LINE | said_of(of_all), {(it.sender, it.receiver): it for it in links}
    found = [usual | said_of(by_ends[a, b]) for a, b in network.edges]
    return Lines.of(network, *([each[key] for each in found] for key in LINE))


def predicted_seconds(lines: Lines, plans: Sequence[Plan], *, told_answer: bool) -> float:
    """From all connected to the last answer, but for what computing takes.

    Nonces and the agreement are told to all, as is the answer where one solves for all; in between
    each sum takes a mask's way and its recovery.
    """
    sums = (lines.slowest + lines.recovery(plan.scheme, plan.mask_bytes) for plan in plans)
    return (sum(sums) + (2 + told_answer) * lines.telling()) / (1000 * NANOSECONDS)
