"""What a party signs in a checked sum, so that nobody can say it in its name."""

from __future__ import annotations

from dataclasses import dataclass

from titan.party.signed_broadcast import Signer
from titan.protocol.messages import Kind


@dataclass(frozen=True)
class SumSeals:
    """The seals of one party in the sum of one run that `context` stands for."""

    party: int
    signer: Signer
    context: bytes

    def sign(self, kind: Kind, content: bytes) -> bytes:
        return self.signer.sign(self._data(kind, self.party, content))

    def signed(self, kind: Kind, origin: int, content: bytes, seal: bytes) -> bool:
        return self.signer.signed_by(origin, seal, self._data(kind, origin, content))

    def _data(self, kind: Kind, origin: int, content: bytes) -> bytes:
        head = b"titan check " + kind.name.encode() + b"\n" + self.context
        return head + origin.to_bytes(4, "little") + content
