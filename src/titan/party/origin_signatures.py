"""In `flood` every masked vector travels with its origin's signature.

Relays only pass vectors on, so one that alters a vector is found out by the next party, and named.
Behind a MASKED envelope stand as many signatures as it has vectors, in the same order.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import Any

from titan.errors import CheckError, MessageError
from titan.network import Network
from titan.party.messages import Enclosed
from titan.party.signed_broadcast import Signer
from titan.protocol import Envelope, Plan
from titan.protocol.messages import Kind, Payload
from titan.study.certificates import SIGNATURE_BYTES


@dataclass
class OriginSignatures:
    """The signatures of one sum, which `context` stands for, as one party knows them."""

    network: Network
    plan: Plan
    party: int
    signer: Signer
    context: bytes
    _known: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    """Origin → digest, signature."""

    def enclose(self, number: int, envelope: Envelope) -> Enclosed:
        """An envelope of one's own in sum `number`, with the signatures that go behind it."""
        if envelope.kind is not Kind.MASKED:
            return Enclosed(number, envelope)
        if self.party not in self._known:
            self._sign_own(envelope)
        count = int.from_bytes(envelope.payload[:4], "little")
        origins = struct.unpack_from(f"<{count}I", envelope.payload, 4)
        digests, signatures = zip(*(self._known[origin] for origin in origins), strict=True)
        return Enclosed(number, envelope, b"".join(signatures), b"".join(digests))

    def _sign_own(self, envelope: Envelope) -> None:
        """The first envelope has the own vector alone."""
        ((origin, vector),) = _content(self.plan, envelope)
        digest = hashlib.sha256(vector).digest()
        self._known[origin] = digest, self.signer.sign(self._data(origin, digest))

    def check(self, enclosed: Enclosed, content: Any) -> None:
        """Refuse vectors that their origins did not sign: CheckError names the relay.

        `content` is what `read` found in the envelope.
        """
        if enclosed.envelope.kind is not Kind.MASKED:
            return
        for place, (origin, vector) in enumerate(content):
            at = SIGNATURE_BYTES * place
            signature = bytes(enclosed.signatures[at : at + SIGNATURE_BYTES])
            digest = hashlib.sha256(vector).digest()
            self._check(enclosed.envelope.sender, origin, digest, signature)

    def _check(self, relay: int, origin: int, digest: bytes, signature: bytes) -> None:
        known = self._known.get(origin)
        if known == (digest, signature):
            return
        name, by = self.network.parties[origin], self.network.parties[relay]
        if not self.signer.signed_by(origin, signature, self._data(origin, digest)):
            raise CheckError(
                f"{by} passed on a vector of {name} that {name} did not sign",
                named=[by],
                hint=f"the answer would be wrong; ask {by} why, then start a new run",
            )
        if known is not None and known[0] != digest:
            raise CheckError(
                f"{name} signed two different vectors", named=[name], hint="start a new run"
            )
        self._known[origin] = digest, signature

    def _data(self, origin: int, digest: bytes) -> bytes:
        return b"titan MASKED\n" + self.context + origin.to_bytes(4, "little") + digest


def read(plan: Plan, envelope: Envelope, behind: Payload) -> Any:
    """What an envelope says, if it could be of this plan, with a signature for every vector."""
    content = _content(plan, envelope)
    expected = SIGNATURE_BYTES * len(content) if envelope.kind is Kind.MASKED else 0
    if len(behind) != expected:
        raise MessageError(f"{envelope!r} with {len(behind)} bytes of signatures")
    return content


def _content(plan: Plan, envelope: Envelope) -> Any:
    return plan.read(envelope.kind, envelope.sender, envelope.round, envelope.payload)
