"""Invariant: the pages do what the command line does, with the same words for what is wrong, and
take no name that they did not offer."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import titan
from tests.party.ports import free_port
from tests.web.serving import Answer, Served, rows_of
from titan.study.ledger import Ledger
from titan.web.place import Place
from titan.web.run_page import every

NAMES = ("north", "east", "south")
QUESTIONS = "regression: y ~ age + sex; name=main\ndescribe: age, sex"
RANGES = {"age": ("0", "120"), "y": ("0", "300")}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    folder = tmp_path_factory.mktemp("parties")
    found = {}
    for at, name in enumerate(NAMES):
        (folder / name).mkdir()
        (folder / name / "rows.csv").write_text(rows_of(at))
        found[name] = Served(folder / name)
    for each in found.values():
        each.signs_in()
    yield found
    for each in found.values():
        each.close()


@pytest.fixture(scope="module")
def short(served: dict[str, Served]) -> str:
    """A study of all three, made on north's pages and carried to the others."""
    north = served["north"]
    for name, each in served.items():
        keys = {"name": name, "address": f"127.0.0.1:{free_port()}"}
        assert each.post("/study/keys", keys).status == 200
        if each is not north:
            card = (each.folder / f"{name}.card").read_text()
            assert north.post("/study/card", {}, ("card", card)).status == 200
    fields = typed(north.post("/study/draft", {"rows": "rows.csv", "questions": QUESTIONS}))
    assert north.post("/study/save", fields).status == 400, "no range is taken from rows"
    made = north.post("/study/save", with_ranges(fields))
    assert made.status == 303, made.words
    found = made.headers["location"].removeprefix("/check/")
    text = (north.folder / f"study-{found}.toml").read_text()
    for each in served.values():
        assert each.post("/study/file", {}, ("study", text)).status == 200
    return found


def typed(form: Answer) -> dict[str, str]:
    """What the fields of a form hold, as a browser would send it."""
    found = {}
    for each in re.findall(r"<input[^>]*>", form.text):
        said = dict(re.findall(r'([a-z-]+)="([^"]*)"', each))
        if "name" in said:
            found[said["name"]] = unescape(said.get("value", ""))
    for name, inner in re.findall(r'<select name="([^"]*)"[^>]*>(.*?)</select>', form.text):
        options = re.findall(r'<option value="([^"]*)"( selected)?', inner)
        chosen = [value for value, is_chosen in options if is_chosen] or [options[0][0]]
        found[name] = chosen[0]
    return found


def with_ranges(fields: dict[str, str]) -> dict[str, str]:
    filled = dict(fields)
    for key, name in fields.items():
        if key.startswith("name-") and name in RANGES:
            at = key.removeprefix("name-")
            filled[f"from-{at}"], filled[f"to-{at}"] = RANGES[name]
    return filled


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)


def ready(answer: Answer) -> str:
    found = re.search(r'name="ready" value="([^"]*)"', answer.text)
    assert found, answer.words
    return found[1]


def test_from_a_draft_to_the_same_answer(served: dict[str, Served], short: str) -> None:
    """Bit for bit what the parties' rows give in one process."""
    for name, each in served.items():
        form = {"party": name, "rows": "rows.csv", "run": "1", "passphrase": ""}
        seen = each.post(f"/join/{short}", form)
        assert "Nothing in these rows alone would be refused" in seen.words
        assert "Masked sums leave this machine; no row does" in seen.words
        begun = each.post(f"/join/{short}/yes", {"ready": ready(seen)})
        assert begun.headers["location"] == f"/run/{short}-run1-{name}"
        again = each.post(f"/join/{short}/yes", {"ready": ready(seen)})
        assert (again.status, "answered already" in again.words) == (400, True)
    for name, each in served.items():
        place = f"/run/{short}-run1-{name}"
        until(lambda each=each, place=place: each.get(f"{place}/live").status == 205)  # type: ignore[misc]
        assert "What left this machine" in each.get(place).words
        assert each.get(f"{place}/report").headers["content-disposition"].startswith("attachment")
    kept = [each.folder / "runs" / f"{short}-run1-{name}" for name, each in served.items()]
    assert len({(folder / "result.json").read_bytes() for folder in kept}) == 1
    tables = [each.folder / "rows.csv" for each in served.values()]
    formula = "y ~ age + C(sex, levels=['f', 'm'])"
    whole = titan.fit([str(t) for t in tables], titan.Network.cycle(NAMES), formula=formula, tau=1)
    assert list(titan.load(kept[0])["main"].params.values()) == list(whole.params.values())


