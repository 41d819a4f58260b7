"""What every party tells all others: passed on by each the first time it is heard, signed.

A relay can keep quiet, but it can neither alter nor invent what another party tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from titan.errors import MessageError, TitanError
from titan.network import Network
from titan.party.messages import Told


class Signer(Protocol):
    """Signs as this party, and knows everybody's signature."""

    def sign(self, data: bytes) -> bytes: ...

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool: ...


Passed = tuple[int, Told]
"""A neighbour, and what is to be passed on to it."""


@dataclass
class SignedBroadcast:
    """One party's part in one kind of telling; `context` says in which run, and of what."""

    kind: str
    network: Network
    party: int
    signer: Signer
    context: bytes
    most: int
    """Bytes of what is told."""
    contradiction: Callable[[str], TitanError]
    """The error for a party that tells two different things."""
    heard: dict[int, Told] = field(default_factory=dict)
    _told_by: set[tuple[int, int]] = field(default_factory=set)  # neighbour, origin

    @property
    def missing(self) -> Sequence[int]:
        return [party for party in range(len(self.network)) if party not in self.heard]

    def tell(self, content: bytes) -> list[Passed]:
        """At the origin: say it."""
        signature = self.signer.sign(self._data(self.party, content))
        told = Told(self.party, signature, content)
        self.heard[self.party] = told
        return self._passed(told, {self.party})

    def receive(self, sender: int, told: Told) -> list[Passed]:
        """Keep the first copy and pass it on, not back. A neighbour passes each on once."""
        known, way = self.heard.get(told.origin), (sender, told.origin)
        if known == told:
            if way in self._told_by:
                raise MessageError(f"a {self.kind} of {self._name(told)} came twice")
            self._told_by.add(way)
            return []
        self._check(told)
        if known is not None:
            raise self.contradiction(self._name(told))
        self._told_by.add(way)
        self.heard[told.origin] = told
        return self._passed(told, {told.origin, sender})

    def _check(self, told: Told) -> None:
        if told.origin >= len(self.network):
            raise MessageError(f"a {self.kind} said to come from party {told.origin}")
        if len(told.content) > self.most:
            raise MessageError(f"a {self.kind} of {len(told.content)} bytes is too long")
        data = self._data(told.origin, told.content)
        if not self.signer.signed_by(told.origin, told.signature, data):
            raise MessageError(f"a {self.kind} that {self._name(told)} did not sign")

    def _name(self, told: Told) -> str:
        return self.network.parties[told.origin]

    def _data(self, origin: int, content: bytes) -> bytes:
        head = b"titan " + self.kind.encode() + b"\n" + self.context
        return head + origin.to_bytes(4, "little") + content

    def _passed(self, told: Told, but: set[int]) -> list[Passed]:
        receivers = self.network.out_neighbours(self.party)
        return [(receiver, told) for receiver in receivers if receiver not in but]
