"""Links speak TLS 1.3 and nothing older, and their key exchange is post-quantum."""

from __future__ import annotations

import asyncio
import re
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import titan
from tests.party.ports import free_port
from tests.party.test_streams import two_ends
from tests.study.parties import identity
from titan.party.connection import StreamEndedError
from titan.party.streams import Dialler, Listener, NoConnectionError, Stream
from titan.party.tls import Expected, Tls, TlsError
from titan.party.wire import Bytes
from titan.study import Card

NORTH, EAST = identity("north"), identity("east")
X25519MLKEM768 = 0x11EC
_KEY_SHARE, _SUPPORTED_VERSIONS = 51, 43
Work = Callable[[int], Awaitable[None]]


async def greet(_: Card, stream: Stream) -> None:
    await stream.write(b"hello")


async def with_listener(work: Work) -> None:
    port = free_port()
    listener = Listener(EAST, [NORTH.card], f"127.0.0.1:{port}", greet, lambda _: None)
    await listener.start()
    try:
        await work(port)
    finally:
        await listener.close(0)


async def dialled(port: int) -> Bytes | None:
    heard: list[Bytes | None] = []

    async def listen(stream: Stream) -> None:
        heard.append(await stream.read())

    await Dialler(NORTH, Card("east", f"127.0.0.1:{port}", EAST.card.certificate)).stream(listen)
    return heard[0]


def context(purpose: int, version: ssl.TLSVersion, folder: Path, name: str) -> ssl.SSLContext:
    it = NORTH if name == "north" else EAST
    key, _ = it.save(folder, force=True)
    chain = folder / f"{name}.pem"
    chain.write_text(it.card.certificate)
    made = ssl.SSLContext(purpose)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.load_cert_chain(chain, key)
    made.minimum_version = made.maximum_version = version
    return made


# -- TLS 1.3 alone ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_who_dials_with_tls_1_2_is_turned_away(version: ssl.TLSVersion, tmp_path: Path) -> None:
    async def knock(port: int) -> None:
        secure = context(ssl.PROTOCOL_TLS_CLIENT, version, tmp_path, "north")
        dial = asyncio.open_connection("127.0.0.1", port, ssl=secure)
        if version is ssl.TLSVersion.TLSv1_2:
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await dial
            return
        reader, writer = await dial
        assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"
        assert await reader.read(9) == b"\5\0\0\0hello", "this end is let in"
        writer.transport.abort()  # at once: nobody waits for the other end's farewell

    asyncio.run(with_listener(knock))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_dialler_does_not_speak_tls_1_2(version: ssl.TLSVersion, tmp_path: Path) -> None:
    met: list[str] = []

    async def story() -> None:
        async def meet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            met.append(writer.get_extra_info("ssl_object").version())
            writer.transport.abort()

        secure, port = context(ssl.PROTOCOL_TLS_SERVER, version, tmp_path, "east"), free_port()
        async with await asyncio.start_server(meet, "127.0.0.1", port, ssl=secure):
            with pytest.raises((NoConnectionError, StreamEndedError)):  # nobody here says more
                await dialled(port)

    asyncio.run(story())
    assert set(met) == (set() if version is ssl.TLSVersion.TLSv1_2 else {"TLSv1.3"})


def test_one_module_drives_openssl() -> None:
    root, imports = Path(titan.__file__).parent, re.compile(r"^\s*(import|from)\s+OpenSSL\b", re.M)
    found = {
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if imports.search(file.read_text(encoding="utf-8"))
    }
    assert found == {"party/tls.py"}


# -- what is told where TLS fails --------------------------------------------------------------


def shaken() -> tuple[Tls, Tls]:
    """North, who dialled, and east; both have shown who they are."""
    north = Tls(Expected(NORTH, [EAST.card]), dials=True)
    east = Tls(Expected(EAST, [NORTH.card]), dials=False)
    for one, other in ((north, east), (east, north), (north, east), (east, north)):
        one.shake_hands()
        other.take(memoryview(one.due()))
    assert north.shake_hands()
    assert east.shake_hands()
    assert north.receive_into(memoryview(bytearray(9))) == 0
    return north, east


@pytest.mark.parametrize("at", [0, 1, 4, 20], ids=["kind", "version", "length", "text"])
def test_a_false_record_after_the_handshake_is_called_one(at: int) -> None:
    """Not a handshake that failed, nor somebody who does not speak TLS."""
    north, east = shaken()
    north.send(b"hello" * 10)  # so that the false length is a smaller one
    record = bytearray(north.due())
    record[at] ^= 1
    east.take(memoryview(record))
    with pytest.raises(TlsError, match="TLS does not accept what came: it was altered"):
        east.receive_into(memoryview(bytearray(99)))
    with pytest.raises(TlsError, match="the connection was closed"):
        east.send(b"hello")
    north.take(memoryview(east.due()))
    with pytest.raises(TlsError, match=r"TLS at the other end ended the connection \([a-z ]+\)"):
        north.receive_into(memoryview(bytearray(99)))


