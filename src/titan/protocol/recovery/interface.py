"""What a recovery is: a public scheme all parties share, and each party's own state in it.

After the obfuscation the masked vectors may be shown to everyone; a recovery brings their sum to
every party. The scheme knows everything that does not depend on values: rounds, sizes, what travels
along which edge, and what that shows. The state knows one party's part of the values.
"""

# Rule 1: plans, engines and views know recoveries through this interface alone.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, MessageError
from titan.network import Network
from titan.protocol.messages import Kind, Payload
from titan.ring import Residues, Ring

Counts = npt.NDArray[np.int64]
Key = tuple[int, Kind]  # who sends what
Outgoing = tuple[int, Kind, Payload]  # receiver, kind, payload
Progress = Callable[[int, int], None]  # called with (done so far, to be done in all)
NOBODY = -1  # in place of an origin, where there is none
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

    finished: bool  # nothing more to send and nothing to wait for
    needs_no_more: bool  # whatever still arrives may be thrown away

    @property
    def numbers_held(self) -> int: ...

    def send(self, round_: int) -> list[Outgoing]: ...

    def awaits(self, round_: int) -> frozenset[Key]:
        """Those of the scheme's `senders` that are needed before this round is over."""

    def absorb(self, round_: int, sender: int, kind: Kind, content: Any) -> None:
        """Take what the scheme read from a payload."""

    def total(self) -> Residues:
        """The sum of all masked vectors, or RecoveryError."""


@dataclass(frozen=True)
class Scheme(ABC):
    """The public part, equal at all parties."""

    network: Network
    ring: Ring
    entries: int

    name: ClassVar[str]
    kind: ClassVar[Kind]
    """What every party hears from each in-neighbour in every round; else override `senders`."""
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

    def senders(self, party: int, round_: int) -> frozenset[Key]:
        """Who may send what to this party in this round."""
        return self._neighbours[party]

    @cached_property
    def _neighbours(self) -> list[frozenset[Key]]:
        everybody = map(self.network.in_neighbours, range(len(self.network)))
        return [frozenset((sender, self.kind) for sender in senders) for senders in everybody]

    @abstractmethod
    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Any:
        """What a payload says; MessageError if `sender` would not send it in this round."""

    @abstractmethod
    def numbers_in(self, payload: Payload) -> int:
        """How many numbers, in the paper's units, a proper payload holds."""

    @abstractmethod
    def begin(self, party: int, masked: Residues) -> Recovery: ...

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
        found = self.ring.zeros(len(self.network), self.entries)
        known = np.zeros(found.shape[1:], np.bool_)
        for one in shown:
            whose = np.broadcast_to(one.origins.T, (self.entries, len(one.origins)))
            entry, vector = np.nonzero(whose != NOBODY)
            known[whose[entry, vector], entry] = True
            found[:, whose[entry, vector], entry] = one.residues[:, vector, entry]
        members = sorted(group)
        if missing := np.count_nonzero(~known[members].all(axis=1)):
            raise InputError(
                f"the view does not show the masked vectors of {missing} parties",
                hint="it is not the view of a whole run",
            )
        return self.ring.sum_axis(found[:, members])


def refuse_kind(kind: Kind, *allowed: Kind) -> None:
    if kind not in allowed:
        raise MessageError(f"an envelope of kind {kind.name} has no place in this recovery")
