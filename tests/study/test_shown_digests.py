"""The digest of a message is the same at both ends, whoever hashed its vectors, and no other's."""

from __future__ import annotations

import hashlib
import struct

import pytest

from titan.protocol.messages import Envelope, Kind
from titan.study.certificates import SIGNATURE_BYTES
from titan.study.frames import Frame, digest
from titan.study.shown_digests import shown_digest

VECTORS = [bytes([n]) * 48 for n in (1, 2, 3)]
OF_VECTORS = b"".join(hashlib.sha256(vector).digest() for vector in VECTORS)


def masked(vectors: list[bytes]) -> bytes:
    """A message as it travels, with as many signatures as vectors."""
    count = len(vectors)
    payload = struct.pack(f"<{1 + count}I", count, *range(count)) + b"".join(vectors)
    signatures = bytes(range(SIGNATURE_BYTES)) * count
    return b"\x03\x00" + Envelope(Kind.MASKED, 0, 1, 2, payload).encode() + signatures


def test_who_knows_the_vectors_digests_finds_what_the_bytes_give() -> None:
    body = masked(VECTORS)
    sent = Frame("east", 7, "MASKED", body, 0, 2, OF_VECTORS)
    received = Frame("west", 7, "MASKED", memoryview(body), 0, 2)
    assert digest(sent) == digest(received)
    assert digest(sent) != digest(Frame("east", 7, "MASKED", body, 0, 2, OF_VECTORS[::-1]))


def test_a_vector_stands_for_itself_by_its_sha256_as_the_module_says() -> None:
    body = masked(VECTORS)
    start, end = 2 + 20 + 4 + 4 * 3, len(body) - 3 * SIGNATURE_BYTES
    laid_out = body[:start] + OF_VECTORS + body[end:]
    assert shown_digest("MASKED", body) == hashlib.sha256(laid_out).hexdigest()


@pytest.mark.parametrize("count", [1, 3])
def test_no_byte_changes_unnoticed(count: int) -> None:
    body = masked(VECTORS[:count])
    others = [body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] for at in range(len(body))]
    found = {shown_digest("MASKED", each) for each in (body, body[:-1], body + b"\0", *others)}
    assert len(found) == len(others) + 3


@pytest.mark.parametrize(
    "body", [b"", b"short", masked([]), masked(VECTORS)[:-1], bytes(25) + b"\xff" * 80]
)
def test_what_is_laid_out_otherwise_is_hashed_as_it_is(body: bytes) -> None:
    assert shown_digest("MASKED", body) == hashlib.sha256(body).hexdigest()


def test_of_other_messages_it_is_the_sha256_of_the_bytes() -> None:
    body = masked(VECTORS)
    assert shown_digest("PARTIAL", body) == hashlib.sha256(body).hexdigest()
    assert digest(Frame("east", 0, "MASK", body)) is None
