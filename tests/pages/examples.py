"""The examples of the reference: sessions of Python in its pages, run as doctests."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.pages.blocks import ROOT
from tests.pages.session import with_free_ports

API = ROOT / "docs" / "api"
_SESSION = re.compile(r"^```pycon\n(.*?)^```$", re.S | re.M)
_ENTRY = re.compile(r"^\.\. auto(?:function|class|exception):: titan\.(\w+)$", re.M)


def sessions(page: Path) -> Iterator[doctest.DocTest]:
    """In order, with the names of those before."""
    text, names = with_free_ports(page.read_text(encoding="utf-8"), {}), dict[str, Any]()
    for found in _SESSION.finditer(text):
        line = text.count("\n", 0, found.start(1))
        example = doctest.DocTestParser().get_doctest(found[1], names, page.name, str(page), line)
        yield example
        names = example.globs


def run(page: Path) -> int:
    """How many lines were tried; the first that shows something else is an error."""
    tried = 0
    for example in sessions(page):
        runner = doctest.DebugRunner(verbose=False)
        try:
            runner.run(example, clear_globs=False)
        except doctest.DocTestFailure as failure:
            place = f"{page.name}, line {(example.lineno or 0) + failure.example.lineno + 1}"
            shown = f"{failure.example.source}gives\n{failure.got}and not\n{failure.example.want}"
            raise AssertionError(f"{place}: {shown}") from None
        except doctest.UnexpectedException as failure:
            raise failure.exc_info[1] from None
        tried += runner.tries
    return tried


def entries(page: Path) -> dict[str, str]:
    """Public name → what stands on the page from its entry to the next one of its kind."""
    text = page.read_text(encoding="utf-8")
    found = list(_ENTRY.finditer(text))
    return {entry[1]: text[entry.start() :] for entry in found}
