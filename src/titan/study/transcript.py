"""The transcript of a run: what a party signs about what it did, for anyone to check offline.

One line of canonical JSON (sorted keys, no spaces, ASCII):

    {"body": {…}, "format": "titan transcript", "signature": "hex", "version": 2}

    body   study, run, party, software, certificate (PEM of the signer), nonces {party: hex},
           network {diameter, connectivity, tau},
           sums [{recovery, rounds, messages}], control [messages outside the sums],
           totals {messages and bytes, sent and received}, pooled (SHA-256 of the pooled sums),
           result (the released numbers), result_sha256 (of the file that keeps them, result.json)
    message   from, to, round, kind, size; sha256 of recovery messages only

The signature is over b"titan transcript v2\\n" and the body's canonical bytes. A file has one valid
form: what is accepted encodes to the same bytes, so no byte of it can change unnoticed.

Who reads a transcript may test guesses against its digests. Those of recovery messages and of the
pooled sum are functions of what every party has seen; masks, rows and moments have none here.
"""

# Rule 1: nothing enters a transcript that is computed from a mask, a row, a moment or a key.
# Rule 2: sizes are bounded before anything is parsed; unknown keys are refused.

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from titan.canonical import canonical as canonical
from titan.errors import FileError, InputError
from titan.study import released
from titan.study import transcript_fields as fields
from titan.study.frames import Message
from titan.study.journal import Journal

Sign = Callable[[bytes], bytes]
Verify = Callable[[bytes, bytes], bool]  # (signature, signed bytes) → whether it is right

FORMAT = "titan transcript"
VERSION = 2
_SIGNED = b"titan transcript v2\n"
_MOST_BYTES = 1 << 28
_MOST_SIGNATURE = 1 << 12
_UNRELIABLE = "it was altered, or never was a transcript; do not rely on it"


@dataclass(frozen=True)
class SumRecord:
    """One private sum: its recovery, the rounds planned after the masks, and its messages."""

    recovery: str
    rounds: int
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class NetworkFacts:
    """What was found before anything left: `connectivity` is at least what was tested for."""

    diameter: int
    connectivity: int
    tau: int


@dataclass(frozen=True)
class Transcript:
    """The body of a transcript; `check` says whether it can be true."""

    study: str
    run: int
    party: str
    software: str
    certificate: str = field(repr=False)
    nonces: Mapping[str, str]
    network: NetworkFacts
    sums: tuple[SumRecord, ...] = field(repr=False)
    control: tuple[Message, ...] = field(repr=False)
    pooled: str
    result: Mapping[str, Any] = field(repr=False)
    result_sha256: str

    @property
    def messages(self) -> list[Message]:
        return [*self.control, *(m for record in self.sums for m in record.messages)]

    @property
    def sent(self) -> list[Message]:
        return [m for m in self.messages if m.sender == self.party]

    @property
    def received(self) -> list[Message]:
        return [m for m in self.messages if m.receiver == self.party]

    @property
    def totals(self) -> dict[str, int]:
        return {
            "messages_sent": len(self.sent),
            "bytes_sent": sum(m.size for m in self.sent),
            "messages_received": len(self.received),
            "bytes_received": sum(m.size for m in self.received),
        }

    def signed(self, sign: Sign) -> bytes:
        """The file's bytes. What could not be verified is not signed."""
        fields.check(self)
        body = fields.as_json(self)
        signature = sign(_SIGNED + canonical(body)).hex()
        return canonical(
            {"format": FORMAT, "version": VERSION, "body": body, "signature": signature}
        )


def from_journal(
    journal: Journal,
    *,
    sums: Sequence[tuple[str, int]],
    network: NetworkFacts,
    software: str,
    certificate: str,
    result: Mapping[str, Any],
    result_sha256: str,
) -> Transcript:
    """What the journal knows, once all nonces are there and the sum is agreed on.

    `sums` has the name of the recovery and its number of rounds for each sum of the run.
    """
    state = journal.state
    if state is None or state.agreed is None or set(state.nonces) != set(state.parties):
        raise InputError("a run that has not come to an agreement has no transcript")
    messages = journal.messages()
    return Transcript(
        state.study,
        state.run,
        state.party,
        software,
        certificate,
        {party: nonce.hex() for party, nonce in state.nonces.items()},
        network,
        tuple(
            SumRecord(recovery, rounds, tuple(m for m in messages if m.sum == number))
            for number, (recovery, rounds) in enumerate(sums)
        ),
        tuple(m for m in messages if m.sum is None),
        state.agreed,
        dict(result),
        result_sha256,
    )


# -- reading ----------------------------------------------------------------------------------


def decode(data: bytes, name: str) -> tuple[Transcript, bytes]:
    """The transcript and its signature, not yet verified; FileError for any other bytes."""
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes")
        whole = json.loads(data.decode("ascii"))
        if canonical(whole) != data:
            raise ValueError("its text is not exactly as TITAN wrote it")
        fields.keys(whole, {"format", "version", "body", "signature"})
        if (whole["format"], whole["version"]) != (FORMAT, VERSION):
            raise ValueError(f"it is not a transcript of version {VERSION}")
        signature = fields.hexadecimal(whole["signature"], most=_MOST_SIGNATURE)
        transcript = _from_json(whole["body"])
        fields.check(transcript)
    except (ValueError, RecursionError) as error:
        reason = "it is not JSON" if isinstance(error, _NOT_JSON) else str(error)
        raise FileError(
            f'"{name}" is not a valid transcript: {reason}',
            hint=_UNRELIABLE,
        ) from None
    return transcript, bytes.fromhex(signature)


