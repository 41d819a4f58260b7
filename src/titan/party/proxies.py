"""Through which HTTP proxy a party is dialled, if through any: `--proxy`, or the usual variables.

The proxy is asked to CONNECT and then passes bytes on: TLS is from party to party as ever, and the
proxy sees whom this party dials, when, and how much.
"""

# Rule 1: what is used is what the log says.
# Rule 2: a proxy's URL may hold a password; it is in no message, log or repr. host:port may be.
# Rule 3: this machine's own addresses are never dialled through a proxy.

from __future__ import annotations

import asyncio
import base64
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Self
from urllib.parse import unquote, urlsplit

from titan.errors import InputError
from titan.party.addresses import connected
from titan.study.identity import checked_address, on_loopback

VARIABLES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
EXCEPTIONS = ("no_proxy", "NO_PROXY")
_MOST_ANSWER = 1 << 14  # bytes of a proxy's answer
_ANSWER = re.compile(rb"HTTP/1\.[01] (\d{3})\b.*?\r?\n\r?\n", re.DOTALL)
_LIKE = "such as http://proxy.example.org:3128, or http://user:password@proxy.example.org:3128"


class ProxyRefusedError(OSError):
    """It does not pass the connection on. Without a status, its answer was not that of a proxy."""

    def __init__(self, status: str = "") -> None:
        super().__init__()
        self.status = status


@dataclass(frozen=True)
class Proxy:
    """One that passes connections on."""

    place: str
    """host:port"""
    url: str = field(repr=False)

    @classmethod
    def read(cls, url: str, said_by: str) -> Self:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or 80
            host = f"[{host}]" if ":" in host else host
            place = checked_address(f"{host}:{port}")
        except ValueError:  # an InputError too: neither may repeat what was given
            place = ""
        rest = "" if not place else parts.path.strip("/") + parts.query + parts.fragment
        if not place or parts.scheme != "http" or rest:
            raise InputError(f"{said_by} is not the address of an HTTP proxy", hint=_LIKE)
        return cls(place, f"http://{parts.netloc}")

    async def connect(self, address: str) -> socket.socket:
        """A connection to `address` that it passes on; OSError where there is none."""
        loop, made = asyncio.get_running_loop(), await connected(self.place)
        try:
            await loop.sock_sendall(made, self._request(address))
            heard, at = b"", 0
            while (answer := _ANSWER.match(heard, at)) is None or answer[1][:1] == b"1":
                if answer is not None:  # there is more to come
                    at = answer.end()
                    continue
                more = await loop.sock_recv(made, _MOST_ANSWER)
                heard += more
                if not more or len(heard) > _MOST_ANSWER:
                    raise ProxyRefusedError
            if answer[1][:1] != b"2":
                raise ProxyRefusedError(answer[1].decode())
            if answer.end() < len(heard):  # a listener never speaks first: this is not TLS
                raise ProxyRefusedError
        except BaseException:
            made.close()
            raise
        return made

    @property
    def names_user(self) -> bool:
        """Whether its URL has a user and perhaps a password."""
        return urlsplit(self.url).username is not None

    def _request(self, address: str) -> bytes:
        parts, lines = urlsplit(self.url), [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            token = base64.b64encode(user.encode()).decode()
            lines.append(f"Proxy-Authorization: Basic {token}")
        return "\r\n".join([*lines, "", ""]).encode()

    def __str__(self) -> str:
        return self.place


@dataclass(frozen=True)
class Proxies:
    """Which addresses are dialled through which proxy; by default none."""

    proxy: Proxy | None = None
    exceptions: str = ""
    unusable: str = ""
    """What a variable has, if not a proxy that can be used."""

    @classmethod
    def of(cls, given: str | None, environment: Mapping[str, str]) -> Self:
        """As `--proxy` says, or else the first variable that says something."""
        exceptions = next(filter(None, map(environment.get, EXCEPTIONS)), "")
        if given:
            return cls(Proxy.read(given, "--proxy"), exceptions)
        name = next((name for name in VARIABLES if environment.get(name)), "")
        if not name:
            return cls()
        try:
            return cls(Proxy.read(environment[name], name), exceptions)
        except InputError as error:  # it may be meant for other programs
            return cls(None, exceptions, f"{error.message}, and is not used")

    def for_address(self, address: str) -> Proxy | None:
        return self.proxy if self._concerns(address) else None

    def warning(self, address: str) -> str:
        return self.unusable if self._concerns(address) else ""

    def _concerns(self, address: str) -> bool:
        """Whether it is not dialled directly in any case."""
        if on_loopback(address):
            return False
        return not any(_matches(each.strip(), address) for each in self.exceptions.split(","))


DIRECTLY = Proxies()


def _matches(exception: str, address: str) -> bool:
    """`*`, a name and all below it, a number or a network of them; a port may stand behind."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if exception == "*":
        return True
    try:
        number = ip_address(host)
    except ValueError:
        name, _, only = exception.lower().removeprefix("*").lstrip(".").partition(":")
        return bool(name) and only in ("", port) and f".{host}".endswith(f".{name}")
    try:
        return number in ip_network(exception.strip("[]"), strict=False)
    except ValueError:
        return exception == address
