"""One link's state at either end: what is to be sent again, what is expected next. No I/O.

The sender numbers messages from 0 and keeps each until it is acknowledged; after a new connection
it goes on from where the receiver says. The receiver takes pieces in order only, so that whatever
is repeated, left out or out of place is told by its number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from titan.errors import MessageError
from titan.party import wire
from titan.party.wire import Piece
from titan.study.frames import Frame


class Outgoing:
    """Messages for one receiver that it has not acknowledged, from number `first` on."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.waiting: deque[Frame] = deque()
        self.given = first
        """All below were there when this process began, or were asked for since."""

    @property
    def next(self) -> int:
        """The number that the next message will have."""
        return self.first + len(self.waiting)

    def acknowledged(self, next_: int) -> bool:
        """All below `next_` have arrived; whether that was not known."""
        if next_ > self.next:
            raise MessageError(
                f"message {next_ - 1} was acknowledged, of {self.next} that were sent"
            )
        new = next_ > self.first
        while self.first < next_:
            self.waiting.popleft()
            self.first += 1
        return new

    def resume(self, first: int) -> None:
        """All below `first` had arrived before a restart, also those that are yet to be made again:
        what they followed from may be missing."""
        self.acknowledged(min(first, self.next))
        self.first = max(first, self.first)
        self.given = self.next

    def add(self, frame: Frame) -> None:
        """The next one; or one that has arrived, and was made again after a restart."""
        if frame.sequence >= self.first:
            self.waiting.append(frame)

    def start(self, expects: int) -> int:
        """The number to begin with for a receiver that expects this one."""
        if not self.first <= expects <= self.next:
            raise MessageError(
                f"message {expects} is expected next, of {self.first} to {self.next} there are",
            )
        return expects

    def chunks(self, number: int) -> Iterator[tuple[bytes, memoryview]]:
        """A message as encoded chunks, in two parts each; none if it was acknowledged meanwhile."""
        self.given = max(self.given, number + 1)
        if number < self.first:
            return iter(())
        return wire.pieces(number, self.waiting[number - self.first].body)

    def __len__(self) -> int:
        return len(self.waiting)


class Incoming:
    """Messages from one sender: those below `expected` are complete.

    A message has at most `most` bytes, and at most what `of_kinds` has for its first byte.
    """

    def __init__(
        self, most: int, expected: int = 0, of_kinds: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        self.expected = expected
        self.refused = 0
        self._most = most
        self._of_kinds = of_kinds
        self._partial: bytearray | None = None
        self._filled = 0

    def restart(self) -> None:
        """A new connection: the message begun on the old one is begun again."""
        self._partial, self._filled = None, 0

    def rewind(self, number: int) -> None:
        """Message `number` was refused; nothing after it counts."""
        self.expected = number
        self.restart()

    def take(self, piece: Piece) -> memoryview | None:
        """The message that this piece completes, if it completes one; None for a repeat too.

        MessageError for a piece that nobody following the protocol sends now.
        """
        if piece.number < self.expected:
            self.refused += 1
            return None
        if piece.number != self.expected or piece.offset != self._filled:
            raise MessageError(
                f"a piece of message {piece.number} at {piece.offset}, where message "
                f"{self.expected} at {self._filled} was expected"
            )
        most = self._most
        if piece.offset == 0 and len(piece.content):
            most = min(most, self._of_kinds.get(piece.content[0], most))
        if piece.size > most or (self._partial and len(self._partial) != piece.size):
            raise MessageError(f"a message of {piece.size} bytes; the most is {most}")
        return self._put(piece)

    def _put(self, piece: Piece) -> memoryview | None:
        if len(piece.content) == piece.size:  # all of it: it need not be put together
            self.expected += 1
            return memoryview(piece.content).toreadonly()
        if self._partial is None:
            self._partial = bytearray(piece.size)
        end = piece.offset + len(piece.content)
        self._partial[piece.offset : end] = piece.content
        self._filled = end
        if end < piece.size:
            return None
        message = memoryview(self._partial).toreadonly()
        self.expected += 1
        self.restart()
        return message
