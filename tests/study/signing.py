"""A throw-away identity for the tests: a P-256 key and its self-signed certificate."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@cache
def _key(name: str) -> ec.EllipticCurvePrivateKey:
    secret = int.from_bytes(hashlib.sha256(name.encode()).digest()[:31], "big")
    return ec.derive_private_key(secret, ec.SECP256R1())


@cache
def certificate(name: str) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(_key(name).public_key())
        .serial_number(7)
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=3650))
        .sign(_key(name), SHA256())
    )
    return built.public_bytes(Encoding.PEM).decode("ascii")


def signer(name: str) -> Callable[[bytes], bytes]:
    def sign(data: bytes) -> bytes:
        made = _key(name).sign(b" " * 64 + b"titan signature 2\0" + data, ec.ECDSA(SHA256()))
        r, s = decode_dss_signature(made)
        return r.to_bytes(32, "big") + min(s, ORDER - s).to_bytes(32, "big")

    return sign
