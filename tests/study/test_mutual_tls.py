"""Both ends of a link know each other by their pins: real TLS, bytes passed on in memory.

A listener accepts the pinned certificates of those who may dial, and asks for one; a dialler
accepts the one certificate it expects. TLS lets no expired certificate pass; whether ours has
expired we check ourselves besides (Card.check_valid).
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.study.parties import EXPIRED, MADE, identity
from titan.party.tls import Expected, Tls, TlsError
from titan.study import Card, Identity
from titan.study.certificates import _EXTENSIONS, pem_of

NORTH, EAST, SOUTH = identity("north"), identity("east"), identity("south")
IMPOSTOR = identity("north", again=1)


def listening(it: Identity, cards: Sequence[Card]) -> Tls:
    return Tls(Expected(it, cards), dials=False)


def dialling(it: Identity, card: Card) -> Tls:
    return Tls(Expected(it, [card]), dials=True)


def shake_hands(dialler: Tls, listener: Tls) -> None:
    """Until both are content; TlsError as soon as one is not."""
    content = set()
    for _ in range(3):
        for end, other in ((dialler, listener), (listener, dialler)):
            if end.shake_hands():
                content.add(end)
            other.take(memoryview(end.due()))
    assert content == {dialler, listener}


def by_another_program(listener: Tls, pem: Path | None) -> None:
    """One that accepts everybody dials, and shows what is in a file, if anything."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pem is not None:
        context.load_cert_chain(pem)
    came, due = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialler = context.wrap_bio(came, due)
    for _ in range(3):
        with suppress(ssl.SSLWantReadError):
            dialler.do_handshake()
        listener.take(memoryview(due.read()))
        listener.shake_hands()
        came.write(listener.due())


def east() -> Tls:
    return listening(EAST, [NORTH.card])


def test_both_ends_recognise_each_other() -> None:
    listener, dialler = listening(EAST, [NORTH.card, SOUTH.card]), dialling(NORTH, EAST.card)
    shake_hands(dialler, listener)
    assert listener.peer == NORTH.card
    assert dialler.peer == EAST.card


def test_an_impostor_of_the_same_name_is_refused() -> None:
    with pytest.raises(TlsError):
        shake_hands(dialling(IMPOSTOR, EAST.card), east())


def test_a_stranger_is_refused() -> None:
    with pytest.raises(TlsError):
        shake_hands(dialling(identity("mallory"), EAST.card), east())


def test_a_party_of_the_study_whom_this_link_does_not_expect_is_refused() -> None:
    with pytest.raises(TlsError):
        shake_hands(dialling(SOUTH, EAST.card), east())


def test_a_client_without_a_certificate_is_refused() -> None:
    with pytest.raises(TlsError):
        by_another_program(east(), None)


def test_a_client_refuses_a_server_with_another_certificate() -> None:
    for expected in (SOUTH.card, identity("east", again=1).card):
        with pytest.raises(TlsError, match="a certificate that is not the study's"):
            shake_hands(dialling(NORTH, expected), east())


def test_a_plaintext_client_is_refused() -> None:
    listener = east()
    listener.take(memoryview(b"GET / HTTP/1.0\r\n\r\n"))
    with pytest.raises(TlsError):
        listener.shake_hands()


def test_a_certificate_issued_by_a_pinned_one_is_refused(tmp_path: Path) -> None:
    """A pinned certificate is no authority: its owner cannot vouch for further keys."""
    key = ec.generate_private_key(ec.SECP256R1())
    north = x509.load_pem_x509_certificate(NORTH.card.certificate.encode())
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "deputy")]))
        .issuer_name(north.subject)
        .public_key(key.public_key())
        .serial_number(9)
        .not_valid_before(MADE)
        .not_valid_after(MADE + timedelta(days=36_000))
    )
    for extension, critical in _EXTENSIONS:
        builder = builder.add_extension(extension, critical=critical)
    deputy = Identity(NORTH.card, key)  # only to have the key's PEM
    chain = pem_of(builder.sign(NORTH._key, hashes.SHA256())) + NORTH.card.certificate
    pem = tmp_path / "deputy.pem"
    pem.write_bytes(deputy.key_pem() + chain.encode())
    with pytest.raises(TlsError):
        by_another_program(east(), pem)
    pem.write_bytes(NORTH.key_pem() + NORTH.card.certificate.encode())
    by_another_program(east(), pem)


def test_expired_certificates_are_refused_on_both_sides() -> None:
    old_north = identity("north", made=EXPIRED, days=1)
    old_east = identity("east", made=EXPIRED, days=1)
    both = [NORTH.card, old_north.card]
    today = f"{datetime.now(UTC).date()}"
    here = rf"its certificate has expired, by the clock here \({today}\): set this machine's clock"
    with pytest.raises(TlsError, match=here):
        shake_hands(dialling(old_north, EAST.card), listening(EAST, [old_north.card]))
    with pytest.raises(TlsError):
        shake_hands(dialling(old_north, EAST.card), listening(EAST, both))
    shake_hands(dialling(NORTH, EAST.card), listening(EAST, both))
    with pytest.raises(TlsError, match=here):
        shake_hands(dialling(NORTH, old_east.card), listening(old_east, [NORTH.card]))


def hear(end: Tls) -> None:
    """That it is refused, of which who dialled hears only when its own hands are shaken."""
    end.shake_hands()
    end.receive_into(memoryview(bytearray(9)))


SOON = datetime.now(UTC) + timedelta(days=99)
EXPIRED_THERE = "this party's certificate has expired, by the clock there"
NOT_YET_THERE = "this party's certificate is not valid yet, by the clock there"


@pytest.mark.parametrize(
    ("made", "here", "there"),
    [
        (EXPIRED, "its certificate has expired, by the clock here", EXPIRED_THERE),
        (SOON, "its certificate is not valid yet, by the clock here", NOT_YET_THERE),
    ],
)
@pytest.mark.parametrize("dials", [True, False])
def test_both_ends_say_by_whose_clock_a_certificate_is_out_of_date(
    made: datetime, here: str, there: str, dials: bool
) -> None:
    """Whichever end dialled; another's certificate is called another's, of whatever date."""
    old = identity("north", made=made, days=1)
    for card, words in ((old.card, here), (SOUTH.card, "a certificate that is not the study's")):
        owner = Tls(Expected(old, [EAST.card]), dials=dials)
        other = Tls(Expected(EAST, [card]), dials=not dials)
        with pytest.raises(TlsError, match=words) as raised:
            shake_hands(*((owner, other) if dials else (other, owner)))
        assert other.out_of_date == (str(raised.value) if card is old.card else "")
        owner.take(memoryview(other.due()))
        with pytest.raises(TlsError, match=there if card is old.card else "does not know"):
            hear(owner)
        assert owner.out_of_date == ""
