"""A private key on the disk: PKCS #8 in PEM form, with a passphrase or without.

With one, the key is encrypted as RFC 8018 says (PBES2: AES-256-CBC under a key that PBKDF2 with
HMAC-SHA-256 makes of the passphrase), so that OpenSSL and others read it too. The library that
decrypts it would encrypt with 2,048 rounds; that is a third of a millisecond for each guess.
"""

# Rule 1: the file has mode 600 from its first byte on, and one that others may read is refused.
# Rule 2: neither a key nor a passphrase is in any message; nor how long one is.
# Rule 3: a passphrase is never an argument or in the environment, where others on a machine see it.

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import padding, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from titan import files
from titan.errors import FileError, InputError
from titan.protocol.masking import fresh_key

ROUNDS = 600_000
"""Of PBKDF2: about a tenth of a second for each guess."""
LEAST_PASSPHRASE, _MOST_PASSPHRASE = 8, 1000  # bytes
_MOST_KEY = 1 << 14
_TRIES = 3
_OF_OTHERS = 0o077
_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"

Passphrase = bytes | str | Callable[[], bytes | str] | None
"""One that is called is asked only for a key that has a passphrase, and again if it was wrong."""


def encode(key: ec.EllipticCurvePrivateKey, passphrase: bytes | str | None = None) -> bytes:
    """The file's bytes. Secret, unless there is a good passphrase."""
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    if passphrase is None:
        return key.private_bytes(serialization.Encoding.PEM, *plain)
    der = _encrypted(key.private_bytes(serialization.Encoding.DER, *plain), checked(passphrase))
    lines = [_ENCRYPTED.decode(), *wrap(base64.b64encode(der).decode(), 64)]
    return "\n".join([*lines, lines[0].replace("BEGIN", "END"), ""]).encode()


def checked(passphrase: bytes | str) -> bytes:
    """A passphrase that a new key may have."""
    found = passphrase.encode() if isinstance(passphrase, str) else passphrase
    if not LEAST_PASSPHRASE <= len(found) <= _MOST_PASSPHRASE:
        raise InputError(
            f"the passphrase is {'too short' if len(found) < LEAST_PASSPHRASE else 'too long'}",
            hint=f"{LEAST_PASSPHRASE} characters at least, {_MOST_PASSPHRASE} at most; several "
            "words are better",
        )
    return found


def read_passphrase(path: Path) -> bytes:
    """The first line of a file that nobody else may read."""
    data, mode = _read(path, _MOST_PASSPHRASE + 2)
    _refuse_others(path, mode, "passphrase")
    line = data.partition(b"\n")[0].removesuffix(b"\r")
    if not line:
        raise FileError(f"{path}: the first line is empty", hint="write the passphrase there")
    return line


def read(path: Path, passphrase: Passphrase = None) -> ec.EllipticCurvePrivateKey:
    """The key in a file; FileError if it is not one, or not for its owner alone."""
    data, mode = _read(path, _MOST_KEY)
    key = _decrypted(path, data, passphrase) if _ENCRYPTED in data else _loaded(path, data)
    _refuse_others(path, mode, "key")
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise FileError(f"{path}: not a P-256 key", hint="make one with: titan keys new")
    return key


def _decrypted(path: Path, data: bytes, passphrase: Passphrase) -> object:
    if passphrase is None:
        raise FileError(
            f"{path}: not a key that opens without its passphrase, and none was given",
            hint="titan join asks for it or takes --passphrase-file, titan.join takes passphrase=; "
            "a rehearsal needs no keys",
        )
    for _ in range(_TRIES if callable(passphrase) else 1):
        word = passphrase() if callable(passphrase) else passphrase
        word = word.encode() if isinstance(word, str) else word
        try:
            return serialization.load_pem_private_key(data, password=word)
        except (ValueError, TypeError, UnsupportedAlgorithm):  # an empty one is a TypeError
            continue
    raise FileError(
        f"{path}: the passphrase is wrong, or the file is damaged",
        hint="is this the passphrase of this key? Nobody can open it without; where it is lost, "
        "make a new key with titan keys new, and a new study with its card",
    )


def _loaded(path: Path, data: bytes) -> object:
    try:
        return serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        public = b"BEGIN CERTIFICATE" in data
        found = "but a card or a study" if public else "in PEM form"
        damaged = b"BEGIN PRIVATE KEY" in data
        raise FileError(
            f"{path}: not a private key {found}",
            hint="it begins like one: restore it from a backup"
            if damaged
            else "the private key is the file, ending in .key, that titan keys new made",
        ) from None


def _read(path: Path, most: int) -> tuple[bytes, int]:
    with files.attempt("read", path), path.open("rb") as file:
        return file.read(most), os.fstat(file.fileno()).st_mode


def _refuse_others(path: Path, mode: int, what: str) -> None:
    if os.name != "posix" or _is_credential(path):
        return
    if stat.S_IMODE(mode) & _OF_OTHERS:
        raise FileError(
            f"{path}: others on this machine may read or write this {what}",
            hint=f"chmod 600 {path}, and make a new {what} if somebody could have read it",
        )


def _is_credential(path: Path) -> bool:
    """One that systemd handed to this service alone: by an access list, which shows as group's."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    return folder is not None and path.resolve().parent == Path(folder).resolve()


# -- RFC 8018 ---------------------------------------------------------------------------------

_PBES2, _PBKDF2 = bytes.fromhex("06092a864886f70d01050d"), bytes.fromhex("06092a864886f70d01050c")
_HMAC_SHA256 = bytes.fromhex("06082a864886f70d02090500")  # and its parameters, NULL
_AES_256_CBC = bytes.fromhex("060960864801650304012a")
_INTEGER, _OCTETS, _SEQUENCE = 0x02, 0x04, 0x30


def _encrypted(plain: bytes, passphrase: bytes) -> bytes:
    """EncryptedPrivateKeyInfo, in DER."""
    fresh = fresh_key()
    salt, iv = fresh[:16], fresh[16:]
    secret = hashlib.pbkdf2_hmac("sha256", passphrase, salt, ROUNDS, 32)
    padder = padding.PKCS7(128).padder()
    cipher = Cipher(algorithms.AES256(secret), modes.CBC(iv)).encryptor()
    content = cipher.update(padder.update(plain) + padder.finalize()) + cipher.finalize()
    rounds = ROUNDS.to_bytes(ROUNDS.bit_length() // 8 + 1, "big")
    made_by = _der(
        _SEQUENCE, _der(_OCTETS, salt), _der(_INTEGER, rounds), _der(_SEQUENCE, _HMAC_SHA256)
    )
    scheme = _der(
        _SEQUENCE,
        _der(_SEQUENCE, _PBKDF2, made_by),
        _der(_SEQUENCE, _AES_256_CBC, _der(_OCTETS, iv)),
    )
    return _der(_SEQUENCE, _der(_SEQUENCE, _PBES2, scheme), _der(_OCTETS, content))


def _der(tag: int, *parts: bytes) -> bytes:
    """Lengths to 65535."""
    content = b"".join(parts)
    size = len(content)
    length = [size] if size < 128 else [0x81, size] if size < 256 else [0x82, size >> 8, size & 255]
    return bytes([tag, *length]) + content
