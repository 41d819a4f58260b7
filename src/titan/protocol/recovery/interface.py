"""What a recovery is: a public scheme all parties share, and each party's own state in it.

After the obfuscation the masked vectors may be shown to everyone; a recovery brings their sum to
every party. The scheme knows everything that does not depend on values: rounds, sizes, what travels
along which edge, and what that shows. The state knows one party's part of the values.

A new recovery is a file beside this one and a name in the table of `titan.protocol.recovery`.
"""

# Rule 1: plans, engines and views know recoveries through this interface alone.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, MessageError
from titan.network import Network
from titan.protocol.messages import Kind, Payload
from titan.ring import Residues, Ring

Counts = npt.NDArray[np.int64]
Outgoing = tuple[int, Kind, Payload]  # receiver, kind, payload
Progress = Callable[[int, int], None]
"""Called with (done so far, to be done in all)."""
NOBODY = -1
"""In place of an origin, where there is none."""
NO_ORIGINS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Choices:
    """What a plan's maker chose or left open; a scheme is made from it."""

    network: Network
    ring: Ring
    entries: int
    k: int | None
    rounds: int | None
    at_most: int | None
    round_bytes: int

    @property
    def hops(self) -> int:
        """The paper's T, an upper bound on the diameter."""
        return self.network.diameter if self.rounds is None else self.rounds


@dataclass(frozen=True)
class Traffic:
    """What a whole run sends along every edge, in the network's canonical order of edges.

    `rounds` is the last round in which anything is sent.
    """

    rounds: int
    envelopes: Counts
    payload_bytes: Counts
    numbers: Counts


@dataclass(frozen=True, eq=False)
class Shown:
    """What one envelope shows whoever sees it.

    `residues` are (limbs, entries), or (limbs, vectors, entries) where `origins` says whose masked
    numbers they are: (vectors,), or (vectors, entries) with NOBODY where there is none.
    """

    kind: Kind
    sender: int
    receiver: int
    entries: range
    residues: Residues = field(repr=False)
    origins: Counts = field(repr=False)


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

    def total(self) -> Residues:
        """The sum of all masked vectors, or RecoveryError."""
        ...


@dataclass(frozen=True)
class Scheme(ABC):
    """The public part, equal at all parties."""

    network: Network
    ring: Ring
    entries: int

    name: ClassVar[str]
    takes_k: ClassVar[bool] = False
    """Whether it has a k; `auto` weighs those that have one where k is chosen, else the others."""
    weighed_up_to: ClassVar[float] = np.inf
    """The most parties among which `auto` weighs it: its traffic may take long to predict."""
    signed_by_origin: ClassVar[bool] = False
    """Whether vectors travel as their origins made them, in MASKED envelopes read as a list of
    (origin, vector); a real network then sends each one's signature along."""

    @classmethod
    @abstractmethod
    def of(cls, choices: Choices) -> Scheme:
        """The scheme as chosen, or PlanError."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Recovery rounds at most, known before the first message."""

    @property
    @abstractmethod
    def numbers_held(self) -> int:
        """Numbers that each party keeps, in the paper's units."""

    @abstractmethod
    def traffic(self) -> Traffic: ...

    @abstractmethod
    def senders(self, party: int, round_: int) -> frozenset[tuple[int, Kind]]:
        """Who may send what to this party in this round."""

    @abstractmethod
    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Any:
        """What a payload says; MessageError if `sender` would not send it in this round."""

    @abstractmethod
    def numbers_in(self, payload: Payload) -> int:
        """How many numbers, in the paper's units, a proper payload holds."""

    @abstractmethod
    def begin(self, party: int, masked: Residues) -> Recovery: ...

    # -- all parties at once ------------------------------------------------------------------

    def total_of(self, masked: Residues, progress: Progress | None = None) -> Residues:
        """What all parties end with, from all masked vectors (limbs, d, m)."""
        return self.ring.sum_axis(masked, axis=-1)

    # -- what is seen -------------------------------------------------------------------------

    @abstractmethod
    def numbers_of(self, content: Any) -> tuple[Residues, Counts]:
        """What `read` gave as `Shown.residues` and their origins, or NO_ORIGINS."""

    def entries_of(self, kind: Kind, sender: int, round_: int) -> range:
        """Which entries of the vector an envelope is about."""
        return range(self.entries)

    def sum_over(self, group: Collection[int], shown: Iterable[Shown]) -> Residues:
        """Σ x̃_i over the parties of a group, or InputError if too little was shown.

        The group is a weak component of the parties that remain without those who saw it. Here
        masked vectors are shown, whole or entry by entry.
        """
        found = {party: self.ring.zeros(self.entries) for party in group}
        missing = {party: np.ones(self.entries, np.bool_) for party in group}
        for one in shown:
            whose = one.origins if one.origins.ndim == 2 else one.origins[:, None]
            origins = np.broadcast_to(whose, (len(whose), self.entries))
            for party in list(missing):
                vector, entry = np.nonzero(origins == party)
                found[party][:, entry] = one.residues[:, vector, entry]
                missing[party][entry] = False
                if not missing[party].any():
                    del missing[party]
        if missing:
            raise InputError(
                f"the view does not show the masked vectors of {len(missing)} parties",
                hint="it is not the view of a whole run",
            )
        return self.ring.sum(found.values(), self.entries)


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
