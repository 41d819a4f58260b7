"""One end of a TLS 1.3 connection, without a socket: bytes go in, bytes come out.

It is the OpenSSL that `cryptography` brings along, driven by pyOpenSSL. Whatever OpenSSL the system
has, this one knows the post-quantum key exchange X25519MLKEM768, and offers it first.
"""

# Rule 1: TLS 1.3 on both sides, nothing older.
# Rule 2: OpenSSL trusts the certificates that are expected and no other, and finds them good today;
#         whichever is shown is compared with them besides, byte for byte, before anything is said.
# Rule 3: nothing calls back from OpenSSL: that needs memory that can be written and executed, which
#         hardened systems refuse, and so does our service unit (MemoryDenyWriteExecute=).
# Rule 4: whatever OpenSSL raises leaves here as `TlsError`, in words for the people who wait.

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from socket import MSG_PEEK

from cryptography.hazmat.bindings.openssl.binding import Binding
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from OpenSSL import SSL, crypto

from titan.study import Card, Identity, certificates
from titan.study.certificates import SERVER_NAME

_openssl = Binding()  # the one that pyOpenSSL uses
_from_buffer = _openssl.ffi.from_buffer
_read, _error = _openssl.lib.SSL_read, _openssl.lib.SSL_get_error
_leave = _openssl.lib.BIO_read
_WANT_READ = _openssl.lib.SSL_ERROR_WANT_READ
AT_ONCE = 1 << 19  # bytes that are encrypted, or taken from the system
_RECORDS = AT_ONCE + (AT_ONCE >> 14) * 64 + 256  # bytes that so much text becomes, and more
_PARTIAL_WRITE = 1  # SSL_MODE_ENABLE_PARTIAL_WRITE
_ANOTHER = "it answered with a certificate that is not the study's"
_NOT_TLS = "whoever answers there does not speak TLS"
_UNKNOWN = "the TLS handshake failed"
_FALSE = "TLS does not accept what came: it was altered on its way, or false from the start"
_OVER = "the connection was closed"
_OUT_OF_DATE = {
    _openssl.lib.X509_V_ERR_CERT_NOT_YET_VALID: (
        "its certificate is not valid yet, by the clock here ({today}): compare the clocks of the "
        "two machines"
    ),
    _openssl.lib.X509_V_ERR_CERT_HAS_EXPIRED: (
        "its certificate has expired, by the clock here ({today}): set this machine's clock if "
        "that is wrong; else that party makes new keys, and a new study is made with its new card"
    ),
}
"""What is wrong with a certificate that is the study's: OpenSSL looks at its dates last."""
_ALERT = re.compile(r"alert ([a-z ]+)")
_MEANINGS = {
    "certificate verify failed": _ANOTHER,
    "alert certificate expired": (
        "this party's certificate has expired, by the clock there: that machine's clock is set if "
        "it is wrong; else make new keys here, and a new study with the new card"
    ),
    "alert unknown ca": "it does not know this party's certificate",
    "alert bad certificate": (  # so OpenSSL calls one that is not valid yet
        "this party's certificate is not valid yet, by the clock there, or is damaged: compare the "
        "clocks of the two machines"
    ),
    "alert certificate unknown": "it does not know this party's certificate",
    "wrong version number": _NOT_TLS,
    "packet length too long": _NOT_TLS,
    "http request": _NOT_TLS,
    "record layer failure": _NOT_TLS,
    "unsupported protocol": "it does not speak TLS 1.3",
    "alert protocol version": "it does not speak TLS 1.3",
}


class TlsError(Exception):
    """This connection is of no use, or over."""


class Expected:
    """What this party shows, and the certificates that it accepts from the other end."""

    def __init__(self, identity: Identity, cards: Iterable[Card]) -> None:
        self._cards = {_der(card): card for card in cards}
        self.buffer = bytearray(AT_ONCE)
        """For what comes from the system, of all these connections: it is taken at once."""
        self.keep_leaving()
        made = SSL.Context(SSL.TLS_METHOD)
        made.set_min_proto_version(SSL.TLS1_3_VERSION)
        made.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        made.clear_mode(_PARTIAL_WRITE)  # all records of a text in one call
        made.use_certificate(certificates.read(identity.card.certificate))
        key = load_pem_private_key(identity.key_pem(), None)
        made.use_privatekey(key)  # type: ignore[arg-type]  # one of a curve, as it checks itself
        trusted = made.get_cert_store()
        for der in self._cards:
            if trusted is not None:
                trusted.add_cert(crypto.load_certificate(crypto.FILETYPE_ASN1, der))
        made.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT)
        self.context = made

    def keep_leaving(self) -> None:
        """What was due last is not on its way yet: leave its memory to whoever has it."""
        self.leaving = bytearray(_RECORDS)

    def card(self, shown: crypto.X509 | None) -> Card | None:
        return None if shown is None else self._cards.get(_shown(shown))


