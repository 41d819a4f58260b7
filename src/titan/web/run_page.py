"""A run: live while it goes on here, and what it left when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from titan.errors import FileError
from titan.listing import listing
from titan.markup import Html, items, tag, together
from titan.release.evidence import refusal_in
from titan.report.document import sections_of
from titan.report.tables import grid
from titan.reporting import gather, now, report
from titan.study.audit import TRANSCRIPT, audit
from titan.web import layout
from titan.web.place import Place
from titan.web.running import Running, Runs

HERE = "/runs"
_STATES = {
    "running": "running; there is no answer yet",
    "serving": "has its answer, and is still needed by others",
    "answered": "over, with an answer",
    "refused": "over, without an answer: a rule refused",
    "failed": "over, without an answer",
    "stopped": "stopped; join again to continue",
    "gone": "its program ended; join again to continue",
    "unreadable": "nobody can say, because its status.json is missing or cannot be read",
}
_LEAVE = "You can leave this page: the run goes on as long as titan web runs."


def every(place: Place, request: Request) -> Response:
    runs: Runs = request.app.state.runs
    alive, rows = runs.alive(), []
    for name in dict.fromkeys((*alive, *place.runs())):  # one that has just begun has no folder yet
        status = place.status(name)
        begun = "running" if name in alive else ""
        state = begun if status is None or (begun and status.problem) else status.state
        rows.append((layout.link(name, f"/run/{name}"), _STATES.get(state, state)))
    content = grid("", ("run", "state"), rows) if rows else tag("p", "There is no run here yet.")
    return layout.page("Results", content, here=HERE)


async def show(place: Place, request: Request) -> Response:
    name = str(request.path_params["name"])
    going = _going(request, name)
    if going is not None and going.alive and not (going.answered and place.is_over(name)):
        return layout.page(_title(going), *_live(going), here=HERE, live=True)
    folder = place.run(name)
    if not place.is_over(name):
        return layout.page(name, *_unfinished(place, name, going), here=HERE)
    title, *content = await asyncio.to_thread(_over, folder, going)
    return layout.page(title, *map(Html, content), here=HERE)


def _title(run: Running) -> str:
    return f"Run {run.party.choices.run}: {run.party.study.title}"


def _going(request: Request, name: str) -> Running | None:
    runs: Runs = request.app.state.runs
    return runs.get(name)


# -- while it goes on ---------------------------------------------------------------------------


def _live(run: Running) -> Iterator[Html]:
    address = layout.below(f"/run/{run.name}/live")
    yield tag("div", _progress(run), aria_live="polite", data_live=address)
    yield tag("p", _LEAVE)
    yield layout.form(f"/run/{run.name}/stop", send="Stop, and continue later")


def _progress(run: Running) -> Html:
    at, party = run.progress, run.party
    phase = f"{at.phase[:1].upper()}{at.phase[1:]}"
    here = at.here or (party.identity.name,)
    count = f"{len(here)} of {len(party.study.parties)}"
    lines = [
        tag("p", tag("strong", phase)),
        *([tag("p", f"Waiting for {listing(at.waiting)}.")] if at.waiting else []),
        tag("p", f"Here, {count}: {listing(here)}."),
        tag("p", f"{at.bytes_written:,} bytes sent."),
    ]
    told = [items(run.notices)] if run.notices else []
    return together(
        [tag("div", *lines, kind="progress"), *(tag("div", t, kind="log") for t in told)]
    )


async def live(place: Place, request: Request) -> Response:
    """The part that changes; 205 when the page itself should be loaded again."""
    name = str(request.path_params["name"])
    run = _going(request, name)
    if run is None or not run.alive or (run.answered and place.is_over(name)):
        return Response(status_code=205)
    return HTMLResponse(_progress(run))


async def stop(_: Place, request: Request) -> Response:
    name = str(request.path_params["name"])
    run = _going(request, name)
    if run is not None:
        run.stop()
        await asyncio.to_thread(run.wait)
    return layout.to(f"/run/{name}")


# -- when it does not ---------------------------------------------------------------------------


def _unfinished(place: Place, name: str, run: Running | None) -> Iterator[Html]:
    if run is not None and run.error is not None:
        yield layout.refused(run.error)
    status = place.status(name)
    if status is not None:
        yield tag("p", f"This run: {_STATES.get(status.state, status.state)}.")
        short = str(status.told["study"] or name)[:12]  # with which the folder's name begins
        yield tag("p", layout.link("Join again", f"/join/{short}"))


def _over(folder: Path, run: Running | None) -> list[str]:
    """Its title, then its parts."""
    it = gather(folder)
    refusal = refusal_in(folder)
    said = [] if refusal is None else [layout.refused(refusal)]
    if run is not None and run.alive:
        said.append(layout.done("You have the answer. This party stays until the others have it."))
    parts = [tag("section", tag("h2", heading), together(content), id=anchor)
             for anchor, heading, content in sections_of(it) if content]  # fmt: skip
    save = layout.link("Save the report", f"/run/{folder.name}/report", download="")
    save = tag("p", save, " (one file, for the appendix of a paper and for the steward)")
    return [
        f"Run {it.results.run}: {it.title}",
        *said,
        save,
        *_first(parts, "answers"),
        layout.section("What left this machine", *_audit(folder)),
    ]


def _first(parts: list[Html], name: str) -> list[Html]:
    """The answers, then the rest in its order."""
    answers = [part for part in parts if f'id="{name}"' in part[: part.find(">")]]
    return answers + [part for part in parts if part not in answers]


def _audit(folder: Path) -> Iterator[Html]:
    signed = folder / TRANSCRIPT  # while this party stays for others, it has the journal
    found = audit(signed if signed.exists() else folder)
    yield tag("p", found.summary().partition("\n")[2].replace("\n", " "))
    head, *rows = found.rows()
    yield tag("details", tag("summary", "Every message"), grid("", head, rows, label="messages"))


async def saved(place: Place, request: Request) -> Response:
    """The report as a file."""
    name = str(request.path_params["name"])
    folder = place.run(name)
    if not place.is_over(name):
        raise FileError(f"the run {name} is not over", hint="its report can be made when it is")
    text = await asyncio.to_thread(lambda: report(gather(folder), now()))
    headers = {"Content-Disposition": f'attachment; filename="report-{name}.html"'}
    return HTMLResponse(text, headers=headers)
