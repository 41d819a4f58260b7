"""What TLS makes the identity key sign is never what the key signs here.

A client of TLS 1.2 chooses the first 32 bytes of what a server signs with its key: its random
number. A server is asked here, by a hand-made ClientHello, to sign what begins like ours.
"""

from __future__ import annotations

import ssl
import struct
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from tests.study.parties import identity
from titan.study import Identity
from titan.study import certificates as certs

_SUITE, _P256, _ECDSA_SHA256 = 0xC02B, 0x0017, 0x0403  # ECDHE-ECDSA-AES128-GCM-SHA256
_CERTIFICATE_VERIFY = (b"TLS 1.3, client CertificateVerify", b"TLS 1.3, server CertificateVerify")


class Watched:
    """A key that tells what it is given to sign."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self.seen = b""

    def sign(self, data: bytes, algorithm: ec.ECDSA) -> bytes:
        self.seen = data
        return self._key.sign(data, algorithm)


def context(it: Identity) -> bytes:
    """What stands before the data that is signed."""
    watched = Watched(it._key)
    certs.sign(watched, b"data")  # type: ignore[arg-type]  # signs, and is asked for nothing else
    assert watched.seen.endswith(b"data")
    return watched.seen.removesuffix(b"data")


def client_hello(random: bytes) -> bytes:
    def vector(width: str, data: bytes) -> bytes:
        return struct.pack(width, len(data)) + data

    def extension(number: int, listed: int) -> bytes:
        return struct.pack("!H", number) + vector("!H", vector("!H", struct.pack("!H", listed)))

    extensions = extension(10, _P256) + extension(13, _ECDSA_SHA256)
    body = b"\3\3" + random + b"\0" + vector("!H", struct.pack("!H", _SUITE)) + b"\1\0"
    body += vector("!H", extensions)
    message = b"\1" + struct.pack("!I", len(body))[1:] + body
    return b"\x16\3\1" + vector("!H", message)


def answers(it: Identity, hello: bytes, folder: Path) -> dict[int, bytes]:
    """The handshake messages of a server of TLS 1.2 that has this identity's key, by their type."""
    key, _ = it.save(folder)
    chain = folder / "chain.pem"
    chain.write_text(it.card.certificate)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain, key)
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    incoming.write(hello)
    with pytest.raises(ssl.SSLWantReadError):
        server.wrap_bio(incoming, outgoing, server_side=True).do_handshake()
    records, messages = outgoing.read(), b""
    while records:
        length = int.from_bytes(records[3:5], "big")
        messages, records = messages + records[5 : 5 + length], records[5 + length :]
    found = {}
    while messages:
        length = int.from_bytes(messages[1:4], "big")
        found[messages[0]], messages = messages[4 : 4 + length], messages[4 + length :]
    return found


def test_a_server_of_tls_1_2_signs_nothing_that_passes_for_ours(tmp_path: Path) -> None:
    it = identity("north")
    prefix = context(it)
    chosen = prefix[:32].ljust(32, b"!")
    found = answers(it, client_hello(chosen), tmp_path)
    server_random, exchange = found[2][2:34], found[12]
    end = 4 + exchange[3]  # curve type, curve, point
    message, rest = chosen + server_random + exchange[:end], exchange[end + 4 :]
    algorithm = ec.ECDSA(hashes.SHA256())
    it.card.public_key.verify(rest, message, algorithm)  # it is what the server signed
    r, s = utils.decode_dss_signature(rest)
    signature = b"".join(n.to_bytes(32, "big") for n in (r, min(s, certs._ORDER - s)))
    for cut in range(len(message) + 1):
        assert not it.card.verify(signature, message[cut:])


def test_the_context_begins_nothing_that_tls_signs() -> None:
    """Whatever random numbers and transcripts come to be: not by chance, but by form."""
    prefix = context(identity("north"))
    assert len(prefix) > 64
    assert prefix[64] not in (1, 2, 3), "ServerKeyExchange: two random numbers, then a curve's type"
    assert prefix[0] != 1, "CertificateVerify of TLS 1.2: a transcript, which a ClientHello begins"
    assert prefix[0] != 0x30, "a certificate: a sequence"
    for used in _CERTIFICATE_VERIFY:  # of TLS 1.3
        assert not (b" " * 64 + used + b"\0").startswith(prefix)
        assert not prefix.startswith(b" " * 64 + used + b"\0")
    assert prefix.count(b"\0") == 1, "one context does not begin another"
    assert prefix.endswith(b"\0")