def _der(card: Card) -> bytes:
    return certificates.read(card.certificate).public_bytes(Encoding.DER)


def _shown(certificate: crypto.X509) -> bytes:
    return crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate)


class Tls:
    """One connection: of who dialled, or of who was dialled."""

    def __init__(self, expected: Expected, *, dials: bool) -> None:
        self._expected = expected
        self._end = SSL.Connection(expected.context, None)
        if dials:
            self._end.set_tlsext_host_name(SERVER_NAME.encode())
            self._end.set_connect_state()
        else:
            self._end.set_accept_state()

    def shake_hands(self) -> bool:
        """Go on with what came; whether both ends have shown who they are."""
        try:
            self._end.do_handshake()
        except SSL.WantReadError:
            return False
        except SSL.Error as error:
            raise _explained(error, self._of_handshake) from None
        if self.peer is None:  # one that was made by a party of the study, say
            raise TlsError(_ANOTHER)
        return True

    @property
    def peer(self) -> Card | None:
        """Who is at the other end, once hands are shaken."""
        return self._expected.card(self._end.get_peer_certificate())

    @property
    def out_of_date(self) -> str:
        """Why the dates of the other end's certificate do not fit the clock here; or empty."""
        found = _openssl.lib.SSL_get_verify_result(self._end._ssl)
        return _OUT_OF_DATE.get(found, "").format(today=datetime.now(UTC).date())

    def _of_handshake(self, said: str) -> str:
        words = next((words for sign, words in _MEANINGS.items() if sign in said), _UNKNOWN)
        return (words == _ANOTHER and self.out_of_date) or words

    # -- what travels -------------------------------------------------------------------------

    def take(self, data: memoryview) -> None:
        """Bytes that came along the connection."""
        while data:
            data = data[self._end.bio_write(data) :]

    def due(self) -> memoryview:
        """Bytes that are to go along it, in memory that all these connections share: whoever cannot
        send them before the next are asked for says so (`Expected.keep_leaving`). Empty: no more.
        """
        leaving = self._expected.leaving
        size = _leave(self._end._from_ssl, _from_buffer(leaving), len(leaving))
        return memoryview(leaving)[: max(0, size)].toreadonly()

    # -- what it says -------------------------------------------------------------------------

    def send(self, text: bytes | memoryview) -> None:
        try:
            self._end.sendall(text)
        except SSL.Error as error:
            raise _explained(error) from None

    def receive_into(self, buffer: memoryview) -> int:
        """How many bytes of text came, at most as many as fit; 0 where more has to come first.

        OpenSSL itself is asked, record after record: pyOpenSSL would take as long for each as it
        takes to decrypt it, and copy it once more.
        """
        end, target, rest, got = self._end._ssl, _from_buffer(buffer), len(buffer), 0
        while rest:
            more = _read(end, target + got, rest)
            if more <= 0:
                if not got and _error(end, more) != _WANT_READ:
                    self._say_why()
                break
            got, rest = got + more, rest - more
        return got

    def _say_why(self) -> None:
        """Why nothing more will come."""
        try:
            self._end.recv(1, MSG_PEEK)
        except SSL.WantReadError:
            pass
        except SSL.Error as error:
            raise _explained(error) from None


def _of_record(said: str) -> str:
    """Once hands are shaken here; there, this party's certificate may be looked at only then."""
    alert = _ALERT.search(said)
    if alert is not None:
        ended = f"TLS at the other end ended the connection ({alert[1]})"
        return next((words for sign, words in _MEANINGS.items() if sign in alert[0]), ended)
    return _FALSE if said.strip("[]") else _OVER


def _explained(error: SSL.Error, meaning: Callable[[str], str] = _of_record) -> TlsError:
    if isinstance(error, SSL.ZeroReturnError):
        return TlsError(_OVER)
    return TlsError(meaning(str(error).lower()))
