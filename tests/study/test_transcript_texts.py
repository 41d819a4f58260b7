"""A terminal shows a transcript's texts, and never obeys them; an honest one is never refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.study.signing import certificate, signer
from tests.study.test_transcript import file, journal, transcript  # noqa: F401 - fixtures
from titan.canonical import canonical
from titan.errors import FileError
from titan.study.journal import Journal
from titan.study.transcript import NetworkFacts, Stopped, Transcript, decode, from_journal
from titan.study.verified import verify

ODD = ("\x1b[2J\x1b[H", "one\nnamed: south", "\u202egnp", "\ud800", "a\x07", "\x7f", "\x9b2J")


def renamed(value: Any, old: str, new: str) -> Any:
    """As text and as the name of a field."""
    if isinstance(value, dict):
        return {renamed(k, old, new): renamed(v, old, new) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(each, old, new) for each in value]
    return new if value == old else value


def texts(body: Any) -> Iterator[str]:
    """All but the certificate, and what is in the result; the names of nonces are parties."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key not in ("certificate", "result"):
                yield from texts(value)
        yield from body.get("nonces", ())
    elif isinstance(body, list):
        for each in body:
            yield from texts(each)
    elif isinstance(body, str):
        yield body


def ended(t: Transcript, why: str = "because", named: tuple[str, ...] = ("east",)) -> Transcript:
    return replace(t, pooled=None, result={}, stopped=Stopped(why, named))


def refused(data: bytes) -> None:
    with pytest.raises(FileError, match="is not a valid transcript: ") as error:
        decode(data, "t.json")
    assert (error.value.message + error.value.hint).isprintable()


@pytest.mark.parametrize("odd", ODD)
def test_every_text_prints(transcript: Transcript, odd: str) -> None:  # noqa: F811
    whole = json.loads(ended(transcript).signed(signer("north")))
    found = set(texts(whole["body"]))
    assert {"because", "north", "titan 0.1.0", "tree", "MASK"} <= found
    for text in found:
        for new in (odd, text + odd):
            refused(canonical(whole | {"body": renamed(whole["body"], text, new)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda t, odd: replace(t, software=odd),
        lambda t, odd: replace(t, sums=(replace(t.sums[0], recovery=odd),)),
        lambda t, odd: ended(t, odd),
    ],
)
@pytest.mark.parametrize("odd", ODD)
def test_so_does_what_a_party_has_signed(
    transcript: Transcript,  # noqa: F811
    tmp_path: Path,
    change: Callable[[Transcript, str], Transcript],
    odd: str,
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(change(transcript, odd).signed(signer("north")))
    with pytest.raises(FileError, match="something that does not print"):
        verify(path)


@pytest.mark.parametrize("odd", [*ODD, "x" * 100_000, "\n" * 65_536, "Zürich – 東 τ"])
def test_what_a_party_signs_of_itself_can_be_read(
    journal: Journal,  # noqa: F811
    tmp_path: Path,
    odd: str,
) -> None:
    """Also where an error has somebody else's words."""
    made = from_journal(
        journal, sums=[("tree", 4, b"")], network=NetworkFacts(2, 2, 1), software="titan 0.1.0",
        certificate=certificate("north"), result={}, result_sha256="00" * 32,
        stopped=Stopped(f"east said: {odd}", ("east",)),
    )  # fmt: skip
    path = tmp_path / "t.json"
    path.write_bytes(made.signed(signer("north")))
    found = verify(path).transcript
    assert found == made
    assert found.stopped is not None
    assert found.stopped.why.startswith("east said: ")
    assert str(verify(path)).replace("\n", "").isprintable()
    if odd.isprintable():
        assert found.stopped.why == f"east said: {odd}"[:65_536]


def test_the_result_may_have_any_text_and_is_shown_as_it_prints(
    transcript: Transcript,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Columns may be called anything."""
    path = tmp_path / "t.json"
    new = replace(transcript, result={"params": dict.fromkeys(ODD, 1.5)})
    path.write_bytes(new.signed(signer("north")))
    assert str(verify(path)).replace("\n", "").isprintable()
