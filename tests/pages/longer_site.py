"""Invariant: the pages that `make docs` has built ask no other host for anything when opened."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.pages import examples
from tests.pages.blocks import ROOT
from tests.pages.test_site import SLOW

SITE = ROOT / "build" / "docs"
_LOADS = {"src", "srcset", "poster", "data", "background", "action", "formaction"}
_NAMESPACE = re.compile(r"https?://www\.w3\.org/[\w/]*")
_OUTSIDE = re.compile(
    r"""(?:url\(\s*["']?|@import\s+["']?|fetch\(\s*["'`]|src=["'])(?:https?:)?//[^\s"')]+"""
)


class Loads(HTMLParser):
    """What a page loads by itself, other than links that somebody must click."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (
                name in _LOADS
                or (tag == "link" and name == "href")
                or (tag == "use" and "href" in name)
            ):
                self.found.append(value or "")
            if name == "style":
                self.found += _OUTSIDE.findall(value or "")
        if tag == "meta" and ("http-equiv", "refresh") in attrs:
            self.found.append("//refresh")


def outside(site: Path) -> Iterator[str]:
    """Every place in a site that would make a browser ask another host."""
    for file in sorted(site.rglob("*")):
        if file.suffix == ".html":
            page = Loads()
            page.feed(file.read_text(encoding="utf-8"))
            yield from (
                f"{file.name}: {x}" for x in page.found if re.match(r"(?:\w+:)?//", x.strip())
            )
        if file.suffix in {".html", ".css", ".js", ".svg"}:
            text = _NAMESPACE.sub("", file.read_text(encoding="utf-8"))
            yield from (f"{file.name}: {x}" for x in _OUTSIDE.findall(text))


def test_opening_a_page_asks_nobody() -> None:
    pages = list(SITE.rglob("*.html"))
    assert len(pages) > 50, "make docs builds them first"
    assert list(outside(SITE)) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.html", '<script src="https://cdn.example.org/x.js"></script>'),
        ("page.html", '<link rel="stylesheet" href="//fonts.example.org/x.css">'),
        ("page.html", '<p style="background: url(http://example.org/x.png)">'),
        ("style.css", '@import "https://example.org/x.css";'),
        ("style.css", "p { background: url('//example.org/x.png') }"),
        ("code.js", 'fetch("https://example.org/")'),
    ],
)
def test_a_page_that_would_ask_is_found(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert len(list(outside(tmp_path))) >= 1
    (tmp_path / name).write_text('<a href="https://example.org/">a link</a>')
    assert list(outside(tmp_path)) == []


@pytest.mark.parametrize("name", sorted(SLOW))
def test_the_longer_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", programs)
    assert examples.run(examples.API / name) > 0
