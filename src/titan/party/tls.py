"""gRPC with TLS 1.3 alone: whoever needs gRPC takes it from here.

gRPC has no switch for the version of TLS. It has one for the cipher suites of TLS 1.2, which it
reads once, when it is imported; those of TLS 1.3 are not chosen there. The one suite that is left
here needs an RSA key, and parties have P-256 keys: no two of them can agree on TLS 1.2.
"""

# Rule 1: no other module imports gRPC, since the first import decides.
# Rule 2: where somebody else imported it before, no link is opened.
# Rule 3: once begun, gRPC's thread stays to the end of the process. When the last server or channel
#         is collected, gRPC waits for that thread, for ever if anything of theirs is still pending.

from __future__ import annotations

import os
import sys

from titan.errors import InputError

__all__ = ["check", "grpc"]

_VARIABLE = "GRPC_SSL_CIPHER_SUITES"
_SUITES = "ECDHE-RSA-AES128-GCM-SHA256"
_too_late = "grpc" in sys.modules and os.environ.get(_VARIABLE) != _SUITES
os.environ[_VARIABLE] = _SUITES
# Names mean what they mean to every other program here: gRPC's own resolver knows only DNS.
os.environ.setdefault("GRPC_DNS_RESOLVER", "native")
# Which connections go through a proxy is decided in `proxies`, exceptions included. With this set,
# gRPC does not look at no_proxy; and it stands for no machine.
os.environ["no_grpc_proxy"] = "none.invalid"  # noqa: SIM112 - it is spelt so

import grpc  # noqa: E402
import grpc.aio  # noqa: E402

_begun: set[int] = set()  # in which process, since one may be a fork of another


def check() -> None:
    """Refuse to go on with a gRPC that would speak TLS 1.2; otherwise begin with it."""
    if _too_late:
        raise InputError(
            "gRPC was imported before titan, and would speak TLS 1.2 as well",
            hint=f"import titan.party.tls first, or set {_VARIABLE}={_SUITES} for the process",
        )
    if os.getpid() not in _begun:
        grpc.aio.init_grpc_aio()  # type: ignore[attr-defined]
        _begun.add(os.getpid())
