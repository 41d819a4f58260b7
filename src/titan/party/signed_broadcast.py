"""What every party tells all others: passed on by each the first time it is heard, signed.

A relay can keep quiet, but it can neither alter nor invent what another party tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from titan.errors import MessageError, TitanError
from titan.network import Network
from titan.party.messages import Told


class Signer(Protocol):
    """Signs as this party, and knows everybody's signature."""

    def sign(self, data: bytes) -> bytes: ...

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool: ...


@dataclass(frozen=True)
class Passed:
    """Something to be passed on to a neighbour."""

    receiver: int
    told: Told


class SignedBroadcast:
    """One party's part in one kind of telling; `context` says in which run, and of what."""

    def __init__(
        self,
        kind: str,
        network: Network,
        party: int,
        signer: Signer,
        context: bytes,
        *,
        most: int,
        contradiction: Callable[[str], TitanError],
    ) -> None:
        self._kind = kind
        self._network = network
        self._party = party
        self._signer = signer
        self._context = b"titan " + kind.encode() + b"\n" + context
        self._most = most
        self._contradiction = contradiction
        self.heard: dict[int, Told] = {}
        self._told_by: set[tuple[int, int]] = set()  # neighbour, origin

    @property
    def missing(self) -> Sequence[int]:
        return [party for party in range(len(self._network)) if party not in self.heard]

    def tell(self, content: bytes) -> list[Passed]:
        """At the origin: say it."""
        signature = self._signer.sign(self._data(self._party, content))
        told = Told(self._party, signature, content)
        self.heard[self._party] = told
        return self._passed(told, {self._party})

    def receive(self, sender: int, told: Told) -> list[Passed]:
        """Keep the first copy and pass it on, not back. A neighbour passes each on once."""
        known, way = self.heard.get(told.origin), (sender, told.origin)
        if known == told:
            if way in self._told_by:
                raise MessageError(f"a {self._kind} of {self._name(told)} came twice")
            self._told_by.add(way)
            return []
        self._check(told)
        if known is not None:
            raise self._contradiction(self._name(told))
        self._told_by.add(way)
        self.heard[told.origin] = told
        return self._passed(told, {told.origin, sender})

    def _check(self, told: Told) -> None:
        if told.origin >= len(self._network):
            raise MessageError(f"a {self._kind} said to come from party {told.origin}")
        if len(told.content) > self._most:
            raise MessageError(f"a {self._kind} of {len(told.content)} bytes is too long")
        data = self._data(told.origin, told.content)
        if not self._signer.signed_by(told.origin, told.signature, data):
            raise MessageError(f"a {self._kind} that {self._name(told)} did not sign")

    def _name(self, told: Told) -> str:
        return self._network.parties[told.origin]

    def _data(self, origin: int, content: bytes) -> bytes:
        return self._context + origin.to_bytes(4, "little") + content

    def _passed(self, told: Told, but: set[int]) -> list[Passed]:
        receivers = self._network.out_neighbours(self._party)
        return [Passed(receiver, told) for receiver in receivers if receiver not in but]
