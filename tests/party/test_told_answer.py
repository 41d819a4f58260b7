"""A told answer is compared with one's own totals: altered anywhere, it is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import titan
from tests.party.loopback import NAMES, Gathering, run
from tests.results.test_altered import changed, places, sealed
from titan import canonical
from titan.errors import PeerError, TitanError
from titan.party.run import MOST_ANSWER
from titan.party.session import Session
from titan.party.told_answer import _much_longer, check_told
from titan.results import Results, decode, encode
from titan.study.audit import TRANSCRIPT

LAST = 0.9999999999999998  # of 1: a double's last digit


def fits(columns: int) -> Results:
    """A regression on so many columns, of made-up rows."""
    names = [f"c{i}" for i in range(columns)]
    count = 3 * columns
    rows = {
        name: [((i + 2) * (j + 3) ** 2 * 7919 + i * j) % 1009 for i in range(count)]
        for j, name in enumerate([*names, "y"])
    }
    fit = titan.fit(rows, formula="y ~ " + " + ".join(names))
    return Results({"main": fit}, study="s", run=1, parties=NAMES)


@pytest.fixture(scope="module")
def few() -> Results:
    return fits(2)


@pytest.fixture(scope="module")
def many() -> Results:
    return fits(33)


def numbers(value: Any) -> Iterator[tuple[tuple[Any, ...], float]]:
    for path in places(value):
        found = value
        for key in path:
            found = found[key]
        if isinstance(found, int | float) and not isinstance(found, bool):
            yield path, found


def test_the_answer_that_was_found_is_taken(few: Results, many: Results) -> None:
    for own in (few, many):
        check_told(encode(own), own, "east", 1)


def told_with(whole: dict[str, Any], path: tuple[Any, ...], to: Any) -> bytes:
    return sealed(changed(whole, path, to))


def test_no_number_of_a_told_answer_can_be_another(few: Results) -> None:
    """One digit of twelve is another, in every number: of what is shown and of what rebuilds it."""
    whole = json.loads(encode(few))
    at = ("results", 0, "result")
    found = list(numbers(whole["results"][0]["result"]))
    assert len(found) > 30
    for path, number in found:
        other = number + 1 if isinstance(number, int) else number * (1 + 1e-11) or 1e-11
        with pytest.raises(PeerError, match="east"):
            check_told(told_with(whole, at + path, other), few, "east", 1)


def test_a_coefficient_cannot_be_another_in_its_last_digit(few: Results) -> None:
    whole = json.loads(encode(few))
    for path, number in numbers(whole["results"][0]["result"]["params"]):
        at = ("results", 0, "result", "params", *path)
        with pytest.raises(PeerError, match="the answer that east told to main does not follow"):
            check_told(told_with(whole, at, number * LAST), few, "east", 1)


def test_nor_can_its_state_its_text_or_its_frame(few: Results) -> None:
    whole = json.loads(encode(few))
    entry = whole["results"][0]
    rhs = entry["state"]["moments"]["denominator"]
    failed = {"type": "RankError", "message": "no", "hint": ""}
    changes = [
        (("results", 0, "summary"), "y = 2 x"),
        (("results", 0, "state", "moments", "denominator"), rhs + "0"),
        (("results", 0, "state", "moments", "rows"), entry["state"]["moments"]["rows"] + 1),
        (("results", 0), {"name": "main", "error": failed}),
        (("results", 0, "name"), "other"),
        (("study",), "t"),
        (("run",), 2),
        (("results",), []),
    ]  # fmt: skip
    for path, to in changes:
        with pytest.raises(PeerError, match="east"):
            check_told(told_with(whole, path, to), few, "east", 1)
    for data in (b"", b"{}", encode(few)[:-1]):
        with pytest.raises(PeerError, match="the answer that east told cannot be read"):
            check_told(data, few, "east", 1)


def test_honest_machines_may_differ_in_the_last_digits(few: Results, many: Results) -> None:
    """Distributions come from a library; with 32 columns and more, so do the coefficients."""
    for own, keys in ((few, ["pvalues"]), (many, ["pvalues", "params", "bse"])):
        whole = json.loads(encode(own))
        for key in keys:
            values = whole["results"][0]["result"][key]
            name, value = next((n, v) for n, v in values.items() if v)
            at = ("results", 0, "result", key, name)
            check_told(told_with(whole, at, value * LAST), own, "east", 1)
            with pytest.raises(PeerError, match="east"):
                check_told(told_with(whole, at, value * (1 + 1e-11)), own, "east", 1)


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"[]",
        b"{}",
        b'{"result": 1, "summary": ""}',
        b'{"result": [], "summary": ""}',
        b'{"result": "no", "summary": ""}',
        b'{"result": {}, "summary": 1}',
        b'{"summary": "", "result": {}}',
        b'{"result": {}, "summary": "" }',
        b'{"result": {"x": NaN}, "summary": ""}',
        b'{"result": {"x": 1, "x": 2}, "summary": ""}',
        b'{"result": {"error": "no"}, "summary": ""}',
        b'{"result": {"error": 1, "hint": ""}, "summary": ""}',
        b'{"result": {"x": "\\ud800"}, "summary": ""}',
        b'{"result": {}, "summary": "\\u001b[2J"}',
        b'{"result": ' + b"[" * 100_000,
        b"\xff",
    ],
)
def test_an_answer_that_cannot_be_shown_is_an_error_and_no_crash(told: bytes) -> None:
    with pytest.raises(PeerError, match="the answer that east told cannot be read"):
        check_told(told, Results({}), "east", 1)


@pytest.mark.parametrize("item", [b"[],", b"{},", b"1.5,"])
def test_a_much_longer_answer_is_not_parsed(few: Results, item: bytes) -> None:
    """As objects, 64 MiB of empty lists take almost two gigabytes."""
    told = b'{"results":[' + item * ((MOST_ANSWER - 40) // len(item)) + b"[]]}"
    with (
        patch.object(canonical, "parsed", side_effect=AssertionError),
        pytest.raises(PeerError, match="the answer that east told is much longer than"),
    ):
        check_told(told, few, "east", 1)


def test_other_last_digits_make_no_answer_much_longer() -> None:
    """Every number has three characters here, and as many as a float can have elsewhere."""
    known = json.dumps([[1.0, -0.5]] * 50_000).encode()
    told = json.dumps([[1.0000000000000002, -2.2250738585072014e-308]] * 50_000).encode()
    assert len(told) > 1 << 20
    assert not _much_longer(told, known)
    assert _much_longer(told + b"[]" * 50_002, known)


def test_answers_come_back() -> None:
    for outcome in (
        titan.average([1.5, 2.5], "cycle"),
        TitanError("no", hint="é"),
    ):
        data = encode(Results({"main": outcome}, study="5" * 64, run=1))
        check_told(data, decode(data), "east", 1)


@pytest.mark.parametrize(
    ("found", "other"),
    [
        (b'{"cost"', b'{ "cost"'),
        (b'"run":1,', b'"run":1,"run":1,'),
        (b'"run":1,', b'"more":1,"run":1,'),
        (b'"run":1,', b'"run":1.0,'),
        (b'"sha256":"', b'"sha256":"0'),
        (b'"name":"main"', b'"name":"\\u006dain"'),
    ],
)
def test_an_answer_has_one_form(few: Results, found: bytes, other: bytes) -> None:
    """What says the same in other bytes is refused, as of every other message."""
    data = encode(few)
    assert found in data
    for told in (data.replace(found, other, 1), data + b"\n"):
        with pytest.raises(PeerError, match="the answer that east told is not written as"):
            check_told(told, few, "east", 1)


@pytest.mark.parametrize(
    ("changes", "names", "what"),
    [
        ({"study": "t"}, ["main"], "another study"),
        ({"run": 2}, ["main"], "another run"),
        ({"parties": ["a"]}, ["main"], "another parties"),
        ({}, ["other"], "other questions"),
        ({}, ["main", "more"], "other questions"),
    ],
)
def test_a_told_answer_of_something_else_is_not_taken(
    changes: dict[str, Any], names: list[str], what: str
) -> None:
    content: dict[str, Any] = {"study": "s", "run": 1} | changes
    told = Results({"main": titan.average([1, 2], "cycle")}, **content)
    own = Results({name: titan.average([1, 2], "cycle") for name in names}, study="s", run=1)
    with pytest.raises(PeerError, match=f"that east told is that of {what}"):
        check_told(encode(told), own, "east", 1)


# -- through whole runs -----------------------------------------------------------------------


def lies(path: tuple[Any, ...]) -> Any:
    tell = Session.tell_answer

    def altered(self: Session, answer: bytes) -> Any:
        whole = json.loads(answer)
        found = whole
        for key in path:
            found = found[key]
        return tell(self, told_with(whole, path, found * (1 + 1e-11)))

    return patch.object(Session, "tell_answer", altered)


@pytest.mark.parametrize("recovery", ["flood", "tree"])
def test_a_lie_of_the_one_who_solves_is_refused_by_all_others(
    tmp_path: Path, recovery: str
) -> None:
    g = Gathering(tmp_path, changes={"solver": "east", "recovery": recovery})
    with lies(("results", 0, "result", "params", "x")):
        ends = run(g.ends())
    for name in ("north", "south"):
        assert type(ends[name]) is PeerError
        assert (
            "the answer that east told to q1 does not follow from the pooled sums"
            in ends[name].message
        )
        assert "agree on run 2" in ends[name].hint
        assert name not in g.shown
        assert not (g.run_folder(name) / TRANSCRIPT).exists(), "nothing of it is signed"
    assert set(g.shown) == {"east"}, "who lies has the answer, as it always could"


def test_refused_is_refused_after_a_restart_too(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"solver": "east"})

    async def story() -> None:
        with lies(("results", 0, "result", "params", "x")):
            await g.ends()
        again = await g.join("north")
        assert "east told to q1 does not follow" in again.results.errors["q1"].message

    run(story())
