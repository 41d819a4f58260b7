"""The paper's Top-k consensus (Algorithm 2), entry by entry, on the masked inputs.

For every entry the parties agree on the k largest pairs (value, id), ties to the larger id, by
sending their lists of k slots for T rounds; then again without the pairs already recovered, until
all m are known: ⌈m/k⌉ runs. With k = 1 this is FAIM.

A pair was recovered in an earlier run exactly if its owner saw it in that run's final list, and
only its owner ever brings it in; so excluding earlier pairs costs one bit per entry.

A payload is k vectors of values, then k·d ids (u16); an empty slot ⊥ is value 0, id 0xFFFF.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from titan.errors import MessageError, PlanError, RecoveryError
from titan.protocol.messages import Envelope, Kind, Payload
from titan.protocol.recovery.interface import (
    NOBODY,
    Choices,
    Counts,
    Key,
    Means,
    Outgoing,
    Progress,
    Scheme,
    Traffic,
    refuse_kind,
)
from titan.protocol.recovery.topk_lists import recover_all
from titan.ring import Residues

Ids = npt.NDArray[np.uint16]
EMPTY = 0xFFFF
MOST_PARTIES = EMPTY


@dataclass(frozen=True)
class TopK(Scheme):
    """The scheme: ⌈m/k⌉ runs of `rounds_each` = T rounds; `slots` is m, or a bound on it."""

    k: int
    rounds_each: int
    slots: int
    name = "topk"
    kind = Kind.LIST
    takes_k = True

    @classmethod
    def of(cls, choices: Choices) -> TopK:
        m = len(choices.network)
        slots = m if choices.at_most is None else choices.at_most
        k = slots if choices.k is None else choices.k
        if not 1 <= k <= slots:
            hint = f"choose k from 1 to {slots}"
            raise PlanError(f"k={k} is outside 1..{slots}", hint=hint, choice="k")
        if m > MOST_PARTIES:
            raise PlanError(
                f"topk can number at most {MOST_PARTIES} parties, and there are {m}",
                hint='use "tree"',
            )
        return cls(choices.network, choices.ring, choices.entries, k, choices.hops, slots)

    @property
    def runs(self) -> int:
        return -(-self.slots // self.k)

    @property
    def rounds(self) -> int:
        return self.runs * self.rounds_each

    @property
    def numbers_held(self) -> int:
        """(2k + m)d, the paper's memory cost."""
        return (2 * self.k + self.slots) * self.entries

    @property
    def payload_bytes(self) -> int:
        return self.k * self.entries * (self.ring.width + 2)

    def begin(self, party: int, masked: Residues, means: Means) -> TopKState:
        return TopKState(self, party, masked)

    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> tuple[Residues, Ids]:
        """The values (limbs, k, d) and ids (k, d) of a list."""
        refuse_kind(kind, self.kind)
        found, due = len(payload), self.payload_bytes
        if found != due:
            raise MessageError(f"a LIST payload of {found} bytes where {due} were expected")
        pairs, shape = self.k * self.entries, (self.k, self.entries)
        values = self.ring.from_bytes(payload[: pairs * self.ring.width], pairs)
        values = values.reshape(self.ring.limbs, *shape)
        ids = np.frombuffer(payload, "<u2", offset=pairs * self.ring.width).reshape(shape)
        empty = ids == EMPTY
        if np.any(~empty & (ids >= len(self.network))) or np.any(values[:, empty]):
            raise MessageError("a LIST payload with unknown ids, or values in empty slots")
        return values, ids

    def count(self, envelope: Envelope) -> int:
        return 2 * self.k * self.entries

    def total_of(self, masked: Residues, progress: Progress | None = None) -> Residues:
        recover_all(self, masked, progress)
        return super().total_of(masked)

    def numbers_of(self, content: tuple[Residues, Ids]) -> tuple[Residues, Counts]:
        values, ids = content
        return values, np.where(ids == EMPTY, NOBODY, ids.astype(np.int64))

    def traffic(self) -> Traffic:
        """Every edge carries a full list in every round: the paper's 2k·T·⌈m/k⌉·d numbers."""
        envelopes = np.full(len(self.network.senders), self.rounds, np.int64)
        numbers = 2 * self.k * self.entries
        return Traffic(self.rounds, envelopes, envelopes * self.payload_bytes, envelopes * numbers)


