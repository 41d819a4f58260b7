"""Masks: where they come from and how they hide a secret.

The paper's obfuscation step. Party i sends a uniform mask r_ij to each out-neighbour j and keeps

    t_i = Σ_j r_ji - Σ_j r_ij        x̃_i = x_i + t_i        (modulo 2^bits)

Every mask is added once and subtracted once, so Σ x̃_i = Σ x_i. What is sent is made into the mask
by `binding.py`.
"""

# Rule 1: all masks of the program are drawn in this file.
# Rule 2: their keys are fresh bytes from the operating system, used for one sum and never stored
#         here. A seeded generator exists in the tests alone. Whoever keeps a key to resume a sum
#         (JournaledMasks) must have it on disk before the first mask leaves, and never use it for
#         another input in the same context.
# Rule 3: with masks from any generator, the operating system's included, privacy is
#         computational; it is information-theoretic exactly as far as the bytes are truly random.

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from titan.ring import Residues, Ring

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

SEED_BYTES = 32
_WORDS, _SEEDS = b"titan words of masks v1", b"titan seeds of masks v1"
_NOISE = b"titan noise of a veto v1"
_BLOCK = bytes(1 << 16)  # zeros; encrypting them yields the key stream, a cacheful at a time


def fresh_key() -> bytes:
    """SEED_BYTES from the operating system: a key, or the nonce of a run."""
    return os.urandom(SEED_BYTES)


class MaskSource(Protocol):
    """Fresh randomness for one party in one sum."""

    def words(self, count: int) -> Residues:
        """`count` independent uniform 64-bit words, never handed out before."""

    def seed(self) -> bytes:
        """A fresh seed of SEED_BYTES."""


class KeyStream:
    """AES-256-CTR under a key that is used for nothing else."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @cached_property
    def _encryptor(self) -> CipherContext:
        """Made when it is used: the noise of a veto, say, hardly ever is."""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        return Cipher(algorithms.AES256(self._key), modes.CTR(bytes(16))).encryptor()

    def words(self, count: int) -> Residues:
        out = np.empty(count, np.uint64)
        view = out.data.cast("B")
        for at in range(0, len(view), len(_BLOCK)):
            piece = view[at : at + len(_BLOCK)]
            self._encryptor.update_into(_BLOCK[: len(piece)], piece)
        return out

    def encrypt(self, clear: Residues) -> Residues:
        """Words of shape (limbs, d) ⊕ the next of the stream, limb after limb."""
        out = np.empty(clear.shape, np.uint64)
        for row, made in zip(clear, out, strict=True):
            self._encryptor.update_into(row.data.cast("B"), made.data.cast("B"))
        return out

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class SystemMasks(KeyStream):
    """The source for real use: a key stream under a key from the operating system."""

    def __init__(self) -> None:
        super().__init__(fresh_key())

    def seed(self) -> bytes:
        return fresh_key()


class JournaledMasks(KeyStream):
    """Masks that come out the same after a restart, from a `fresh_key` kept in the journal.

    `context` is what the input follows from besides the data. Whatever is lost with the power or
    told differently the second time, the same masks never hide another input.

    Words and seeds are two streams, each under a key of its own (one block of HKDF-Expand with
    SHA-256): a neighbour who is given a seed is told nothing about the words, nor about the seeds
    of others.
    """

    def __init__(self, key: bytes, context: bytes = b"") -> None:
        super().__init__(hmac.digest(key, _WORDS + context + b"\x01", "sha256"))
        self._seeds = KeyStream(hmac.digest(key, _SEEDS + context + b"\x01", "sha256"))

    def seed(self) -> bytes:
        return self._seeds.words(SEED_BYTES // 8).tobytes()


def noise(key: bytes, context: bytes) -> KeyStream:
    """What hides nothing, being sent instead of an input: under a key of its own, and the same
    after a restart."""
    return KeyStream(hmac.digest(key, _NOISE + context + b"\x01", "sha256"))


def mask(
    ring: Ring, secret: Residues, received: Iterable[Residues], sent: Iterable[Residues]
) -> Residues:
    """x̃ = x + Σ received - Σ sent: the secret, hidden so that all hidings cancel in the sum.

    The paper's Eq. (Mask) and its perturbed states. Privacy needs every mask uniform over the
    ring; the MaskSource answers for that. In place: where x was, x̃ is.
    """
    for r in received:
        ring.add_into(secret, r)
    for r in sent:
        ring.subtract_into(secret, r)
    return secret
