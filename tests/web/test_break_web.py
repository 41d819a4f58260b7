"""Invariant: what else runs on this machine neither keeps the owner of the pages out nor gets in.

All ports of a host share its cookies: other programs' come with ours, and ours would go to them, if
they were not for a path that nobody else knows.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from tests.release.asking import study_of
from tests.web.serving import Served
from titan.errors import FileError
from titan.release import Dictionary, Flag
from titan.web.place import Place


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    found = Served(tmp_path)
    yield found
    found.close()


def test_cookies_of_other_programs_do_not_keep_the_owner_out(served: Served) -> None:
    """A browser sends the older ones first; after one of no good form the rest was not read."""
    served.signs_in()
    own = served.cookie
    false = f"titan-{served.port}={'0' * 64}"
    for others in ('theme={"dark":true}', "a b=1", "path=/", "@=1", 'open="', "=", "", false):
        assert served.get("/study", Cookie=f"{others}; {own}").status == 200
        assert served.get("/study", Cookie=f"{own}; {others}").status == 200
        assert served.get("/study", Cookie=others or "x=1").status == 303


class Listening(BaseHTTPRequestHandler):
    """Another user's program at another port, which keeps what browsers send."""

    heard: list[str] = []  # noqa: RUF012 - of all requests

    def do_GET(self) -> None:
        self.heard.append(self.headers.get("Cookie", ""))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


def test_a_program_at_another_port_does_not_get_the_session(served: Served) -> None:
    """A browser's rules for cookies, in which ports do not count (RFC 6265, section 8.5)."""
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    data = urlencode({"code": served.code}).encode()
    entered = Request(f"{served.address}/enter", data, {"Origin": served.address})  # noqa: S310
    with browser.open(entered) as first:
        own = str(first.url).removeprefix(served.address)
    other = HTTPServer(("127.0.0.1", 0), Listening)
    thread = threading.Thread(target=other.handle_request)
    thread.start()
    browser.open(f"http://127.0.0.1:{other.server_port}/").close()
    thread.join()
    other.server_close()
    (heard,) = Listening.heard
    assert served.get("/study", Cookie=heard or "-").status == 303
    assert served.get_at(own, Cookie=heard or "-").status == 303, "even if it knew the path"


class Tossing(BaseHTTPRequestHandler):
    """Another program that sets cookies of our name, for every path that it can think of."""

    cookies: list[str] = []  # noqa: RUF012 - of all requests

    def do_GET(self) -> None:
        self.send_response(204)
        for each in self.cookies:
            self.send_header("Set-Cookie", each)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


def test_cookies_that_another_port_sets_do_not_keep_the_owner_out(served: Served) -> None:
    """Of one name, the one with the longest path is sent first: even one for our very path."""
    jar = CookieJar()
    browser = build_opener(HTTPCookieProcessor(jar))
    data = urlencode({"code": served.code}).encode()
    entered = Request(f"{served.address}/enter", data, {"Origin": served.address})  # noqa: S310
    with browser.open(entered) as first:
        address = str(first.url)
    below = address.removeprefix(served.address).removesuffix("/study")
    name = f"titan-{served.port}"
    Tossing.cookies = [
        f"{name}={'0' * 64}; Path={path}" for path in ("/", "/study", f"{below}/study", "/enter")
    ]
    other = HTTPServer(("127.0.0.1", 0), Tossing)
    thread = threading.Thread(target=other.handle_request)
    thread.start()
    browser.open(f"http://127.0.0.1:{other.server_port}/").close()
    thread.join()
    other.server_close()
    assert len([cookie for cookie in jar if cookie.name == name]) == 5
    with browser.open(address) as again:
        assert (again.status, again.url) == (200, address)


def test_the_path_alone_opens_nothing_and_a_right_one_looks_like_a_wrong_one(
    served: Served,
) -> None:
    served.signs_in()
    own, below = served.cookie, served.below
    key = own.partition("=")[2]
    assert len(below) == 33
    assert below[1:] not in key
    assert served.get("/study").status == 200
    wrong = f"/{'0' * 32}"
    for cookie in ("-", f"titan-{served.port}={'0' * 64}", f"titan-{served.port}={below[1:]}"):
        for accept in ("text/html", "*/*"):
            right = served.get_at(f"{below}/study", Cookie=cookie, Accept=accept)
            other = served.get_at(f"{wrong}/study", Cookie=cookie, Accept=accept)
            assert right == other
            assert right.status in (303, 403)
    for path in ("/study", f"{wrong}/study", below, f"{below}x/study", f"/x{below}/study"):
        assert served.get_at(path).status == 303, "the session is for its own path"


def test_each_session_has_a_path_of_its_own(served: Served) -> None:
    served.signs_in()
    first, cookie = served.below, served.cookie
    served.below, served.cookie, served.code = "", "", served.next_code()
    served.signs_in()
    assert served.below != first
    assert served.get_at(f"{served.below}/study").status == 200
    assert served.get_at(f"{first}/study").status == 303
    assert served.get_at(f"{first}/study", Cookie=cookie).status == 200


def test_the_path_is_told_to_the_browser_that_signed_in_and_to_nobody_else(served: Served) -> None:
    """Not at the door, nor in the terminal, nor in the address that a browser is started with."""
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", served.address)
    served.signs_in()
    below = served.below[1:]
    for path in ("/", "/enter", "/study", "/static/live.js", "/static/web.css"):
        found = served.get_at(path, Cookie="-")
        assert below not in found.text + str(found.headers)
    assert below not in served.close()


def test_no_page_leads_out_of_the_session_s_path(served: Served) -> None:
    """What led elsewhere would show the door instead. (In the other tests, every page is asked.)"""
    served.signs_in()
    for path in ("/study", "/check", "/join", "/runs", "/nothing", "/enter"):
        found = served.get(path)
        assert len(found.links) >= 8
        assert found.leads_below(served.below)
        assert not found.leads_below("/elsewhere")
    assert served.get("/").headers["location"] == "/study"


def test_nobody_signs_in_under_a_name_that_may_be_another_programs(served: Served) -> None:
    """At ::1, which localhost may be too, somebody else may listen: path and cookie would go
    there."""
    name = f"localhost:{served.port}"
    for path in ("/", "/enter", "/study"):
        found = served.get_at(path, Host=name)
        assert (found.status, found.headers["location"]) == (303, f"{served.address}/enter")
    said = {"code": served.code}
    refused = served.post("/enter", said, Origin=f"http://{name}", Host=name)
    assert refused.status == 403
    assert "set-cookie" not in refused.headers
    served.signs_in()


def test_a_study_does_not_take_the_place_of_another(tmp_path: Path) -> None:
    """Files are named by 12 digits of the fingerprint. Whoever writes both studies finds two that
    begin alike among 2^24: one to be read, and one to be joined."""
    one, other = (
        study_of({"a": 1, "b": 2, "c": 3}, Dictionary.of({"y": Flag(), "x": Flag()}), formula)
        for formula in ("y ~ x", "x ~ y")
    )
    place = Place(tmp_path)
    name = place.take("study", one.to_toml())
    assert place.take("study", one.to_toml()) == name, "the same again"
    path = tmp_path / f"study-{other.digest[:12]}.toml"
    path.write_text(one.to_toml())
    with pytest.raises(FileError, match="is another study"):
        place.take("study", other.to_toml())
    assert path.read_text() == one.to_toml()
    path.write_text("nothing that can be read")
    with pytest.raises(FileError, match="is another study"):
        place.take("study", other.to_toml())