def test_a_run_that_is_left_and_stopped_goes_on(served: dict[str, Served], short: str) -> None:
    """East and south do not come; north stops, and its journal waits."""
    north = served["north"]
    form = {"party": "north", "rows": "rows.csv", "run": "2", "passphrase": ""}
    token = ready(north.post(f"/join/{short}", form))
    place = north.post(f"/join/{short}/yes", {"ready": token}).headers["location"]
    said = ""
    while "Waiting for" not in said:
        said = north.get(f"{place}/live").words
        assert "Here, 1 of 3: north." in said, "nobody is here who has not come"
    assert "there is no answer yet" in north.get("/runs").words
    assert north.get(f"{place}/report").status == 400, "it is not over"
    assert north.post(f"{place}/stop", {}).status == 303
    assert "join again to continue" in north.get(place).words


def test_rows_that_would_end_the_run_are_told_before(served: dict[str, Served], short: str) -> None:
    north = served["north"]
    (north.folder / "wrong.csv").write_text(rows_of(0) + "500,30,f\n")
    (north.folder / "text.csv").write_text(rows_of(0) + "high,30,f\n")
    try:
        assert "This party would veto".lower() in _looked(north, short, "wrong.csv").words.lower()
        found = _looked(north, short, "text.csv")
        assert "These rows cannot be used as they are" in found.words
        assert "Take part?" not in found.words
    finally:
        for name in ("wrong.csv", "text.csv"):
            (north.folder / name).unlink()


def test_another_ledger_is_warned_of_before_it_asks(served: dict[str, Served], short: str) -> None:
    folder = served["north"].folder
    with Ledger.open(folder / "north.ledger"), Ledger.open(folder / "other.ledger"):
        pass
    note = folder / "north.used"
    before = note.read_text() if note.exists() else f"{folder / 'north.ledger'}\n"
    try:
        note.write_text(f"{folder / 'other.ledger'}\n")
        found = _looked(served["north"], short, "rows.csv")
        assert "This key was used with another ledger" in found.words
    finally:
        note.write_text(before)
    assert "another ledger" not in _looked(served["north"], short, "rows.csv").words


def test_who_does_not_want_to_says_so(served: dict[str, Served], short: str) -> None:
    """Nobody else is there to be told; no run is begun."""
    north = served["north"]
    form = {"party": "north", "rows": "rows.csv", "run": "5", "passphrase": ""}
    token = ready(north.post(f"/join/{short}", form))
    said = north.post(f"/join/{short}/no", {"ready": token})
    assert "Nothing was sent" in said.words
    assert not (north.folder / "runs" / f"{short}-run5-north").exists()
    assert north.post(f"/join/{short}/yes", {"ready": token}).status == 400


def _looked(north: Served, short: str, rows: str) -> Answer:
    form = {"party": "north", "rows": rows, "run": "3", "passphrase": ""}
    return north.post(f"/join/{short}", form)


