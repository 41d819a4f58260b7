"""The first words on a stream, and whether the other end is the one this run waits for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from titan.party.wire import Hello, Refusal, Role
from titan.study.journal import Journal


@dataclass(frozen=True)
class Handshake:
    """What this party says of itself, and expects of others."""

    study: bytes
    run: int
    name: str
    nonce: bytes
    plan: str

    def hello(self, role: Role, peer: str, expects: int = 0) -> Hello:
        return Hello(role, self.study, self.run, self.nonce, expects, self.name, peer, self.plan)

    def refusal(self, hello: Hello, peer: str, role: Role, journal: Journal) -> Refusal | None:
        """Why `hello`, under the certificate of `peer`, is not the other end of this link."""
        if hello.study != self.study:
            said, own = hello.study.hex()[:12], self.study.hex()[:12]
            return Refusal(
                f"another study, or another version of this study: digest {said}…, not {own}…"
            )
        if hello.run != self.run:
            return Refusal(f"run {hello.run} was said, and this is run {self.run}; agree on one")
        if (hello.name, hello.peer) != (peer, self.name) or hello.role == role:
            return Refusal(f"no such link with {peer}")
        if hello.plan != self.plan:
            return Refusal(
                f"the sums would be made otherwise here ({self.plan}) than there ({hello.plan}); "
                "use one version of titan"
            )
        known = _nonces(journal).get(peer, hello.nonce)
        if known != hello.nonce:
            return Refusal(f"{peer} lost its journal; agree on run {self.run + 1}", final=True)
        return None


def _nonces(journal: Journal) -> Mapping[str, bytes]:
    state = journal.state
    return {} if state is None else state.nonces
