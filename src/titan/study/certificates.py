"""Certificates, self-signed, pinned, good for nothing but being recognised; and signatures.

There is no certificate authority. A party's certificate carries its name, its public key (P-256:
as most of TLS has it) and a span of time. It is no CA, so that no chain can hang from it: a
peer is accepted with exactly this certificate or not at all. TLS wants a host name to compare; as
parties are known by their pins and may move, every certificate has the same one.

A signature is ECDSA with SHA-256: r and s, 32 bytes each, big-endian, s in the lower half: of the
two that mathematics allows for one r, one.

The same key proves in TLS who somebody is, so nothing that it signs there may pass for what it
signs here, nor the other way round. Data is signed under 64 spaces, a context and a zero byte, the
form that TLS 1.3 has (RFC 8446, 4.4.3) with a context of our own. Nothing else begins like that:

    TLS 1.3, CertificateVerify     64 spaces, but another context
    TLS 1.2, ServerKeyExchange     two random numbers, 32 bytes each, the client's free to choose;
                                   then the type of a curve: 1, 2 or 3, where the context begins
    TLS 1.2, CertificateVerify     all messages so far, of which a ClientHello is first: a byte 1
    certificates                   a sequence in DER: a byte 0x30
"""

# Rule 1: nothing in a certificate is bound to a party's number or address.
# Rule 2: a certificate that this module would not make is not accepted either.

from __future__ import annotations

import re
import ssl
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from titan.errors import InputError

SERVER_NAME = "titan-party"
"""The host name in every certificate: what a channel must say it expects."""
SIGNATURE_BYTES = 64
_MOST_DAYS = 36_500
_SKEW = timedelta(days=1)  # others' clocks may be behind
_MOST_PEM = 8192

_EXTENSIONS: tuple[tuple[x509.ExtensionType, bool], ...] = (
    (x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)]), False),
    (x509.BasicConstraints(ca=False, path_length=None), True),
    (x509.KeyUsage(True, *8 * [False]), True),  # of nine uses one: digital signatures
    (
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
        False,
    ),
)
_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_NOT_POSITIVE = re.compile(  # a serial number, behind two lengths and the version: RFC 5280, 4.1
    rb"\x30%b\x30%b(?:\xa0\x03\x02\x01.)?\x02(?:\x01\x00|[\x00-\x7f][\x80-\xff])"
    % (_LENGTH, _LENGTH),
    re.DOTALL,
)
_ODD_EXTENSIONS = (x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


def issue(name: str, key: ec.EllipticCurvePrivateKey, now: datetime, days: int) -> x509.Certificate:
    """A certificate of one's own, good from a day before `now` until `days` after."""
    if not 1 <= days <= _MOST_DAYS:
        hint = f"from 1 to {_MOST_DAYS} days"
        raise InputError(f"a certificate for {days} days", hint=hint, choice="days")
    moment = now.replace(microsecond=0)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_subject(name))
        .issuer_name(_subject(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - _SKEW)
        .not_valid_after(moment + timedelta(days=days))
    )
    for extension, critical in _EXTENSIONS:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(key, hashes.SHA256())


def read(pem: str) -> x509.Certificate:
    """The certificate in a PEM text that holds this and nothing else."""
    if "PRIVATE KEY" in pem:
        raise InputError(
            "certificate holds a private key",
            hint="it must never leave its machine: make new keys, and hand out the card alone",
        )
    text = pem.replace("\r\n", "\n").strip() + "\n"
    try:
        if len(text) > _MOST_PEM:
            raise ValueError
        der = ssl.PEM_cert_to_DER_cert(text)
        negative = _NOT_POSITIVE.match(der)  # of which the parser would only warn the terminal
        certificate = None if negative else x509.load_der_x509_certificate(der)
        if certificate is not None and pem_of(certificate) != text:
            raise ValueError
    except (ValueError, TypeError, x509.InvalidVersion):
        raise InputError(
            "certificate is not one certificate in PEM form", hint="take it from the party's card"
        ) from None
    if certificate is None:
        raise InputError(
            "certificate has a serial number that is not positive",
            hint="make one with: titan keys new",
        )
    return certificate


def pem_of(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of the DER form, in hex."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def public_key(certificate: x509.Certificate, name: str) -> ec.EllipticCurvePublicKey:
    """The key of a certificate that `issue` would have made for `name`; all else is refused."""
    foreign = InputError(
        "certificate is not of the kind that titan makes", hint="make one with: titan keys new"
    )
    try:
        key = certificate.public_key()
        subject = certificate.subject
        shape = [(e.value, e.critical) for e in certificate.extensions]
        certificate.verify_directly_issued_by(certificate)
    except InvalidSignature:
        raise InputError("certificate is not signed by its own key") from None
    except (ValueError, TypeError, UnsupportedAlgorithm, *_ODD_EXTENSIONS):
        raise foreign from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise foreign
    if sorted(shape, key=str) != sorted(_EXTENSIONS, key=str) or not isinstance(
        certificate.signature_hash_algorithm, hashes.SHA256
    ):
        raise foreign
    if subject != _subject(name):
        raise InputError(f'certificate was not made for "{name}"', hint="take both from one card")
    return key


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


# -- signatures -------------------------------------------------------------------------------

_HALF = SIGNATURE_BYTES // 2
_PREFIX = b" " * 64 + b"titan signature 2\0"
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256, FIPS 186
# The same data always has the same signature (RFC 6979): what is sent again is sent as it was.
_ALGORITHM = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


def sign(key: ec.EllipticCurvePrivateKey, data: bytes) -> bytes:
    r, s = utils.decode_dss_signature(key.sign(_PREFIX + data, _ALGORITHM))
    return r.to_bytes(_HALF, "big") + min(s, _ORDER - s).to_bytes(_HALF, "big")


def signed(key: ec.EllipticCurvePublicKey, signature: bytes, data: bytes) -> bool:
    """Whether `sign` made this signature of this data with the key that belongs to `key`."""
    r, s = (int.from_bytes(half, "big") for half in (signature[:_HALF], signature[_HALF:]))
    if len(signature) != SIGNATURE_BYTES or not (0 < r < _ORDER and 0 < s <= _ORDER // 2):
        return False
    try:
        key.verify(utils.encode_dss_signature(r, s), _PREFIX + data, _ALGORITHM)
    except InvalidSignature:
        return False
    return True