BAD = {
    "no such study": ("/join/000000000000", {"party": "north", "rows": "rows.csv", "run": "1"}),
    "a path": ("/check/{}", {"rows": "../east/rows.csv"}),
    "a path of another": ("/join/{}", {"party": "../x", "rows": "rows.csv", "run": "1"}),
    "not a run": ("/join/{}", {"party": "north", "rows": "rows.csv", "run": "two"}),
    "an empty form": ("/join/{}", {}),
    "keys that are there": ("/study/keys", {"name": "north", "address": "127.0.0.1:7443"}),
    "no address": ("/study/keys", {"name": "x"}),
    "a bad name": ("/study/keys", {"name": "<b>x</b>/..", "address": "127.0.0.1:7443"}),
    "two passphrases": ("/study/keys", {"name": "x", "address": "h:1", "passphrase": "a"}),
    "no such column": ("/study/draft", {"rows": "rows.csv", "questions": "regression: y ~ weight"}),
    "no question": ("/study/draft", {"rows": "rows.csv", "questions": "what is the mean?"}),
    "no card": ("/study/card", {}),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_on_the_page(
    served: dict[str, Served], short: str, case: str
) -> None:
    path, fields = BAD[case]
    found = served["north"].post(path.format(short), fields)
    assert found.status == 400
    assert 'role="alert"' in found.text
    assert "<b>x</b>" not in found.text
    assert "Traceback" not in found.text


def test_a_private_key_is_not_taken_for_a_card(served: dict[str, Served], short: str) -> None:
    secret = (served["east"].folder / "east.key").read_text()
    for path, field in (("/study/card", "card"), ("/study/file", "study")):
        found = served["north"].post(path, {}, (field, secret))
        assert found.status == 400
        assert "this is a private key" in found.words
        assert secret.splitlines()[1] not in found.text


def test_a_run_whose_status_cannot_be_read_hides_no_other(served: dict[str, Served]) -> None:
    folder = served["north"].folder / "runs" / "0123456789ab-run1-north"
    folder.mkdir(parents=True)
    try:
        for name in ("journal.db", "status.json"):
            (folder / name).write_text("garbage")
        assert "nobody can say" in served["north"].get("/runs").words
        page = served["north"].get(f"/run/{folder.name}")
        assert (page.status, "nobody can say" in page.words) == (200, True)
        assert any(link.endswith("/join/0123456789ab") for link in page.links)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(("alive", "state"), [(True, "running"), (False, "nobody can say")])
def test_a_run_that_has_just_begun_is_running(tmp_path: Path, alive: bool, state: str) -> None:
    """Its journal and key are there before its first status."""
    folder = tmp_path / "runs" / "0123456789ab-run1-north"
    folder.mkdir(parents=True)
    for name in ("journal.db", "journal.db.secret"):
        (folder / name).write_text("")
    runs = SimpleNamespace(alive=lambda: [folder.name] * alive)
    request: Any = SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(runs=runs)))
    assert state in bytes(every(Place(tmp_path), request).body).decode()


def test_names_of_files_are_text(served: dict[str, Served]) -> None:
    file = served["north"].folder / "<img src=x onerror=alert(1)>.csv"
    file.write_text("a\n1\n")
    try:
        found = served["north"].get("/study").text
    finally:
        file.unlink()
    assert "<img" not in found
    assert "&lt;img" in found


def test_stopping_the_pages_stops_the_run_in_good_order(
    tmp_path: Path, served: dict[str, Served], short: str
) -> None:
    north = served["north"].folder
    for name in ("north.key", "north.card", f"study-{short}.toml", "rows.csv"):
        (tmp_path / name).write_bytes((north / name).read_bytes())
        (tmp_path / name).chmod(0o600)
    pages = Served(tmp_path)
    pages.signs_in()
    form = {"party": "north", "rows": "rows.csv", "run": "4", "passphrase": ""}
    token = ready(pages.post(f"/join/{short}", form))
    place = pages.post(f"/join/{short}/yes", {"ready": token}).headers["location"]
    until(lambda: "Waiting for" in pages.get(f"{place}/live").words)
    assert f"{short}-run4-north is stopped; join again to continue it" in pages.close()
