"""Invariant: what else runs on this machine neither keeps the owner of the pages out nor gets in.

All ports of a host share its cookies: other programs' come with ours, and ours go to them.
"""

from __future__ import annotations

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


@pytest.mark.xfail(
    strict=True,
    reason="a browser sends the session to every port of 127.0.0.1 that it is led to, and whoever "
    "listens there can use it",
)
def test_a_program_at_another_port_does_not_get_the_session(served: Served) -> None:
    """A browser's rules for cookies, in which ports do not count (RFC 6265, section 8.5)."""
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    data = urlencode({"code": served.code}).encode()
    entered = Request(f"{served.address}/enter", data, {"Origin": served.address})  # noqa: S310
    browser.open(entered).close()
    other = HTTPServer(("127.0.0.1", 0), Listening)
    thread = threading.Thread(target=other.handle_request)
    thread.start()
    browser.open(f"http://127.0.0.1:{other.server_port}/").close()
    thread.join()
    other.server_close()
    (heard,) = Listening.heard
    assert served.get("/study", Cookie=heard or "-").status == 303


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
