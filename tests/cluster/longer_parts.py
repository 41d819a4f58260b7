"""Invariant: whole runs with parts end as runs with rows do, vetoes included. `make cluster`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.party.loopback import Gathering, answers_agree, rows, run
from tests.party.test_parts import PENALTY, TABLE, ends, joining, made, needing_rows
from tests.study.studies import regression
from titan.errors import InputError, ReleaseError, VetoError


@pytest.mark.parametrize("data", [False, True])
def test_a_party_with_a_part_has_everybodys_answer(tmp_path: Path, data: bool) -> None:
    """Without its rows, or with them; and again, when the run is over."""
    g = Gathering(
        tmp_path, changes={"questions": (regression("y ~ x + z", name="main"), TABLE, PENALTY)}
    )
    part = made(g.study, tmp_path / "north.csv")
    assert part.again == {}
    rows_too = tmp_path / "north.csv" if data else None
    found = run(ends(g, joining(g, "north", part, rows_too)))
    answers_agree(g)
    again = run(joining(g, "north", part, rows_too).join(lambda _: None))
    assert again.results.to_dict() == found["east"].results.to_dict()
    run(g.join("north"))  # with the rows alone: its ledger knows them
    other = made(g.study, tmp_path / "east.csv", key=part.key)
    with pytest.raises(InputError, match="its rows were different ones"):
        run(joining(g, "north", other).join(lambda _: None))


@pytest.mark.parametrize("leverage", ["own", "pooled"])
def test_a_row_that_stands_out_is_a_veto_as_with_the_rows(tmp_path: Path, leverage: str) -> None:
    """Told to its owner by the same words, to the others by none."""
    told = []
    for with_part in (False, True):
        folder = tmp_path / str(with_part)
        folder.mkdir()
        g = Gathering(folder)
        first = rows("north").splitlines()
        first[3] = "9999,1,1" if leverage == "own" else "3000,1,1"
        g.write("north", "\n".join(first) + "\n")
        party = g.party("north")
        if with_part:
            party = joining(g, "north", made(g.study, folder / "north.csv"))
        found = run(ends(g, party))
        assert isinstance(found["north"], ReleaseError)
        assert type(found["east"]) is VetoError
        told.append(found["north"].message.replace(str(folder), ""))
    assert told[0] == told[1]
    assert ("stand alone" in told[0]) == (leverage == "own")


def test_with_the_rows_as_well_there_is_an_answer(tmp_path: Path) -> None:
    g = needing_rows(tmp_path)
    data = tmp_path / "north.csv"
    run(ends(g, joining(g, "north", made(g.study, data), data)))
    answers_agree(g)
