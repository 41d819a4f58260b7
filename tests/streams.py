"""Key streams that a test chose, in place of the cipher's, behind the masks that both ends make."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from titan.protocol import Binding, binding
from titan.protocol.masking import KeyStream
from titan.ring import Residues

Edge = tuple[int, int]

Stream = Callable[[bytes, int], Residues]
"""From the key of an edge, as derived at either end, so many words."""


@contextmanager
def streams(stream: Stream) -> Iterator[None]:
    class Given:
        def __init__(self, key: bytes) -> None:
            self._key, self._at = key, 0

        def words(self, count: int) -> Residues:
            self._at += count
            return stream(self._key, self._at)[self._at - count : self._at].copy()

        def encrypt(self, clear: Residues) -> Residues:
            return np.asarray(clear ^ self.words(clear.size).reshape(clear.shape))

    with patch.object(binding, "KeyStream", Given):
        yield


def moved(drawn: Residues, by: Sequence[int], binding: Binding, key: bytes, edge: Edge) -> Residues:
    """What has to be drawn in place of `drawn` for a mask of one limb that is larger by so much."""
    flipped = KeyStream(binding._key(key, edge)).words(len(drawn))
    mask = drawn ^ flipped
    mask[: len(by)] += np.array(by, np.uint64)
    return np.asarray(mask ^ flipped)


class ZeroMasks:
    """A source of masks that are 0, and of one key."""

    def __init__(self, key: bytes = bytes(32)) -> None:
        self._key = key

    def words(self, count: int) -> Residues:
        return np.zeros(count, np.uint64)

    def seed(self) -> bytes:
        return self._key


def zeros(key: bytes, count: int) -> Residues:
    """Masks are r itself."""
    return np.zeros(count, np.uint64)


def same_for_all_entries(key: bytes, count: int) -> Residues:
    """What the key makes of one entry, for every entry: where entries stand for whole runs."""
    return np.full(count, int.from_bytes(key[:8], "little"), np.uint64)


class SystemBytes:
    """The operating system's bytes themselves, with no cipher of ours in between."""

    def words(self, count: int) -> Residues:
        return np.frombuffer(bytearray(os.urandom(8 * count)), np.uint64)

    def seed(self) -> bytes:
        return os.urandom(32)
