"""HTML and SVG that are safe by construction."""

# Rule: what is not `Html` already is text, and is escaped. Names come from other parties.

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Html(str):
    """Markup made by `tag`."""

    __slots__ = ()


def tag(name: str, /, *content: str, kind: str = "", **attributes: str | float) -> Html:
    """An element; `kind` is its class. `stroke_width=2` is the attribute stroke-width."""
    named = ({"class": kind} if kind else {}) | {
        key.replace("_", "-"): value for key, value in attributes.items()
    }
    said = "".join(f' {key}="{escape(_text(value))}"' for key, value in named.items())
    inner = "".join(each if isinstance(each, Html) else escape(each) for each in content)
    return Html(f"<{name}{said}>{inner}</{name}>")


def _text(value: str | float) -> str:
    """Of a place in a picture, a hundredth is enough."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> Html:
    named = [tag("th", each, scope="col") for each in heads]
    head = [tag("thead", tag("tr", *named))] if named else []
    lines = [tag("tr", *(tag("td", each) for each in row)) for row in rows]
    return tag("table", *head, tag("tbody", *lines), kind=kind)


def items(texts: Iterable[str], name: str = "ul") -> Html:
    return tag(name, *(tag("li", text) for text in texts))


def together(parts: Iterable[Html]) -> Html:
    """One after another, each on a line of its own."""
    return Html("".join(f"{part}\n" for part in parts))
