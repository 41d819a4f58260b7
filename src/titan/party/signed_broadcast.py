"""What every party tells all others, signed: passed on by each in as few messages as steps.

A party tells its neighbours first what is its own, then what came from one step away, from two, …:
each step's in one message, when all of it is here. So all have everything after as many steps as
the network's diameter; what is in which message, and in what order, is known beforehand; and from
a neighbour that has said its last, everybody's was heard.

A relay can keep quiet, but it can neither alter nor invent what another party tells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from titan.errors import MessageError, TitanError
from titan.network import Network
from titan.party.messages import Told
from titan.study import Identity, Study


class Signer(Protocol):
    """Signs as this party, and knows everybody's signature."""

    def sign(self, data: bytes) -> bytes: ...

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool: ...


@dataclass(frozen=True)
class Signatures:
    """Signs with the identity, checks with the study's cards."""

    study: Study
    identity: Identity

    def sign(self, data: bytes) -> bytes:
        return self.identity.sign(data)

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool:
        return self.study.parties[party].verify(signature, data)


def signed_data(kind: str, context: bytes, origin: int, content: bytes) -> bytes:
    """What the origin signs."""
    head = b"titan " + kind.encode() + b"\n" + context
    return head + origin.to_bytes(4, "little") + content


Passed = tuple[int, Sequence[Told]]
"""A neighbour, and what is to be passed on to it in one message."""


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
    only: int | None = None
    """Who alone tells something; else all do."""
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
        return self._due()

    def receive(self, sender: int, several: Sequence[Told]) -> list[Passed]:
        """Keep the first copy of each, and pass on. A neighbour tells each once."""
        fresh: dict[int, Told] = {}
        for told in several:
            known = self.heard.get(told.origin)
            if told.origin in fresh or (known == told and (sender, told.origin) in self._told_by):
                raise MessageError(f"a {self.kind} of {self._name(told)} came twice")
            if known != told:
                self._check(told)
            if known not in (None, told):
                raise self.contradiction(self._name(told))
            fresh[told.origin] = told
        self._told_by.update((sender, origin) for origin in fresh)
        self.heard.update(fresh)
        return self._due()

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
        return signed_data(self.kind, self.context, origin, content)

    # -- passing on ---------------------------------------------------------------------------

    def _due(self) -> list[Passed]:
        """The messages that are complete, and have not been sent."""
        out: list[Passed] = []
        for receiver, steps in self._unsent.items():
            while steps and all(origin in self.heard for origin in steps[0]):
                out.append((receiver, [self.heard[origin] for origin in steps.popleft()]))
        return out

    @cached_property
    def _unsent(self) -> dict[int, deque[list[int]]]:
        """Neighbour → the origins of each further message to it."""
        origins = range(len(self.network)) if self.only is None else (self.only,)
        distances, steps = self.network.distances_to(self.party), dict[int, list[int]]()
        for origin in origins:
            steps.setdefault(int(distances[origin]), []).append(origin)
        return {
            receiver: deque(
                others
                for step in sorted(steps)
                if (others := [origin for origin in steps[step] if origin != receiver])
            )
            for receiver in self.network.out_neighbours(self.party)
        }
