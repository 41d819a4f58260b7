"""What is told in a checked sum, as bytes: what each item commits its party to.

COMMITTED   H(v_i) · H(ν_i) · H(what led to this sum)
REVEALED    digest of the total and of all commitments · ν_i
SUMMED      the challenge · sums over the subsets it draws
a stream    what a relay sends on: its digest, and the signed streams that it was made of
"""

# Rule 1: every party's claim is judged by what it told itself, never by what the reader holds: the
#         reader may have been told something else.
# Rule 2: labels and fixed lengths keep apart what is hashed. Signatures add the run and the sum.

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from titan.protocol.recovery.interface import SEAL_BYTES

DIGEST_BYTES = 32
COMMITTED_BYTES = 3 * DIGEST_BYTES + SEAL_BYTES
REVEALED_BYTES = 2 * DIGEST_BYTES + SEAL_BYTES
INPUT_BYTES = 2 * DIGEST_BYTES + SEAL_BYTES
VECTOR, NONCE = b"titan check: vector\n", b"titan check: nonce\n"
_CONTEXT, _TOTAL = b"titan check: context\n", b"titan check: total\n"
_CHALLENGE, _INPUTS = b"titan check: challenge\n", b"titan check: inputs\n"


def committed(label: bytes, party: int, what: bytes) -> bytes:
    return hashlib.sha256(label + party.to_bytes(4, "little") + what).digest()


def context_of(context: bytes) -> bytes:
    return hashlib.sha256(_CONTEXT + context).digest()


def digest_of(context: bytes, commitments: Sequence[bytes], total: bytes) -> bytes:
    """Of a total, given by its own digest, and of all commitments, at a party in this context."""
    return hashlib.sha256(_TOTAL + context + total + b"".join(commitments)).digest()


def challenge_of(context: bytes, digest: bytes, nonces: Iterable[bytes]) -> bytes:
    return hashlib.sha256(_CHALLENGE + context + digest + b"".join(nonces)).digest()


@dataclass(frozen=True)
class Commitment:
    vector: bytes
    nonce: bytes
    context: bytes

    @classmethod
    def of(cls, content: bytes) -> Commitment:
        return cls(*(content[at : at + DIGEST_BYTES] for at in range(0, 96, DIGEST_BYTES)))


@dataclass(frozen=True)
class SignedStream:
    """What one party sent another on, as it signed it: whole, with what it was made of.

    `inputs` are the records of the streams that went into it, one behind the other. Who has signed
    them cannot say later that it was sent something else.
    """

    digest: bytes
    inputs: bytes
    seal: bytes

    @property
    def signed(self) -> bytes:
        return self.digest + hashlib.sha256(_INPUTS + self.inputs).digest()

    @property
    def record(self) -> bytes:
        """By which it is an input of another."""
        return self.signed + self.seal

    @property
    def records(self) -> list[tuple[bytes, bytes]]:
        """What was signed, and the seal, of every input."""
        found = []
        for at in range(0, len(self.inputs), INPUT_BYTES):
            one = self.inputs[at : at + INPUT_BYTES]
            found.append((one[:-SEAL_BYTES], one[-SEAL_BYTES:]))
        return found
