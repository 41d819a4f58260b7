"""Two trees: partial sums are folded up an in-tree to a root, the total is passed down an out-tree.

The vector travels in chunks, one behind the other. With H the depth of the in-tree and E that of
the out-tree, a party of height h (the longest path that ends in it) sends chunk c = 0, 1, … up in
round h+1+c; the root has it after round H+c; a party at depth e passes it down in round H+e+1+c.
So everyone is done after H + E + chunks - 1 rounds, having sent about 1 + (children) vectors: on a
cycle two, the bound for any all-reduce.

A partial sum of masked vectors is a function of what the paper's recovery shows to everyone.
Relays add, so they are trusted to add correctly; whether the 1s add up to m is checked at the end.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from titan.errors import MessageError, RecoveryError
from titan.network.links import Distances, Indices
from titan.protocol.messages import MOST_PIECE_BYTES, Envelope, Kind, Payload
from titan.protocol.recovery.interface import (
    NO_ORIGINS,
    Choices,
    Counts,
    Culprit,
    Key,
    Means,
    Outgoing,
    Progress,
    Scheme,
    Shown,
    Streams,
    Traffic,
    pieces_of,
    refuse_kind,
)
from titan.protocol.recovery.tree_culprits import culprits
from titan.ring import Residues

_ROOTS_TRIED = 64
# A round costs about as much time as sending this many bytes; the number of chunks follows.
BYTES_PER_ROUND = 100_000
_WORTH_CUTTING = 0.8  # of the time it takes uncut
_AS_QUICK = 1.05  # of the shortest time: fewer chunks are then better


@dataclass(frozen=True, eq=False)
class Level:
    """All parties at one depth, grouped by parent: where groups start, how many are in each."""

    parties: Indices
    parents: Indices
    starts: Indices
    children: Indices


@dataclass(frozen=True, eq=False)
class Arborescence:
    """A spanning tree of shortest paths: each party's parent (the root's is itself) and depth."""

    root: int
    parent: Indices
    depth: Distances

    @cached_property
    def children(self) -> list[list[int]]:
        kids: list[list[int]] = [[] for _ in self.parent]
        for party, parent in enumerate(self.parent.tolist()):
            if party != self.root:
                kids[parent].append(party)
        return kids

    @cached_property
    def levels(self) -> list[Level]:
        """Depth 1, 2, …"""
        order = np.lexsort((self.parent, self.depth))[1:]  # the root is the only one at depth 0
        levels = []
        for parties in np.split(order, np.flatnonzero(np.diff(self.depth[order])) + 1):
            groups = np.unique(self.parent[parties], return_index=True, return_counts=True)
            levels.append(Level(parties, *groups))
        return levels

    @cached_property
    def height(self) -> Indices:
        """The number of edges on the longest path from a leaf."""
        height = np.zeros(len(self.parent), np.intp)
        for level in reversed(self.levels):
            deepest = np.maximum.reduceat(height[level.parties], level.starts)
            height[level.parents] = deepest + 1
        return height


@dataclass(frozen=True)
class Tree(Scheme):
    """The scheme; the trees and the chunks follow from the network and the size of the vector."""

    round_bytes: int = BYTES_PER_ROUND
    name = "tree"
    sealed = frozenset({Kind.PARTIAL, Kind.TOTAL})

    @classmethod
    def of(cls, choices: Choices) -> Tree:
        return cls(choices.network, choices.ring, choices.entries, choices.round_bytes)

    @cached_property
    def root(self) -> int:
        """A party with short ways from and to everyone; all parties find the same one."""
        candidates = range(0, len(self.network), -(-len(self.network) // _ROOTS_TRIED))
        to, fro = self.network.distances_to, self.network.distances_from
        return min(candidates, key=lambda party: to(party).max() + fro(party).max())

    @cached_property
    def up(self) -> Arborescence:
        net = self.network
        return _arborescence(self.root, net.distances_to(self.root), net.receivers, net.senders)

    @cached_property
    def down(self) -> Arborescence:
        net = self.network
        return _arborescence(self.root, net.distances_from(self.root), net.senders, net.receivers)

    @cached_property
    def fold_rounds(self) -> int:
        """H: after this many rounds the root has the first chunk."""
        return int(self.up.depth.max())

    @cached_property
    def chunks(self) -> int:
        """As few as make (H + E + chunks - 1) rounds of one chunk each about as quick as can be.

        One, where more save little: every further chunk is a message more for everybody.
        """
        size = self.ring.width * self.entries
        ways = self.fold_rounds + int(self.down.depth.max()) - 1

        def bytes_in_the_same_time(chunks: int) -> float:
            return (ways + chunks) * (self.round_bytes + size / chunks)

        best = max(1, round(math.sqrt(ways * size / self.round_bytes)))
        quick = _AS_QUICK * bytes_in_the_same_time(best)
        if bytes_in_the_same_time(best) > _WORTH_CUTTING * bytes_in_the_same_time(1):
            best = 1
        while best > 1 and bytes_in_the_same_time(best - 1) <= quick:
            best -= 1
        return min(max(best, -(-size // MOST_PIECE_BYTES)), self.entries)

    @cached_property
    def rounds(self) -> int:
        return self.fold_rounds + int(self.down.depth.max()) + self.chunks - 1

    @property
    def numbers_held(self) -> int:
        return self.entries

    @property
    def filling_bytes(self) -> int:
        """A piece for every further link, up and down."""
        further = self.fold_rounds + int(self.down.depth.max()) - 1
        return further * self.ring.width * self.entries // self.chunks

    def longest_way(self, latency: Counts) -> int:
        """Up and down: pieces do not wait for each other's latency."""
        senders, receivers = self.network.senders, self.network.receivers
        rises, falls = self._used
        there, back = np.zeros((2, len(self.network)), np.int64)
        there[senders[rises]], back[receivers[falls]] = latency[rises], latency[falls]
        for tree, way in ((self.up, there), (self.down, back)):
            for level in tree.levels:
                way[level.parties] += way[tree.parent[level.parties]]
        return int(there.max() + back.max())

    @property
    def _used(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which edges are the in-tree's, and which the out-tree's."""
        senders, receivers = self.network.senders, self.network.receivers
        return self.up.parent[senders] == receivers, self.down.parent[receivers] == senders

    def begin(self, party: int, masked: Residues, means: Means) -> TreeState:
        return TreeState(self, party, masked)

    def part(self, kind: Kind, sender: int, round_: int) -> slice | None:
        """The chunk that `sender` sends up (PARTIAL) or down (TOTAL) in this round, if any."""
        if kind is Kind.PARTIAL:
            c = round_ - 1 - int(self.up.height[sender])
        else:
            c = round_ - 1 - self.fold_rounds - int(self.down.depth[sender])
        return self.pieces[c] if 0 <= c < self.chunks else None

    @cached_property
    def pieces(self) -> list[slice]:
        return pieces_of(self.entries, self.chunks)

    def ends(self, kind: Kind, sender: int, round_: int) -> bool:
        return self.part(kind, sender, round_) == self.pieces[-1]

    def streams(self, party: int) -> list[tuple[int, Kind]]:
        """The partial sums of the children in the in-tree, the total from the out-tree's parent."""
        found = [(child, Kind.PARTIAL) for child in self.up.children[party]]
        if party != self.root:
            found.append((int(self.down.parent[party]), Kind.TOTAL))
        return found

    def inputs(self, kind: Kind, party: int) -> list[tuple[int, Kind]]:
        """Partial sums go into a partial sum, and at the root into the total; elsewhere that is the
        one that came from above."""
        above = kind is Kind.TOTAL and party != self.root
        return [key for key in self.streams(party) if (key[1] is Kind.TOTAL) == above]

    def culprits(self, vectors: Sequence[Residues], streams: Streams) -> list[Culprit]:
        return culprits(self, vectors, streams)

    def senders(self, party: int, round_: int) -> frozenset[Key]:
        """The children in the in-tree and the parent in the out-tree, when it is their turn."""
        keys = [(child, Kind.PARTIAL) for child in self.up.children[party]]
        if party != self.root:
            keys.append((int(self.down.parent[party]), Kind.TOTAL))
        return frozenset((s, kind) for s, kind in keys if self.part(kind, s, round_))

    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Residues:
        """A chunk of the length that is due."""
        refuse_kind(kind, Kind.PARTIAL, Kind.TOTAL)
        part = self.part(kind, sender, round_)
        if part is None:
            raise MessageError(f"a {kind.name} payload in round {round_}, when none is due")
        return self.ring.from_bytes(payload, part.stop - part.start)

    def count(self, envelope: Envelope) -> int:
        return len(envelope.payload) // self.ring.width

    def total_of(self, masked: Residues, progress: Progress | None = None) -> Residues:
        """Fold partial sums up to the root, then pass the total down to everyone; in place."""
        for level in reversed(self.up.levels):
            partial = self.ring.sum_groups(masked[..., level.parties], level.starts)
            masked[..., level.parents] = self.ring.add_into(masked[..., level.parents], partial)
        for level in self.down.levels:
            totals = masked[..., level.parents]
            masked[..., level.parties] = np.repeat(totals, level.children, axis=-1)
        total = masked[..., self.root]
        if np.any(masked != total[..., None]):
            raise RecoveryError("the parties did not end with the same sum")
        return total

    def numbers_of(self, content: Residues) -> tuple[Residues, Counts]:
        return content, NO_ORIGINS

    def entries_of(self, kind: Kind, sender: int, round_: int) -> range:
        part = self.part(kind, sender, round_) or slice(0, 0)
        return range(part.start, part.stop)

    def sum_over(self, group: Collection[int], shown: Iterable[Shown]) -> Residues:
        """Whatever enters or leaves the group on its way to the root was seen, and so

        Σ x̃_i = Σ (partial sums that left it) - Σ (those that entered) + the total, if it has the
        root.
        """
        ring, total = self.ring, self.ring.zeros(self.entries)
        totals: dict[int, Shown] = {}
        for one in shown:
            part = total[:, one.entries.start : one.entries.stop]
            if one.kind is Kind.TOTAL:
                totals[one.entries.start] = one
            elif one.sender in group:
                ring.add_into(part, one.residues)
            elif one.receiver in group:
                ring.subtract_into(part, one.residues)
        for one in totals.values() if self.root in group else ():
            ring.add_into(total[:, one.entries.start : one.entries.stop], one.residues)
        return total

    def traffic(self) -> Traffic:
        """One vector in `chunks` pieces along every edge of either tree."""
        rises, falls = self._used
        used = rises.astype(np.int64) + falls
        size = self.ring.width * self.entries
        return Traffic(self.rounds, used * self.chunks, used * size, used * self.entries)


class TreeState:
    """One party's vector: first its own, then a partial sum, then, chunk by chunk, the total."""

    finished = needs_no_more = False

    def __init__(self, scheme: Tree, party: int, masked: Residues) -> None:
        self._scheme = scheme
        self._party = party
        self._sum = masked

    @property
    def numbers_held(self) -> int:
        return int(self._sum.shape[1])

    def send(self, round_: int) -> list[Outgoing]:
        scheme, party = self._scheme, self._party
        out: list[Outgoing] = []
        part = scheme.part(Kind.PARTIAL, party, round_)
        if part is not None and party != scheme.root:
            parent = int(scheme.up.parent[party])
            out.append((parent, Kind.PARTIAL, scheme.ring.to_bytes(self._sum[:, part])))
        part = scheme.part(Kind.TOTAL, party, round_)
        if part is not None and scheme.down.children[party]:
            payload = scheme.ring.to_bytes(self._sum[:, part])
            out += [(child, Kind.TOTAL, payload) for child in scheme.down.children[party]]
        return out

    def awaits(self, round_: int) -> frozenset[Key]:
        return self._scheme.senders(self._party, round_)

    def absorb(self, round_: int, sender: int, kind: Kind, content: Residues) -> None:
        part = self._scheme.part(kind, sender, round_)
        if kind is Kind.PARTIAL:
            self._scheme.ring.add_into(self._sum[:, part], content)
        else:
            self._sum[:, part] = content

    def total(self) -> Residues:
        return self._sum


def _arborescence(root: int, depth: Distances, near: Indices, far: Indices) -> Arborescence:
    """Give every party a parent one step nearer the root, spreading children evenly.

    `near`, `far` are the ends of all edges: near the root and far from it.
    """
    steps = depth[far] == depth[near] + 1
    order = np.argsort(far[steps], kind="stable")
    choices = near[steps][order].tolist()
    starts = np.searchsorted(far[steps][order], np.arange(len(depth) + 1)).tolist()
    parent, load = np.full(len(depth), root, np.intp), [0] * len(depth)
    for party, (start, end) in enumerate(pairwise(starts)):
        if party != root:
            chosen = min(choices[start:end], key=load.__getitem__)
            load[chosen] += 1
            parent[party] = chosen
    return Arborescence(root, parent, depth)
