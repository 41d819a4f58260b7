"""A page taken apart: its elements, the text of each, and its tables as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

_VOID = {"meta"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    def all(self, *names: str) -> Iterator[Element]:
        """Elements of these names inside, in order; all without a name."""
        for child in self.children:
            if isinstance(child, Element):
                if not names or child.name in names:
                    yield child
                yield from child.all(*names)

    def one(self, name: str, **attributes: str) -> Element:
        found = [
            each
            for each in self.all(name)
            if all(each.attributes.get(key) == value for key, value in attributes.items())
        ]
        assert len(found) == 1, f"{len(found)} elements {name} {attributes}"
        return found[0]

    @property
    def text(self) -> str:
        """As people read it: without the style, and without titles that only a pointer shows."""
        parts = [
            child if isinstance(child, str) else child.text
            for child in self.children
            if isinstance(child, str) or child.name not in ("style", "title")
        ]
        return " ".join(" ".join(parts).split())

    @property
    def numbers(self) -> list[float]:
        """What programs read: the values beside what is shown."""
        return [float(str(each.attributes["value"])) for each in self.all("data")]

    def tables(self) -> Iterator[tuple[list[str], dict[str, list[Element]]]]:
        """Heads, and the cells of every row by its name."""
        for table in self.all("table"):
            heads = [head.text for thead in table.all("thead") for head in thead.all("th", "td")]
            (body,) = table.all("tbody")
            cells = [list(row.all("th", "td")) for row in body.all("tr")]
            yield heads, {row[0].text: row for row in cells}


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute of {tag} stands twice"
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> ends another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


@cache
def parsed(text: str) -> Element:
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert len(builder.open) == 1, "every element ends"
    return builder.open[0]
