"""What a recovery is: a public scheme all parties share, and each party's own state in it.

After the obfuscation the masked vectors may be shown to everyone; a recovery brings their sum to
every party. The scheme knows everything that does not depend on values: rounds, sizes, what travels
along which edge, and what that shows. The state knows one party's part of the values.
"""

# Rule 1: plans, engines and views know recoveries through this interface alone.

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, MessageError
from titan.network import Network
from titan.protocol.messages import Envelope, Kind, Payload
from titan.ring import Residues, Ring

Counts = npt.NDArray[np.int64]
Key = tuple[int, Kind]  # who sends what
Outgoing = tuple[int, Kind, Payload]  # receiver, kind, payload
Progress = Callable[[int, int], None]  # called with (done so far, to be done in all)
NOBODY = -1  # in place of an origin, where there is none
NO_ORIGINS = np.empty(0, np.int64)
SEAL_BYTES = 64


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
    told: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    """Origin → what it tells all, where that is not numbers."""


class Recovery(Protocol):
    """One party's state. Rounds count from 1; `absorb` is called once all awaited is there."""

    needs_no_more: bool  # whatever still arrives may be thrown away

    @property
    def finished(self) -> bool:
        """Nothing more to send and nothing to wait for."""

    @property
    def numbers_held(self) -> int: ...

    def send(self, round_: int) -> list[Outgoing]: ...

    def awaits(self, round_: int) -> frozenset[Key]:
        """Those of the scheme's `senders` that are needed before this round is over."""

    def absorb(self, round_: int, sender: int, kind: Kind, content: Any) -> None:
        """Take what the scheme read from a payload."""

    def total(self) -> Residues:
        """The sum of all masked vectors, or RecoveryError."""


class Seals(Protocol):
    """One party's signatures under what it says in one sum, and whether others' are theirs."""

    def sign(self, kind: Kind, content: bytes) -> bytes:
        """SEAL_BYTES; the same again after a restart."""

    def signed(self, kind: Kind, origin: int, content: bytes, seal: bytes) -> bool: ...


class NoSeals:
    """Where all parties are one process, nobody signs: zeros stand for signatures."""

    def sign(self, kind: Kind, content: bytes) -> bytes:
        return bytes(SEAL_BYTES)

    def signed(self, kind: Kind, origin: int, content: bytes, seal: bytes) -> bool:
        return not any(seal)


@dataclass(frozen=True)
class Means:
    """What a party brings to a recovery besides its masked vector."""

    nonce: Callable[[], bytes]
    """Draws 32 fresh random bytes."""
    context: bytes
    """Stands for the run, the sum and its plan, and for all sums before it."""
    seals: Seals


class Culprit(NamedTuple):
    """Who did not do as planned, and what."""

    party: int
    deed: str


class Stream(NamedTuple):
    """What a relay sent on, and the streams that it was made of, in the order of `inputs`: digests
    of each, signed by whoever sent it."""

    digest: bytes
    inputs: tuple[bytes, ...]


