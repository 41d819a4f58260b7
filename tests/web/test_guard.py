"""Invariant: the pages answer the browser that brought the code, from pages of their own, and
nobody else: not a stranger on this machine, not another host's name, not a form from elsewhere."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_commands import titan
from tests.web.serving import Served
from titan.web.guard import Sessions

PRIVATE = ("/study", "/check", "/join", "/runs", "/run/x", "/run/x/live", "/card/0123456789ab")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("party"))
    yield found
    found.close()


@pytest.fixture
def inside(served: Served) -> Served:
    if not served.cookie:
        served.signs_in()
    return served


@pytest.mark.parametrize("path", PRIVATE)
def test_a_stranger_sees_the_door_alone(served: Served, path: str) -> None:
    found = served.get(path, Cookie="-")
    assert (found.status, found.headers["location"]) == (303, "/enter")
    assert served.get(path, Cookie=f"titan-{served.port}=guessed").status == 303
    assert served.get(path, Cookie="-", Accept="-").status == 403


def test_a_code_opens_one_session_and_five_wrong_ones_make_another() -> None:
    codes: list[str] = []
    sessions = Sessions(codes.append)
    first = codes[-1]
    session = sessions.exchange(first.upper().replace("-", " "))
    assert session is not None
    assert sessions.knows(session)
    assert not sessions.knows(session[:-1])
    assert sessions.exchange(first) is None, "it is used up"
    for _ in range(4):
        assert sessions.exchange("0000-0000-0000-0000") is None
    assert len(codes) == 3, "the second was tried five times"
    assert sessions.exchange(codes[1]) is None
    assert first not in repr(sessions)
    assert codes[-1] not in repr(sessions)


def test_only_under_its_own_name(inside: Served) -> None:
    """A name on the internet may be made to point here."""
    assert inside.get("/study").status == 200
    assert inside.get("/study", Host=f"localhost:{inside.port}").status == 200
    for host in ("evil.example", f"evil.example:{inside.port}", "127.0.0.1", "127.0.0.1:1"):
        assert inside.get("/study", Host=host).status == 421


def test_a_form_from_elsewhere_is_refused(inside: Served) -> None:
    fields = {"name": "north", "address": "127.0.0.1:7443"}
    for origin in ("http://evil.example", "null", "-", "https://127.0.0.1", "http://localhost:1"):
        assert inside.post("/study/keys", fields, Origin=origin).status == 403
    assert inside.post("/study/keys", fields, Sec_Fetch_Site="cross-site").status == 403
    assert inside.post("/enter", {"code": "x"}, Origin="http://evil.example").status == 403
    assert "north.key" not in inside.get("/study").text


def test_nothing_large_is_taken(inside: Served) -> None:
    assert inside.post("/study/card", {}, ("card", "x" * (1 << 21))).status == 413


def test_what_every_answer_forbids(inside: Served) -> None:
    for found in (inside.get("/study"), inside.get("/nothing"), inside.get("/static/live.js")):
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"
    assert inside.get("/nothing").status == 404
    assert inside.get("/static/guard.py").status == 404
    assert inside.get("/static/..%2fguard.py").status == 404


def test_the_session_is_the_only_cookie_and_no_script_reads_it(tmp_path: Path) -> None:
    served = Served(tmp_path)
    try:
        found = served.post("/enter", {"code": served.code})
        said = found.headers["set-cookie"].lower()
        assert said.startswith(f"titan-{served.port}=")
        assert "httponly" in said
        assert "samesite=strict" in said
        assert f"path={found.headers['location'].removesuffix('study')};" in f"{said};"
        assert "set-cookie" not in served.get("/study").headers
        assert served.next_code() != served.code, "for another browser"
    finally:
        served.close()


def test_it_listens_on_this_machine_alone(served: Served) -> None:
    assert served.address.startswith("http://127.0.0.1:")
    with socket.create_server(("127.0.0.2", served.port)):
        pass  # nobody listens there


def test_a_port_in_use_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = titan("web", tmp_path, "--port", port, "--no-browser")
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 cannot be used" in done.stderr
    assert "--port with another number" in done.stderr
    done = titan("web", tmp_path / "nowhere", "--no-browser")
    assert done.returncode == 1
    assert "there is no folder" in done.stderr
