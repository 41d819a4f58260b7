"""Invariant: ten coefficients among five real processes take at most 14 sums, and all parties end
with the bits of one process; so does one that was killed between two sums."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import titan
from tests.cli.test_commands import answer
from tests.party import five_parties
from tests.party.five_parties import COEFFICIENTS, NAMES, gathering, in_one_process, killed_after
from titan.party.rehearsal import rehearse
from titan.study import check


def test_five_processes_end_with_the_same_bits(tmp_path: Path) -> None:
    study = gathering(tmp_path).study
    files = {name: tmp_path / f"{name}.csv" for name in NAMES}
    expected = in_one_process(study, files)
    assert len(expected.params) == COEFFICIENTS == 10
    assert 2 + expected.iterations <= 14
    out = rehearse(study, files, folder=tmp_path / "kept")
    saved = {(out.runs[name] / "result.json").read_bytes() for name in NAMES}
    assert len(saved) == 1
    for name in NAMES:
        assert titan.load(out.runs[name])["risk"].to_state() == expected.to_state()
    made, most = titan.load(out.runs["north"]).cost, check(study, datetime.now(UTC)).cost
    assert made is not None
    assert most is not None
    assert out.answer["cost"] == made, "what was sent, not the most there can be"
    assert made["rounds"] < most.rounds
    shown = answer("show", out.runs["north"])
    told = {"study": out.study.digest, "run": 1, "parties": list(NAMES), "cost": made}
    assert shown | told == shown, "as join told it"


def test_one_is_killed_between_two_steps(tmp_path: Path) -> None:
    """`five_parties` does it between any two sums."""
    found = killed_after(4, tmp_path)
    files = {name: tmp_path / f"{name}.csv" for name in five_parties.NAMES}
    assert found.to_state() == in_one_process(gathering(tmp_path).study, files).to_state()
