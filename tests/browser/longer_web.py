"""Invariant: three parties come from nothing to an answer in their browsers alone. No page
complains, asks another host for anything or shuts somebody out, at 360 to 1,600 pixels, in light
and in dark.

Pictures are kept in the folder that TITAN_PICTURES names, for people to look at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import axe
from tests.browser.driver import Browser
from tests.party.ports import free_port
from tests.web.serving import Served, rows_of

pytestmark = pytest.mark.skipif(
    not shutil.which("chromedriver"), reason="chromedriver is not installed"
)
NAMES = ("north", "east", "south")
RANGES = {"age": ("0", "120"), "y": ("0", "300")}


class Person:
    """Somebody at a browser."""

    def __init__(self, browser: Browser, served: Served, pictures: Path) -> None:
        self.browser, self.served, self.pictures = browser, served, pictures
        self.seen: set[str] = set()

    def goes(self, path: str) -> None:
        self.browser.open(self.served.address + path)

    def fills(self, **values: str) -> None:
        for name, value in values.items():
            self.browser.script(_FILL, name.replace("__", "-"), value)

    def chooses_file(self, name: str, file: Path) -> None:
        self.browser.gives(f'input[name="{name}"]', str(file))

    def sends(self, label: str) -> None:
        self.browser.script(_OPEN)
        self.browser.presses(f'//button[normalize-space()="{label}"]')

    def reads(self) -> str:
        return str(self.browser.script("return document.body.innerText"))

    def waits_for(self, text: str) -> None:
        self.browser.until(lambda: text in self.reads(), text)

    def looks(self, name: str) -> None:
        """At every width, light and dark; what axe-core finds is an error."""
        if name in self.seen:
            return
        self.seen.add(name)
        for scheme in ("light", "dark"):
            self.browser.media(scheme)
            for wide in (360, 800, 1600):
                self.browser.size(wide, 900)
                width = self.browser.script("return document.documentElement.scrollWidth")
                assert width <= wide, f"{name} is {width} pixels wide on {wide}"
                self.browser.picture(self.pictures / f"web-{name}-{wide}-{scheme}.png")
            if axe.FILE:
                assert self.browser.violations(axe.source()) == [], name
        self.browser.media("light")


_FILL = """
const [name, value] = arguments;
const it = document.querySelector(`[name="${name}"]`);
if (!it) throw new Error("there is no field " + name);
it.value = value;
"""
_OPEN = "document.querySelectorAll('details').forEach(it => it.open = true)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for at, name in enumerate(NAMES):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text(rows_of(at))
    return tmp_path


@pytest.fixture
def people(folder: Path) -> Iterator[dict[str, Person]]:
    place = Path(os.environ.get("TITAN_PICTURES", folder))
    place.mkdir(parents=True, exist_ok=True)
    served = {name: Served(folder / name) for name in NAMES}
    try:
        with Browser() as north, Browser() as east, Browser() as south:
            browsers = dict(zip(NAMES, (north, east, south), strict=True))
            yield {name: Person(browsers[name], served[name], place) for name in NAMES}
    finally:
        for each in served.values():
            each.close()


def test_from_keys_to_the_result(people: dict[str, Person], folder: Path) -> None:
    ports = {name: free_port() for name in NAMES}
    for name, person in people.items():
        person.goes("/")
        if name == "north":
            person.looks("enter")
        person.fills(code=person.served.code)
        person.sends("Sign in")
        person.waits_for("Your keys")
        person.browser.script(_OPEN)
        person.fills(name=name, address=f"127.0.0.1:{ports[name]}")
        person.sends("Make keys")
        person.waits_for(f"{name}.key and {name}.card are made")
    north = people["north"]
    for name in NAMES[1:]:
        north.goes("/study")
        north.chooses_file("card", folder / name / f"{name}.card")
        north.sends("Keep the card")
        north.waits_for(f"{name}.card is in the folder now")
    north.looks("study")
    north.fills(questions="regression: y ~ age + sex; name=main\ndescribe: age, sex")
    north.sends("Fill in the dictionary")
    north.waits_for("All parties will see this dictionary")
    north.looks("draft")
    north.sends("Make the study")
    north.waits_for("its range is missing")
    for at, name in enumerate(("age", "sex", "y")):
        if name in RANGES:
            low, high = RANGES[name]
            north.fills(**{f"from__{at}": low, f"to__{at}": high})
    north.sends("Make the study")
    north.waits_for("What is opened to all parties")
    north.looks("check")
    north.sends("Look at my rows")
    north.waits_for("Nothing in these rows alone would be refused")
    (study,) = (folder / "north").glob("study-*.toml")
    for name in NAMES[1:]:
        people[name].goes("/study")
        people[name].chooses_file("study", study)
        people[name].sends("Keep the study")
        people[name].waits_for("is in the folder now")
    short = study.stem.removeprefix("study-")
    for name, person in people.items():
        person.goes(f"/join/{short}")
        if name == "north":
            person.looks("join")
        person.sends("Look at my rows, and show what will be opened")
        person.waits_for("Take part?")
        if name == "north":
            person.looks("agree")
        person.sends("Take part")
        if name == "north":
            person.waits_for("Waiting for")
            person.looks("live")
            person.goes("/runs")  # leaving the page leaves the run going
            person.waits_for("there is no answer yet")
            person.goes(f"/run/{short}-run1-north")
    for name, person in people.items():
        person.waits_for("What left this machine")
        assert "1. main" in person.reads()
        results = {(folder / n / "runs" / f"{short}-run1-{n}" / "result.json") for n in NAMES}
        assert len({file.read_bytes() for file in results if file.exists()}) == 1, name
    north.looks("result")
    for person in people.values():
        host = person.served.address
        asked = [each for each in person.browser.requests() if each.startswith(("http", "ws"))]
        assert asked
        assert [each for each in asked if not each.startswith(host)] == []
        wrong = [line for line in person.browser.complaints() if "400 (Bad Request)" not in line]
        assert wrong == [], "the one form that was sent without ranges is told of"
