"""A party's identity: the private key that never leaves its machine, and the card that does.

A card is its name, its address and its certificate: a small TOML file, made by `titan keys new` and
handed to whoever gathers the study. Who receives one should compare its fingerprint over another
way (a telephone will do): the fingerprint is what everybody will recognise the party by.
"""

# Rule 1: the key is written with mode 600 from the first byte, and never into a message or repr.
# Rule 2: no clock is read here; who makes or checks a certificate says what time it is.
# Rule 3: an address is host:port, and nothing that a dialler would read as anything else, such as
#         `unix:/path` or `dns://server/name`: it comes from another party.

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address
from os import PathLike
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from titan import files
from titan.errors import FileError, InputError, about
from titan.network.names import party_name
from titan.replacing import KEY
from titan.study import certificates, fields, key_file

DAYS = 730
_MOST_NAME = 64  # characters; more do not fit a certificate
_MOST_CARD = 1 << 16
_EXPECTED = "a card is the file, ending in .card, that titan keys new makes"
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_EVERY = ("0.0.0.0", "[::]")  # noqa: S104 - what is refused


@dataclass(frozen=True)
class Card:
    """Who a party is, all of it public.

    Equal cards have the same name, address and certificate (PEM text), and both or neither can be
    dialled.
    """

    name: str
    address: str
    certificate: str = field(repr=False)
    dials_only: bool = False
    """Nobody can dial it: its network lets connections out, and none in."""
    public_key: ec.EllipticCurvePublicKey = field(init=False, repr=False, compare=False)
    fingerprint: str = field(init=False, repr=False, compare=False)
    """SHA-256 of the certificate's DER form, in hex: the pin."""
    _x509: x509.Certificate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Put everything into its one form, and refuse what `Identity.create` would not make."""
        certificate, name = certificates.read(self.certificate), checked_name(self.name)
        settled = {
            "name": name,
            "address": dialled_address(self.address, dials_only=self.dials_only),
            "certificate": certificates.pem_of(certificate),
            "public_key": certificates.public_key(certificate, name),
            "fingerprint": certificates.fingerprint(certificate),
            "_x509": certificate,
        }
        for key, value in settled.items():
            object.__setattr__(self, key, value)

    @property
    def place(self) -> str:
        """Where others reach it, in words."""
        return "only dials out" if self.dials_only else self.address

    def recognises(self, pem: bytes | str) -> bool:
        """Whether a certificate that a peer showed, in PEM form, is this party's."""
        try:
            text = pem.decode("ascii") if isinstance(pem, bytes) else pem
            return certificates.read(text) == self._x509
        except (InputError, UnicodeDecodeError):
            return False

    def verify(self, signature: bytes, data: bytes) -> bool:
        """Whether this party signed exactly this."""
        return certificates.signed(self.public_key, signature, data)

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
                f'the certificate of "{self.name}" is not valid before {self.not_before:%Y-%m-%d}',
                hint=f"today is {now:%Y-%m-%d} here: compare the clocks of the two machines",
            )
        if now > self.not_after:
            raise InputError(
                f'the certificate of "{self.name}" expired on {self.not_after:%Y-%m-%d}',
                hint=f"if today is not {now:%Y-%m-%d}, set this machine's clock; else that party "
                "makes new keys, and a new study is made with its new card",
            )

    def content(self) -> list[str]:
        """What of it counts for the identity of a study."""
        said = ["dials only"] if self.dials_only else []
        return [self.name, self.address, self.fingerprint, *said]

    # -- as text ------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str, where: str = "card") -> Self:
        """Read what `to_toml` writes; an error names `where`, the file."""
        refuse_key(text, where, "card")
        table = fields.parse(text, where, _MOST_CARD, what="card", hint=_EXPECTED)
        if table.has("parties", "links"):
            raise FileError(f"{where}: this is a study, not a card", hint=_EXPECTED)
        return cls.take(table)

    @classmethod
    def take(cls, table: fields.Fields) -> Self:
        """A card out of a table that holds it and nothing else, here or in a study."""
        name, address, pem = (table.text(key) for key in ("name", "address", "certificate"))
        dials_only = table.flag("dials_only")
        try:
            card = cls(name, address, pem, dials_only)
        except InputError as error:
            key, _, reason = error.message.partition(" ")
            table.refuse(key, reason, hint=error.hint)
        table.all()
        return card

    def as_table(self) -> dict[str, Any]:
        said = {"dials_only": True} if self.dials_only else {}
        return {"name": self.name, "address": self.address, **said, "certificate": self.certificate}

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


