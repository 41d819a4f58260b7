"""A transcript is accepted if it is what its party signed and can be true; not else."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import titan
from tests.study.runs import STUDY, beginning, fixed, mask_frame, total_frame
from tests.study.signing import ORDER, certificate, signer
from titan.canonical import canonical
from titan.cli import runs as commands
from titan.errors import FileError, InputError
from titan.results import Results
from titan.study import certificates, released
from titan.study.audit import NOTHING_ELSE, audit
from titan.study.cross_check import cross_check
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.kinds import MASK, Message
from titan.study.transcript import NetworkFacts, Stopped, Transcript, decode, from_journal
from titan.study.verified import Facts, verify


def pin(name: str) -> str:
    return certificates.fingerprint(certificates.read(certificate(name)))


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    with Journal.open(tmp_path / "run.journal") as opened:
        beginning(opened, keys=[fixed("key 0")])
        opened.set_nonce("east", fixed("nonce of east"))
        opened.set_nonce("south", fixed("nonce of south"))
        opened.sending(Frame("east", 0, "NONCE", b"nonce of north"))
        opened.sending(mask_frame("east", 1, 100))
        opened.sending(total_frame("east", 2, 60))
        opened.record_incoming(mask_frame("south", 0, 100))
        opened.record_incoming(total_frame("south", 1, 60))
        opened.agree("12" * 32)
        yield opened


@pytest.fixture
def transcript(journal: Journal) -> Transcript:
    return from_journal(
        journal,
        sums=[("tree", 4, b"")],
        network=NetworkFacts(2, 2, 1),
        software="titan 0.1.0",
        certificate=certificate("north"),
        result={"params": {"age": -0.25, "Intercept": 12.0}, "nobs": 740, "fvalue": None},
        result_sha256="00" * 32,
    )


@pytest.fixture
def file(transcript: Transcript, tmp_path: Path) -> Path:
    path = tmp_path / "transcript.json"
    path.write_bytes(transcript.signed(signer("north")))
    return path


def test_what_was_signed_is_what_is_read(file: Path, transcript: Transcript) -> None:
    facts = verify(file)
    assert facts.transcript == transcript
    assert facts.fingerprint == pin("north")
    t = facts.transcript
    assert (t.study, t.run, t.party, t.pooled) == (STUDY, 1, "north", "12" * 32)
    assert t.nonces["south"] == fixed("nonce of south").hex()
    assert t.totals == {
        "messages_sent": 3, "bytes_sent": 174, "messages_received": 2, "bytes_received": 160,
    }  # fmt: skip
    assert [m.sha256 is None for m in t.sent] == [True, True, False]


def test_any_changed_byte_is_noticed(file: Path) -> None:
    """Every byte with one bit flipped; every fifth taken out, or doubled."""
    data = file.read_bytes()

    def refused(changed: bytes) -> bool:
        try:
            decode(changed, "t")
            file.write_bytes(changed)  # well-formed: then the signature alone can tell
            verify(file)
        except FileError:
            return True
        return False

    for at in range(len(data)):
        flipped = data[:at] + bytes([data[at] ^ (1 << at % 7)]) + data[at + 1 :]
        assert refused(flipped), f"byte {at} flipped"
        if not at % 5:
            assert refused(data[:at] + data[at + 1 :]), f"byte {at} taken out"
            assert refused(data[: at + 1] + data[at:]), f"byte {at} doubled"
    assert refused(data + b"\n")
    assert not refused(data)


def test_many_links_and_pieces_of_masks_are_counted_and_not_written_out(
    transcript: Transcript,
) -> None:
    """That could be many times as many as a file has messages."""
    n, (record,) = 1_000, transcript.sums
    nonces = dict(transcript.nonces) | {f"p{at}": f"{at:064x}" for at in range(n)}
    to_all = [Message("north", f"p{at}", 0, 0, MASK, 100) for at in range(n)]
    pieces = [Message("north", "p0", 0, at, MASK, 100) for at in range(1, n)]
    sums = (replace(record, messages=(*record.messages, *to_all, *pieces)),)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="not every sum has one mask along every link"):
            replace(transcript, nonces=nonces, sums=sums).signed(signer("north"))
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_pieces_of_masks_are_those_from_the_first_on(transcript: Transcript) -> None:
    (record,) = transcript.sums
    later = tuple(replace(m, round=m.round + (m.kind == MASK)) for m in record.messages)
    with pytest.raises(ValueError, match="not every sum has one mask along every link"):
        replace(transcript, sums=(replace(record, messages=later),)).signed(signer("north"))


def test_many_messages_outside_of_the_sums_are_compared_in_proportion(
    transcript: Transcript,
) -> None:
    """Such a transcript of some megabytes kept `titan verify` busy for hours."""
    many = tuple(Message("north", "east", None, 0, "NONCE", 10) for _ in range(200_000))
    one = replace(transcript, control=transcript.control + many)
    other = replace(transcript, party="east")
    assert len(cross_check((Facts(one, ""), Facts(other, ""))).differences) == 200_000


def test_somebody_else_cannot_sign_for_north(transcript: Transcript, tmp_path: Path) -> None:
    path = tmp_path / "forged.json"
    path.write_bytes(transcript.signed(signer("east")))
    with pytest.raises(FileError, match="'north' did not sign this"):
        verify(path)
    path.write_bytes(replace(transcript, certificate=certificate("east")).signed(signer("east")))
    assert verify(path), "right in itself; whose certificate it is, the cards tell"
    pinned = "--pin", pin("north")
    forged = run(commands.verify, path, *pinned)
    assert isinstance(forged.exception, FileError)
    assert "somebody else signed it" in forged.exception.hint
    path.write_bytes(transcript.signed(signer("north")))
    assert run(commands.verify, path, *pinned).exit_code == 0


def test_a_signature_has_one_form(transcript: Transcript, tmp_path: Path) -> None:
    """Of (r, s) and (r, -s), both right by mathematics, one is accepted."""
    path = tmp_path / "t.json"

    def other_form(data: bytes) -> bytes:
        made = signer("north")(data)
        return made[:32] + (ORDER - int.from_bytes(made[32:], "big")).to_bytes(32, "big")

    for bad in (other_form, lambda data: signer("north")(data) + b"0", lambda _: bytes(64)):
        path.write_bytes(transcript.signed(bad))
        with pytest.raises(FileError, match="did not sign this"):
            verify(path)


def one_sum(change: Callable[[Message], Message]) -> Callable[[Transcript], Transcript]:
    def changed(t: Transcript) -> Transcript:
        messages = tuple(change(m) for m in t.sums[0].messages)
        return replace(t, sums=(replace(t.sums[0], messages=messages),))

    return changed


def without(t: Transcript, place: int) -> Transcript:
    messages = t.sums[0].messages
    kept = messages[:place] + messages[place + 1 :]
    return replace(t, sums=(replace(t.sums[0], messages=kept),))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: replace(t, nonces={**t.nonces, "east": t.nonces["south"]}), "nonce of its own"),
        (lambda t: replace(t, party="west"), "nonce of its own"),
        (lambda t: replace(t, network=NetworkFacts(2, 1, 1)), "does not hide a party from τ"),
        (lambda t: replace(t, network=NetworkFacts(3, 2, 1)), "no such diameter"),
        (lambda t: replace(t, sums=()), "no sum"),
        (lambda t: replace(t, sums=(replace(t.sums[0], rounds=0),)), "never planned"),
        (one_sum(lambda m: replace(m, round=1)), "not every sum has one mask along every link"),
        (lambda t: replace(t, control=(Message("south", "east", None, 0, "NONCE", 9),)), "its own"),
        (
            lambda t: replace(t, control=(Message("north", "north", None, 0, "NONCE", 9),)),
            "its own",
        ),
        (
            lambda t: replace(t, nonces={k: v for k, v in t.nonces.items() if k != "south"}),
            "diameter",
        ),
        (one_sum(lambda m: replace(m, size=m.size + (m.sender == "north"))), "differ in size"),
        (lambda t: without(t, 0), "a link that carried no mask"),
        (lambda t: replace(t, sums=(*t.sums, without(t, 2).sums[0])), "one mask along every link"),
        (lambda t: replace(t, control=(Message("north", "east", None, 0, "MASK", 9),)), "outside"),
        (
            lambda t: replace(t, control=(Message("north", "west", None, 0, "NONCE", 9),)),
            "stranger",
        ),
        (
            lambda t: replace(t, sums=(replace(t.sums[0], messages=t.sums[0].messages * 2),)),
            "told twice",
        ),
    ],
)
def test_what_cannot_be_true_is_neither_signed_nor_accepted(
    transcript: Transcript, change: Callable[[Transcript], Transcript], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        change(transcript).signed(signer("north"))


def test_a_run_may_stop_before_all_masks_of_its_first_sum(transcript: Transcript) -> None:
    """One that relays lied early: the link to east has no mask yet, and hears of the end."""
    messages = [m for m in transcript.sums[0].messages if m.receiver != "east"]
    record = replace(transcript.sums[0], messages=tuple(messages))
    why = Stopped("south altered what it passed on", ("south",))
    stopped = replace(transcript, sums=(record,), pooled=None, result={}, stopped=why)
    assert {m.receiver for m in stopped.control} == {"east"}
    assert stopped.signed(signer("north"))
    unknown = replace(messages[-1], sender="east", receiver="north")
    for change in (
        replace(stopped, sums=(record, record)),  # where all masks of the first must be there
        replace(stopped, sums=(replace(record, messages=(*messages, unknown)),)),
    ):
        with pytest.raises(ValueError, match="carried no mask"):
            change.signed(signer("north"))


def test_after_the_planned_rounds_vectors_may_be_opened(transcript: Transcript) -> None:
    """By whoever says that a sum was falsified, whether or not it was."""
    late = Message("south", "north", 0, 5, "OPENED", 9, "ab" * 32)

    def told(m: Message) -> Transcript:
        record = transcript.sums[0]
        return replace(transcript, sums=(replace(record, messages=(*record.messages, m)),))

    assert told(late).signed(signer("north"))
    with pytest.raises(ValueError, match="SUMMED in round 5 was never planned"):
        told(replace(late, kind="SUMMED")).signed(signer("north"))


def tampered(file: Path, change: Callable[[dict[str, Any]], object]) -> bytes:
    whole = json.loads(file.read_bytes())
    change(whole)
    return canonical(whole)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda w: w["body"].update(extra=1), "exactly the fields"),
        (lambda w: w.update(extra=1), "exactly the fields"),
        (lambda w: w["body"].pop("pooled"), "exactly the fields"),
        (lambda w: w["body"]["network"].update(kappa=2), "exactly the fields"),
        (
            lambda w: w["body"]["sums"][0]["messages"][0].update(sha256="ab" * 32),
            "no other message",
        ),
        (lambda w: w["body"]["sums"][0]["messages"][1].pop("sha256"), "without its digest"),
        (lambda w: w["body"]["sums"][0]["messages"][0].update(note=""), "exactly the fields"),
        (lambda w: w["body"]["sums"][0]["messages"][0].update(kind="mask"), "capital letters"),
        (lambda w: w["body"]["totals"].update(bytes_sent=175), "do not add up"),
        (lambda w: w["body"]["totals"].update(bytes_sent=174.0), "do not add up"),
        (lambda w: w["body"].update(run=0), "not a whole one"),
        (lambda w: w["body"].update(run=True), "not a whole one"),
        (lambda w: w["body"].update(study="AB" * 32), "hex digits"),
        (lambda w: w["body"].update(software="x" * 300), "longer than"),
        (lambda w: w["body"].update(sums={}), "a list should be"),
        (lambda w: w["body"].update(nonces=[]), "fields should be"),
        (lambda w: w.update(signature="zz"), "hex digits"),
        (lambda w: w.update(version=2), "version 3"),
    ],
)
def test_a_strange_form_is_refused(
    file: Path, change: Callable[[dict[str, Any]], object], match: str
) -> None:
    with pytest.raises(FileError, match=match):
        decode(tampered(file, change), "t.json")


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"null", b"[" * 100_000, b"\xff\xfe", b'{"a":NaN}', b'{"a":1e999}', b"9" * 9999],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(FileError, match="is not a valid transcript") as found:
        decode(data, "t.json")
    assert "do not rely on it" in found.value.hint


def test_a_run_without_agreement_has_no_transcript(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "other") as journal:
        beginning(journal)
        with pytest.raises(InputError, match="has no transcript"):
            from_journal(
                journal, sums=[("tree", 4, b"")], network=NetworkFacts(2, 2, 1),
                software="titan", certificate=certificate("north"), result={},
                result_sha256="00" * 32,
            )  # fmt: skip


# -- audits and commands ----------------------------------------------------------------------


def test_journal_and_transcript_give_the_same_audit(journal: Journal, file: Path) -> None:
    journal.close()
    of_journal, of_transcript = audit(journal.path), audit(file)
    assert of_journal.sent == of_transcript.sent
    assert (of_journal.finished, of_transcript.finished) == (False, True)
    assert [(m.receiver, m.round, m.size) for m in of_journal.sent] == [
        ("east", 0, 14), ("east", 0, 100), ("east", 1, 60),
    ]  # fmt: skip
    assert of_journal.bytes_sent == 174
    assert NOTHING_ELSE in of_transcript.summary().replace("\n", " ")
    assert all(len(line) <= 100 for line in of_transcript.summary().splitlines())
    assert (of_journal.bytes_in_sums, of_journal.bytes_around) == (156, 18), "two heads, a nonce"


def test_an_audit_is_in_the_order_of_the_protocol(journal: Journal) -> None:
    journal.sending(Frame("east", 3, "AGREED", b"digest"))
    journal.sending(Frame("east", 4, "END", b"."))
    journal.close()
    kinds = [row[3] for row in audit(journal.path).rows()[1:]]
    assert kinds == ["nonce", "mask", "total", "agreed", "end"]


def test_an_audit_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read: no such file"):
        audit(tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())
    Journal.open(tmp_path / "empty").close()
    with pytest.raises(FileError, match="holds no run yet"):
        audit(tmp_path / "empty")


def run(command: Callable[..., None], *arguments: str | Path) -> Any:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ({"x": {"age": 0.5}, "rows": 40}, "  age  0.5"),
        ({"params": {"age": None}}, "  age  not defined"),
        ({"params": {"\x1b[2J": 1}}, r"  '\x1b[2J'  1"),
        ({"params": {"age": "\x1b[2J"}}, "  age  not a number"),
        ({"params": [1]}, "result: no coefficients"),
        ({"params": {str(n): n for n in range(201)}}, "  and 1 more"),
        ({"error": "the columns depend on each other"},
         "result: no answer: the columns depend on each other"),
    ],
)  # fmt: skip
def test_whatever_a_result_holds_is_shown_safely(result: dict[str, Any], line: str) -> None:
    shown = released.lines(result)
    assert line in shown
    assert all(each.isprintable() for each in shown)


def test_what_was_found_is_shown_whatever_was_asked() -> None:
    model = {"y": [2.0, 3.5, 1.0, 7.25, 4.0, 6.0], "a": [1, 2, 3, 4, 5, 7]}
    path = titan.fit(model, formula="y ~ a").ridge_path([0.5, 2])
    shown = released.lines(Results({"main": path}).to_dict())
    assert shown[0] == "result from 6 rows of all parties together:"
    assert shown[1::3] == ["alpha 0.5:", "alpha 2.0:"]
    for at, each in enumerate(path):
        rows = [f"  {n.ljust(9)}  {x!r}" for n, x in each.params.items()]
        assert shown[2 + 3 * at : 4 + 3 * at] == rows
    average = {"value": {"age": 4.5}, "total": {"age": 9.0}, "parties": ["north", "east"]}
    assert released.lines(average) == ["result:", "  age  4.5"]
    columns = {
        "age": {"kind": "number", "count": 9, "missing": 1, "mean": 50.5, "std": None},
        "sex": {"kind": "category", "count": 10, "missing": 0, "levels": {"f": 4, "m": 6}},
    }
    assert released.lines({"nobs": 10, "columns": columns}) == [
        "result from 10 rows of all parties together:",
        "age:", "  mean     50.5", "  std      not defined", "  count    9", "  missing  1",
        "sex:", "  count    10", "  missing  0",
        "sex, rows by level:", "  f  4", "  m  6",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "odd",
    [
        {"path": 7}, {"path": [7, {}, {"params": [1]}]}, {"path": [{"alpha": "x", "params": {}}]},
        {"columns": {"a": 7}}, {"columns": [1]}, {"columns": {"a": {"levels": 7}}}, {"value": 1.5},
    ],
)  # fmt: skip
def test_odd_results_have_no_numbers(odd: dict[str, Any]) -> None:
    assert released.lines(odd) == ["result: no coefficients"]


def test_many_tables_are_cut() -> None:
    many = {"path": [{"alpha": float(i), "params": {"a\n": 1.0, "b": 2.0}} for i in range(999)]}
    shown = released.lines(many)
    assert len(shown) <= 202
    assert shown[-1] == "  and more"
    assert all(each.isprintable() for each in shown)


def test_messages_are_counted_in_plain_words(file: Path) -> None:
    told = audit(file)
    mask, *others = sorted(told.sent, key=lambda m: m.kind != MASK)
    assert "\n3 messages (1 of them masks), " in told.summary()
    assert "\n1 message, none of them a mask, " in replace(told, sent=tuple(others[:1])).summary()
    assert "\n1 message (1 of them masks), " in replace(told, sent=(mask,)).summary()
    assert "\n0 messages, " in replace(told, sent=()).summary()


def test_the_commands(file: Path) -> None:
    shown = run(commands.audit, file)
    assert shown.exit_code == 0
    assert "north -> east    1      1  total     60" in shown.stdout
    assert "3 messages (1 of them masks), 174 bytes" in shown.stdout
    assert json.loads(run(commands.audit, file, "--json").stdout)["bytes"] == 174
    shown = run(commands.verify, file)
    assert shown.exit_code == 0
    assert "the signature is right" in shown.stdout
    assert "result from 740 rows of all parties together:\n" in shown.stdout
    assert "  age        -0.25\n" in shown.stdout
    assert "  Intercept  12.0\n" in shown.stdout
    found = json.loads(run(commands.verify, file, "--json").stdout)
    assert found["verified"] is True
    assert found["result"]["nobs"] == 740
    assert run(commands.verify, file, "--pin", found["fingerprint"].upper()).exit_code == 0
    wrong = run(commands.verify, file, "--pin", "00" * 32)
    assert isinstance(wrong.exception, FileError)
