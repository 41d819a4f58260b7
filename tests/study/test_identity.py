"""A key never leaves, a card says who somebody is, and nothing else passes for either."""

from __future__ import annotations

import os
import pickle
import ssl
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from tests.study.parties import MADE, NOW, identity
from titan.errors import FileError, InputError
from titan.study import Card, Identity
from titan.study import certificates as certs
from titan.study.certificates import _ORDER
from titan.study.identity import checked_address, dialled_address

# -- keys and cards on disk -------------------------------------------------------------------


def test_a_saved_identity_is_loaded_again(tmp_path: Path) -> None:
    key, card = identity("north").save(tmp_path)
    assert (key.name, card.name) == ("north.key", "north.card")
    again = Identity.load(key)
    assert again.card == identity("north").card
    assert again.key_pem() == identity("north").key_pem()
    assert Identity.load(key, card=identity("north").card).name == "north"


def test_the_key_is_for_its_owner_alone_from_the_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    real = os.fdopen

    def watched(handle: int, how: str) -> object:
        modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return real(handle, how)

    monkeypatch.setattr(os, "fdopen", watched)
    before = os.umask(0)
    try:
        key, _ = identity("north").save(tmp_path)
        identity("north").save(tmp_path, force=True)
    finally:
        os.umask(before)
    assert modes[0] == modes[2] == 0o600
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_keys_are_not_overwritten_by_accident(tmp_path: Path) -> None:
    key, card = identity("north").save(tmp_path)
    kept = key.read_bytes(), card.read_bytes()
    with pytest.raises(FileError, match="exists already"):
        identity("north", again=1).save(tmp_path)
    key.unlink()
    with pytest.raises(FileError, match=r"north\.card exists already"):
        identity("north", again=1).save(tmp_path)
    assert not key.exists(), "no key without its card"
    identity("north", again=1).save(tmp_path, force=True)
    assert card.read_bytes() != kept[1]
    assert Identity.load(key).card == identity("north", again=1).card
    assert sorted(p.name for p in tmp_path.iterdir()) == ["north.card", "north.key"]


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    key, _ = identity("north").save(tmp_path)
    key.chmod(0o640)
    with pytest.raises(FileError, match="others on this machine") as found:
        Identity.load(key)
    assert "chmod 600" in found.value.hint


def test_what_is_no_key_is_told_so_whoever_may_read_it(tmp_path: Path) -> None:
    _, card = identity("north").save(tmp_path)
    rows = tmp_path / "north.csv"
    rows.write_text("y,a\n1,2\n")
    half = tmp_path / "half.key"
    half.write_bytes((tmp_path / "north.key").read_bytes()[:99])
    said = (
        (card, "not a private key but a card", "titan keys new"),
        (rows, "not a private key", "titan keys new"),
        (half, "not a private key", "restore it from a backup"),
    )
    for path, words, hint in said:
        path.chmod(0o644)
        with pytest.raises(FileError, match=words) as found:
            Identity.load(path)
        assert hint in found.value.hint
        assert "chmod" not in found.value.hint


def test_a_key_of_somebody_else_is_refused(tmp_path: Path) -> None:
    key, _ = identity("north").save(tmp_path)
    for other in (identity("east").card, identity("north", again=1).card):
        with pytest.raises(FileError, match="not the key of"):
            Identity.load(key, card=other)


@pytest.mark.parametrize("what", ["nothing", "noise", "password", "rsa", "p384", "card"])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path: Path, what: str) -> None:
    def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, word: bytes = b"") -> bytes:
        return key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(word) if word else serialization.NoEncryption(),
        )

    make: dict[str, Callable[[], bytes]] = {
        "nothing": lambda: b"",
        "noise": lambda: b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "password": lambda: pem(ec.generate_private_key(ec.SECP256R1()), b"word"),
        "rsa": lambda: pem(rsa.generate_private_key(65537, 2048)),
        "p384": lambda: pem(ec.generate_private_key(ec.SECP384R1())),
        "card": lambda: identity("north").card.to_toml().encode(),
    }
    path = tmp_path / "north.key"
    path.write_bytes(make[what]())
    path.chmod(0o600)
    with pytest.raises(FileError, match=r"north\.key: not a") as found:
        Identity.load(path, card=identity("north").card)
    assert "BEGIN" not in str(found.value)
    with pytest.raises(FileError, match=r"absent\.key cannot be read: no such file"):
        Identity.load(tmp_path / "absent.key")


