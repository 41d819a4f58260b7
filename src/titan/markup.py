"""HTML that is safe by construction."""

# Rule: what is not `Html` already is text, and is escaped. Names come from other parties.

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Html(str):
    """Markup made by `tag`."""

    __slots__ = ()


def tag(name: str, *content: str, kind: str = "") -> Html:
    """An element; `kind` is its class."""
    attribute = f' class="{escape(kind)}"' if kind else ""
    inner = "".join(each if isinstance(each, Html) else escape(each) for each in content)
    return Html(f"<{name}{attribute}>{inner}</{name}>")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "") -> Html:
    named = [tag("th", each) for each in heads]
    lines = [tag("tr", *named)] if named else []
    lines += [tag("tr", *(tag("td", each) for each in row)) for row in rows]
    return tag("table", *lines, kind=kind)


def items(texts: Iterable[str], name: str = "ul") -> Html:
    return tag(name, *(tag("li", text) for text in texts))