class TopKState:
    """One party's lists L and ℓ, of shape (limbs, k, d) and (k, d), and all it has recovered."""

    finished = needs_no_more = False

    def __init__(self, scheme: TopK, party: int, masked: Residues) -> None:
        self._scheme = scheme
        self._party = party
        self._masked = masked
        self._receivers = scheme.network.out_neighbours(party)
        self._awaited = scheme.senders(party, 1)
        self._recovered = scheme.ring.zeros(scheme.slots, scheme.entries)
        self._found = np.zeros(scheme.entries, np.int64)
        self._pending = np.ones(scheme.entries, bool)  # is my own pair still to be recovered?
        self._lists: list[tuple[Residues, Ids]] = []
        self._begin_run()

    @property
    def numbers_held(self) -> int:
        limbs = self._scheme.ring.limbs
        return self._values.size // limbs + self._ids.size + self._recovered.size // limbs

    def _begin_run(self) -> None:
        """Algorithm 2, line 1: the own pair, unless recovered, then k-1 empty slots."""
        scheme = self._scheme
        self._values = scheme.ring.zeros(scheme.k, scheme.entries)
        self._ids = np.full((scheme.k, scheme.entries), EMPTY, np.uint16)
        self._values[:, 0] = np.where(self._pending, self._masked, 0)
        self._ids[0] = np.where(self._pending, self._party, EMPTY)

    def send(self, round_: int) -> list[Outgoing]:
        self._lists = [(self._values, self._ids)]
        ring = self._scheme.ring
        values = ring.to_bytes(self._values.reshape(ring.limbs, -1))
        payload = values + self._ids.astype("<u2", copy=False).tobytes()
        return [(receiver, Kind.LIST, payload) for receiver in self._receivers]

    def awaits(self, round_: int) -> frozenset[Key]:
        return self._awaited

    def absorb(self, round_: int, sender: int, kind: Kind, content: tuple[Residues, Ids]) -> None:
        self._lists.append(content)
        if len(self._lists) == 1 + len(self._awaited):
            self._values, self._ids = largest(self._lists, self._scheme.k)
            if round_ % self._scheme.rounds_each == 0:
                self._end_run(round_ // self._scheme.rounds_each - 1)
                self._begin_run()

    def _end_run(self, run: int) -> None:
        """Algorithm 1, line 6: store the k largest in r[run·k : (run+1)·k]."""
        first, last = run * self._scheme.k, min((run + 1) * self._scheme.k, self._scheme.slots)
        self._recovered[:, first:last] = self._values[:, : last - first]
        self._found += np.count_nonzero(self._ids != EMPTY, axis=0)
        self._pending &= ~np.any(self._ids == self._party, axis=0)

    def total(self) -> Residues:
        m = len(self._scheme.network)
        if np.any(self._found != m):
            raise RecoveryError(f"Top-k did not recover {m} masked values for every entry")
        return self._scheme.ring.sum_axis(self._recovered)


def largest(lists: list[tuple[Residues, Ids]], k: int) -> tuple[Residues, Ids]:
    """Algorithm 2, lines 4 to 7: the k largest distinct pairs of several lists, in order."""
    values = np.concatenate([v for v, _ in lists], axis=1)
    ids = np.concatenate([i for _, i in lists], axis=0)
    _sort_descending(values, ids)
    repeated = np.zeros(ids.shape, bool)
    repeated[1:] = (ids[1:] == ids[:-1]) & np.all(values[:, 1:] == values[:, :-1], axis=0)
    values[:, repeated] = 0
    ids[repeated] = EMPTY
    _sort_descending(values, ids)
    return np.ascontiguousarray(values[:, :k]), np.ascontiguousarray(ids[:k])


def _sort_descending(values: Residues, ids: Ids) -> None:
    """By (is not empty, value, id), largest first, each entry for itself."""
    rank = np.where(ids == EMPTY, 0, ids.astype(np.int32) + 1)
    keys = (-rank, *(~limb for limb in values), rank == 0)
    order = np.lexsort(keys, axis=0)
    ids[:] = np.take_along_axis(ids, order, axis=0)
    for limb in values:
        limb[:] = np.take_along_axis(limb, order, axis=0)
