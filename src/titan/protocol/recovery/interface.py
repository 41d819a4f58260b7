"""What a recovery is: a public scheme all parties share, and each party's own state in it.

After the obfuscation the masked vectors may be shown to everyone; a recovery brings their sum to
every party. The scheme knows everything that does not depend on values: rounds, sizes, and what
travels along which edge. The state knows one party's part of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import MessageError
from titan.network import Network
from titan.protocol.messages import Kind, Payload
from titan.ring import Residues

Counts = npt.NDArray[np.int64]
Outgoing = tuple[int, Kind, Payload]  # receiver, kind, payload


@dataclass(frozen=True)
class Traffic:
    """What a whole run sends along every edge, in the network's canonical order of edges.

    `rounds` is the last round in which anything is sent.
    """

    rounds: int
    envelopes: Counts
    payload_bytes: Counts
    numbers: Counts


class Recovery(Protocol):
    """One party's state. Rounds count from 1; `absorb` is called once all awaited is there."""

    @property
    def finished(self) -> bool:
        """Nothing more to send and nothing to wait for."""
        ...

    @property
    def needs_no_more(self) -> bool:
        """Whatever still arrives may be thrown away."""
        ...

    @property
    def numbers_held(self) -> int: ...

    def send(self, round_: int) -> list[Outgoing]: ...

    def awaits(self, round_: int) -> frozenset[tuple[int, Kind]]:
        """Those of the scheme's `senders` that are needed before this round is over."""
        ...

    def absorb(self, round_: int, sender: int, kind: Kind, content: Any) -> None:
        """Take what the scheme read from a payload."""
        ...

    def lose(self, sender: int) -> bool:
        """Do without the link from `sender` from now on; False if that is impossible."""
        ...

    def total(self) -> Residues:
        """The sum of all masked vectors, or RecoveryError."""
        ...


class Scheme(Protocol):
    """The public part, equal at all parties."""

    @property
    def name(self) -> str: ...

    @property
    def rounds(self) -> int:
        """Recovery rounds at most, known before the first message."""
        ...

    @property
    def numbers_held(self) -> int:
        """Numbers that each party keeps, in the paper's units."""
        ...

    def traffic(self) -> Traffic: ...

    def senders(self, party: int, round_: int) -> frozenset[tuple[int, Kind]]:
        """Who may send what to this party in this round."""
        ...

    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Any:
        """What a payload says; MessageError if `sender` would not send it in this round."""
        ...

    def numbers_in(self, payload: Payload) -> int:
        """How many numbers, in the paper's units, a proper payload holds."""
        ...

    def begin(self, party: int, masked: Residues) -> Recovery: ...


def all_in_neighbours(network: Network, kind: Kind) -> Callable[[int], frozenset[tuple[int, Kind]]]:
    """party → its in-neighbours, each sending one envelope of this kind."""

    @cache
    def senders(party: int) -> frozenset[tuple[int, Kind]]:
        return frozenset((sender, kind) for sender in network.in_neighbours(party))

    return senders


def refuse_kind(kind: Kind, *allowed: Kind) -> None:
    if kind not in allowed:
        raise MessageError(f"an envelope of kind {kind.name} has no place in this recovery")


def refuse_size(kind: Kind, payload: Payload, expected: int) -> None:
    if len(payload) != expected:
        raise MessageError(
            f"a {kind.name} payload of {len(payload)} bytes where {expected} were expected"
        )
