"""Invariant: every page of the documentation opens without asking any other host for anything, fits
every screen, and shuts nobody out, light and dark.

`make browser` builds the pages first. Pictures are kept in the folder that TITAN_PICTURES names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import axe
from tests.browser.driver import Browser
from tests.pages.blocks import ROOT

pytestmark = pytest.mark.skipif(
    not shutil.which("chromedriver"), reason="chromedriver is not installed"
)
SITE = ROOT / "build" / "docs"
SCREENS = pytest.mark.parametrize(
    ("wide", "scheme"), [(360, "light"), (360, "dark"), (1600, "light"), (1600, "dark")]
)
LOOKED_AT = ("index", "tutorial", "howto/index", "analyst", "api/asking", "notebooks/grid")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages() -> list[Path]:
    found = sorted(SITE.rglob("*.html"))
    assert len(found) > 50, "make browser builds them first"
    return found


def opened(browser: Browser, page: Path, wide: int, scheme: str) -> None:
    browser.size(wide, 900)
    browser.media(scheme)
    browser.open(page.as_uri())


def test_a_page_asks_nobody_and_complains_of_nothing(browser: Browser, pages: list[Path]) -> None:
    browser.open("about:blank")
    browser.requests(), browser.complaints()
    asked, said = [], []
    for page in pages:
        browser.open(page.as_uri())
        asked += browser.requests()
        said += browser.complaints()
    assert len(asked) > len(pages), "pages load their style"
    here = (f"{SITE.as_uri()}/", "data:")
    assert [each for each in asked if not each.startswith(here)] == []
    assert said == []


@SCREENS
def test_a_page_fits_the_screen(
    browser: Browser, pages: list[Path], wide: int, scheme: str, tmp_path: Path
) -> None:
    pictures = Path(os.environ.get("TITAN_PICTURES", tmp_path))
    pictures.mkdir(parents=True, exist_ok=True)
    too_wide = {}
    for page in pages:
        opened(browser, page, wide, scheme)
        found = browser.script("return document.documentElement.scrollWidth")
        if found > wide:
            too_wide[page.name] = found
        name = str(page.relative_to(SITE).with_suffix(""))
        if name in LOOKED_AT:
            short = name.replace("/", "-")
            browser.picture(pictures / f"docs-{short}-{wide}-{scheme}.png")
    assert too_wide == {}


@SCREENS
def test_a_page_has_the_colours_that_were_asked_for(
    browser: Browser, wide: int, scheme: str
) -> None:
    opened(browser, SITE / "index.html", wide, scheme)
    paper = browser.script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper.strip("rgb()").split(","))) > 380) is (scheme == "light")


@axe.needed
@SCREENS
def test_everybody_can_use_a_page(
    browser: Browser, pages: list[Path], wide: int, scheme: str
) -> None:
    source, found = axe.source(), {}
    for page in pages:
        opened(browser, page, wide, scheme)
        if wrong := browser.violations(source):
            found[str(page.relative_to(SITE))] = wrong
    assert found == {}
