"""The digest by which both ends of a link know a message again: the SHA-256 of its frame.

In the frame of a MASKED message each vector stands as its own SHA-256. That is what its origin
signed, and whoever passes the vector on has made it to check the signature: no vector is hashed
twice.

    kind u8 · sum u8 · envelope's head · count u32 · origins u32 × count ·
    SHA-256 of each vector · signature of each
"""

# Rule: two frames with the same digest are the same frame, as far as SHA-256 goes. What is not laid
#       out as above is hashed as it is; what stands for a MASKED frame is laid out so itself.

from __future__ import annotations

import hashlib

from titan.protocol.messages import HEADER_BYTES, Kind, Payload
from titan.study.certificates import SIGNATURE_BYTES

_COUNT = slice(2 + HEADER_BYTES, 6 + HEADER_BYTES)


def shown_digest(kind: str, body: Payload, of_vectors: bytes = b"") -> str:
    """`of_vectors` are the vectors' digests, one behind the other, where they are known."""
    if kind != Kind.MASKED.name:
        return hashlib.sha256(body).hexdigest()
    count = int.from_bytes(body[_COUNT], "little")
    start, end = _COUNT.stop + 4 * count, len(body) - SIGNATURE_BYTES * count
    size, rest = divmod(end - start, count) if count else (0, 0)
    if size <= 0 or rest:
        return hashlib.sha256(body).hexdigest()
    view = memoryview(body)
    of_vectors = of_vectors or b"".join(
        hashlib.sha256(view[at : at + size]).digest() for at in range(start, end, size)
    )
    return hashlib.sha256(b"".join((view[:start], of_vectors, view[end:]))).hexdigest()
