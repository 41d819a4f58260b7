"""Why a link is down, in words: what gRPC says of a call that failed, for the people who wait."""

from __future__ import annotations

import re

from titan.party.descriptors import NONE_LEFT
from titan.party.proxies import Proxy
from titan.party.tls import grpc

_LOOKUP = re.compile(
    r"lookup failed for \[?(?P<name>[^\s\]]+?)\]?:\d+"
    r"(?: os_error: (?P<system>.*?) syscall|: (?P<other>[^\]]+))?",
    re.IGNORECASE | re.DOTALL,
)
_PROXY = re.compile(r"proxy returned response code (\d+)")
_MEANINGS = (
    ("CERTIFICATE_VERIFY_FAILED", "it answered with a certificate that is not the study's"),
    ("CERTIFICATE_EXPIRED", "it does not accept this party's certificate"),
    ("ALERT_UNKNOWN_CA", "it does not know this party's certificate"),
    ("ALERT_BAD_CERTIFICATE", "it does not know this party's certificate"),
    ("WRONG_VERSION_NUMBER", "whoever answers there does not speak TLS"),
    ("not expected", "it does not expect this party"),
    ("Connection refused", "nobody answers there yet"),
    ("Too many open files", f"no connection: {NONE_LEFT}"),
    ("handshake", "the TLS handshake failed"),
)


def explained(error: grpc.aio.AioRpcError, proxy: Proxy | None = None) -> str:
    """What a failed call means for the link, which may go through a proxy."""
    details = error.details() or ""
    if proxy is not None and (trouble := _with_proxy(details, proxy)):
        return trouble
    if found := _LOOKUP.search(details):
        name, reason = found["name"], found["system"] or found["other"] or "no reason given"
        return (
            f"the name {name} cannot be looked up ({reason.strip().lower()}): check the address in "
            f"the study, and name resolution on this machine (getent hosts {name})"
        )
    for sign, meaning in _MEANINGS:
        if sign.lower() in details.lower():
            return meaning
    return f"no connection ({error.code().name.lower().replace('_', ' ')})"


def _with_proxy(details: str, proxy: Proxy) -> str:
    """What is the proxy's, not the party's behind it."""
    if answered := _PROXY.search(details):
        code = answered[1]
        if code.startswith("5"):
            return f"the proxy {proxy} cannot reach it (HTTP {code})"
        why = "it wants a user and a password" if code == "407" else "it must allow CONNECT to it"
        return f"the proxy {proxy} refuses to connect (HTTP {code}): {why}"
    if found := _LOOKUP.search(details):
        return f"the name of the proxy cannot be looked up: {found['name']}"
    return f"the proxy {proxy} does not answer" if "Connection refused" in details else ""


def is_lookup(error: grpc.aio.AioRpcError) -> bool:
    """Whether it is a name that could not be looked up."""
    return _LOOKUP.search(error.details() or "") is not None
