"""Who may see the pages: the browser that brought the code from the terminal, and no other.

Other programs and other people's pages can reach a port of this machine too. So a request must
name this machine as its host (a name on the internet may point here), a form must come from a page
of ours, and everything but the door needs the session that a code was exchanged for.

All ports of a host share its cookies. So each session has its pages below a path of its own, which
nobody can guess, and its cookie is for that path: no other program is asked for it. The path is not
a key. It follows from the session by a hash, and opens nothing without the cookie.
"""

# Rule 1: whatever is not expected is refused, before any page is asked.
# Rule 2: a code opens one session. After a few wrong ones there is another.
# Rule 3: no page may load, run or send to anything that is not here.
# Rule 4: a session's path is told to the browser that signed in, and to nobody else: not in the
#         terminal, nor in the address that a browser is started with, which others may list.

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from titan.protocol.masking import fresh_key
from titan.web.layout import BELOW

Scope = Any
Receive = Any
Send = Any

DOOR = "/enter"
OPEN = (DOOR, "/static/")
MOST_BYTES = 1 << 21  # of a form: cards and studies are small, and rows are never sent
_WRONG = 5  # codes, until there is another
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A form tells where it comes from (under "no-referrer" it could not); other sites and other
    # ports are never told of this one.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass
class Sessions:
    """Codes that open a session once, and the sessions that are open."""

    tell: Callable[[str], None] = field(default=lambda _: None, repr=False)
    """Called with every new code."""
    code: str = field(default="", repr=False)
    _open: set[str] = field(default_factory=set, repr=False)
    _wrong: int = 0

    def __post_init__(self) -> None:
        self._renew()

    def exchange(self, said: str) -> str | None:
        """A session for the code, which is then used up; None for a wrong one."""
        plain = "".join(said.split()).replace("-", "").lower()
        if not hmac.compare_digest(plain.encode(), self.code.replace("-", "").encode()):
            self._wrong += 1
            if self._wrong >= _WRONG:
                self._renew()
            return None
        session = fresh_key().hex()
        self._open.add(session)
        self._renew()
        return session

    def knows(self, session: str) -> bool:
        return any(hmac.compare_digest(session, each) for each in self._open)

    def _renew(self) -> None:
        text = fresh_key().hex()[:16]
        self._wrong = 0
        self.code = "-".join(text[at : at + 4] for at in range(0, len(text), 4))
        self.tell(self.code)


def path_of(session: str) -> str:
    """Where the pages of this session are: 128 bits that do not tell the session."""
    return "/" + hashlib.sha256(f"titan web, path of {session}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Guard:
    """Stands before the application, an ASGI application itself."""

    app: Any
    port: int
    sessions: Sessions

    @property
    def cookie(self) -> str:
        """Its name; those of one host are shared by all its ports."""
        return f"titan-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
            return

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                message["headers"] = headers.raw
            await send(message)

        below = self._session_path(scope)
        answer = self._refusal(scope, below) or self.app
        if below:
            scope = {**scope, "path": str(scope["path"]).removeprefix(below)}
        BELOW.set(below)
        await answer(scope, receive, sending)

    def _refusal(self, scope: Scope, below: str) -> Response | None:
        headers, path = Headers(scope=scope), str(scope["path"])
        host = headers.get("host", "")
        if host not in (self.host, f"localhost:{self.port}"):
            return _no("this page answers to 127.0.0.1 alone", 421)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _no("only GET and POST", 405)
        if scope["method"] == "POST":
            if headers.get("origin") != f"http://{host}":
                return _no("this form was not sent from a page of titan web")
            if headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return _no("this form was not sent from a page of titan web")
            size = headers.get("content-length", "")
            if not size.isdecimal() or int(size) > MOST_BYTES:
                return _no(f"a form of more than {MOST_BYTES} bytes", 413)
        if below:
            return None
        if host == self.host and path.startswith(OPEN):
            return None
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            # localhost may be another program's at ::1, which would be sent path and cookie
            return RedirectResponse(DOOR if host == self.host else f"http://{self.host}{DOOR}", 303)
        return _no("sign in first: titan web shows a code in its terminal")

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _session_path(self, scope: Scope) -> str:
        """That of the session which is brought, if this is one of its pages; else nothing."""
        for session in self._brought(Headers(scope=scope)):
            if self.sessions.knows(session):
                below = path_of(session)
                if str(scope["path"]).startswith(f"{below}/"):
                    return below
        return ""

    def _brought(self, headers: Headers) -> Iterator[str]:
        """All that comes under the cookie's name: programs at other ports of this machine have the
        same host, and their cookies, some of this name or of no good form, come with ours."""
        for line in headers.getlist("cookie"):
            for piece in line.split(";"):
                name, _, value = piece.strip().partition("=")
                if name == self.cookie and value.isascii():
                    yield value

    def admit(self, session: str) -> Response:
        """To the first page, with the cookie that goes to this session's pages and nowhere else."""
        below = path_of(session)
        response = RedirectResponse(f"{below}/study", 303)
        response.set_cookie(
            self.cookie, session, httponly=True, samesite="strict", path=f"{below}/"
        )
        return response


def _no(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"titan web: {why}\n", status)
