"""A party's card: its name, its address and its certificate. All of it is public.

A card is a small TOML file, made by `titan keys new` and handed to whoever gathers the study. Who
receives one should compare its fingerprint over another way (a telephone will do): the fingerprint
is what everybody will recognise the party by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from titan import files
from titan.errors import FileError, InputError
from titan.network.names import party_name
from titan.study import certificates, fields, signatures
from titan.study.addresses import checked_address

MOST_NAME = 64  # characters; more do not fit a certificate
_MOST_CARD = 1 << 16
_EXPECTED = "a card is the file, ending in .card, that titan keys new makes"


@dataclass(frozen=True)
class Card:
    """Who a party is: equal cards have the same name, address and certificate (PEM text)."""

    name: str
    address: str
    certificate: str = field(repr=False)

    def __post_init__(self) -> None:
        """Put everything into its one form, and refuse what `Identity.create` would not make."""
        certificate = certificates.read(self.certificate)
        object.__setattr__(self, "name", checked_name(self.name))
        object.__setattr__(self, "address", checked_address(self.address))
        object.__setattr__(self, "certificate", certificates.pem_of(certificate))
        object.__setattr__(self, "_key", certificates.public_key(certificate, self.name))

    _key: ec.EllipticCurvePublicKey = field(init=False, repr=False, compare=False)

    @cached_property
    def _x509(self) -> x509.Certificate:
        return certificates.read(self.certificate)

    # -- who this is --------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate's DER form, in hex: the pin."""
        return certificates.fingerprint(self._x509)

    def recognises(self, pem: bytes | str) -> bool:
        """Whether a certificate that a peer showed, in PEM form, is this party's."""
        try:
            return certificates.fingerprint(pem) == self.fingerprint
        except (InputError, UnicodeDecodeError):
            return False

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._key

    def verify(self, signature: bytes, data: bytes) -> bool:
        """Whether this party signed exactly this."""
        return signatures.valid(self._key, signature, data)

    # -- when it is good ----------------------------------------------------------------------

    @property
    def not_before(self) -> datetime:
        return self._x509.not_valid_before_utc

    @property
    def not_after(self) -> datetime:
        return self._x509.not_valid_after_utc

    def check_valid(self, now: datetime) -> None:
        """Refuse a certificate that is not good at `now`, a time with a time zone."""
        if now < self.not_before:
            raise InputError(
                f'the certificate of "{self.name}" is good from {_day(self.not_before)} on only',
                hint="compare the clocks of the two machines",
            )
        if now > self.not_after:
            raise InputError(
                f'the certificate of "{self.name}" expired on {_day(self.not_after)}',
                hint="that party makes new keys, and the study is gathered anew",
            )

    # -- as text ------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str, where: str = "card") -> Self:
        """Read what `to_toml` writes; an error names `where`, the file."""
        refuse_key(text, where, "card")
        table = fields.parse(text, where, _MOST_CARD, what="card", hint=_EXPECTED)
        if table.has("parties", "links"):
            raise FileError(f"{where}: this is a study, not a card", hint=_EXPECTED)
        card = cls.take(table)
        table.all()
        return card

    @classmethod
    def take(cls, table: fields.Fields) -> Self:
        """The three fields of a card out of a table, here or in a study."""
        name, address, pem = (table.text(key) for key in ("name", "address", "certificate"))
        try:
            return cls(name, address, pem)
        except InputError as error:
            key, _, reason = error.message.partition(" ")
            table.refuse(key, reason, hint=error.hint)

    def as_table(self) -> dict[str, Any]:
        return {"name": self.name, "address": self.address, "certificate": self.certificate}

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.as_table(), multiline_strings=True)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        return cls.parse(fields.read_text(path, _MOST_CARD), str(path))

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the card; a file that is there already is replaced with `force` only."""
        files.write(Path(path), self.to_toml().encode(), mode=0o644, force=force)


def refuse_key(text: str, where: str, expected: str) -> None:
    """Who hands over a private key by mistake must be told so, whatever was expected."""
    first = text.lstrip()[:64].partition("\n")[0]
    if first.startswith("-----BEGIN ") and "PRIVATE KEY" in first:
        raise FileError(
            f"{where}: this is a private key, not a {expected}",
            hint=f"give the {expected}, and never send the key to anyone",
        )


def is_card(text: str) -> bool:
    """Whether somebody gave a card where something else was expected."""
    try:
        Card.parse(text)
    except InputError:
        return False
    return True


def checked_name(name: str) -> str:
    """A name that can also be that of a file and stand in a certificate."""
    try:
        found = party_name(name)
    except InputError as error:
        raise InputError(f"name cannot be a party's: {error.message}", hint=error.hint) from None
    if len(found) > MOST_NAME:
        raise InputError(f"name has {len(found)} characters, where {MOST_NAME} are the most")
    if found.startswith((".", "-")) or set(found) & set('/\\:"*?<>|'):
        raise InputError(
            f"name {found!r} could not be that of a file",
            hint='leave out / \\ : " * ? < > |, and a dot or a hyphen at the beginning',
        )
    return found


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")