def test_no_repr_shows_the_key(tmp_path: Path) -> None:
    it = identity("north")
    secret = it.key_pem().decode().splitlines()[1]
    number = it._key.private_numbers().private_value
    for shown in (repr(it), str(it), f"{it}", repr(it.card), str(vars(it.card))):
        assert secret not in shown
        assert str(number) not in shown
        assert f"{number:x}" not in shown
    with pytest.raises(TypeError):
        pickle.dumps(it)


# -- cards ------------------------------------------------------------------------------------


def test_a_card_reads_back_as_itself(tmp_path: Path) -> None:
    card = identity("north").card
    assert Card.parse(card.to_toml()) == card
    card.save(tmp_path / "north.card")
    assert Card.load(tmp_path / "north.card") == card
    assert Card.parse(card.to_toml().replace("\n", "\r\n")) == card
    assert "PRIVATE" not in card.to_toml()


def test_the_fingerprint_is_that_of_the_der_form() -> None:
    card = identity("north").card
    certificate = x509.load_pem_x509_certificate(card.certificate.encode())
    assert card.fingerprint == certificate.fingerprint(hashes.SHA256()).hex()
    assert card.recognises(card.certificate)
    assert card.recognises(card.certificate.encode())
    assert not card.recognises(identity("north", again=1).card.certificate)
    for junk in (b"", b"\xff", "no certificate", card.certificate * 2):
        assert not card.recognises(junk)


def test_a_certificate_binds_no_address_and_no_number() -> None:
    certificate = x509.load_pem_x509_certificate(identity("north").card.certificate.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [certs.SERVER_NAME]
    assert len(names) == 1
    assert b"example.org" not in certificate.public_bytes(serialization.Encoding.DER)
    assert certificate.serial_number > 2**64
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert not basic.ca, "nobody can issue certificates below a pinned one"


def test_a_certificate_is_good_for_its_days_only() -> None:
    card = identity("north", days=10).card
    for good in (MADE - timedelta(hours=23), MADE, MADE + timedelta(days=10)):
        card.check_valid(good)
    for days, words in ((-2, "is not valid before 2023-12-31"), (11, "expired on 2024-01-11")):
        now = MADE + timedelta(days=days)
        with pytest.raises(InputError, match=f'certificate of "north" {words}') as found:
            card.check_valid(now)
        assert f"{now:%Y-%m-%d}" in found.value.hint, "it may be the clock"
        assert "clock" in found.value.hint


@pytest.mark.parametrize("days", [0, -1, 36_501])
def test_odd_spans_of_time_are_refused(days: int) -> None:
    with pytest.raises(InputError, match="certificate for"):
        Identity.create("north", "north:1", now=NOW, days=days)


BAD_CARDS: dict[str, Callable[[str], str]] = {
    "name is missing": lambda t: t.replace("name =", "nome ="),
    "colour is not known": lambda t: 'colour = "red"\n' + t,
    "name is a whole number": lambda t: t.replace('"north"', "7"),
    "address 'north.example.org' cannot": lambda t: t.replace(":7443", ""),
    "certificate is not one certificate": lambda t: t.replace("-----END", "x----END"),
    "certificate was not made for": lambda t: t.replace('"north"', '"east"'),
    "not a card: not TOML": lambda t: t + "[",
    "name cannot be a party's": lambda t: t.replace('"north"', '" north"'),
    "name '../north' cannot be used in": lambda t: t.replace('"north"', '"../north"'),
    "name has 65 characters": lambda t: t.replace('"north"', f'"{"n" * 65}"'),
    "certificate holds a private key": lambda t: t.replace(
        '"""\n', '"""\n' + identity("north").key_pem().decode(), 1
    ),
    "more than 65536 characters": lambda t: t + "#" * 70_000,
}  # fmt: skip


@pytest.mark.parametrize("message", BAD_CARDS)
def test_a_bad_card_is_refused_by_file_and_key(message: str) -> None:
    text = BAD_CARDS[message](identity("north").card.to_toml())
    with pytest.raises(FileError) as found:
        Card.parse(text, "north.card")
    assert found.value.message.startswith("north.card: " + message)
    assert "BEGIN" not in str(found.value)


def test_a_card_of_unreadable_bytes(tmp_path: Path) -> None:
    path = tmp_path / "north.card"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="not UTF-8"):
        Card.load(path)
    path.write_bytes(b"#" * 70_000)
    with pytest.raises(FileError, match="more than 65536 bytes"):
        Card.load(path)
    with pytest.raises(FileError, match="is a directory"):
        Card.load(tmp_path)


