"""A transcript held against its signature, and what it says in words."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec

from titan.canonical import canonical
from titan.errors import FileError, InputError
from titan.files import attempt
from titan.listing import listing
from titan.study import certificates, released
from titan.study.transcript import MOST_BYTES, SIGNED, UNRELIABLE, Transcript, decode


@dataclass(frozen=True)
class Facts:
    """A transcript whose signature and figures are right."""

    transcript: Transcript
    fingerprint: str  # SHA-256 of the signer's certificate, to be compared with the study's pin

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the messages."""
        left_out = ("sums", "control", "certificate")
        short = {k: v for k, v in self.transcript.as_dict().items() if k not in left_out}
        return short | {"fingerprint": self.fingerprint, "verified": True}

    def _outcome(self) -> list[str]:
        t = self.transcript
        if t.stopped is None:
            return [f"pooled sum: sha256 {t.pooled}", *released.lines(t.result)]
        named = listing(t.stopped.named) or "nobody"
        return [f"no answer: {t.stopped.why}", f"named: {named}"]

    def __str__(self) -> str:
        t, totals = self.transcript, self.transcript.totals
        recoveries = ", ".join(
            f"{record.recovery} in {record.rounds}" + ", checked" * bool(record.check)
            for record in t.sums
        )
        return "\n".join(
            [
                f"study {t.study}, run {t.run}, as seen by {t.party} ({t.software})",
                f"parties: {', '.join(t.nonces)}",
                f"network: diameter {t.network.diameter}, connectivity at least "
                f"{t.network.connectivity}, safe from {t.network.tau} curious",
                f"sums: {len(t.sums)} (rounds: {recoveries})",
                f"sent: {totals['messages_sent']} messages, {totals['bytes_sent']} bytes",
                f"received: {totals['messages_received']} messages, "
                f"{totals['bytes_received']} bytes",
                *self._outcome(),
                "the signature is right; the signer's certificate has the fingerprint "
                f"{self.fingerprint}",
            ]
        )


def verify(path: str | PathLike[str]) -> Facts:
    """Read a transcript and check its form, its figures and its signature.

    It is checked with the certificate in it; whose that is must be told by its fingerprint.
    """
    with attempt("read", f'"{path}"'), Path(path).open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    transcript, signature = decode(data, str(path))
    certificate, key = _signer(transcript.certificate)
    if not certificates.signed(key, signature, SIGNED + canonical(transcript.as_dict())):
        raise FileError(
            f'"{path}" has a wrong signature: {transcript.party!r} did not sign this',
            hint="do not rely on it; ask for the file again",
        )
    return Facts(transcript, certificates.fingerprint(certificate))


def _signer(pem: str) -> tuple[x509.Certificate, ec.EllipticCurvePublicKey]:
    """The certificate, and its P-256 key, with which a party signs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a certificate that is read with misgivings is none
            certificate = certificates.read(pem)
            key = certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm, Warning, InputError):
        raise FileError("the transcript's certificate cannot be read", hint=UNRELIABLE) from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise FileError("the transcript's certificate is not for a P-256 key", hint=UNRELIABLE)
    return certificate, key
