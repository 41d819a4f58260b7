"""Parties are dialled through the HTTP proxy that was named, and the log says so; its password is
nowhere to be read, and this machine's own addresses are never dialled through it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote

import pytest

from tests.party.loopback import NAMES, Gathering, answers_agree, run
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.errors import InputError
from titan.party import streams
from titan.party.proxies import DIRECTLY, EXCEPTIONS, VARIABLES, Proxies, Proxy
from titan.party.streams import Dialler, NoConnectionError, Stream
from titan.party.taking_part import Choices
from titan.study import Card

PASSWORD = "s3cr@t"  # noqa: S105 - of nobody


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, *EXCEPTIONS):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def connecting_proxy(answer: bytes = b"200 OK") -> AsyncIterator[tuple[str, list[str]]]:
    """Its URL, and what it was asked; all names stand for this machine."""
    port, asked = free_port(), list[str]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        status, target = answer, int(head.split()[1].rpartition(":")[2])
        try:
            if status.startswith(b"200"):
                there = await asyncio.open_connection("127.0.0.1", target)
        except ConnectionRefusedError:
            status = b"502 Bad Gateway"
        writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n")
        if not status.startswith(b"200"):
            writer.write(b"<p>with a page for people</p>")
            writer.close()
            return
        try:
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))
        finally:
            there[1].transport.abort()
            writer.transport.abort()

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            target.write(data)
        target.close()

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        yield f"http://titan:{quote(PASSWORD)}@127.0.0.1:{port}", asked


def elsewhere(g: Gathering) -> None:
    """Everybody has a name that only the proxy knows."""
    cards = [replace(c, address=f"{c.name}.invalid:{c.address[10:]}") for c in g.study.parties]
    g.study = replace(g.study, parties=tuple(cards))


async def all_join(g: Gathering, proxy: str | None = None) -> None:
    parties = [
        g.joining(name, proxy=proxy, listen=g.identities[name].card.address) for name in NAMES
    ]
    await asyncio.gather(*parties)
    answers_agree(g)


@pytest.mark.parametrize("variable", ["", "https_proxy"])
def test_a_run_through_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    g = Gathering(tmp_path)
    elsewhere(g)

    async def story() -> None:
        async with connecting_proxy() as (url, asked):
            if variable:
                monkeypatch.setenv(variable, url)
            monkeypatch.setenv("no_proxy", "example.org")
            await all_join(g, None if variable else url)
            dialled = {head.split()[1].partition(".")[0] for head in asked}
            assert dialled == set(NAMES)
            token = base64.b64encode(f"titan:{PASSWORD}".encode()).decode()
            assert all(f"Proxy-Authorization: Basic {token}" in head for head in asked)
            place = url.rpartition("@")[2]
            assert f"east: dialled through the proxy {place}" in g.told["north"]

    run(story())
    said = "\n".join(line for lines in g.told.values() for line in lines)
    assert PASSWORD not in said
    assert quote(PASSWORD) not in said


def test_loopback_addresses_are_dialled_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = Gathering(tmp_path)

    async def story() -> None:
        async with connecting_proxy() as (url, asked):
            for name in VARIABLES:
                monkeypatch.setenv(name, url)
            await all_join(g, url)
            assert asked == []

    run(story())
    assert not any("proxy" in line for lines in g.told.values() for line in lines)


# -- what may go wrong ------------------------------------------------------------------------


async def trouble(url: str) -> str:
    """With a party at a port where nobody answers."""
    east = Card("east", "east.invalid:1", identity("east").card.certificate)
    dialler = Dialler(identity("north"), east, Proxies.of(url, {}))

    async def listen(stream: Stream) -> None:
        await stream.read()

    with pytest.raises(NoConnectionError) as failed:
        await dialler.stream(listen)
    return str(failed.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"403 Forbidden", "refuses to connect (HTTP 403): it must allow CONNECT to it"),
        (b"407 Who", "refuses to connect (HTTP 407): it does not accept this user and password"),
        (b"200 OK", "cannot reach it (HTTP 502)"),
        (b"302 Found\r\nLocation: /", "refuses to connect (HTTP 302): it must allow CONNECT to it"),
        (b"100 Go on\r\n\r\nHTTP/1.1 503 Full", "cannot reach it (HTTP 503)"),
        (b"203 Hm", "does not answer as an HTTP proxy does"),
        (b"\n" * (1 << 15), "does not answer as an HTTP proxy does"),
        (b"100 Go on\r\n\r\nHTTP/1.1 " * 999, "does not answer as an HTTP proxy does"),
    ],
)
def test_a_proxy_that_does_not_connect(answer: bytes, words: str) -> None:
    async def story() -> None:
        async with connecting_proxy(answer) as (url, _):
            assert await trouble(url) == f"the proxy {url.rpartition('@')[2]} {words}"

    run(story())


def test_a_proxy_that_wants_to_know_who_asks() -> None:
    async def story() -> None:
        async with connecting_proxy(b"407 Who") as (url, _):
            place = url.rpartition("@")[2].removeprefix("http://")
            assert (await trouble(f"http://{place}")).endswith("it wants a user and password")

    run(story())


def test_a_proxy_that_is_not_there() -> None:
    place = f"127.0.0.1:{free_port()}"
    assert run(trouble(f"http://{place}")) == f"the proxy {place} does not answer"
    said = run(trouble("http://titan:pw@proxy.invalid:3128"))
    assert said == "the name of the proxy cannot be looked up: proxy.invalid"


def test_a_proxy_behind_which_nobody_answers() -> None:
    """It has connected, and nothing comes: the proxy is not the one to look for."""

    async def story() -> None:
        over = asyncio.Event()

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while await reader.read(1 << 16):
                pass
            writer.close()
            await writer.wait_closed()
            over.set()

        place = f"127.0.0.1:{free_port()}"
        async with await asyncio.start_server(connect, *place.split(":")):
            said = await trouble(f"http://{place}")
            await over.wait()
        assert said == f"no answer in time from the proxy {place}, or through it"

    with patch.object(streams, "_DIALLING", 0.5):
        run(story())


def test_no_exceptions_are_made_but_by_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever no_proxy says: what is dialled is what the log says."""
    monkeypatch.setenv("no_proxy", "invalid")
    place = f"127.0.0.1:{free_port()}"
    assert run(trouble(f"http://{place}")) == f"the proxy {place} does not answer"


