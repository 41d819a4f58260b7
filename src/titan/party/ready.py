"""What a session has to say next, and what the disk must have before.

The idea is raft's: the state machine alone knows which of its messages bind it. Whoever drives it
writes and waits as told, and looks into no message for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from titan.protocol.messages import Kind
from titan.protocol.recovery.interface import Scheme
from titan.study.frames import Frame


class Wait(IntEnum):
    """What the disk must have before messages leave."""

    FOR_NOTHING = 0
    """After a restart, what is lost of what they follow from comes again, and they are made as they
    were."""
    FOR_NOTES = 1
    """The journal's rows, which tell what these messages are. After a restart this party says the
    same; or nothing more, if other vectors come again than came before and were lost."""
    FOR_ALL = 2
    """Everything received so far."""

    @classmethod
    def before(cls, scheme: Scheme, kind: Kind, round_: int) -> Wait:
        """A message of a sum. Of a vector that its origin signs, a note tells which it was."""
        if not scheme.binds(kind, round_):
            return cls.FOR_NOTHING
        return cls.FOR_NOTES if scheme.signed_by_origin else cls.FOR_ALL


@dataclass(frozen=True)
class Ready:
    """Messages that are due, in order, and what they wait for."""

    frames: Sequence[Frame] = ()
    wait: Wait = Wait.FOR_NOTHING

    def __add__(self, other: Ready) -> Ready:
        return Ready((*self.frames, *other.frames), max(self.wait, other.wait))


NOTHING = Ready()
