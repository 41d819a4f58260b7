"""The view: exactly what some parties saw of a run, and nothing else.

A run that is recorded keeps every envelope and every party's encoded input. The view of a coalition
is the part of it that its members hold: each message one of them sent or received, round by round,
and their own inputs. The masks they drew are among the messages they sent. The network and the
plans are public.
"""

# Rule 1: a View holds no reference to the record it was taken from: what its members did not see
#         cannot be reached from it.
# Rule 2: nothing that was seen is printed, by `repr` or in an error.

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, PlanError
from titan.listing import listing
from titan.network import Network
from titan.network.names import Party
from titan.protocol import IN_ONE_PROCESS, Binding, Envelope, Kind, Plan
from titan.protocol.recovery.interface import Shown
from titan.ring import Residues, Ring

Integers = npt.NDArray[np.object_]
MOST_BYTES_KEPT = 1 << 30
"""Payloads of a run that may be kept in memory; large Top-k runs have more."""


@dataclass(frozen=True)
class PlannedSum:
    """One private sum, as everybody knows it: an encoded 1 stands for `unit`."""

    name: str
    plan: Plan
    unit: Fraction
    binding: Binding = IN_ONE_PROCESS
    """What its masks are bound to; all parties know it."""

    @property
    def fraction(self) -> int:
        """How many bits are fractional, where the unit is a power of two."""
        return self.unit.denominator.bit_length() - self.unit.numerator.bit_length()

    @property
    def ring(self) -> Ring:
        return self.plan.ring