def foreign(kind: str) -> str:
    """Certificates that others' tools make: none of them is one of ours."""
    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
    key = ec.generate_private_key(ec.SECP384R1() if kind == "p384" else ec.SECP256R1())
    if kind == "ed25519":
        key = ed25519.Ed25519PrivateKey.generate()
    if kind == "rsa":
        key = rsa.generate_private_key(65537, 2048)
    signer = ec.generate_private_key(ec.SECP256R1()) if kind == "other signer" else key
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "north")])
    unit = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "north")
    subject = x509.Name([unit]) if kind == "no common name" else name
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(MADE)
        .not_valid_after(MADE + timedelta(days=1))
    )
    for extension, critical in certs._EXTENSIONS:
        if isinstance(extension, x509.BasicConstraints) and kind == "authority":
            extension = x509.BasicConstraints(ca=True, path_length=None)
        builder = builder.add_extension(extension, critical=critical)
    if kind == "more extensions":
        builder = builder.add_extension(x509.OCSPNoCheck(), critical=False)
    algorithm = hashes.SHA384() if kind == "sha384" else hashes.SHA256()
    return certs.pem_of(builder.sign(signer, None if kind == "ed25519" else algorithm))


@pytest.mark.parametrize(
    "kind",
    ["p384", "rsa", "ed25519", "other signer", "no common name", "authority", "more extensions",
     "sha384"],
)  # fmt: skip
def test_a_certificate_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="certificate"):
        Card("north", "north:1", foreign(kind))


