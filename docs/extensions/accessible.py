"""Pages that everybody can use: what axe-core finds in Sphinx's and furo's HTML, put right.

`make browser` runs axe-core over every page. What it found is here, one rule for each.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_RULES = (
    # a heading says of which level it is
    (re.compile(r'(<p class="caption" role="heading")>'), r'\1 aria-level="2">'),
    # two asides are told apart by their names
    (re.compile(r'(<aside class="sidebar-drawer")>'), r'\1 aria-label="All pages">'),
    (re.compile(r'(<aside class="toc-drawer(?: no-toc)?")>'), r'\1 aria-label="This page">'),
    # what is wider than the screen can be scrolled with the keyboard
    (re.compile(r"<pre>"), r'<pre tabindex="0">'),
    (re.compile(r'(<div class="table-wrapper[^"]*")>'), r'\1 tabindex="0">'),
    # a table without heads has none, and an empty corner is not a head
    (re.compile(r"<thead>\s*<tr[^>]*>(?:\s*<th[^>]*><p></p></th>)*\s*</tr>\s*</thead>"), ""),
    (re.compile(r"<th([^>]*)><p></p></th>"), r"<td\1></td>"),
    # a page has a heading
    (re.compile(r'(?<!</h1>\n)(<div id="search-results">)'), "<h1>Search</h1>\n\\1"),
)
_SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.S)
_LINES = ((r"<dl>", '<span class="sig-lines">'), (r"</dl>", "</span>"),
          (r"<dd>", '<span class="sig-line">'), (r"</dd>", "</span>"))  # fmt: skip


def accessible(page: str) -> str:
    """The same page; done twice, it is done once."""
    for pattern, instead in _RULES:
        page = pattern.sub(instead, page)
    return _SIGNATURE.sub(_in_lines, page)


def _in_lines(signature: re.Match[str]) -> str:
    """The parameters of a long signature are lines of it, not definitions without a name."""
    text = signature[0]
    for tag, instead in _LINES:
        text = text.replace(tag, instead)
    return text


def on_build_finished(app: Any, exception: Exception | None) -> None:
    """Sphinx's event, when all pages are written."""
    if exception is None and app.builder.format == "html":
        for file in Path(app.outdir).rglob("*.html"):
            written = file.read_text(encoding="utf-8")
            if (better := accessible(written)) != written:
                file.write_text(better, encoding="utf-8")
