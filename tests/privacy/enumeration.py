"""All inputs and all choices of masks in one run of the production code.

Entries of a vector do not influence each other (`test_entries` shows it), so a vector whose entries
are all pairs (inputs, masks) runs the protocol once for each of them:

    entry e = input number · (number of choices) + choice;   choice = Σ_edges r · 2^(bits·edge)

A mask is r + F(k): both ends add to r what the cipher makes of a key k, the same for every entry
here, since each stands for a whole run. With `keyed` all F(k) of all edges are choices as well, and
views show what their keys stand for.

The carried 1 is one more entry, the same whatever the inputs. A view of one entry is a row of small
integers, one column for every number a coalition saw, keyed by kind, sender, receiver, round and
place; rows are packed exactly into one integer each, so equal views are equal integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from tests.streams import same_for_all_entries, streams
from titan import Network
from titan.engines import local
from titan.protocol import IN_ONE_PROCESS, Envelope, Kind, Plan, RecoveryName
from titan.protocol.recovery.topk import EMPTY
from titan.ring import Residues, Ring

Column = npt.NDArray[np.int64]
Coalition = tuple[int, ...]


class Enumerating:
    """A source of masks: the e-th r asked for takes digit e of the number of the choice, and with
    `keyed` the stream of the e-th key the digit after all those."""

    def __init__(self, bits: int, edges: int, inputs: int, keyed: bool = False) -> None:
        self.bits, self.edges, self.drawn, self.keyed = bits, edges, 0, keyed
        self.streams: dict[bytes, int] = {}  # an edge's key → the edge
        self.count = 1 << bits * edges * (1 + keyed)
        self.choices = np.tile(np.arange(self.count, dtype=np.uint64), inputs)

    def words(self, count: int) -> Residues:
        assert count == self.choices.size + 1, "one word for every entry and the carried 1"
        assert self.drawn < self.edges, "one mask for every edge"
        self.drawn += 1
        return self._digit(self.drawn - 1)

    def _digit(self, at: int) -> Residues:
        digit = self.choices >> np.uint64(self.bits * at)
        return np.append(digit & np.uint64((1 << self.bits) - 1), np.uint64(0))

    def seed(self) -> bytes:
        return self.drawn.to_bytes(32, "little")

    def stream(self, key: bytes, count: int) -> Residues:
        """In place of the cipher."""
        edge = self.streams.setdefault(key, len(self.streams))
        return self._digit(self.edges + edge) if self.keyed else same_for_all_entries(key, count)


@dataclass(frozen=True)
class Enumeration:
    """Every envelope of a run over all inputs and all masks."""

    plan: Plan
    inputs: Column  # (inputs, m)
    choices: int
    columns: dict[tuple[int, int], list[Column]]  # (sender, receiver) → what was sent, by entry
    _last: dict[Coalition, Column] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        network: Network,
        bits: int,
        recovery: RecoveryName,
        k: int | None = None,
        *,
        keyed: bool = False,
    ) -> Enumeration:
        edges, m = len(network.senders), len(network)
        inputs = all_inputs(m, bits)
        source = Enumerating(bits, edges, len(inputs), keyed)
        secrets = np.repeat(inputs.T.astype(np.uint64), source.count, axis=1)[np.newaxis]
        plan = Plan.make(
            network, Ring(bits), secrets.shape[2], recovery=recovery, k=k, round_bytes=1 << 40
        )
        pieces: dict[tuple[int, int, Kind, int | None, object], list[Column]] = {}
        with streams(source.stream):
            outcome = local.run(plan, secrets, source=lambda: source, record=True)
            assert source.drawn == len(source.streams) == edges, "either end has the same key"
            for envelope in outcome.envelopes:
                kind, sender, receiver, round_, _ = envelope
                for what, column in read(plan, envelope, made=keyed):
                    # tree sends an entry in a round by its place: chunks are one column
                    turn = None if kind in (Kind.PARTIAL, Kind.TOTAL) else round_
                    pieces.setdefault((sender, receiver, kind, turn, what), []).append(column)
        columns: dict[tuple[int, int], list[Column]] = {}
        for key, parts in pieces.items():
            columns.setdefault(key[:2], []).append(np.concatenate(parts)[:-1])
        return cls(plan, inputs, source.count, columns)

    def views(self, coalition: Coalition) -> Column:
        """The view of every entry as one integer, (inputs, choices); the last one is kept."""
        if coalition not in self._last:
            self._last.clear()
            self._last[coalition] = self._views(coalition)
        return self._last[coalition]

    def _views(self, coalition: Coalition) -> Column:
        own = [np.repeat(self.inputs[:, i], self.choices) for i in coalition]
        links = (
            columns for ends, columns in self.columns.items() if not set(ends).isdisjoint(coalition)
        )
        return pack(chain(own, *links)).reshape(len(self.inputs), self.choices)


def all_inputs(m: int, bits: int) -> Column:
    """Every input of m parties, one row each."""
    grid = np.indices((1 << bits,) * m).reshape(m, -1)
    return np.ascontiguousarray(grid.T, np.int64)


def read(
    plan: Plan, envelope: Envelope, *, made: bool = False
) -> Iterator[tuple[tuple[object, ...], Column]]:
    """What an envelope shows of every entry: key and column, the carried 1 last; for one chunk.

    Of a MASK it is r and, if asked for, the mask that was made of r and the key.
    """
    kind, sender, _, round_, payload = envelope
    content = plan.read(kind, sender, round_, payload)
    if kind is Kind.LIST:
        values, ids = content
        for slot in range(plan.scheme.k):  # type: ignore[attr-defined]
            yield ("value", slot), values[0, slot].astype(np.int64)
            yield ("id", slot), np.where(ids[slot] == EMPTY, len(plan.network), ids[slot])
    elif kind is Kind.MASKED:
        for origin, vector in content:
            yield ("vector", origin), plan.ring.from_bytes(vector, plan.entries)[0].astype(np.int64)
    elif kind is Kind.MASK:
        yield ("r",), content.drawn[0].astype(np.int64)
        if made:
            mask = plan.show(envelope, IN_ONE_PROCESS).residues
            yield ("mask",), mask[0].astype(np.int64)
    else:
        yield (kind.name,), content[0].astype(np.int64)


def pack(columns: Iterator[Column]) -> Column:
    """Rows of small integers as one integer each: equal exactly where the rows are equal."""
    seen: set[bytes] = set()
    key, room = np.zeros(1, np.int64), 62
    for column in columns:
        bits = int(column.max()).bit_length()
        data = column.astype(np.uint8).tobytes()
        if bits == 0 or data in seen:
            continue  # the same for all entries, or the same as another column
        assert column.max() < 256
        seen.add(data)
        if bits > room:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            room = 62 - int(key.max()).bit_length()
        key, room = key << bits | column, room - bits
    return key


def coalitions(m: int) -> list[Coalition]:
    """All proper, non-empty ones."""
    return [c for size in range(1, m) for c in combinations(range(m), size)]


def same(labels: Column) -> npt.NDArray[np.bool_]:
    """Which two of them are equal, each row of `labels` being one thing."""
    _, label = np.unique(labels, axis=0, return_inverse=True)
    label = label.reshape(-1)
    equal: npt.NDArray[np.bool_] = label[:, None] == label[None, :]
    return equal


@dataclass
class Tally:
    """How many (graph, coalition, pair of inputs) were compared, and what came out."""

    cases: int = 0
    alike: int = 0
    mismatches: int = 0
    graphs: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.cases + other.cases,
            self.alike + other.alike,
            self.mismatches + other.mismatches,
            self.graphs + other.graphs,
        )


def compare(enumeration: Enumeration, coalition: Coalition) -> Tally:
    """Every pair of inputs that agree on the coalition's: are the views distributed alike, count
    for count, exactly where all sums over honest components agree?"""
    network, inputs = enumeration.plan.network, enumeration.inputs
    modulus = enumeration.plan.ring.modulus
    distributions = same(np.sort(enumeration.views(coalition), axis=1))
    groups = [
        [network.index(name) for name in group]
        for group in network.honest_components([network.parties[i] for i in coalition])
    ]
    sums = np.stack([inputs[:, group].sum(axis=1) % modulus for group in groups], axis=1)
    pairs = np.triu(same(inputs[:, coalition]), 1)
    expected = same(sums)
    wrong = distributions != expected
    if len(groups) > 1:  # the condition is tight: the leak is there to be seen
        total = same(inputs.sum(axis=1, keepdims=True) % modulus)
        assert np.any(pairs & total & ~distributions), "no pair of equal total is told apart"
    return Tally(int(pairs.sum()), int((pairs & distributions).sum()), int((pairs & wrong).sum()))


def refines(fine: Column, coarse: Column) -> bool:
    """Whether what `coarse` shows of every entry is a function of what `fine` shows."""
    _, a = np.unique(fine, return_inverse=True)
    _, b = np.unique(coarse, return_inverse=True)
    both = a.reshape(-1).astype(np.int64) * (int(b.max()) + 1) + b.reshape(-1)
    return len(np.unique(both)) == int(a.max()) + 1


# -- graphs -----------------------------------------------------------------------------------


def strongly_connected(m: int) -> Iterator[Network]:
    """Every strongly connected labelled digraph of m parties."""
    pairs = [(a, b) for a in range(m) for b in range(m) if a != b]
    for chosen in range(1 << len(pairs)):
        links = [pair for at, pair in enumerate(pairs) if chosen >> at & 1]
        network = Network(links, parties=list(range(m)))
        if network.strongly_connected:
            yield network


def both_ways(*links: tuple[int, int]) -> list[tuple[int, int]]:
    return [pair for a, b in links for pair in ((a, b), (b, a))]


def of(m: int, links: list[tuple[int, int]]) -> Network:
    return Network(links, parties=list(range(m)))


GRAPHS: dict[str, Callable[[], Network]] = {
    "cycle of 4": lambda: Network.cycle(4),
    "path of 4, both ways": lambda: of(4, both_ways((0, 1), (1, 2), (2, 3))),
    "path of 4 with a long way back": lambda: of(4, [(0, 1), (1, 2), (2, 3), (3, 1), (1, 0)]),
    "star of 4": lambda: of(4, both_ways((0, 1), (0, 2), (0, 3))),
    "two triangles sharing an edge": lambda: of(4, [(0, 1), (1, 2), (2, 0), (1, 3), (3, 0)]),
    "triangle with a tail": lambda: of(4, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 2)]),
    "cycle of 4 with a chord": lambda: of(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]),
    "cycle of 4, both ways": lambda: of(4, both_ways((0, 1), (1, 2), (2, 3), (3, 0))),
    "complete of 4": lambda: Network.complete(4),
    "cycle of 5": lambda: Network.cycle(5),
    "path of 5, both ways": lambda: of(5, both_ways((0, 1), (1, 2), (2, 3), (3, 4))),
    "two triangles sharing a party": lambda: of(
        5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    ),
    "cycle of 5 with two chords": lambda: of(
        5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (3, 1)]
    ),
    "path of 5 with back edges": lambda: of(
        5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 2), (3, 1), (2, 0)]
    ),
}
DENSE: dict[str, Callable[[], Network]] = {
    "circulant of 5": lambda: Network.circulant(5, [1, 2]),
    "star of 5": lambda: of(5, both_ways((0, 1), (0, 2), (0, 3), (0, 4))),
    "cycle of 5, both ways": lambda: of(5, both_ways((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))),
    "bow tie, both ways": lambda: of(5, both_ways((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2))),
}
