"""The door: the code that the terminal shows, for a session."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from titan.errors import InputError
from titan.markup import Html, tag
from titan.web import layout
from titan.web.forms import sent
from titan.web.guard import DOOR, Guard


def asks(*said: Html, status: int = 200) -> Response:
    note = "titan web shows it in the terminal; each code works once"
    return layout.page(
        "Sign in",
        *said,
        tag("p", "These pages are for the person who started titan web on this machine."),
        layout.form(DOOR, layout.field("Code", "code", note=note), send="Sign in"),
        status=status,
    )


async def exchange(request: Request) -> Response:
    guard: Guard = request.app.state.guard
    session = guard.sessions.exchange((await sent(request)).get("code", ""))
    if session is None:
        wrong = InputError("this is not the code", hint="use the last one in the terminal")
        return asks(layout.refused(wrong), status=403)
    return guard.admit(session)
