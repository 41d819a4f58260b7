"""A computation of three sums, in which parties may veto: what a coalition sees, count for count.

Every party has one bit for each of three sums, and vetoes in one of them or in none. What it puts
in is the production code's: the bit (to which the totals so far are added, as sums may depend on
those), embedded in the ring of a meeting, or the noise of a veto.

The masks of a sum are independent of those of another, and so are those of an entry of the veto's.
So the view of a run is made of views of single entries, of which `Enumeration` has the distribution
for all residues that parties could put in: equal ones have the same number here, a label. A run is
a distribution of labels, one for every noise of those who veto.

What nobody notices, two vetoes that cancel, has a chance of one in 2^48 in a real ring; here, where
it is likely, distributions are those of runs where it is noticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from operator import add
from typing import Any

import numpy as np

from tests.privacy.enumeration import Coalition, Enumeration, Tally
from titan import Network
from titan.errors import RecoveryError, ReleaseError, VetoError
from titan.joint import Sum
from titan.joint.meeting import Meeting
from titan.protocol import RecoveryName
from titan.ring import Residues, Ring

SUMS = 3
NEVER = SUMS
Bits = tuple[int, ...]
"""One party's, by sum."""
Parts = tuple[tuple[int, bool], ...]
"""Of all parties in one sum: the bit, and whether it vetoes."""
Entries = tuple[tuple[int, ...], ...]
"""What all parties put into a sum: one row for each entry, the last that of the veto."""


@dataclass(frozen=True)
class ThreeSums:
    """Of bits, each with the totals before; a part is the bits, and the sum it vetoes in."""

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(Sum(f"sum {n}", 1, Ring(1), Fraction(1), "a total") for n in range(SUMS))

    def prepare(self, rows: Any) -> Any:
        return rows

    def begin(self) -> Bits:
        return ()

    def secret(self, n: int, known: Bits, part: tuple[Bits, int]) -> Residues:
        bits, vetoed = part
        if n == vetoed:
            raise ReleaseError("a row of mine")
        return self.sums[n].ring.from_ints([bits[n] + sum(known)])

    def learn(self, n: int, known: Bits, total: Residues) -> Bits:
        return (*known, *self.sums[n].ring.to_ints(total))

    def answer(self, known: Bits) -> Bits | None:
        return known if len(known) == SUMS else None


@dataclass(frozen=True)
class Run:
    """Who has what, and who vetoes where."""

    bits: tuple[Bits, ...]
    vetoes: tuple[int, ...]

    def own(self, coalition: Coalition) -> object:
        return tuple((self.bits[i], self.vetoes[i]) for i in coalition)


def runs(m: int, vetoers: int) -> Iterator[Run]:
    """All with at most so many who veto."""
    choices = list(product((0, 1), repeat=SUMS))
    for vetoes in product(range(SUMS + 1), repeat=m):
        if sum(v != NEVER for v in vetoes) <= vetoers:
            for bits in product(choices, repeat=m):
                yield Run(bits, vetoes)


class Examined:
    """All runs on one network, with one recovery, in a ring of so many bits."""

    def __init__(
        self, network: Network, bits: int, recovery: RecoveryName, meeting: type[Meeting] = Meeting
    ) -> None:
        self.network, self.bits = network, bits
        self.enumeration = Enumeration.of(network, bits, recovery)
        self.meeting = meeting((("q", ThreeSums()),), least_bits=bits)
        self._made: dict[object, list[tuple[Entries, Any]]] = {}

    def tally(self, coalition: Coalition, vetoers: int) -> Tally:
        """Every pair of runs that agree on the coalition's: are views distributed alike exactly
        where the totals up to the first veto, and that it is one, are alike?"""
        parties = self.network.parties
        honest = self.network.honest_components([parties[i] for i in coalition])
        groups = [[self.network.index(name) for name in group] for group in honest]
        view = _View(self, self._labels(coalition), groups)
        found: dict[object, Counter[tuple[object, object]]] = {}
        for run in runs(len(self.network), vetoers):
            seen = view.of(run)
            if seen is not None:
                found.setdefault(run.own(coalition), Counter())[seen] += 1
        return reduce(add, map(_compared, found.values()), Tally())

    def _labels(self, coalition: Coalition) -> list[int]:
        """Of every input of all parties, by its number: which views of it have one distribution."""
        views = np.sort(self.enumeration.views(coalition), axis=1)
        _, found = np.unique(views, axis=0, return_inverse=True)
        return [int(label) for label in found.reshape(-1)]

    def branches(self, n: int, known: Any, parts: Parts) -> list[tuple[Entries, Any]]:
        """What all put into sum n, for every noise, and what is known then: None after a veto."""
        key = n, known[0].known, parts
        if key not in self._made:
            ring = self.meeting.sums[n].ring
            options = [list(self._secrets(n, known, *part)) for part in parts]
            self._made[key] = [
                (
                    tuple(zip(*map(ring.to_ints, secrets), strict=True)),
                    self._learned(n, known, secrets),
                )
                for secrets in product(*options)
            ]
        return self._made[key]

    def _secrets(self, n: int, known: Any, bit: int, vetoes: bool) -> Iterator[Residues]:
        """What a party can put in: one thing, or all that a veto can be."""
        if not vetoes:
            yield self.meeting.secret(n, known, {"q": ((bit,) * SUMS, NEVER)})
            return
        for residues in product(range(1 << self.bits), repeat=self.meeting.sums[n].entries):
            drawn = [np.array(residues, np.uint64)]
            try:  # where it asks for more, it has thrown this away
                yield self.meeting.veto(n, lambda count, drawn=drawn: drawn.pop())  # type: ignore[misc]
            except IndexError:
                continue

    def _learned(self, n: int, known: Any, secrets: Sequence[Residues]) -> Any:
        ring = self.meeting.sums[n].ring
        total = ring.zeros(self.meeting.sums[n].entries)
        for secret in secrets:
            total = ring.add(total, secret)
        try:
            return self.meeting.learn(n, known, total)
        except VetoError:
            return None
        except RecoveryError:  # vetoes that cancelled left noise, and nobody noticed
            return ()


