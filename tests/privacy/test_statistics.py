"""At full size nothing can be enumerated: 2^20 samples, refused below p = 1e-9, fixed beforehand.

The same tests must refuse masks that are deliberately bad. A test that finds nothing in good masks
shows little; that these find each flaw shows what they would have found.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from tests.privacy.statistics import SAMPLES, TESTS, rejected, sample
from tests.streams import SystemBytes, streams, zeros
from titan.protocol import MaskSource, SystemMasks
from titan.ring import Residues, Ring

SIZES = [64, 128]


class Bad:
    """A source of masks from a seeded generator, with a flaw; `limbs` as the ring has."""

    def __init__(self, limbs: int, party: int) -> None:
        self.limbs = limbs
        self.rng = np.random.default_rng(party)

    def uniform(self, count: int) -> Residues:
        return self.rng.integers(0, 2**64, count, dtype=np.uint64)

    def words(self, count: int) -> Residues:
        raise NotImplementedError

    def seed(self) -> bytes:
        return bytes(32)


class Seeded32(Bad):
    """Each mask from a good generator that was seeded with 32 bits: only 2^32 masks exist."""

    def words(self, count: int) -> Residues:
        seeds = self.rng.integers(0, 2**32, count // self.limbs, dtype=np.uint64)
        steps = (np.uint64(0x9E3779B97F4A7C15 * (i + 1) % 2**64) for i in range(self.limbs))
        return np.concatenate([_mixed(seeds * np.uint64(self.limbs + 1) + s) for s in steps])


class FloatsModulo(Bad):
    """The paper to the letter: a float, uniform in [0, m·a), here as a fraction of the ring."""

    def words(self, count: int) -> Residues:
        m, a = 3, 20.0
        masks = self.rng.uniform(0, m * a, count // self.limbs)
        top = np.floor(masks / (m * a) * 2.0**64).astype(np.uint64)
        below = np.zeros((self.limbs - 1) * top.size, np.uint64)
        return np.append(below, top)


class WithoutTop(Bad):
    """Bytes from a range whose end was taken for its last value: 255 never comes.

    (A range of 64-bit words that lacks 2^64 - 1 alone could not be told by any sample; the
    enumeration, where the words are small, refuses such a range.)
    """

    def words(self, count: int) -> Residues:
        return self.rng.integers(0, 255, 8 * count, dtype=np.uint8).view(np.uint64)


class HalfTheRange(Bad):
    """Masks below 2^(bits-1): with inputs spread over the ring the result still looks uniform."""

    def words(self, count: int) -> Residues:
        words = self.uniform(count)
        words[-(count // self.limbs) :] >>= np.uint64(1)
        return words


def _mixed(x: Residues) -> Residues:
    """A bijection of 64-bit words that leaves no trace of order (as SplitMix64 ends)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


class KeysAlone(SystemMasks):
    """Fresh keys, and no vector beside them: what seeded masks come to."""

    def words(self, count: int) -> Residues:
        return zeros(b"", count)


@pytest.mark.parametrize("bits", SIZES)
@pytest.mark.parametrize("source", [SystemMasks, SystemBytes])
def test_good_masks_pass(bits: int, source: Callable[[], MaskSource]) -> None:
    """The vectors by themselves: what the keys add is left out."""
    assert SAMPLES >= 10**6
    with streams(zeros):
        both = sample(Ring(bits), source)
    for seen in both:
        assert rejected(seen) == set()


@pytest.mark.parametrize("source", [SystemMasks, KeysAlone])
def test_what_keys_make_passes(source: Callable[[], MaskSource]) -> None:
    for seen in sample(Ring(128), source):
        assert rejected(seen) == set()


@pytest.mark.parametrize("bits", SIZES)
@pytest.mark.parametrize(
    ("source", "caught_by"),
    [
        (Seeded32, {"collisions"}),
        (FloatsModulo, {"bottom bit", "bottom byte", "bottom 16 bits"}),
        (WithoutTop, {"top byte", "bottom byte", "top 16 bits", "bottom 16 bits"}),
        (HalfTheRange, {"independence, top"}),
    ],
)
def test_bad_masks_are_caught(bits: int, source: type[Bad], caught_by: set[str]) -> None:
    """Each by the tests that should, and the subtle ones by these alone."""
    ring, party = Ring(bits), count()
    with streams(zeros):
        _, seen = sample(ring, lambda: source(ring.limbs, next(party)))
    found = rejected(seen)
    assert caught_by <= found <= set(TESTS)
    if len(caught_by) == 1:
        assert found == caught_by