Streams = Mapping[tuple[int, int, Kind], Stream]
"""Sender, receiver, kind → what was sent."""


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

    checked: ClassVar[bool] = False
    """Whether its result was compared and checked among all parties when it is there."""
    sealed: ClassVar[frozenset[Kind]] = frozenset()
    """Kinds in which a party sends on what it made of others' vectors: where the sum is checked,
    it signs the whole behind the last piece."""

    @property
    def opens(self) -> bool:
        """Whether all show their vectors where a checked sum is wrong, to find by whom."""
        return self.checked

    @classmethod
    def of(cls, choices: Choices) -> Scheme:
        """The scheme as chosen, or PlanError."""
        return cls(choices.network, choices.ring, choices.entries)

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Recovery rounds at most, known before the first message."""

    @property
    def most_rounds(self) -> int:
        """With those in which nothing is sent unless something is wrong."""
        return self.rounds

    def step(self, round_: int) -> str:
        """What happens in a round, in words."""
        return f"recovery, round {round_} of {self.rounds}"

    def binds(self, kind: Kind, round_: int) -> bool:
        """Whether a party that said this must never say it differently."""
        return False

    @property
    @abstractmethod
    def numbers_held(self) -> int:
        """Numbers that each party keeps, in the paper's units."""

    @abstractmethod
    def traffic(self) -> Traffic: ...

    @property
    def largest_payload(self) -> int:
        """No payload has more bytes."""
        return int(self.traffic().payload_bytes.max())

    @property
    def filling_bytes(self) -> int:
        """Those that pass, piece by piece, before the longest way's last link has something."""
        return 0

    def longest_way(self, latency: Counts) -> int:
        """How long all of it is under way, from every edge's latency: rounds wait for all."""
        return self.rounds * int(latency.max())

    def senders(self, party: int, round_: int) -> frozenset[Key]:
        """Who may send what to this party in this round."""
        return self._neighbours[party]

    def check_addressed(self, envelope: Envelope) -> None:  # noqa: B027 - most have nothing to add
        """MessageError where a payload that can be read is not one for this receiver."""

    @cached_property
    def _neighbours(self) -> list[frozenset[Key]]:
        everybody = map(self.network.in_neighbours, range(len(self.network)))
        return [frozenset((sender, self.kind) for sender in senders) for senders in everybody]

    @abstractmethod
    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Any:
        """What a payload says; MessageError if `sender` would not send it in this round."""

    @abstractmethod
    def count(self, envelope: Envelope) -> int:
        """How many numbers, in the paper's units, a proper envelope holds."""

    @abstractmethod
    def begin(self, party: int, masked: Residues, means: Means) -> Recovery:
        """One party's part; most recoveries need nothing but its masked vector."""

    def total_of(self, masked: Residues, progress: Progress | None = None) -> Residues:
        """What all parties end with, from all masked vectors (limbs, d, m)."""
        return self.ring.sum_axis(masked, axis=-1)

    # -- what a check needs -------------------------------------------------------------------

    @property
    def pieces(self) -> Sequence[slice]:
        """In which pieces a vector travels."""
        return [slice(0, self.entries)]

    def digest(self, vector: Residues) -> bytes:
        """Of a whole vector, piece by piece as it travels."""
        found = hashlib.sha256()
        for piece in self.pieces:
            found.update(self.ring.to_bytes(vector[:, piece]))
        return found.digest()

    def ends(self, kind: Kind, sender: int, round_: int) -> bool:
        """Whether what is sent is the last piece; then its sender's signature is behind it."""
        return True

    def streams(self, party: int) -> Sequence[tuple[int, Kind]]:
        """From whom a party gets signed vectors, of which kind, in a fixed order."""
        return ()

    def inputs(self, kind: Kind, party: int) -> Sequence[tuple[int, Kind]]:
        """Of which of its `streams` a party makes what it sends on in this kind."""
        return ()

    def culprits(self, vectors: Sequence[Residues], streams: Streams) -> list[Culprit]:
        """Given everybody's vector and what was signed: whose output does not follow from it."""
        return []

    # -- what is seen -------------------------------------------------------------------------

    @abstractmethod
    def numbers_of(self, content: Any) -> tuple[Residues, Counts]:
        """What `read` gave as `Shown.residues` and their origins, or NO_ORIGINS."""

    def told_in(self, content: Any) -> Mapping[int, bytes]:
        """What `read` gave as `Shown.told`."""
        return {}

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


def pieces_of(entries: int, count: int) -> list[slice]:
    """A vector cut into `count` pieces that differ by one entry at most."""
    ends = [c * entries // count for c in range(count + 1)]
    return list(starmap(slice, pairwise(ends)))


def refuse_kind(kind: Kind, *allowed: Kind) -> None:
    if kind not in allowed:
        raise MessageError(f"an envelope of kind {kind.name} has no place in this recovery")
