"""Invariant: a browser opens a report without asking anybody for anything, forbids nothing that the
page needs, shows it from 360 to 1,600 pixels in light and dark, and prints it without colour.

Pictures are kept in the folder that TITAN_PICTURES names, for people to look at.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.browser import axe
from tests.browser.driver import Browser
from tests.cli.test_commands import titan
from tests.report.kept import run_of_all_kinds

pytestmark = pytest.mark.skipif(
    not shutil.which("chromedriver"), reason="chromedriver is not installed"
)
WIDTHS = (360, 800, 1600)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = run_of_all_kinds(tmp_path_factory.mktemp("kept"))
    done = titan("report", kept.run_folder("north"), "--out", "report.html", cwd=kept.folder)
    assert done.returncode == 0, done.stderr
    return kept.folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found


def pictures(page: Path) -> Path:
    place = Path(os.environ.get("TITAN_PICTURES", page.parent))
    place.mkdir(parents=True, exist_ok=True)
    return place


def test_it_asks_nobody_and_nothing_is_forbidden(browser: Browser, page: Path) -> None:
    browser.requests(), browser.complaints()
    browser.open(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []
    assert browser.script("return getComputedStyle(document.body).maxWidth") == "960px", "styled"


def test_the_policy_forbids_what_does_not_belong(browser: Browser, page: Path) -> None:
    """If a name did come through as markup: nothing would run, load or be sent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        there = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        added = (
            f"<script>document.title = 'ran'</script><img src='{there}'><iframe src='{there}'>"
            "</iframe><style>body { max-width: 1px }</style><p style='color: red' id='p'>red</p>"
            f"<object data='{there}'></object>"
        )
        text = page.read_text(encoding="utf-8").replace("<main>", f"<main>{added}")
        broken = page.with_name("broken.html")
        broken.write_text(text, encoding="utf-8")
        browser.complaints()
        browser.open(broken.as_uri())
        assert browser.script("return document.title") != "ran"
        assert browser.script("return getComputedStyle(document.body).maxWidth") == "960px"
        colour = "return getComputedStyle(document.getElementById('p')).color"
        assert browser.script(colour) != "rgb(255, 0, 0)"
        assert len(browser.complaints()) >= 5
        assert heard(listener) == b""


def heard(listener: socket.socket) -> bytes:
    """What was asked there. (Chromium may connect to be quick before it reads the policy.)"""
    said = b""
    listener.settimeout(0.5)
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            return said
        with connection:
            connection.settimeout(0.5)
            with suppress(TimeoutError):
                said += connection.recv(100)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", WIDTHS)
def test_it_fits_every_screen(browser: Browser, page: Path, wide: int, scheme: str) -> None:
    browser.size(wide, 900)
    browser.media(scheme)
    browser.open(page.as_uri())
    assert browser.script("return document.documentElement.scrollWidth") <= wide
    high = browser.script("return document.documentElement.scrollHeight")
    browser.size(wide, high)
    browser.picture(pictures(page) / f"report-{wide}-{scheme}.png")
    ink, paper = browser.script(
        "const it = getComputedStyle(document.body); return [it.color, it.backgroundColor]"
    )
    assert (_light(paper), _light(ink)) == ((True, False) if scheme == "light" else (False, True))


@axe.needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", WIDTHS)
def test_everybody_can_use_it(browser: Browser, page: Path, wide: int, scheme: str) -> None:
    browser.size(wide, 900)
    browser.media(scheme)
    browser.open(page.as_uri())
    assert browser.violations(axe.source()) == []


def _light(colour: str) -> bool:
    return sum(map(int, colour.strip("rgb()").split(","))) > 380


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_has_no_colour(browser: Browser, page: Path, scheme: str) -> None:
    browser.size(800, 900)
    browser.media(scheme)
    browser.open(page.as_uri())
    place = pictures(page)
    browser.print(place / "report.pdf")
    if not shutil.which("pdftoppm"):
        pytest.skip("pdftoppm is not installed")
    words = ["pdftoppm", "-r", "60", "-png", str(place / "report.pdf"), str(place / "report")]
    subprocess.run(words, check=True)
    from matplotlib.image import imread

    sheets = sorted(place.glob("report-*.png"))
    sheets = [each for each in sheets if each.stem.rpartition("-")[2].isdigit()]
    assert len(sheets) > 3
    for each in sheets:
        pixels = imread(each)[..., :3]
        assert np.ptp(pixels, axis=2).max() < 0.02, f"{each.name} has a colour"
        assert pixels[0].min() > 0.98, "white paper"


def test_the_command_prints_a_pdf(page: Path) -> None:
    done = titan("report", "north-run1", "--out", "own.html", "--pdf", cwd=page.parent)
    assert done.returncode == 0, done.stderr
    assert (page.parent / "own.pdf").read_bytes().startswith(b"%PDF-")
