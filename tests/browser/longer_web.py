"""Invariant: three parties come from nothing to an answer in their browsers alone. No page
complains, asks another host for anything or shuts somebody out, at 360 to 1,600 pixels, in light
and in dark.

Pictures are kept in the folder that TITAN_PICTURES names, for people to look at.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        """To one of the own pages: below the path that the browser is at, once signed in."""
        at = str(self.browser.script("return location.pathname"))
        signed_in = re.match("/[0-9a-f]{32}(?=/)", at)
        self.browser.open(self.served.address + (signed_in[0] if signed_in else "") + path)

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


class Curious(BaseHTTPRequestHandler):
    """Another program of this machine, which keeps all it is sent and tries to get more."""

    page = ""
    heard: list[str] = []  # noqa: RUF012 - of all requests

    def do_GET(self) -> None:
        self.heard.append(f"{self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "other=1; Path=/")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


_TRIES = """<!doctype html><title>other</title><iframe src="{it}/enter"></iframe>
<img src="{it}/study"><script>
const told = [];
const say = text => told.push(String(text));
const frame = document.querySelector("iframe");
frame.onload = () => {{ try {{ say(frame.contentWindow.location.href) }} catch (e) {{}} }};
window.tried = Promise.allSettled([
  fetch("{it}/study", {{credentials: "include"}}).then(a => a.text()).then(say),
  fetch("{it}/", {{credentials: "include", mode: "no-cors"}}).then(a => say(a.url)),
  fetch("/study"), fetch("/x/y/study"),
]).then(() => {{ say(document.cookie); say(document.referrer); return told.join("\\n") }});
</script>"""


def test_another_port_hears_neither_path_nor_session(folder: Path) -> None:
    """In a real browser: a link followed, a frame, pictures, requests with cookies, history."""
    served = Served(folder / "north")
    other = ThreadingHTTPServer(("127.0.0.1", 0), Curious)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    there = f"http://127.0.0.1:{other.server_port}"
    try:
        with Browser() as browser:
            north = Person(browser, served, folder)
            north.goes("/")
            north.fills(code=served.code)
            north.sends("Sign in")
            north.waits_for("Your keys")
            below = str(browser.script("return location.pathname")).split("/")[1]
            assert re.fullmatch("[0-9a-f]{32}", below)
            Curious.page = _TRIES.format(it=served.address)
            browser.script("location.href = arguments[0]", there)  # as a link in a page would
            browser.until(lambda: browser.script("return document.title") == "other", "other")
            got = str(browser.awaited("window.tried"))
            cookies = browser.command("Network.getAllCookies", {})["cookies"]
            browser.script("history.back()")
            north.waits_for("Your keys")
    finally:
        other.shutdown()
        other.server_close()
        served.close()
    (session,) = [c for c in cookies if c["name"] == f"titan-{served.port}"]
    assert (session["path"], session["httpOnly"]) == (f"/{below}/", True)
    assert len(Curious.heard) >= 3
    heard = "".join(Curious.heard) + got
    assert below not in heard
    assert session["value"] not in heard