# -- which proxy ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exceptions", "address", "used"),
    [
        ("", "east.example.org:7443", True),
        ("", "localhost:7443", False),
        ("", "127.3.2.1:7443", False),
        ("", "[::1]:7443", False),
        ("*", "east.example.org:7443", False),
        ("example.org", "east.example.org:7443", False),
        (" other.org , .example.org", "east.example.org:7443", False),
        ("*.example.org", "east.example.org:7443", False),
        ("example.org:7443", "east.example.org:7443", False),
        ("example.org:1", "east.example.org:7443", True),
        ("ample.org", "east.example.org:7443", True),
        ("192.0.2.7", "192.0.2.7:7443", False),
        ("192.0.2.0/24", "192.0.2.7:7443", False),
        ("192.0.3.0/24,2001:db8::/32", "192.0.2.7:7443", True),
        ("2001:db8::/32", "[2001:db8::7]:7443", False),
        ("192.0.2.7:7443", "192.0.2.7:7443", False),
        (",", "192.0.2.7:7443", True),
    ],
)
def test_no_proxy_names_exceptions(exceptions: str, address: str, used: bool) -> None:
    environment = {"https_proxy": "http://proxy:3128", "no_proxy": exceptions}
    for proxies in (Proxies.of(None, environment), Proxies.of("http://proxy:3128", environment)):
        assert (proxies.for_address(address) is not None) == used


def test_the_option_goes_before_the_variables() -> None:
    environment = {"all_proxy": "http://third:1", "https_proxy": "http://second:2"}
    assert str(Proxies.of("http://first:3", environment).proxy) == "first:3"
    assert str(Proxies.of(None, environment).proxy) == "second:2"
    assert Proxies.of(None, {}) == DIRECTLY
    assert Proxies.of(None, {"http_proxy": "http://for-http:1"}) == DIRECTLY


@pytest.mark.parametrize(
    "url",
    [
        f"socks5://titan:{PASSWORD}@proxy:1080",
        f"https://titan:{PASSWORD}@proxy:443",
        f"titan:{PASSWORD}@proxy:3128",
        f"http://titan:{PASSWORD}@proxy:3128/path",
        f"http://titan:{PASSWORD}@proxy:99999",
        f"http://titan:{PASSWORD}@pro xy:3128",
        f"http://titan:{PASSWORD}@[::x]:3128",
        "http://",
    ],
)
def test_what_is_not_a_proxy_is_said_without_repeating_it(url: str) -> None:
    with pytest.raises(InputError) as refused:
        Proxies.of(url, {})
    assert refused.value.message == "--proxy is not the address of an HTTP proxy"
    assert PASSWORD not in str(refused.value)
    ignored = Proxies.of(None, {"https_proxy": url})
    assert ignored.proxy is None
    words = "https_proxy is not the address of an HTTP proxy, and is not used"
    assert ignored.warning("east.example.org:7443") == words
    assert ignored.warning("127.0.0.1:7443") == ""


def test_no_repr_has_a_password() -> None:
    url = f"http://titan:{quote(PASSWORD)}@proxy.example.org"
    found = Proxy.read(url, "--proxy")
    assert (str(found), found.url) == ("proxy.example.org:80", url)
    for each in (found, Proxies.of(url, {}), Choices(proxy=url)):
        assert quote(PASSWORD) not in repr(each)
