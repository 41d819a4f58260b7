"""The kinds of a run's messages, and what may be told of a message of each.

A `Message` is what audits and transcripts show of a frame: link, sum, round, kind, size, and for
recovery messages the frame's digest (`shown_digests`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from titan.protocol.messages import Kind

MASK, OPENED = Kind.MASK.name, Kind.OPENED.name
RECOVERY = frozenset(kind.name for kind in Kind) - {MASK}
# Who runs, the digest of the sum all parties know, the answer one party found for all, the end.
# No messages but noted among them, where they happened: STOP, that this party ended the run, and
# WORK, that it had made of its rows what the next sum needs, and began it.
CONTROL = frozenset({"NONCE", "AGREED", "ANSWER", "END", "STOP", "WORK"})
PUBLIC = RECOVERY | CONTROL
STOP, WORK = "STOP", "WORK"
UNBOUND = "NONCE"
"""All that may have left while a party's rows can still be replaced: nothing is made of them."""

_KIND = re.compile(r"[A-Z][A-Z_]{0,15}")


@dataclass(frozen=True, order=True)
class Message:
    """What may be told about a frame that was sent or received."""

    sender: str
    receiver: str
    sum: int | None
    round: int
    kind: str
    size: int
    sha256: str | None = None  # also where it is still to be made

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind):
            raise ValueError("a kind is one word in capital letters")
        if self.sha256 is not None and self.kind not in RECOVERY:
            raise ValueError("recovery messages have a digest, and no other message has")
