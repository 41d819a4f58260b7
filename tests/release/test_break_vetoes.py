"""Invariant: what a party refused does not leave it later in the run, whatever others do.
And vetoes are counted whatever rows a question leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.release.hostile import KNOWN, SPIKE, ask, asked_of, number, stated, tables
from titan.joint import Fold
from titan.moments import open_source
from titan.protocol.masking import SystemMasks
from titan.ring import Residues
from titan.study import Study
from titan.study.ledger import Ledger
from titan.study.vetoes import ONE_COLUMN


def secrets(study: Study, parts: list[Any], known: Any, n: int) -> Residues:
    """The total of a sum as honest parties with these rows would have it."""
    ring = study.meeting.sums[n].ring
    total = ring.zeros(study.meeting.sums[n].entries)
    for part in parts:
        total = ring.add(total, study.meeting.secret(n, known, part))
    return total


def prepared(study: Study, rows: list[Any]) -> list[Any]:
    return [study.meeting.prepare(open_source(each)) for each in rows]


def test_a_veto_that_a_relay_takes_out_of_the_total_stands_in_the_next_sum() -> None:
    """In `tree` the root can tell all alike a total of its own making, without the veto.

    East refuses since one of its patients is the only one who is 76. The root tells a Gram matrix
    with 120 of them: in it nobody's leverage is high, and east's Aᵀb was entered after all.
    """
    study = stated(KNOWN, ask("regression", formula=f"y ~ pressure + I({SPIKE})"))
    rows, made_up = tables(), tables()
    rows[1]["age"][3] = 76
    for table in made_up:
        table["age"][::2] = 76
    east = prepared(study, rows)[1]
    fold: Fold[Any, Any, Any] = Fold(study.meeting)
    fold.secret(east, SystemMasks().words)
    fold.learn(secrets(study, prepared(study, rows), fold.known, 0))
    fold.secret(east, SystemMasks().words)
    assert fold.refusal is not None
    assert fold.refusal.rule == "leverage"
    first = fold.refusal
    fold.learn(secrets(study, prepared(study, made_up), fold.known, 1))
    study.meeting.secret(2, fold.known, east)  # nothing in the false total would stop it
    entered = fold.secret(east, SystemMasks().words)
    assert entered[:, -1].any(), "the veto's entry"
    assert fold.refusal is first, "and its owner is told the reason of then"


def test_gaps_do_not_make_other_rows_of_the_same(tmp_path: Path) -> None:
    """Seven columns are there in three of seven groups of rows each, any two in one of them."""
    names, vetoed = [f"z{at}" for at in range(7)], 0
    parties, columns = tables(280), KNOWN | {name: number(0, 250) for name in names}
    for table in parties:
        for at, name in enumerate(names):
            there = np.isin(np.arange(280) % 7, [(at + step) % 7 for step in (0, 1, 3)])
            table[name] = np.where(there, table["pressure"], np.nan)
    for run, name in enumerate(3 * names):
        asked = ask("regression", formula=f"y ~ age + {name}")
        study = stated(columns, asked, title=f"study {run}", missing="drop")
        seen = asked_of(study, parties, tmp_path)
        if seen.error is not None:
            assert seen.error.rule == "vetoes"  # type: ignore[attr-defined]
            break
        vetoed += 1
        with Ledger.open(tmp_path / "north.ledger") as ledger:
            ledger.mark_vetoed(study.digest, 1)
    assert vetoed == ONE_COLUMN
