"""A party's identity: the private key that never leaves its machine, and the card that does."""

# Rule 1: the key is written with mode 600 from the first byte, and never into a message or repr.
# Rule 2: no clock is read here; who makes or checks a certificate says what time it is.

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from titan import files
from titan.errors import FileError
from titan.study import certificates, signatures
from titan.study.addresses import checked_address
from titan.study.card import Card, checked_name, is_card

DAYS = 730
_MOST_KEY = 1 << 14


@dataclass(frozen=True, eq=False)
class Identity:
    """A card, and the key that proves it."""

    card: Card
    _key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def create(cls, name: str, address: str, *, now: datetime, days: int = DAYS) -> Self:
        """Draw a new key and certify it oneself, for `days` from `now` (with a time zone)."""
        name, address = checked_name(name), checked_address(address)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = certificates.issue(name, key, now, days)
        return cls(Card(name, address, certificates.pem_of(certificate)), key)

    @property
    def name(self) -> str:
        return self.card.name

    def sign(self, data: bytes) -> bytes:
        """A signature of 64 bytes, which `card.verify` checks."""
        return signatures.sign(self._key, data)

    def key_pem(self) -> bytes:
        """The private key in PKCS #8, for the file and for TLS. Secret."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    # -- files --------------------------------------------------------------------------------

    def save(self, directory: str | PathLike[str], *, force: bool = False) -> tuple[Path, Path]:
        """Write `name.key` and `name.card`; what is there is replaced with `force` only."""
        key, card = (Path(directory) / f"{self.name}.{end}" for end in ("key", "card"))
        for path in (key, card):
            if path.exists() and not force:
                raise FileError(
                    f"{path} exists already",
                    hint="force=True replaces it; studies that know the old key will not know you",
                )
        files.write(key, self.key_pem(), mode=0o600, force=force)
        self.card.save(card, force=force)
        return key, card

    @classmethod
    def load(cls, path: str | PathLike[str], card: Card | None = None) -> Self:
        """Read a key, and the card beside it unless one is given (that of the study, say)."""
        key = _read_key(Path(path))
        if card is None:
            card = Card.load(Path(path).with_suffix(".card"))
        if key.public_key() != card.public_key:
            raise FileError(
                f'{path}: not the key of "{card.name}" with the fingerprint {card.fingerprint}',
                hint="use the key that was made together with the card",
            )
        return cls(card, key)


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    with files.attempt("read", path), path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        data = file.read(_MOST_KEY)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        card = is_card(data.decode("utf-8", "replace"))
        raise FileError(
            f"{path}: not a private key but a card"
            if card
            else f"{path}: not a private key in PEM form without a password",
            hint="the private key is the file, ending in .key, that titan keys new made",
        ) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise FileError(
            f"{path}: others on this machine may read or write this key",
            hint=f"chmod 600 {path}, and make new keys if somebody could have read it",
        )
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise FileError(f"{path}: not a P-256 key", hint="make one with: titan keys new")
    return key
