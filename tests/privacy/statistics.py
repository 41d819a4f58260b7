"""Tests of uniformity at full size: each gives a p-value; below THRESHOLD the masks are refused.

A sample is what the strongest curious neighbour holds of one party's input, through the production
masking: on a directed cycle the party before it knows the mask it sent, so it sees

    y = x̃ - (mask received) = x - (mask sent),

hidden by a single mask. x takes a few known values, so that dependence on it would show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import stats

from titan import Network
from titan.engines import local
from titan.privacy.view import PlannedSum, Record, RecordedSum
from titan.protocol import Kind, MaskSource, Plan
from titan.ring import Residues, Ring

THRESHOLD = 1e-9
"""Fixed beforehand; with good masks some sixty p-values a run give a false alarm in 10^7 runs."""
SAMPLES = 1 << 20
CLASSES = 4
_NET = Network.cycle(["before", "watched", "after"])

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sample:
    """`seen` are residues (limbs, n) of a ring; `label` is the class of the private input."""

    ring: Ring
    seen: Residues
    label: Counts


def sample(ring: Ring, source: Callable[[], MaskSource]) -> tuple[Sample, Sample]:
    """(x̃ as everybody sees it, y as the party before sees it) of SAMPLES entries.

    The private inputs are the classes 0, 1, 2, 3, 0, … in the top two bits.
    """
    label = np.arange(SAMPLES) % CLASSES
    secrets = ring.zeros(3, SAMPLES)
    secrets[-1, 1] = label.astype(np.uint64) << np.uint64((ring.bits - 1) % 64 - 1)
    plan = Plan.make(_NET, ring, SAMPLES, recovery="flood")
    outcome = local.run(plan, secrets, source=source, record=True)
    view = Record(
        _NET, (RecordedSum(PlannedSum("x", plan, Fraction(1)), secrets, outcome.envelopes),)
    ).view(["before"])
    masked = next(
        message.residues[:, list(message.origins).index("watched"), :-1]
        for message in view.received_by("before")
        if message.kind is Kind.MASKED and "watched" in message.origins
    )
    # A long mask travels in pieces.
    pieces = [m.residues for m in view.sent_by("before") if m.kind is Kind.MASK]
    known = ring.subtract(masked, np.concatenate(pieces, axis=1)[:, :-1])
    return Sample(ring, masked, label), Sample(ring, known, label)


# -- the tests --------------------------------------------------------------------------------


def _field(s: Sample, width: int, *, top: bool) -> Counts:
    """The top or bottom `width` bits."""
    if not top:
        low: Counts = (s.seen[0] & np.uint64((1 << width) - 1)).astype(np.int64)
        return low
    used = (s.ring.bits - 1) % 64 + 1
    high: Counts = (s.seen[-1] >> np.uint64(used - width)).astype(np.int64)
    return high


def chi_square(s: Sample, width: int, *, top: bool) -> float:
    """Are the values of the top or bottom bits equally frequent?"""
    counts = np.bincount(_field(s, width, top=top), minlength=1 << width)
    return float(stats.chisquare(counts).pvalue)


def kolmogorov_smirnov(s: Sample) -> float:
    """Is seen / 2^bits uniform on [0, 1)?"""
    used = (s.ring.bits - 1) % 64 + 1
    scaled = s.seen[-1].astype(np.float64) / 2.0**used
    return float(stats.kstest(scaled, "uniform", method="asymp").pvalue)


def independence(s: Sample, *, top: bool) -> float:
    """Are 4 top or bottom bits independent of the class of the private input?"""
    table = np.zeros((CLASSES, 16), np.int64)
    np.add.at(table, (s.label, _field(s, 4, top=top)), 1)
    table = table[:, table.any(axis=0)]
    return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table).pvalue)


def collisions(s: Sample) -> float:
    """Two entries with the same private input and the same residue, whole: how likely so many?

    The number of such pairs is Poisson to a good approximation, with mean pairs / 2^bits.
    """
    found, pairs = 0, 0
    for c in range(CLASSES):
        rows = np.ascontiguousarray(s.seen[:, s.label == c].T)
        order = np.lexsort(rows.T)
        equal = np.all(rows[order[1:]] == rows[order[:-1]], axis=1)
        found += int(equal.sum())
        pairs += len(rows) * (len(rows) - 1) // 2
    return float(stats.poisson.sf(found - 1, pairs / s.ring.modulus))


TESTS: dict[str, Callable[[Sample], float]] = {
    "top bit": partial(chi_square, width=1, top=True),
    "bottom bit": partial(chi_square, width=1, top=False),
    "top byte": partial(chi_square, width=8, top=True),
    "bottom byte": partial(chi_square, width=8, top=False),
    "top 16 bits": partial(chi_square, width=16, top=True),
    "bottom 16 bits": partial(chi_square, width=16, top=False),
    "Kolmogorov–Smirnov": kolmogorov_smirnov,
    "independence, top": partial(independence, top=True),
    "independence, bottom": partial(independence, top=False),
    "collisions": collisions,
}


def rejected(s: Sample) -> set[str]:
    """The tests that refuse the sample."""
    return {name for name, test in TESTS.items() if test(s) < THRESHOLD}