@dataclass(frozen=True)
class _View:
    """What one coalition sees."""

    examined: Examined
    labels: Sequence[int]
    groups: Sequence[Sequence[int]]
    """The honest parties, as far as they are connected without it."""
    cache: dict[object, Any] = field(default_factory=dict)
    numbers: dict[object, int] = field(default_factory=dict)
    """Of distributions, one each."""

    def of(self, run: Run) -> tuple[object, object] | None:
        """How its views are distributed, sum by sum, up to the first veto; and what they may tell.

        None where that veto can only go unnoticed.
        """
        known, seen, told = self.examined.meeting.begin(), list[object](), list[object]()
        for n in range(SUMS):
            parts = tuple((b[n], v == n) for b, v in zip(run.bits, run.vetoes, strict=True))
            key = n, known[0].known, parts
            if key not in self.cache:
                self.cache[key] = self._sum(n, known, parts)
            labels, allowed, known = self.cache[key]
            if labels is None:
                return None
            seen.append(labels)
            told.append(allowed)
            if known is None:
                break
        return tuple(seen), tuple(told)

    def _sum(self, n: int, known: Any, parts: Parts) -> tuple[int | None, object, Any]:
        branches = self.examined.branches(n, known, parts)
        vetoed = [any(parts[i][1] for i in group) for group in self.groups]
        bits = [sum(parts[i][0] for i in group) % 2 for group in self.groups]
        allowed = tuple("veto" if v else x for v, x in zip(vetoed, bits, strict=True))
        if any(veto for _, veto in parts):
            branches = [each for each in branches if self._noticed(*each, vetoed)]
        views = Counter(
            tuple(self.labels[self._number(each)] for each in entries) for entries, _ in branches
        )
        chances = frozenset((view, Fraction(k, len(branches))) for view, k in views.items())
        if not branches:
            return None, allowed, None
        return self.numbers.setdefault(chances, len(self.numbers)), allowed, branches[0][1]

    def _noticed(self, entries: Entries, after: Any, vetoed: Sequence[bool]) -> bool:
        """By all, and by the coalition in every group where somebody vetoes."""
        modulus = 1 << self.examined.bits
        there = [sum(entries[-1][i] for i in group) % modulus for group in self.groups]
        return after is None and all(x or not v for x, v in zip(there, vetoed, strict=True))

    def _number(self, residues: Sequence[int]) -> int:
        """Of an input of all parties, among those that were enumerated."""
        return reduce(lambda found, residue: found << self.examined.bits | residue, residues, 0)


def _compared(group: Counter[tuple[object, object]]) -> Tally:
    """Pairs of runs with the same own part: alike in both ways, or in one only."""
    seen, told = Counter[object](), Counter[object]()
    for (a, b), count in group.items():
        seen[a] += count
        told[b] += count
    alike, allowed, both = (
        sum(n * (n - 1) // 2 for n in each.values()) for each in (seen, told, group)
    )
    every = group.total() * (group.total() - 1) // 2
    return Tally(every, alike, alike + allowed - 2 * both)
