"""Invariant: over real sessions with TLS, survival curves are bit for bit those of one process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import titan
from tests.joint.trial import COLUMNS, PARTIES, asked_again, asking, by_party, trial
from tests.party.loopback import Gathering, run
from titan.release.evidence import refusal_in
from titan.results import encode
from titan.study.verified import verify

ROWS = by_party(trial())
CONTENT = {"columns": COLUMNS, "recovery": "tree"}


def gathered(folder: Path, *questions: Any) -> Gathering:
    g = Gathering(folder, names=PARTIES, changes=CONTENT | {"questions": questions})
    for name, own in ROWS.items():
        lines = [",".join(map(str, cells)) for cells in zip(*own.values(), strict=True)]
        g.write(name, "\n".join([",".join(own), *lines]) + "\n")
    return g


def test_real_parties_end_with_the_bits_of_one_process(tmp_path: Path) -> None:
    by_arm = asking("by_arm", by=["arm"], grid=6, until=24)
    outcomes = run(gathered(tmp_path, by_arm, asking("all", grid=12)).all())
    local = titan.survival(
        ROWS, "cycle", time="months", event="died", by="arm", grid=6, until=24, dictionary=COLUMNS
    )
    assert len({encode(outcome.results) for outcome in outcomes.values()}) == 1
    results = outcomes["north"].results
    assert results["by_arm"] == local
    assert results["by_arm"].to_dict() == local.to_dict()
    assert results["all"]["all"].nobs == 600
    for name in PARTIES:
        folder = tmp_path / f"{name}-run1"
        assert titan.load(folder)["by_arm"] == local
        told = verify(folder / "transcript.json").transcript.result["questions"]["by_arm"]
        assert told["groups"]["arm = a"]["at_risk"] == list(local["a"].at_risk)


def test_a_small_interval_is_refused_alike_and_the_named_grid_is_taken_by_all_ledgers(
    tmp_path: Path,
) -> None:
    """The next study on the same rows and the same ledgers asks for what the error named."""
    g = gathered(tmp_path, asking(by=["arm"], grid=2))
    run(g.ends())
    told = {getattr(refusal_in(g.run_folder(name)), "hint", "") for name in PARTIES}
    assert len(told) == 1
    *_, named = asked_again(told.pop())
    g.study = replace(g.study, questions=(asking(by=["arm"], **named),))
    outcomes = run(g.all(run=2))
    assert {tuple(outcome.results["os"]["a"].at_risk) for outcome in outcomes.values()} != {()}