_NOT_JSON = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


def _from_json(body: object) -> Transcript:
    found = fields.keys(body, fields.BODY)
    network = fields.keys(found["network"], fields.NETWORK)
    party = fields.text(found["party"])
    transcript = Transcript(
        fields.hexadecimal(found["study"], exactly=64),
        fields.whole(found["run"], 1),
        party,
        fields.text(found["software"]),
        fields.text(found["certificate"], most=1 << 16),
        {
            fields.text(name): fields.hexadecimal(nonce, exactly=64)
            for name, nonce in fields.mapping(found["nonces"]).items()
        },
        NetworkFacts(*(fields.whole(network[name]) for name in fields.NETWORK)),
        tuple(_sum(number, record) for number, record in enumerate(fields.listed(found["sums"]))),
        tuple(fields.message(m, None) for m in fields.listed(found["control"])),
        fields.hexadecimal(found["pooled"], exactly=64),
        fields.mapping(found["result"]),
        fields.hexadecimal(found["result_sha256"], exactly=64),
    )
    if canonical(transcript.totals) != canonical(found["totals"]):
        raise ValueError("its messages do not add up to its totals")
    return transcript


def _sum(number: int, record: object) -> SumRecord:
    found = fields.keys(record, fields.SUM)
    messages = tuple(fields.message(m, number) for m in fields.listed(found["messages"]))
    return SumRecord(fields.text(found["recovery"]), fields.whole(found["rounds"]), messages)


# -- verifying --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signer:
    """Whose signatures to expect: a certificate's fingerprint, and how to check a signature."""

    fingerprint: str  # SHA-256 of the certificate's DER bytes, in hex
    check: Verify


@dataclass(frozen=True)
class Facts:
    """A transcript whose signature and figures are right."""

    transcript: Transcript
    fingerprint: str  # SHA-256 of the signer's certificate, to be compared with the study's pin

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the messages."""
        body = fields.as_json(self.transcript)
        short = {
            name: body[name] for name in body if name not in ("sums", "control", "certificate")
        }
        return short | {"fingerprint": self.fingerprint, "verified": True}

    def __str__(self) -> str:
        t, totals = self.transcript, self.transcript.totals
        recoveries = ", ".join(f"{record.recovery} in {record.rounds}" for record in t.sums)
        return "\n".join(
            [
                f"study {t.study}, run {t.run}, as seen by {t.party} ({t.software})",
                f"parties: {', '.join(t.nonces)}",
                f"network: diameter {t.network.diameter}, connectivity at least "
                f"{t.network.connectivity}, safe from {t.network.tau} curious",
                f"sums: {len(t.sums)} ({recoveries} rounds)",
                f"sent: {totals['messages_sent']} messages, {totals['bytes_sent']} bytes",
                f"received: {totals['messages_received']} messages, "
                f"{totals['bytes_received']} bytes",
                f"pooled sum: sha256 {t.pooled}",
                *released.lines(t.result),
                "the signature is right; the signer's certificate has the fingerprint "
                f"{self.fingerprint}",
            ]
        )


def verify(
    path: str | PathLike[str], lookup: Callable[[Transcript], Signer | None] | None = None
) -> Facts:
    """Read a transcript and check its form, its figures and its signature.

    `lookup` finds the signer among the study's cards. Without it the certificate in the transcript
    is used, and whose that is must be told by its fingerprint.
    """
    name = str(path)
    transcript, signature = decode(_read(path), name)
    enclosed = certificate_signer(transcript.certificate)
    signer = enclosed if lookup is None else lookup(transcript)
    if signer is None or signer.fingerprint != enclosed.fingerprint:
        raise FileError(
            f'"{name}" is signed with a certificate that is not the one known '
            f"of {transcript.party!r}",
            hint="is it of another study? otherwise do not rely on it",
        )
    if not signer.check(signature, _SIGNED + canonical(fields.as_json(transcript))):
        raise FileError(
            f'"{name}" has a wrong signature: {transcript.party!r} did not sign this',
            hint="do not rely on it; ask for the file again",
        )
    return Facts(transcript, enclosed.fingerprint)


def _read(path: str | PathLike[str]) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "input failed").lower()
        raise FileError(f'"{path}" cannot be read: {reason}') from None


def certificate_signer(certificate: str) -> Signer:
    """The holder of a PEM certificate's P-256 key, who signs as a party's identity does."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    from titan.study import signatures

    unreadable = (ValueError, TypeError, x509.InvalidVersion, UnsupportedAlgorithm, Warning)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a certificate that is read with misgivings is none
            loaded = x509.load_pem_x509_certificate(certificate.encode("ascii"))
            key = loaded.public_key()
    except unreadable:
        raise FileError("the transcript's certificate cannot be read", hint=_UNRELIABLE) from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise FileError("the transcript's certificate is not for a P-256 key", hint=_UNRELIABLE)
    return Signer(loaded.fingerprint(SHA256()).hex(), partial(signatures.valid, key))
