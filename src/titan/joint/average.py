"""The private average: m parties each hold a vector, all end with the average, nobody with more.

The simplest of joint computations: one sum, in which every party puts its numbers, as whole
multiples of a unit that all know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Unpack

import numpy.typing as npt

from titan.inputs import arrays_by_party, network_for, place_in
from titan.joint.averaged import Average
from titan.joint.computation import Sum
from titan.joint.settings import SumOptions, SumSettings
from titan.joint.together import SideBySide, together
from titan.network import Network
from titan.ring import FixedPoint, Residues, Ring

Number = float | int | Fraction | Decimal
Values = Sequence[Any] | Mapping[str, Any] | npt.NDArray[Any]


@dataclass(frozen=True)
class Averaging:
    """The computation. A party's part is its numbers as residues, (limbs, d)."""

    ring: Ring
    units: tuple[Fraction, ...]
    """What 1 stands for: of every entry, or one for all."""
    rounding: Fraction
    """How far a number may have been moved when it was encoded."""
    shape: tuple[int, ...]
    parties: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Of the entries, where they are columns."""

    @property
    def sums(self) -> tuple[Sum]:
        unit = self.units[0] if len(set(self.units)) == 1 else Fraction(1)  # of each entry's own
        said = "the sum of all parties' numbers"
        return (Sum("average", math.prod(self.shape), self.ring, unit, said),)

    def prepare(self, rows: Any) -> Residues:
        """Here the numbers of one party, encoded; `average_question` takes them from a row."""
        encoded: Residues = rows
        return encoded

    def begin(self) -> None:
        return None

    def secret(self, n: int, known: None, part: Residues) -> Residues:
        return part

    def learn(self, n: int, known: None, total: Residues) -> Average:
        sums, bits = tuple(self.ring.to_signed(total)), self.ring.bits
        return Average(sums, self.units, self.rounding, bits, self.shape, self.parties, self.names)

    def answer(self, known: Average | None) -> Average | None:
        return known


def average(
    values: Values,
    network: Network | str,
    *,
    bound: Number | None = None,
    **options: Unpack[SumOptions],
) -> Average:
    """Average one scalar or array per party, in order of `network.parties` or as a mapping.

    bound     a public bound on the entries' magnitude sets the finest scale that cannot overflow
    bits      the ring is the integers modulo 2^bits; half of them are fractional, unless `bound`
    recovery  "topk" (the paper's, with `k` and `rounds` = T), "flood", "tree", or "auto"
    tau       refuse unless any τ curious parties together learn nothing but the total
    masks     "sent", a vector and a key per edge, or "seeded", the key of 32 bytes alone
    engine    "local" drives real agents, "vectorised" whole-network arrays, "mpi" real agents on
              the ranks of an MPI program, all of which make this call
    progress  called with (round reached, rounds in all)
    record    keep every message ("local" only), so that `view` can show who saw what
    """
    net = network_for(network, values)
    settings = SumSettings.of(net, options)
    numbers, shape = arrays_by_party(values, net)
    ring, m = Ring(settings.bits), len(net)
    scale = FixedPoint(ring, ring.bits // 2, m)
    if bound is not None:
        scale = FixedPoint.for_bound(ring, bound, m)
    encoded = scale.encode(numbers, place_in(net, shape))
    parts = SideBySide(encoded.reshape(encoded.shape[0], m, -1))
    averaging = Averaging(ring, scale.units, scale.rounding, shape, net.parties)
    found = together(averaging, parts, settings)
    used = found.plans[0].scheme.name
    return replace(found.answer, recovery=used, cost=found.cost, record=found.record)