@dataclass(frozen=True, eq=False, repr=False)
class Message:
    """One message of a view. `sum` says in which of the view's sums; None: a result told to all."""

    kind: Kind
    sender: str
    receiver: str
    round: int
    sum: int | None
    payload: bytes
    _envelope: Envelope
    _planned: PlannedSum | None
    signatures: bytes = b""
    """Behind masked vectors that went through a real network: each origin's, in order."""

    @cached_property
    def shown(self) -> Shown:
        """What it shows, with parties as numbers."""
        if self._planned is None:
            raise InputError(
                "a result told to all has no residues, only floats", hint="see `numbers`"
            )
        return self._planned.plan.show(self._envelope, self._planned.binding)

    @property
    def residues(self) -> Residues:
        """What was sent, modulo 2^bits: (limbs, entries), or (limbs, vectors, entries).

        A mask (as both ends make it of what was sent), a chunk of a sum, the masked vectors of
        `flood`, or the k slots of `topk`. The last entry of a vector is the carried 1.
        """
        return self.shown.residues

    @cached_property
    def numbers(self) -> Integers:
        """The residues as integers from 0 to 2^bits - 1; of a result told to all, its floats."""
        if self._planned is None:
            return np.frombuffer(self.payload, "<f8").astype(object)
        x = self.residues
        return integers(self._planned.ring, x.reshape(x.shape[0], -1)).reshape(x.shape[1:])

    @cached_property
    def origins(self) -> npt.NDArray[np.object_]:
        """Whose masked numbers these are: one name per vector (`flood`) or per slot and entry
        (`topk`; None in an empty slot). Empty for other kinds."""
        if self._planned is None:
            return np.empty(0, object)
        names = np.array([*self._planned.plan.network.parties, None], object)
        return names[self.shown.origins]  # the last, None, is that of NOBODY

    @property
    def entries(self) -> range:
        """Which entries of the vector the numbers are; all, unless `tree` sent a chunk."""
        if self._planned is None:
            return range(len(self.payload) // 8)
        return self.shown.entries

    def __repr__(self) -> str:
        where = "told to all" if self.sum is None else f"sum {self.sum}"
        return (
            f"<Message {self.kind.name} {self.sender}->{self.receiver}, {where}, "
            f"round {self.round}, {len(self.payload)} bytes>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Notice:
    """A message around the sums, where parties are programs of their own; as it travelled."""

    kind: str
    """NONCE, AGREED (on the pooled sums), ANSWER or END."""
    sender: str
    receiver: str
    payload: bytes

    def __repr__(self) -> str:
        size = len(self.payload)
        return f"<Notice {self.kind} {self.sender}->{self.receiver}, {size} bytes>"


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """What `coalition` saw. Iterating gives the messages, sum by sum, round by round."""

    network: Network
    coalition: tuple[str, ...]
    sums: tuple[PlannedSum, ...]
    messages: tuple[Message, ...]
    inputs: Mapping[str, tuple[Integers, ...]]
    """Each member's own encoded inputs, one array of residues per sum, without the carried 1."""
    notices: tuple[Notice, ...] = ()
    """In a rehearsal: what was said around the sums."""

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    def received_by(self, party: Party) -> tuple[Message, ...]:
        """What one member received."""
        name = self._member(party)
        return tuple(message for message in self if message.receiver == name)

    def sent_by(self, party: Party) -> tuple[Message, ...]:
        """What one member sent."""
        name = self._member(party)
        return tuple(message for message in self if message.sender == name)

    def _member(self, party: Party) -> str:
        name = self.network.parties[self.network.index(party)]
        if name not in self.coalition:
            seers = listing(self.coalition)
            raise InputError(
                f"this is not the view of {name!r}", hint=f"it is the view of {{{seers}}}"
            )
        return name

    def __repr__(self) -> str:
        seers = listing(self.coalition)
        return f"<View of {{{seers}}}: {len(self)} messages in {len(self.sums)} sums>"


# -- recording --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class RecordedSum:
    """One sum with everything that happened in it: for views only, it holds everybody's secrets."""

    sum: PlannedSum
    secrets: Residues
    envelopes: tuple[Envelope, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """A whole run: its sums, and what one party told all others afterwards."""

    network: Network
    sums: tuple[RecordedSum, ...]
    told: tuple[Envelope, ...] = ()

    def view(self, coalition: Iterable[Party]) -> View:
        """What these parties saw; not everybody, for whom there is nobody left to be curious of."""
        members = members_of(self.network, coalition)
        names = self.network.parties
        inputs = {
            names[i]: tuple(integers(kept.sum.ring, kept.secrets[:, i]) for kept in self.sums)
            for i in members
        }
        messages = [
            message
            for at, kept in enumerate(self.sums)
            for message in seen(members, kept.envelopes, names, at, kept.sum)
        ] + seen(members, self.told, names, None, None)
        return View(
            self.network,
            tuple(names[i] for i in members),
            tuple(kept.sum for kept in self.sums),
            tuple(messages),
            MappingProxyType(inputs),
        )

    def __repr__(self) -> str:
        return f"<Record of {len(self.sums)} sums among {len(self.network)} parties>"


def members_of(network: Network, coalition: Iterable[Party]) -> list[int]:
    """The numbers of a coalition's parties, in order; refuses what is not a coalition."""
    coalition = coalition if isinstance(coalition, str) else list(coalition)
    network.honest_components(coalition)
    members = sorted({network.index(party) for party in coalition})
    if not members:
        raise InputError("there is nobody in the coalition", hint="name at least one party")
    return members


def check_recordable(plan: Plan) -> None:
    """Refuse, before anything runs, to record what cannot be kept."""
    size = plan.cost.bytes_sent.total
    if size > MOST_BYTES_KEPT:
        raise PlanError(
            f"the messages of this run have {size} bytes; at most {MOST_BYTES_KEPT} are recorded",
            hint='fewer entries, or recovery="tree", which sends the least',
        )


def seen(
    members: list[int],
    envelopes: Iterable[Envelope],
    names: tuple[str, ...],
    at: int | None,
    planned: PlannedSum | None,
) -> list[Message]:
    """The envelopes that members sent or received, in order of rounds."""
    inside = frozenset(members)
    theirs = [e for e in envelopes if e.sender in inside or e.receiver in inside]
    theirs.sort(key=lambda e: (e.round, e.kind, e.sender, e.receiver))
    return [
        Message(
            e.kind, names[e.sender], names[e.receiver], e.round, at, bytes(e.payload), e, planned
        )
        for e in theirs
    ]


def integers(ring: Ring, x: Residues) -> Integers:
    """Residues of shape (limbs, d) as whole numbers from 0 to 2^bits - 1."""
    return np.array([*ring.to_ints(x), None], object)[:-1]


def sum_of_inputs(plan: Plan, group: Collection[str], messages: Iterable[Message]) -> Residues:
    """What these parties put into a sum together, the carried 1s last.

    `messages` has all that went between them and others. Masks between two of them cancel, so

        Σ x_i = Σ x̃_i - Σ (masks into the group) + Σ (masks out of it);

    how Σ x̃_i follows from what was seen is the recovery's to say: `Scheme.sum_over`.
    """
    members = {plan.network.index(party) for party in group}
    shown = [message.shown for message in messages]
    total = plan.scheme.sum_over(members, (one for one in shown if one.kind is not Kind.MASK))
    for one in shown:
        part = total[:, one.entries.start : one.entries.stop]
        if one.kind is Kind.MASK and one.receiver in members:
            plan.ring.subtract_into(part, one.residues)
        elif one.kind is Kind.MASK and one.sender in members:
            plan.ring.add_into(part, one.residues)
    return total
