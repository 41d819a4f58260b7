"""What masks are made of is fresh, uniform and as long as asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.streams import SystemBytes
from titan.protocol import SystemMasks
from titan.protocol.masking import JournaledMasks, KeyStream, fresh_key

REJECT = 1e-9  # fixed beforehand: a sound source fails once in a thousand million runs


@pytest.mark.parametrize("source", [SystemMasks, SystemBytes])
def test_words_are_uniform_and_never_repeat(source: type[SystemMasks] | type[SystemBytes]) -> None:
    stream = source()
    words = np.concatenate([stream.words(100_000), stream.words(1), stream.words(99_999)])
    assert len(np.unique(words)) == len(words)
    for byte in range(8):
        counts = np.bincount((words >> np.uint64(8 * byte)).astype(np.uint8), minlength=256)
        assert stats.chisquare(counts).pvalue > REJECT


def test_two_sources_have_nothing_in_common() -> None:
    a, b = SystemMasks(), SystemMasks()
    assert not np.intersect1d(a.words(10_000), b.words(10_000)).size
    assert a.seed() != b.seed()


def test_the_key_stream_is_aes_256_in_counter_mode() -> None:
    """FIPS 197, appendix C.3: the cipher of block 0 is known for a counter of zero only by key.

    So compare with the cipher itself, applied block by block to the counter.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(range(32))
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - one block each
    expected = b"".join(block.update(i.to_bytes(16, "big")) for i in range(10_000))
    assert KeyStream(key).words(20_000).tobytes() == expected


def test_journaled_masks_come_out_the_same_again() -> None:
    key = bytes(range(32))
    one, two = JournaledMasks(key), JournaledMasks(key)
    assert np.array_equal(one.words(1001), two.words(1001))
    assert [one.seed() for _ in range(5)] == [two.seed() for _ in range(5)]


def test_journaled_masks_of_another_context_are_others() -> None:
    """Hidden by the same masks, two inputs would show their difference."""
    key = bytes(range(32))
    one, two, three = (JournaledMasks(key, context) for context in (b"", b"this", b"that"))
    words = [set(source.words(1001).tolist()) for source in (one, two, three)]
    assert len(set.union(*words)) == 3 * 1001
    assert len({source.seed() for source in (one, two, three)}) == 3
    assert not words[0] & set(KeyStream(key).words(1001).tolist()), "the key itself is for keys"


def test_the_seeds_of_journaled_masks_are_a_stream_of_their_own() -> None:
    """Neither order of asking matters, nor does a seed show up among the words."""
    key = bytes(range(32))
    source, other = JournaledMasks(key), JournaledMasks(key)
    seeds = [source.seed() for _ in range(100)]
    words = source.words(100_000)
    assert np.array_equal(words, other.words(100_000))
    assert other.seed() == seeds[0]
    assert len(set(seeds)) == 100
    assert {len(seed) for seed in seeds} == {32}
    drawn = np.frombuffer(b"".join(seeds), np.uint64)
    assert not np.intersect1d(drawn, words).size
    assert fresh_key() != fresh_key()
    assert "0102" not in repr(source)
