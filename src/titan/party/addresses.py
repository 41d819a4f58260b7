"""Where a party listens: at the addresses of this machine that its name stands for, not at all.

The study says where others dial; by default that is also where this party listens. Where it is
another machine's address (a router that forwards a port), only `--listen` can say what is meant.
Who dials tries all addresses of a name.
"""

# Rule: whatever cannot be listened at is an error that says why, before anybody is dialled.

from __future__ import annotations

import asyncio
import errno
import os
import socket
from ipaddress import ip_address

from titan.errors import BusyError, PeerError, WaitError
from titan.party.descriptors import NONE_LEFT
from titan.study.identity import on_loopback

_NAMES = "--listen ADDRESS:{port} names one, and --listen 0.0.0.0:{port} stands for all of them"
_BACKLOG = 1024  # connections that the system takes before this process does
ONE_OF_SEVERAL = 2.0  # seconds for one address of a name to take a connection
TRIES, TRY_AGAIN = 10, 0.2  # times, and seconds in between: a run that ends lets go of its port


async def check_port(address: str) -> None:
    """That this party could listen there, now or in a moment; PeerError says why not."""
    for place in to_listen_at(address):
        for _ in range(TRIES - 1):
            if _trouble_at(place) is None:
                break
            await asyncio.sleep(TRY_AGAIN)
        if (error := _trouble_at(place)) is not None:
            raise cannot_listen(place, error)


def _trouble_at(place: str) -> OSError | None:
    """Why nobody can listen there; None if somebody can."""
    host, _, port = place.rpartition(":")
    try:
        _bind(host.strip("[]"), int(port))
    except OSError as error:
        return error
    return None


def to_listen_at(address: str) -> list[str]:
    """The addresses of this machine, as numbers with a port, that `address` stands for."""
    host, _, port = address.rpartition(":")
    numbers = _numbers(host, port)
    local = [number for number in numbers if _is_local(number)]
    found = f"{host}:{port}" if numbers == [host.strip("[]")] else f"{host} ({', '.join(numbers)})"
    if not local:
        raise PeerError(
            f"cannot listen at {found}: that is not an address of this machine",
            hint="behind a router or a port forwarding, listen at an address of this machine: "
            + _NAMES.format(port=port),
        )
    if not on_loopback(address) and host not in numbers and all(map(_only_here, local)):
        raise PeerError(
            f"cannot listen at {found}: this machine alone knows itself by that address, and "
            "others could not dial it",
            hint=f"look for {host} in /etc/hosts; {_NAMES.format(port=port)}",
        )
    return [f"[{number}]:{port}" if ":" in number else f"{number}:{port}" for number in local]


def _numbers(host: str, port: str) -> list[str]:
    """What a name stands for on this machine; a number stands for itself."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise WaitError(  # at boot, say, when nothing can be looked up yet
            f"cannot listen at {host}: the name cannot be looked up ({error.strerror})",
            hint=f"check name resolution on this machine (getent hosts {host}); "
            + _NAMES.format(port=port),
        ) from None
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def _only_here(number: str) -> bool:
    return ip_address(number.partition("%")[0]).is_loopback


def _is_local(number: str) -> bool:
    try:
        _bind(number, 0)
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True


def _bind(number: str, port: int) -> None:
    """Take it for a moment."""
    with _listening_at(number, port):
        pass


def listening_at(place: str) -> socket.socket:
    """What others dial; OSError where nobody can listen there."""
    host, _, port = place.rpartition(":")
    return _listening_at(host.strip("[]"), int(port))


def _listening_at(number: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in number else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((number, port))
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


_TAKEN = "another program listens there"
_REASONS = {
    errno.EADDRINUSE: (_TAKEN, "is this party running already? "),
    errno.EACCES: ("this user may not use that port", "take one above 1023: "),
    errno.EMFILE: (NONE_LEFT, ""),
    errno.ENFILE: ("this machine has no file descriptor left", ""),
}


def cannot_listen(address: str, error: OSError) -> PeerError:
    """Why, and what helps."""
    why, what = _REASONS.get(error.errno or 0, ((error.strerror or "").lower(), ""))
    hint = f"{what}--listen names another place"
    found = PeerError(f"cannot listen at {address}: {why}", hint=hint)
    if why == _TAKEN:  # by a run that is ending, perhaps
        found.exit_status = BusyError.exit_status
    return found


async def connected(address: str) -> socket.socket:
    """A connection to the first address of a name that takes one; OSError where none does."""
    loop, (host, _, port) = asyncio.get_running_loop(), address.rpartition(":")
    found = await loop.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    failed: OSError = ConnectionRefusedError()
    for family, kind, protocol, _, place in found:
        try:
            async with asyncio.timeout(None if len(found) == 1 else ONE_OF_SEVERAL):
                return await _connected(socket.socket(family, kind, protocol), place)
        except OSError as error:
            failed = error
    raise failed


async def _connected(made: socket.socket, place: tuple[object, ...]) -> socket.socket:
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, place)
    except BaseException:
        made.close()
        raise
    return made