def test_a_stream_tells_of_a_false_record() -> None:
    async def story() -> None:
        async with two_ends() as (north, east):
            north._connection._transport.write(b"\x17\x03\x03\x00\x20" + bytes(32))
            with pytest.raises(StreamEndedError, match="TLS does not accept what came"):
                await east.read()

    asyncio.run(story())


def test_rubbish_instead_of_a_handshake_is_not_tls() -> None:
    east = Tls(Expected(EAST, [NORTH.card]), dials=False)
    east.take(memoryview(b"\x17\x03\x03\xff\xff" + bytes(99)))
    with pytest.raises(TlsError, match="does not speak TLS"):
        east.shake_hands()


# -- who is let in ---------------------------------------------------------------------------


def meets(north: Tls, east: Tls) -> bool:
    """Whether east lets north in; TlsError says why not."""
    for _ in range(3):
        north.shake_hands()
        east.take(memoryview(north.due()))
        if east.shake_hands():
            return True
        north.take(memoryview(east.due()))
    return False


@pytest.mark.parametrize("north_dials", [True, False])
def test_no_certificate_but_those_of_the_study_is_let_in(north_dials: bool) -> None:
    """Whatever OpenSSL thinks of it: here it trusts one that the study does not have."""
    ours, theirs = Expected(EAST, [NORTH.card]), Expected(NORTH, [EAST.card])
    ends = Tls(theirs, dials=north_dials), Tls(ours, dials=not north_dials)
    assert meets(*ends)
    ours._cards.clear()
    ends = Tls(theirs, dials=north_dials), Tls(ours, dials=not north_dials)
    with pytest.raises(TlsError, match="a certificate that is not the study's"):
        meets(*ends)


# -- the key exchange -------------------------------------------------------------------------


def hello(record: bytes) -> dict[int, bytes]:
    """The extensions of a ClientHello or a ServerHello, the first message of its end."""
    assert record[0] == 22
    message = record[5:]
    at = 4 + 2 + 32
    at += 1 + message[at]  # the session
    if message[0] == 1:
        at += 2 + int.from_bytes(message[at : at + 2], "big")  # cipher suites
        at += 1 + message[at]  # compression
    else:
        at += 3
    end = at + 2 + int.from_bytes(message[at : at + 2], "big")
    at, found = at + 2, {}
    while at < end:
        kind, size = (int.from_bytes(message[i : i + 2], "big") for i in (at, at + 2))
        found[kind] = message[at + 4 : at + 4 + size]
        at += 4 + size
    return found


def test_the_key_exchange_is_post_quantum() -> None:
    said: dict[str, bytes] = {"dialler": b"", "listener": b""}

    async def through_a_proxy(port: int) -> None:
        async def copy(who: str, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
            while data := await source.read(1 << 16):
                said[who] += data
                to.write(data)
            to.close()

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there = await asyncio.open_connection("127.0.0.1", port)
            try:
                await asyncio.gather(
                    copy("dialler", reader, there[1]), copy("listener", there[0], writer)
                )
            finally:
                there[1].transport.abort()
                writer.transport.abort()

        outer = free_port()
        async with await asyncio.start_server(pass_on, "127.0.0.1", outer):
            assert await dialled(outer) == b"hello"

    asyncio.run(with_listener(through_a_proxy))
    offered, chosen = hello(said["dialler"]), hello(said["listener"])
    assert chosen[_SUPPORTED_VERSIONS] == b"\3\4", "TLS 1.3"
    assert int.from_bytes(chosen[_KEY_SHARE][:2], "big") == X25519MLKEM768
    assert offered[_KEY_SHARE][2:4] == X25519MLKEM768.to_bytes(2, "big"), "offered first"


_HARDENED = """
import asyncio, ctypes, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE
    sys.exit(99)
from tests.party.test_tls import dialled, with_listener
heard = []
async def work(port): heard.append(await dialled(port))
asyncio.run(with_listener(work))
assert heard == [b"hello"]
"""


def test_no_memory_is_needed_that_can_be_written_and_executed() -> None:
    """The service unit forbids it, and so do hardened systems."""
    if sys.platform != "linux":
        pytest.skip("Linux can forbid it")
    command = [sys.executable, "-c", _HARDENED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 99:
        pytest.skip("this kernel cannot forbid it")
    assert (done.returncode, done.stderr) == (0, "")
