"""The frame of every page, and the parts that forms are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar

from starlette.responses import HTMLResponse, RedirectResponse

from titan.errors import TitanError
from titan.markup import Html, tag, together

BELOW: ContextVar[str] = ContextVar("BELOW", default="")
"""The path that all pages of this request's session are below; empty at the door."""
PAGES = (("/study", "Study"), ("/check", "Check"), ("/join", "Join"), ("/runs", "Results"))


def page(
    title: str, *content: Html, here: str = "", status: int = 200, live: bool = False
) -> HTMLResponse:
    """A whole page; `here` is the part of the navigation that it belongs to."""
    links = [_link(path, name, path == here) for path, name in PAGES]
    parts = (
        tag("a", "Skip to the page", href="#main", kind="skip"),
        tag("header", tag("strong", "TITAN"), tag("nav", *links, aria_label="pages")),
        tag("main", tag("h1", title), together(content), id="main"),
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{tag('title', f'{title} · TITAN')}"
        f"{_style('report.css')}{_style('web.css')}"
        f"{empty('link', rel='icon', href=below('/static/icon.svg'))}"
    )
    if live:
        head += tag("script", src=below("/static/live.js"), defer="defer")
        head += '<noscript><meta http-equiv="refresh" content="3"></noscript>'
    body = tag("body", together(parts))
    text = f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{body}</html>\n'
    return HTMLResponse(text, status)


def _style(name: str) -> Html:
    return empty("link", rel="stylesheet", href=below(f"/static/{name}"))


def _link(path: str, name: str, here: bool) -> Html:
    return link(name, path, **({"aria_current": "page"} if here else {}))


def below(path: str) -> str:
    """The address of a page of ours, from this session's path on."""
    return f"{BELOW.get()}{path}"


def link(words: str, path: str, **attributes: str) -> Html:
    return tag("a", words, href=below(path), **attributes)


def to(path: str) -> RedirectResponse:
    """Go on to another page of ours, without a form to send again."""
    return RedirectResponse(below(path), 303)


def refused(error: TitanError) -> Html:
    """An error, in the words of the terminal."""
    hint = [tag("p", error.hint)] if error.hint else []
    return tag("div", tag("p", error.message), *hint, kind="alarm", role="alert")


def done(*said: str) -> Html:
    return tag("div", *said, kind="notice", role="status")


def section(heading: str, *content: Html) -> Html:
    return tag("section", tag("h2", heading), together(content))


# -- forms ------------------------------------------------------------------------------------


def form(
    action: str,
    *fields: Html,
    send: str,
    hidden: Mapping[str, str] | None = None,
    wide: bool = False,
) -> Html:
    """Every form is sent as data of its own, never in an address."""
    kept = (empty("input", type="hidden", name=k, value=v) for k, v in (hidden or {}).items())
    button = tag("p", tag("button", send, type="submit"))
    return tag(
        "form", *kept, *fields, button,
        method="post", action=below(action), enctype="multipart/form-data", autocomplete="off",
        kind="wide" if wide else "",
    )  # fmt: skip


def field(
    label: str,
    name: str,
    value: str = "",
    *,
    kind: str = "text",
    note: str = "",
    needed: bool = True,
    filled: str = "off",
) -> Html:
    """One line; `filled` is what a browser may remember it as."""
    extra = {"required": "required"} if needed else {}
    control = empty("input", type=kind, name=name, value=value, autocomplete=filled, **extra)
    return _labelled(label, note, control)


def upload(label: str, name: str, ending: str) -> Html:
    return _labelled(
        label, "", empty("input", type="file", name=name, accept=ending, required="required")
    )


def area(label: str, name: str, value: str = "", note: str = "") -> Html:
    return _labelled(
        label, note, tag("textarea", value, name=name, rows="4", spellcheck="false", required="")
    )


def choice(
    label: str, name: str, options: Iterable[tuple[str, str]], chosen: str = "", note: str = ""
) -> Html:
    """One of these values, each with its words."""
    return _labelled(label, note, select(name, options, chosen))


def select(
    name: str, options: Iterable[tuple[str, str]], chosen: str = "", label: str = ""
) -> Html:
    listed = [
        tag("option", words, value=value, **({"selected": "selected"} if value == chosen else {}))
        for value, words in options
    ]
    return tag("select", *listed, name=name, **({"aria_label": label} if label else {}))


def tick(label: str, name: str) -> Html:
    return tag(
        "p", tag("label", empty("input", type="checkbox", name=name, value="yes"), " ", label)
    )


def _labelled(label: str, note: str, control: Html) -> Html:
    said = [tag("small", note)] if note else []
    return tag("p", tag("label", tag("span", label), control), *said, kind="field")


def empty(name: str, /, **attributes: str) -> Html:
    """An element without an end."""
    return Html(tag(name, **attributes).removesuffix(f"</{name}>"))
