"""What a session hands over to be sent, and what the disk must have before it leaves.

The idea is raft's: the state machine alone knows which of its messages bind it. Whoever drives it
writes and waits as told, and looks into no message to find that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from titan.study.frames import Frame


@dataclass(frozen=True)
class Ready:
    """Messages that are due, in order.

    With `must_sync` none of them may leave before the disk has everything received so far: after
    a power cut this party would else say something different. Without it, what they follow from
    comes again, and they are made again as they were.
    """

    frames: Sequence[Frame] = ()
    must_sync: bool = False

    def __add__(self, other: Ready) -> Ready:
        return Ready((*self.frames, *other.frames), self.must_sync or other.must_sync)


NOTHING = Ready()
