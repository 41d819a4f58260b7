"""Docstrings as we write them, turned into what Sphinx reads.

Ours are plain text: paragraphs, code between single backticks, lists of names with what is said
about each (two blanks between them), and whatever is indented meant to stay as it is. Sphinx reads
reStructuredText, where * and _ and | mean things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_CODE = re.compile(r"`([^`]+)`")
_NAMED = re.compile(r"(\S(?:.*?\S)?) {2,}(\S.*)")
_MEANING = re.compile(r"([*_|\\\"])")  # a quote stays the one that can be typed


def on_docstring(_app: Any, _what: str, _name: str, _obj: Any, _opt: Any, lines: list[str]) -> None:
    """Sphinx's event; the lines are replaced in place."""
    lines[:] = list(as_rst(lines))


def as_rst(lines: list[str]) -> Iterator[str]:
    """Paragraph by paragraph."""
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
            continue
        yield from _paragraph(paragraph)
        yield ""
        paragraph = []


def _paragraph(lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    if lines[0].lstrip().startswith(">>> "):
        yield from (line.strip() for line in lines)
    elif _NAMED.match(lines[0]):
        yield from _named(lines)
    elif lines[0].startswith(" "):
        yield from (".. code-block:: text", "", *(f"   {line}" for line in lines))
    else:
        yield from map(_text, lines)


def _named(lines: list[str]) -> Iterator[str]:
    """Names, each with what is said about it; further lines of that are indented."""
    for line in lines:
        if found := _NAMED.match(line):
            yield from ("", f"``{found[1].strip('`')}``", f"   {_text(found[2])}")
        else:
            yield f"   {_text(line.strip())}"


def _text(line: str) -> str:
    """Code as code; of everything else, no character means more than itself."""
    parts = enumerate(_CODE.split(line))
    return "".join(f"``{part}``" if at % 2 else _MEANING.sub(r"\\\1", part) for at, part in parts)
