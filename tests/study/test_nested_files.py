"""However deep a file nests its fields, it is read or refused in words, and never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.results.test_altered import data, sealed  # noqa: F401 - fixture
from tests.study.signing import signer
from tests.study.test_transcript import file, journal, transcript  # noqa: F401 - fixtures
from titan import reporting
from titan.canonical import MOST_DEPTH, canonical, parsed
from titan.cli import join
from titan.errors import FileError
from titan.release import evidence
from titan.results import decode as decode_results
from titan.study.audit import JOURNAL, STATUS
from titan.study.cross_check import cross_check
from titan.study.journal import Journal
from titan.study.kept_runs import kept_runs
from titan.study.transcript import FORMAT, SIGNED, VERSION, Transcript
from titan.study.verified import Facts, verify

_HERE = "in the place of this"
DEEP = (MOST_DEPTH + 1, 100, 300, 450, 900)
AROUND = {
    "fields": lambda value: {"a": value},
    "questions": lambda value: {"questions": {"a": value}},
    "lists": lambda value: {"params": {"x": [value]}},
}


def nested(depth: int, around: Callable[[Any], Any], leaf: Any = 1.5) -> Any:
    for _ in range(depth):
        leaf = around(leaf)
    return leaf


@pytest.mark.parametrize("depth", [1, 2, MOST_DEPTH - 1, MOST_DEPTH])
def test_what_is_not_deeper_is_read(depth: int) -> None:
    value = nested(depth, AROUND["fields"])
    text = canonical(value)
    assert parsed(text, len(text)) == value
    inside = canonical({"a": nested(depth - 1, lambda value: [value, 0])})
    assert parsed(inside, len(inside))


@pytest.mark.parametrize("depth", [*DEEP, 5_000, 100_000])
def test_what_is_deeper_is_refused(depth: int) -> None:
    for opening, closing in ((b'{"a":', b"}"), (b"[", b"]")):
        text = b'{"a":' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"
        with pytest.raises(ValueError, match=r"deep in each other|not JSON"):
            parsed(text, len(text))


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("depth", DEEP)
def test_a_transcript(
    transcript: Transcript,  # noqa: F811
    tmp_path: Path,
    around: str,
    depth: int,
) -> None:
    """Its party may sign any result, also one that this Python would not write."""
    body = canonical(replace(transcript, result={"x": _HERE}).as_dict())
    before, after = canonical(nested(1, AROUND[around], _HERE)).split(canonical(_HERE))
    body = body.replace(canonical(_HERE), before * depth + b"1.5" + after * depth)
    whole = {"format": FORMAT, "version": VERSION, "body": _HERE}
    whole["signature"] = signer("north")(SIGNED + body).hex()
    path = tmp_path / "t.json"
    path.write_bytes(canonical(whole).replace(canonical(_HERE), body))
    with pytest.raises(FileError, match=f"more than {MOST_DEPTH} deep in each other|not JSON"):
        verify(path)


@pytest.mark.parametrize("around", AROUND)
def test_as_deep_as_one_may_be_they_are_shown_and_compared(
    transcript: Transcript,  # noqa: F811
    tmp_path: Path,
    around: str,
) -> None:
    path = tmp_path / "t.json"
    deep = nested(9, AROUND[around], {"x": 1.5})
    path.write_bytes(replace(transcript, result=deep).signed(signer("north")))
    facts = verify(path)
    other = replace(facts.transcript, result=nested(9, AROUND[around], {"x": 2.5}), party="south")
    assert str(facts)
    assert str(cross_check((facts, Facts(other, ""))))


@pytest.mark.parametrize("depth", DEEP)
def test_a_file_of_results(data: bytes, depth: int) -> None:  # noqa: F811
    whole = parsed(data, len(data))
    whole["results"][0]["result"] = nested(depth, AROUND["fields"])
    with pytest.raises(FileError, match=f"more than {MOST_DEPTH} deep in each other"):
        decode_results(sealed(whole))


def test_notes_in_the_folder_of_a_run_are_as_good_as_missing(tmp_path: Path) -> None:
    for name in (STATUS, evidence.NAME):
        (tmp_path / name).write_text("[" * 100_000)
    with Journal.open(tmp_path / JOURNAL):
        (found,) = kept_runs(tmp_path)
    assert (found.state, found.study) == ("running", None)
    assert evidence.refusal_in(tmp_path) is None
    assert reporting._times(tmp_path) == (None, None)


def test_what_an_answer_is_to_be_saved_over_is_no_earlier_answer(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text("[" * 100_000)
    assert not join._is_of_run(tmp_path / "answer.json", "ab" * 32, 1, "north")


@pytest.mark.parametrize("zones", [("", ""), ("", "+00:00"), ("+00:00", "")])
def test_of_times_without_a_zone_no_difference_is_taken(
    tmp_path: Path, zones: tuple[str, str]
) -> None:
    began, over = (f"2026-01-01T00:00:00{zone}" for zone in zones)
    (tmp_path / STATUS).write_bytes(canonical({"started": began, "since": over}))
    assert reporting._times(tmp_path) == (None, None)
