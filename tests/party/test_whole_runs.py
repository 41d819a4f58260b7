"""Whole runs over TLS: one answer for all, and a transcript and audit that say what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import titan
from tests.party.capture import capturing
from tests.party.loopback import NAMES, Gathering, answers_agree, run
from titan.errors import DataError, FileError, RankError, RecoveryError
from titan.joint.meeting import Meeting
from titan.party.messages import HEAD_BYTES
from titan.party.session import Session
from titan.protocol.messages import HEADER_BYTES, Kind
from titan.results import Results, encode
from titan.study.audit import JOURNAL, TRANSCRIPT, audit
from titan.study.certificates import SIGNATURE_BYTES
from titan.study.verified import verify


async def everybody_fails(g: Gathering) -> list[Any]:
    return list((await g.ends()).values())


# -- one answer -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"recovery": "tree", "masks": "seeded"},
        {"recovery": "topk"},
        {"release": "solution"},
        {"formula": "y ~ 0 + x"},
        {"solver": "east"},
        {"solver": "east", "release": "solution", "recovery": "tree"},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())) or "default",
)
def test_everybody_has_the_answer_of_all_rows(tmp_path: Path, changes: dict[str, Any]) -> None:
    g = Gathering(tmp_path, changes=changes)
    answers, answer = [], Meeting.answer

    def counted(self: Meeting, known: Any) -> Any:
        found = answer(self, known)
        if found is not None:
            answers.append(found)
        return found

    with patch.object(Meeting, "answer", autospec=True, side_effect=counted) as solved:
        run(g.all())
    answers_agree(g)
    assert len(answers) == 3, solved.call_count  # nobody takes a told answer on trust
    if "solver" in changes:
        assert len({encode(g.shown[name]) for name in NAMES}) == 1, "told, to the last digit"
    data = {name: tmp_path / f"{name}.csv" for name in NAMES}
    formula = changes.get("formula", "y ~ x + z")
    expected = titan.fit(data, g.study.network, formula=formula).to_dict()
    shown = g.shown["north"].to_dict()
    assert shown["rows" if "x" in shown else "nobs"] == 36
    params = shown["x"] if changes.get("release") == "solution" else shown["params"]
    assert params == pytest.approx(expected["params"], rel=1e-12)


def test_too_few_rows_in_all_end_every_party_alike_before_the_second_sum(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"min_rows_total": 40})
    with capturing() as capture:
        errors = run(everybody_fails(g))
    assert len({str(error) for error in errors}) == 1
    assert all(isinstance(error, DataError) for error in errors)
    assert "36 rows in all, and 3 parties need at least 40 together" in str(errors[0])
    assert not g.shown
    for name in NAMES:
        sent = [m for many in capture.messages(name).values() for m in many]
        assert {m[1] for m in sent} == {0, 255}, "of the first sum, and around the sums"
        assert not (g.run_folder(name) / TRANSCRIPT).exists()


def test_a_party_with_another_sum_is_named_and_nobody_has_an_answer(tmp_path: Path) -> None:
    """East's total is another: all are told, and all stop."""
    g = Gathering(tmp_path)
    announce = Session._announce

    def lying(self: Session) -> Any:
        if self.run.party == NAMES.index("east"):
            self.totals[0] = self.totals[0].copy()
            self.totals[0][0, 0] ^= 1
        return announce(self)

    with patch.object(Session, "_announce", lying):
        errors = run(everybody_fails(g))
    assert all(isinstance(error, RecoveryError) for error in errors)
    found = dict(zip(NAMES, map(str, errors), strict=True))
    assert "the pooled sums differ from those of east" in found["north"]
    assert "the pooled sums differ from those of east" in found["south"]
    assert "the pooled sums differ from those of north, south" in found["east"]
    assert not g.shown


def test_a_system_without_a_solution_fails_alike_everywhere(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"formula": "y ~ x + I(2*x)", "solver": "south"})
    outcomes = run(g.all())
    errors = [outcomes[name].results.errors["q1"] for name in NAMES]
    assert all(isinstance(error, RankError) for error in errors)
    assert len({str(error) for error in errors}) == 1


# -- transcript and audit ---------------------------------------------------------------------


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
@pytest.mark.parametrize("solver", [None, "north"])
def test_the_audit_lists_what_left_and_sizes_are_the_plans(
    tmp_path: Path, recovery: str, solver: str | None
) -> None:
    g = Gathering(tmp_path, changes={"recovery": recovery, "solver": solver})
    with capturing() as capture:
        run(g.all())
    plans = g.study.plans
    for name in NAMES:
        sent = [
            (peer, message) for peer, many in capture.messages(name).items() for message in many
        ]
        from_journal = audit(g.run_folder(name) / JOURNAL)
        from_transcript = audit(g.run_folder(name) / TRANSCRIPT)
        assert from_journal.sent == from_transcript.sent, "the last ones too"
        listed = sorted((m.receiver, m.size) for m in from_journal.sent)
        assert listed == sorted((peer, len(message)) for peer, message in sent)
        inside = [message for _, message in sent if message[1] != 255]
        signatures = sum(map(_signatures, inside))
        predicted = sum(plan.cost.bytes_sent[name] for plan in plans)
        assert sum(map(len, inside)) == predicted + HEAD_BYTES * len(inside) + signatures
        assert (signatures > 0) is (recovery == "flood")
        assert from_journal.bytes_in_sums == predicted, "to be compared with the preflight"
        assert from_journal.bytes_around == sum(len(message) for _, message in sent) - predicted


def _signatures(message: bytes) -> int:
    if message[0] != Kind.MASKED:
        return 0
    at = HEAD_BYTES + HEADER_BYTES
    return SIGNATURE_BYTES * int.from_bytes(message[at : at + 4], "little")


def test_a_transcript_is_verified_and_an_altered_byte_is_not(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    run(g.all())
    path = g.run_folder("north") / TRANSCRIPT
    facts = verify(path)
    assert facts.fingerprint == g.identities["north"].card.fingerprint.replace(":", "").lower()
    assert facts.transcript.result == g.shown["north"].to_dict()
    assert facts.transcript.pooled == verify(g.run_folder("east") / TRANSCRIPT).transcript.pooled
    whole = path.read_bytes()
    for at in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(FileError):
            verify(path)


def test_results_are_held_against_what_was_signed(tmp_path: Path) -> None:
    """A file that is right in itself, but not the one of this run, is not loaded."""
    g = Gathering(tmp_path)
    run(g.all())
    folder = g.run_folder("north")
    assert titan.load(folder)[0].nobs == 36
    (folder / "result.json").write_bytes(encode(Results({"q1": titan.average([1, 2], "cycle")})))
    with pytest.raises(FileError, match="is not the file that"):
        titan.load(folder)