# -- names and addresses ----------------------------------------------------------------------


def checked_name(name: str) -> str:
    """A name that can also be that of a file and stand in a certificate."""
    if not name:
        raise InputError("the party's name is empty", hint="such as north")
    try:
        found = party_name(name)
    except InputError as error:
        raise InputError(f"name cannot be a party's: {error.message}", hint=error.hint) from None
    if len(found) > _MOST_NAME:
        raise InputError(f"name has {len(found)} characters, where {_MOST_NAME} are the most")
    if found.startswith((".", "-")) or set(found) & set('/\\:"*?<>|'):
        raise InputError(
            f"name {found!r} cannot be used in the name of a file",
            hint='leave out / \\ : " * ? < > |, and a dot or a hyphen at the beginning',
        )
    return found


def checked_address(address: str) -> str:
    """The address in its one form: the host in lower case, an IPv6 address in brackets."""
    host, colon, port = address.rpartition(":")
    try:
        if not colon or not _PORT.fullmatch(port) or int(port) > 65_535:
            raise ValueError("it does not end in a port from 1 to 65535")
        return f"{_host(host.lower())}:{port}"
    except AddressValueError:
        why = "its number is not an IP address"
    except ValueError as error:
        why = str(error)
    raise InputError(
        f"address {address[:80]!a} cannot be used: {why}",
        hint="such as north.example.org:7443, 192.0.2.7:7443 or [2001:db8::7]:7443",
    )


def dialled_address(address: str, *, dials_only: bool) -> str:
    """The same of the address that others dial: whoever only dials out needs none."""
    if dials_only and not address:
        return ""
    found = checked_address(address)
    if found.rpartition(":")[0] in _EVERY:
        raise InputError(
            f"address {found!a} cannot be used: nobody can dial it",
            hint="give the one that the others dial; titan join --listen may listen at all of them",
        )
    return found


def _host(host: str) -> str:
    if host.startswith("[") and host.endswith("]") and "%" not in host:
        return f"[{IPv6Address(host[1:-1])}]"
    if host.replace(".", "").isdecimal():
        return str(IPv4Address(host))
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise ValueError("it does not begin with a host name or an IP address")
    return host


def on_loopback(address: str) -> bool:
    """Whether it is one of a machine's addresses for itself."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# -- keys -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Identity:
    """A card, and the key that proves it."""

    card: Card
    _key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def create(
        cls, name: str, address: str, *, now: datetime, days: int = DAYS, dials_only: bool = False
    ) -> Self:
        """Draw a new key and certify it oneself, for `days` from `now` (with a time zone)."""
        with about("name"):
            name = checked_name(name)
        with about("address"):
            address = dialled_address(address, dials_only=dials_only)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = certificates.issue(name, key, now, days)
        return cls(Card(name, address, certificates.pem_of(certificate), dials_only), key)

    @property
    def name(self) -> str:
        return self.card.name

    def sign(self, data: bytes) -> bytes:
        """A signature of 64 bytes, which `card.verify` checks."""
        return certificates.sign(self._key, data)

    def key_pem(self) -> bytes:
        """The private key in PKCS #8, for TLS. Secret."""
        return key_file.encode(self._key)

    def save(
        self,
        directory: str | PathLike[str],
        *,
        force: bool = False,
        passphrase: bytes | str | None = None,
    ) -> tuple[Path, Path]:
        """Write `name.key`, under a passphrase if there is one, and `name.card`.

        What is there is replaced with `force` only.
        """
        key, card = (Path(directory) / f"{self.name}.{end}" for end in ("key", "card"))
        for path, own in ((key, KEY), (card, "")):
            files.check_replaceable(path, own=own)  # both before either is written
            if path.exists() and not force:
                raise FileError(
                    f"{path} exists already",
                    hint="force=True replaces it; studies that know the old key will not know you",
                )
        files.write(key, key_file.encode(self._key, passphrase), mode=0o600, force=force, own=KEY)
        self.card.save(card, force=force)
        return key, card

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        card: Card | None = None,
        *,
        passphrase: key_file.Passphrase = None,
    ) -> Self:
        """Read a key, and the card beside it unless one is given (that of the study, say)."""
        key = key_file.read(Path(path), passphrase)
        if card is None:
            card = Card.load(Path(path).with_suffix(".card"))
        if key.public_key() != card.public_key:
            raise FileError(
                f'{path}: not the key of "{card.name}" with the fingerprint {card.fingerprint}',
                hint="use the key that was made together with the card",
            )
        return cls(card, key)
