"""Both ends of a link know each other by their pins: real gRPC over real TLS, on loopback.

A server trusts the pinned certificates of those who may call, asks for one, and compares what it
is shown with the pin of whom it expects; a client trusts the one certificate it expects. TLS lets
no expired certificate pass; whether ours has expired we check ourselves besides (Card.check_valid).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.study.parties import EXPIRED, MADE, identity
from titan.party.tls import grpc
from titan.study import Card, Identity
from titan.study.certificates import _EXTENSIONS, SERVER_NAME, pem_of

OPTIONS = [("grpc.ssl_target_name_override", SERVER_NAME)]


class Doorman(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in the stubs only
    """Answers with the name of the pinned party that calls, and turns all others away."""

    def __init__(self, expected: Sequence[Card]) -> None:
        self.expected = expected

    def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        shown = bytes(context.auth_context()["x509_pem_cert"][0])
        for card in self.expected:
            if card.recognises(shown):
                return card.name.encode()
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "a stranger")
        raise AssertionError("abort does not come back")


@contextmanager
def server(it: Identity, trusted: Sequence[Card], expected: Sequence[Card]) -> Iterator[int]:
    roots = "".join(card.certificate for card in trusted).encode()
    credentials = grpc.ssl_server_credentials(
        [(it.key_pem(), it.card.certificate.encode())], roots, require_client_auth=True
    )
    running = grpc.server(ThreadPoolExecutor(1), options=[("grpc.so_reuseport", 0)])
    running.add_generic_rpc_handlers((Doorman(expected),))
    port = running.add_secure_port("127.0.0.1:0", credentials)
    running.start()
    try:
        yield port
    finally:
        running.stop(None).wait()


def ask(channel: grpc.Channel) -> bytes:
    return bytes(channel.unary_unary("/titan.Test/who", bytes, bytes)(b"", timeout=60))


def call(port: int, peer: Card, key: bytes | None, chain: str | None) -> bytes:
    credentials = grpc.ssl_channel_credentials(
        peer.certificate.encode(), key, None if chain is None else chain.encode()
    )
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials, OPTIONS) as channel:
        return ask(channel)


def call_as(port: int, peer: Card, it: Identity) -> bytes:
    return call(port, peer, it.key_pem(), it.card.certificate)


NORTH, EAST, SOUTH = identity("north"), identity("east"), identity("south")
IMPOSTOR = identity("north", again=1)


@contextmanager
def refused(*codes: grpc.StatusCode) -> Iterator[None]:
    with pytest.raises(grpc.RpcError) as found:
        yield
    assert found.value.code() in (codes or (grpc.StatusCode.UNAVAILABLE,))


@pytest.fixture(scope="module")
def east() -> Iterator[int]:
    with server(EAST, [NORTH.card, SOUTH.card], [NORTH.card]) as port:
        yield port


def test_both_ends_recognise_each_other(east: int) -> None:
    assert call_as(east, EAST.card, NORTH) == b"north"


def test_an_impostor_of_the_same_name_is_refused(east: int) -> None:
    with refused():
        call_as(east, EAST.card, IMPOSTOR)


def test_a_stranger_is_refused(east: int) -> None:
    with refused():
        call_as(east, EAST.card, identity("mallory"))


def test_a_client_without_a_certificate_is_refused(east: int) -> None:
    with refused():
        call(east, EAST.card, None, None)


def test_a_party_of_the_study_whom_this_link_does_not_expect_is_refused(east: int) -> None:
    with refused(grpc.StatusCode.PERMISSION_DENIED):
        call_as(east, EAST.card, SOUTH)


def test_a_client_refuses_a_server_with_another_certificate(east: int) -> None:
    for expected in (SOUTH.card, identity("east", again=1).card):
        with refused():
            call_as(east, expected, NORTH)


def test_a_plaintext_client_is_refused(east: int) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{east}") as channel, refused():
        ask(channel)


def test_a_certificate_issued_by_a_pinned_one_is_refused(east: int) -> None:
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
    with refused():
        call(east, EAST.card, deputy.key_pem(), chain)


def test_expired_certificates_are_refused_on_both_sides() -> None:
    old_north = identity("north", made=EXPIRED, days=1)
    old_east = identity("east", made=EXPIRED, days=1)
    both = [NORTH.card, old_north.card]
    with server(EAST, both, both) as port:
        with refused():
            call_as(port, EAST.card, old_north)
        assert call_as(port, EAST.card, NORTH) == b"north"
    with server(old_east, [NORTH.card], [NORTH.card]) as port, refused():
        call_as(port, old_east.card, NORTH)
