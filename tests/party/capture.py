"""Everything that is written to any stream, by who wrote it to whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from titan.party import streams, wire
from titan.party.links import Incoming
from titan.party.wire import Hello, Piece


@dataclass
class Capture:
    """Chunks in order; whose they are is told by the hello that each end says first."""

    ends: dict[int, tuple[object, list[bytes]]] = field(default_factory=dict)

    def written(self, name: str) -> Iterator[tuple[str, bytes]]:
        """(peer, chunk) for every chunk that this party wrote."""
        for _, chunks in self.ends.values():
            first = wire.decode(chunks[0])
            if isinstance(first, Hello) and first.name == name:
                for chunk in chunks:
                    yield first.peer, chunk

    def messages(self, name: str) -> dict[str, list[bytes]]:
        """Peer → the whole messages that this party sent it."""
        taken: dict[str, Incoming] = {}
        found: dict[str, list[bytes]] = {}
        for peer, chunk in self.written(name):
            piece = wire.decode(chunk)
            if isinstance(piece, Piece):
                message = taken.setdefault(peer, Incoming(1 << 40)).take(piece)
                if message is not None:
                    found.setdefault(peer, []).append(bytes(message))
        return found


@contextmanager
def capturing() -> Iterator[Capture]:
    capture, write = Capture(), streams.Stream.write

    async def noted(self: streams.Stream, *parts: bytes) -> None:
        _, chunks = capture.ends.setdefault(id(self), (self, []))  # kept, so that no id comes again
        chunks.append(b"".join(parts))
        await write(self, *parts)

    with patch.object(streams.Stream, "write", noted):
        yield capture
