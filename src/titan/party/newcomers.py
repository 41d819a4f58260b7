"""Connections of whoever has not shown yet who it is: so many of each address, so many in all.

Whoever listens is found by strangers, and each of their connections costs a descriptor.
"""

# Rule 1: the oldest go first: who has just come is given the time to shake hands.
# Rule 2: an address has its own bound, so that one alone does not send all others away.

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Generic, TypeVar

Caller = TypeVar("Caller")


class Newcomers(Generic[Caller]):
    """In the order in which they came."""

    def __init__(self, per_address: int, in_all: int) -> None:
        self._per_address = per_address
        self._in_all = in_all
        self._sites: dict[Caller, str] = {}
        self._at: dict[str, dict[Caller, None]] = defaultdict(dict)

    def add(self, caller: Caller, host: str) -> list[Caller]:
        """Who is too many now; they are newcomers no more."""
        site = site_of(host)
        self._sites[caller] = site
        self._at[site][caller] = None
        ended: list[Caller] = []
        if len(self._at[site]) > self._per_address:
            ended.append(next(iter(self._at[site])))
        elif len(self._sites) > self._in_all:
            ended.append(next(iter(self._sites)))
        for each in ended:
            self.discard(each)
        return ended

    def discard(self, caller: Caller) -> bool:
        """It has shown who it is, or has gone; whether it was one of these."""
        site = self._sites.pop(caller, None)
        if site is None:
            return False
        del self._at[site][caller]
        if not self._at[site]:
            del self._at[site]
        return True

    def __contains__(self, caller: object) -> bool:
        return caller in self._sites

    def __iter__(self) -> Iterator[Caller]:
        return iter(list(self._sites))

    def __len__(self) -> int:
        return len(self._sites)


def site_of(host: str) -> str:
    """Whose an address is: of IPv6, whoever has one has all that begin with the same 64 bits."""
    host = plain(host)
    return str(ip_network(f"{host}/64", strict=False)) if ":" in host else host


def plain(host: str) -> str:
    """An IPv4 address as such, though the socket takes both kinds."""
    address = ip_address(host.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
