"""Why there is no connection, in words for the people who wait for it."""

from __future__ import annotations

import errno
import os
import socket

from titan.party.connection import LOST, StreamEndedError
from titan.party.descriptors import NONE_LEFT
from titan.party.proxies import Proxy, ProxyRefusedError


class NoConnectionError(Exception):
    """Somebody was dialled, and is not reached."""


def explained(
    error: OSError | StreamEndedError, address: str, proxy: Proxy | None
) -> NoConnectionError:
    """What a failed try to connect means for the link, which may go through a proxy."""
    if isinstance(error, StreamEndedError):
        return NoConnectionError("the TLS handshake failed" if str(error) == LOST else str(error))
    if isinstance(error, ProxyRefusedError):
        return NoConnectionError(_refused_by(proxy, error.status))
    if isinstance(error, socket.gaierror):
        return NoConnectionError(_not_looked_up(error, address, proxy))
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return NoConnectionError(f"no connection: {NONE_LEFT}")
    if proxy is not None and isinstance(error, TimeoutError):
        return NoConnectionError(f"no answer in time from the proxy {proxy}, or through it")
    if proxy is not None:
        return NoConnectionError(f"the proxy {proxy} does not answer")
    if error.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return NoConnectionError("nobody answers there yet")
    if isinstance(error, TimeoutError):
        return NoConnectionError("no connection (no answer in time)")
    why = os.strerror(error.errno) if error.errno else "unavailable"  # asyncio has words of its own
    return NoConnectionError(f"no connection ({why.lower()})")


def _refused_by(proxy: Proxy | None, status: str) -> str:
    if not status:
        return f"the proxy {proxy} does not answer as an HTTP proxy does"
    if status.startswith("5"):
        return f"the proxy {proxy} cannot reach it (HTTP {status})"
    why = "it must allow CONNECT to it"
    if status == "407":
        given = proxy is not None and proxy.names_user
        why = f"it {'does not accept this' if given else 'wants a'} user and password"
    return f"the proxy {proxy} refuses to connect (HTTP {status}): {why}"


def _not_looked_up(error: socket.gaierror, address: str, proxy: Proxy | None) -> str:
    if proxy is not None:
        return f"the name of the proxy cannot be looked up: {proxy.place.rpartition(':')[0]}"
    name = address.rpartition(":")[0]
    return (
        f"the name {name} cannot be looked up ({(error.strerror or 'no reason given').lower()}): "
        f"check the address in the study, and name resolution on this machine (getent hosts {name})"
    )
