"""The application: which address is which page, and what happens when one cannot be shown."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from titan.errors import TitanError
from titan.markup import tag
from titan.web import check_page, door, draft_page, join_page, layout, run_page, study_page
from titan.web.guard import DOOR, Guard, Sessions
from titan.web.place import Place
from titan.web.running import Runs

Page = Callable[[Place, Request], Response | Awaitable[Response]]
_FILES = {
    "web.css": ("titan.web", "text/css"),
    "live.js": ("titan.web", "text/javascript"),
    "icon.svg": ("titan.web", "image/svg+xml"),
    "report.css": ("titan.report", "text/css"),
}


def application(place: Place, port: int, sessions: Sessions, runs: Runs) -> Guard:
    """The pages behind their guard."""
    get, post = partial(_route, place, "GET"), partial(_route, place, "POST")
    app = Starlette(
        routes=[
            Route(DOOR, lambda _: door.asks(), methods=["GET"]),
            Route(DOOR, door.exchange, methods=["POST"]),
            Route("/static/{name}", _static, methods=["GET"]),
            get("/", study_page.to_study),
            get("/study", lambda place, _: study_page.show(place)),
            get("/card/{short}", study_page.card),
            post("/study/keys", study_page.make_keys, failed=study_page.failed),
            post("/study/card", partial(study_page.keep, kind="card"), failed=study_page.failed),
            post("/study/file", partial(study_page.keep, kind="study"), failed=study_page.failed),
            post("/study/draft", draft_page.draft),
            post("/study/save", draft_page.save),
            get("/check", check_page.choose),
            get("/check/{short}", check_page.show),
            post("/check/{short}", check_page.rows),
            get("/join", join_page.choose),
            get("/join/{short}", join_page.ask),
            post("/join/{short}", join_page.look),
            post("/join/{short}/yes", join_page.begin),
            post("/join/{short}/no", join_page.decline),
            get("/runs", run_page.every),
            get("/run/{name}", run_page.show),
            get("/run/{name}/live", run_page.live),
            get("/run/{name}/report", run_page.saved),
            post("/run/{name}/stop", run_page.stop),
        ],
        exception_handlers={404: _nothing, 405: _nothing},
    )
    app.state.runs, app.state.waiting = runs, {}
    app.state.guard = guard = Guard(app, port, sessions)
    return guard


def _route(
    place: Place,
    method: str,
    path: str,
    page: Page,
    failed: Callable[[Place, TitanError], Response] | None = None,
) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            found = page(place, request)
            return await found if inspect.isawaitable(found) else found
        except TitanError as error:
            return failed(place, error) if failed else _refused(error)
        except OSError as error:  # a file that went away, a full disk
            said = f"{error.filename or 'a file'}: {(error.strerror or 'cannot be used').lower()}"
            return _refused(TitanError(said))

    return Route(path, endpoint, methods=[method])


def _refused(error: TitanError) -> Response:
    return layout.page("This does not work", layout.refused(error), status=400)


async def _nothing(_: Request, error: Any) -> Response:
    said = tag("p", "There is no such page. ", layout.link("Begin here", "/study"), ".")
    return layout.page("Nothing here", said, status=int(error.status_code))


async def _static(request: Request) -> Response:
    name = str(request.path_params["name"])
    if name not in _FILES:
        return Response(status_code=404)
    package, kind = _FILES[name]
    file = resources.files(package).joinpath(name)
    return Response(await asyncio.to_thread(file.read_bytes), media_type=kind)