def with_serial(number: int) -> str:
    """A certificate like ours but for its serial number, which no library would make."""

    def der(tag: int, *parts: bytes) -> bytes:
        body = b"".join(parts)
        size = len(body)
        return bytes([tag, *([size] if size < 128 else [0x82, size >> 8, size & 255])]) + body

    pem = identity("north").card.certificate
    ours, key = x509.load_pem_x509_certificate(pem.encode()), identity("north")._key
    long = number.to_bytes(max(1, number.bit_length() // 8 + 1), "big", signed=True)
    head, version = 4, bytes.fromhex("a003020102")
    content = ours.tbs_certificate_bytes[head:]
    assert content.startswith(version + b"\x02")
    rest = content[len(version) + 2 + content[len(version) + 1] :]
    tbs = der(0x30, version, der(2, long), rest)
    signature = key.sign(tbs, ec.ECDSA(hashes.SHA256()))
    ecdsa = bytes.fromhex("300a06082a8648ce3d040302")
    return ssl.DER_cert_to_PEM_cert(der(0x30, tbs, ecdsa, der(3, b"\0", signature)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("serial", [0, -1, -128, -(2**100)])
def test_a_serial_number_that_is_not_positive_is_refused(serial: int) -> None:
    pem = with_serial(serial)
    with pytest.raises(InputError, match="serial number that is not positive"):
        Card("north", "north:1", pem)
    assert not identity("north").card.recognises(pem)
    card = identity("north").card.to_toml().replace(identity("north").card.certificate, pem)
    with pytest.raises(FileError, match=r"north\.card: certificate has a serial number"):
        Card.parse(card, "north.card")


@pytest.mark.parametrize("serial", [1, 127, 128, 2**64, 2**159 - 1])
def test_serial_numbers_that_are_positive_are_not(serial: int) -> None:
    pem = with_serial(serial)
    assert Card("north", "north:1", pem).name == "north"


def test_the_foreign_certificates_differ_in_that_alone() -> None:
    assert Card("north", "north:1", foreign("none")).name == "north"


# -- addresses --------------------------------------------------------------------------------


def test_addresses_have_one_form() -> None:
    assert checked_address("North.Example.ORG:7443") == "north.example.org:7443"
    assert checked_address("[2001:DB8:0::7]:1") == "[2001:db8::7]:1"
    assert checked_address("192.0.2.7:65535") == "192.0.2.7:65535"
    assert checked_address("localhost:80") == "localhost:80"


@pytest.mark.parametrize(
    "address",
    ["", ":", "north", "north:", "north:0", "north:65536", "north:07", "north:٣", ":7443",
     "unix:/x:1", "unix:1x", "dns://8.8.8.8/x:1", "http://north:1", "a b:1", "nörth:1",
     "-north:1", "north-:1", "a..b:1", "300.1.1.1:1", "1.2.3:1", "[::1:1", "::1:1",
     "[fe80::1%e]:1", "[::g]:1", "a" * 64 + ":1", "north:1\n", "north,east:1", "user@north:1",
     ".:1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="address"):
        checked_address(address)


# -- signatures -------------------------------------------------------------------------------


def test_a_signature_is_of_one_party_and_of_one_text() -> None:
    north, east = identity("north"), identity("east")
    signature = north.sign(b"data")
    assert len(signature) == 64
    assert north.card.verify(signature, b"data")
    assert not north.card.verify(signature, b"datb")
    assert not east.card.verify(signature, b"data")
    assert not identity("north", again=1).card.verify(signature, b"data")


@given(st.integers(0, 63), st.integers(1, 255))
def test_a_changed_signature_is_refused(at: int, flip: int) -> None:
    it = identity("north")
    signature = bytearray(it.sign(b"data"))
    signature[at] ^= flip
    assert not it.card.verify(bytes(signature), b"data")


def test_a_signature_has_one_form() -> None:
    it = identity("north")
    for _ in range(8):
        signature = it.sign(b"data")
        r, s = signature[:32], int.from_bytes(signature[32:], "big")
        twin = r + (_ORDER - s).to_bytes(32, "big")
        assert it.card.verify(signature, b"data")
        assert not it.card.verify(twin, b"data")
    for odd in (b"", signature[:-1], signature + b"\0", bytes(64), b"\xff" * 64):
        assert not it.card.verify(odd, b"data")


def test_times_need_a_zone() -> None:
    with pytest.raises(TypeError):
        identity("north").card.check_valid(datetime(2025, 1, 1))
    assert identity("north").card.not_after.tzinfo is UTC


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "[0:0::0]"])  # noqa: S104
def test_nobody_dials_all_addresses(host: str) -> None:
    assert checked_address(f"{host}:7443").endswith(":7443")  # titan join listens there
    with pytest.raises(InputError, match="nobody can dial it") as refused:
        dialled_address(f"{host}:7443", dials_only=False)
    assert "titan join --listen" in refused.value.hint


def test_who_only_dials_out_needs_no_address() -> None:
    made = Identity.create("north", "", now=NOW, dials_only=True).card
    assert Card.parse(made.to_toml()) == made
    assert (made.address, made.place) == ("", "only dials out")
    with pytest.raises(InputError, match="does not end in a port"):
        Identity.create("north", "", now=NOW)
