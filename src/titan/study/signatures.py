"""Signatures of parties: ECDSA on P-256 with SHA-256, 64 bytes, one valid form only.

A signature is r and s, 32 bytes each, big-endian, s in the lower half: of the two that mathematics
allows for one r, one. Data is signed under a prefix of our own, so that nothing signed here can be
taken for a TLS handshake with the same key, nor the other way round.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

SIGNATURE_BYTES = 64
_HALF = SIGNATURE_BYTES // 2
_PREFIX = b"titan signature 1\0"
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256, FIPS 186
# The same data always has the same signature (RFC 6979): what is sent again is sent as it was.
_ALGORITHM = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)


def sign(key: ec.EllipticCurvePrivateKey, data: bytes) -> bytes:
    r, s = decode_dss_signature(key.sign(_PREFIX + data, _ALGORITHM))
    return r.to_bytes(_HALF, "big") + min(s, _ORDER - s).to_bytes(_HALF, "big")


def valid(key: ec.EllipticCurvePublicKey, signature: bytes, data: bytes) -> bool:
    """Whether `sign` made this signature of this data with the key that belongs to `key`."""
    if len(signature) != SIGNATURE_BYTES:
        return False
    r, s = (int.from_bytes(half, "big") for half in (signature[:_HALF], signature[_HALF:]))
    if not (0 < r < _ORDER and 0 < s <= _ORDER // 2):
        return False
    try:
        key.verify(encode_dss_signature(r, s), _PREFIX + data, _ALGORITHM)
    except InvalidSignature:
        return False
    return True
