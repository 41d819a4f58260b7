"""File descriptors: how many this process may have, and which connections of strangers hold them.

Whoever listens is found by strangers, and each of their connections costs a descriptor. gRPC bounds
how long a handshake may take and how many connections there are in all, but not those of one
address. A listener of our own in front of it could count them; but every byte of a run would pass
through it, and through this process twice. Instead the sockets of this very process are looked at,
whenever many connections have come: of those on which nobody has opened a stream, the oldest of an
address that has too many are shut down, and gRPC closes them as it closes any that broke.
"""

# Rule 1: a connection on which a party of the study has opened a stream is never shut down here.
# Rule 2: the oldest go first: who has just come is given the time to shake hands.
# Rule 3: a descriptor is looked at through a copy, and shut down only if it is the one that was
#         meant: gRPC, in threads of its own, may close it at any time, and the number goes round.

from __future__ import annotations

import os
import socket
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import unquote

from titan.files import MORE_DESCRIPTORS

PER_ADDRESS = 512  # connections without a stream; a party needs one, for an instant
_ENOUGH = 1 << 20  # descriptors; some systems have no limit, and refuse to be asked for that
NONE_LEFT = f"this process has no file descriptor left; {MORE_DESCRIPTORS}"

Peer = tuple[str, int]
"""The address of the other end, and its port."""


def raise_limit() -> int:
    """Raise the soft limit of descriptors to the hard one; the limit that holds then."""
    try:
        import resource
    except ImportError:  # a system without such a limit
        return _ENOUGH
    which, unlimited = resource.RLIMIT_NOFILE, resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(which)
    wanted = _ENOUGH if hard == unlimited else hard
    if soft not in (wanted, unlimited):
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(which, (wanted, hard))
            soft = wanted
    return _ENOUGH if soft == unlimited else soft


class UnusedConnections:
    """Connections to one port on which nobody has opened a stream; at most so many of each."""

    def __init__(self, port: int, per_address: int, in_all: int) -> None:
        self._port = port
        self._per_address = per_address
        self._in_all = in_all
        self._oldest_first: list[Peer] = []

    def end_oldest(self, used: Collection[Peer]) -> dict[str, int]:
        """Shut down those beyond the bounds; how many of which address."""
        open_ = {peer: fd for fd, peer in self._connections() if peer not in used}
        known = [peer for peer in self._oldest_first if peer in open_]
        self._oldest_first = list(dict.fromkeys([*known, *open_]))
        ended: dict[str, int] = defaultdict(int)
        for peer in self._excess(len(used)):
            if self._end(open_[peer], peer):
                ended[peer[0]] += 1
        return dict(ended)

    def _excess(self, used: int) -> list[Peer]:
        """Of every address, then of all that are left, the oldest that are too many."""
        by_address: dict[str, list[Peer]] = defaultdict(list)
        for peer in self._oldest_first:
            by_address[_site(peer[0])].append(peer)
        found = {p for peers in by_address.values() for p in peers[: -self._per_address]}
        left = [peer for peer in self._oldest_first if peer not in found]
        return [*found, *left[: max(0, len(left) + used - self._in_all)]]

    def _connections(self) -> Iterator[tuple[int, Peer]]:
        try:
            numbers = [int(entry.name) for entry in Path("/dev/fd").iterdir()]
        except OSError:  # a system without such a list: gRPC's own bounds must do
            return
        for number in numbers:
            with suppress(OSError), _copy(number) as connection:
                if (peer := self._peer(connection)) is not None:
                    yield number, peer

    def _peer(self, connection: socket.socket) -> Peer | None:
        """Who is at the other end, if this end is the port that others dial."""
        here = connection.getsockname()
        if not isinstance(here, tuple) or here[1] != self._port:
            return None
        there = connection.getpeername()
        return _plain(there[0]), there[1]

    def _end(self, fd: int, peer: Peer) -> bool:
        with suppress(OSError), _copy(fd) as connection:
            if self._peer(connection) == peer:
                connection.shutdown(socket.SHUT_RDWR)
                return True
        return False


def _copy(fd: int) -> socket.socket:
    """OSError for what is not a socket. An address tells its family by itself, if it has room."""
    copy = os.dup(fd)
    try:
        return socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 0, copy)
    except OSError:
        os.close(copy)
        raise


def peer_of(text: str) -> Peer:
    """What gRPC calls the other end: `ipv4:192.0.2.7:4711`, or `ipv6:%5B::1%5D:4711`."""
    host, _, port = unquote(text).partition(":")[2].rpartition(":")
    return _plain(host.strip("[]")), int(port)


def _site(host: str) -> str:
    """Whose an address is: of IPv6, whoever has one has all that begin with the same 64 bits."""
    return str(ip_network(f"{host}/64", strict=False)) if ":" in host else host


def _plain(host: str) -> str:
    """An IPv4 address as such, though the socket takes both kinds."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
