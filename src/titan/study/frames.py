"""Frames as the journal keeps them, and what may be told about them afterwards.

A frame is one whole message along one link, numbered by its sender from 0. A `Message` is what
audits and transcripts show of it: link, sum, round, kind, size, and for recovery messages the
SHA-256 of the frame.
"""

# Rule 1: only recovery messages have a digest that may be shown. A neighbour of party i who knows
#         x̃_i and its own masks could test guesses of x_i against a digest of i's other masks.
# Rule 2: a kind that is not listed as public is treated like a mask: size alone, erased at the end.

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from titan.protocol.messages import Kind, Payload

MASK = Kind.MASK.name
RECOVERY = frozenset(kind.name for kind in Kind) - {MASK}
# Who runs, the digest of the sum all parties know, the answer one party found for all, the end.
CONTROL = frozenset({"NONCE", "AGREED", "ANSWER", "END"})
PUBLIC = RECOVERY | CONTROL

_KIND = re.compile(r"[A-Z][A-Z_]{0,15}")


@dataclass(frozen=True)
class Frame:
    """One message from or to `peer`; its bytes are never printed.

    `sum` counts the private sums of a run from 0, and is None outside them.
    """

    peer: str
    sequence: int
    kind: str
    body: Payload = field(repr=False)
    sum: int | None = None
    round: int = 0

    @property
    def secret(self) -> bool:
        return self.kind not in PUBLIC


@dataclass(frozen=True, order=True)
class Message:
    """What may be told about a frame that was sent or received."""

    sender: str
    receiver: str
    sum: int | None
    round: int
    kind: str
    size: int
    sha256: str | None = None

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind):
            raise ValueError("a kind is one word in capital letters")
        if (self.sha256 is not None) != (self.kind in RECOVERY):
            raise ValueError("recovery messages have a digest, and no other message has")


def digest(frame: Frame) -> str | None:
    """The digest that may be shown: that of a recovery message; None for every other frame."""
    return hashlib.sha256(frame.body).hexdigest() if frame.kind in RECOVERY else None
