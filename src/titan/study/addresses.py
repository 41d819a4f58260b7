"""Where a party can be reached: host:port, and nothing that a dialler would read as anything else.

An address comes from another party. A name resolver takes targets such as `unix:/path` or
`dns://server/name` too; those are not addresses.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address

from titan.errors import InputError

_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)


def checked_address(address: str) -> str:
    """The address in its one form: the host in lower case, an IPv6 address in brackets."""
    host, colon, port = address.rpartition(":")
    if not colon or not _PORT.fullmatch(port) or int(port) > 65_535:
        raise _refused(address, "it does not end in a port from 1 to 65535")
    return f"{_host(address, host.lower())}:{port}"


def on_loopback(address: str) -> bool:
    """Whether it is one of a machine's addresses for itself."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host(address: str, host: str) -> str:
    try:
        if host.startswith("[") and host.endswith("]") and "%" not in host:
            return f"[{IPv6Address(host[1:-1])}]"
        if host.replace(".", "").isdecimal():
            return str(IPv4Address(host))
    except AddressValueError:
        raise _refused(address, "its number is not an IP address") from None
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise _refused(address, "it does not begin with a host name or an IP address")
    return host


def _refused(address: str, why: str) -> InputError:
    return InputError(
        f"address {address[:80]!a} cannot be used: {why}",
        hint="such as north.example.org:7443, 192.0.2.7:7443 or [2001:db8::7]:7443",
    )
