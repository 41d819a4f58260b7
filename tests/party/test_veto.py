"""Invariant: who refuses because of its rows sends as much as ever; nobody learns who or why."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import NAMES, Gathering, run
from tests.party.tables import Codes, fixed
from tests.party.test_before_it_leaves import a_mask_left
from tests.party.test_come_back import KilledError, dies, norths
from titan import Network
from titan.errors import ReleaseError, TitanError, VetoError
from titan.joint import Task
from titan.joint.meeting import Refused
from titan.party import run_to_answer
from titan.party.durable_session import DurableSession
from titan.party.run import Run
from titan.party.session import Session
from titan.release import Dictionary, Number
from titan.study.journal import Journal
from titan.study.ledger import Ledger

RECOVERIES = ["topk", "flood", "tree"]
LEVELS = "y ~ x + C(g, levels=['u', 'v'])"


async def ends(g: Gathering) -> dict[str, TitanError]:
    return await g.errors()


def sent(folder: Path) -> list[tuple[int | None, str, int]]:
    """Of every message: its sum, its kind and how long it was."""
    with Journal.open(folder / "journal.db") as journal:
        return [(m.sum, m.kind, m.size) for m in journal.messages() if m.sum is not None]


def too_few(g: Gathering, name: str) -> str:
    lines = (g.folder / f"{name}.csv").read_text().splitlines()
    g.write(name, "\n".join(lines[:6]) + "\n")
    return "rows_per_party"


def outside(g: Gathering, name: str) -> str:
    g.write(name, (g.folder / f"{name}.csv").read_text() + "123456789,1,1\n")
    return "range"


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("why", [too_few, outside])
def test_a_reason_in_the_rows_is_a_veto(tmp_path: Path, recovery: str, why: Any) -> None:
    g = Gathering(tmp_path, changes={"recovery": recovery})
    rule = why(g, "east")
    errors = run(ends(g))
    for name in ("north", "south"):
        error = errors[name]
        assert isinstance(error, VetoError)
        assert error.refused() == {"rule": "veto", "question": None, "cell": None}
        assert not any(party in str(error) for party in NAMES)
    own = errors["east"]
    assert isinstance(own, ReleaseError)
    assert not isinstance(own, VetoError)
    assert own.rule == rule
    assert "the other parties learned only that some party refuses" in own.hint
    assert {s for name in NAMES for s, _, _ in sent(g.run_folder(name))} == {0}
    assert not g.shown


def test_what_leaves_is_as_much_as_ever(tmp_path: Path) -> None:
    """Messages of the first sum are the same in number and size, whoever refuses."""
    folders = [tmp_path / str(at) for at in range(2)]
    found = []
    for at, folder in enumerate(folders):
        folder.mkdir()
        g = Gathering(folder)
        if at:
            too_few(g, "east")
            run(ends(g))
        else:
            run(g.all(keep_journal=True))
        all_sent = [m for name in NAMES for m in sent(g.run_folder(name)) if m[0] == 0]
        found.append(sorted(all_sent, key=str))
    assert found[0] == found[1]


def test_a_cell_of_ones_own_is_refused_after_the_counts(tmp_path: Path) -> None:
    """East alone has rows of level v: all learn the counts, and then that somebody refuses."""
    g = Gathering(tmp_path, changes={"formula": LEVELS, "min_cell_parties": 1})
    g.add_levels_of_one(others="u" * 12)
    errors = run(ends(g))
    assert {name for name, error in errors.items() if isinstance(error, VetoError)} == {
        "north", "south",
    }  # fmt: skip
    own = errors["east"]
    assert isinstance(own, ReleaseError)
    assert own.refused() == {"rule": "cells", "question": "q1", "cell": "g = v"}
    assert "centre the column within each party" in own.hint
    assert {s for name in NAMES for s, _, _ in sent(g.run_folder(name))} == {0, 1}
    for name in NAMES:
        checks = {
            check["rule"]: check
            for check in json.loads((g.run_folder(name) / "evidence.json").read_text())["checks"]
        }
        assert checks["rows_total"] == {
            "rule": "rows_total", "limit": 30, "found": 36, "passed": True, "question": "q1",
        }  # fmt: skip
        assert checks["rows_per_party"]["found"] is None
        assert ("veto" in checks) == (name != "east")
        assert checks["cells"]["passed"], "of all rows together"
        assert checks["cells_of_others"]["passed"] is (False if name == "east" else None)


def test_everybody_s_result_says_the_same(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    too_few(g, "east")
    run(ends(g))
    told = {(g.run_folder(name) / "result.json").read_bytes() for name in NAMES}
    assert len(told) == 1, "who refused is not in it"
    assert b"veto" in told.pop()


def test_a_run_that_passes_leaves_its_evidence(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    run(g.all())
    evidence = json.loads((g.run_folder("north") / "evidence.json").read_text())
    assert (evidence["study"], evidence["run"], evidence["party"]) == (g.study.digest, 1, "north")
    assert all(check["passed"] for check in evidence["checks"])
    assert {check["rule"]: check["found"] for check in evidence["checks"]}["rows_total"] == 36
    assert evidence["release"]["policy"] == "titan"
    assert (g.run_folder("north") / "evidence.json").stat().st_mode & 0o777 == 0o600


def test_a_party_that_vetoes_repeats_itself_after_a_restart(tmp_path: Path) -> None:
    """The noise follows from the journal's key: the same messages, never others in their place."""
    g = Gathering(tmp_path)
    network = Network.cycle(list(NAMES))

    def session(key: str) -> Session:
        task = Task(g.study.meeting, g.study.plans, Refused(ReleaseError("no")))
        keys = [fixed(key, n) for n in range(len(g.study.plans))]
        return Session(Run(b"s" * 32, 1, network, 0, b"n" * 32, None), task, keys, Codes(0))

    def vector(key: str) -> bytes:
        it = session(key)
        it.sums.begin(fixed("run"))
        agent = it.sums.agent
        assert agent is not None
        return agent._hidden.tobytes()

    assert vector("one") == vector("one") != vector("other")


def test_other_rows_do_not_take_a_veto_back(tmp_path: Path) -> None:
    """After a restart with rows mended, once a mask has left, the journal says they changed."""
    g = Gathering(tmp_path)
    rows = (tmp_path / "east.csv").read_text()
    too_few(g, "east")
    with pytest.raises(TitanError, match="nothing came"):
        run(g.join("east", wait=0.3))
    a_mask_left(g.run_folder("east"))
    g.write("east", rows)
    with pytest.raises(TitanError, match="changed since the run began"):
        run(g.join("east", wait=0.3))


@pytest.mark.parametrize("why", [too_few, outside])
def test_a_veto_that_was_never_cast_is_taken_back(tmp_path: Path, why: Any) -> None:
    g = Gathering(tmp_path)
    rows = (tmp_path / "east.csv").read_text()
    why(g, "east")
    with pytest.raises(TitanError, match="nothing came"):
        run(g.join("east", wait=0.3))
    g.write("east", rows)
    run(g.all())
    assert len(g.shown) == len(NAMES)
    with Ledger.open(tmp_path / "east.ledger") as ledger:
        assert [(each.run, each.vetoed) for each in ledger.recorded()] == [(1, False)]
        assert ledger._all("SELECT * FROM refusals") == []


# -- killed, and back -------------------------------------------------------------------------


def of_one_party(g: Gathering, name: str) -> str:
    """Level v in few of the others' rows."""
    g.add_levels_of_one(name)
    return "cells"


def two_far_away(g: Gathering, name: str) -> str:
    """Neither stands alone among the own rows, and both weigh much among all."""
    header, _, _, *lines = (g.folder / f"{name}.csv").read_text().splitlines()
    g.write(name, "\n".join([header, "9999,5,5", "9998,7,9", *lines]) + "\n")
    return "leverage"


REASONS = [(too_few, "y ~ x"), (of_one_party, LEVELS), (two_far_away, "y ~ x")]


@pytest.mark.parametrize("solver", [None, "east"])
@pytest.mark.parametrize("who", ["north", "east"])
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_killed_in_the_sum_that_is_vetoed(
    tmp_path: Path, stage: int, who: str, solver: str | None
) -> None:
    """North dies in it and comes back: all learn the same, and it counts once in every ledger."""
    why, formula = REASONS[stage]
    g = Gathering(tmp_path, changes={"formula": formula, "solver": solver})
    rule = why(g, who)

    def summing(it: DurableSession) -> bool:
        if not (norths(it) and isinstance(it.session, Session)):
            return False
        return len(it.session.totals) == stage and it.session.sums.agent is not None

    async def trial() -> dict[str, Any]:
        others = [g.joining(name) for name in ("east", "south")]
        with dies(DurableSession, "accept", summing, after=True):
            with pytest.raises(KilledError):
                await g.join("north")
            found = await asyncio.gather(g.join("north"), *others, return_exceptions=True)
        return dict(
            zip(["north", *(name for name in NAMES if name != "north")], found, strict=True)
        )

    with patch.object(run_to_answer, "_GRACE", 0.5):  # for last messages of those who have left
        errors = run(trial())
    for name in NAMES:
        assert errors[name].rule == (rule if name == who else "veto")
        with Ledger.open(g.folder / f"{name}.ledger") as ledger:
            assert [(each.run, each.vetoed) for each in ledger.recorded()] == [(1, True)]
    assert len({(g.run_folder(name) / "result.json").read_bytes() for name in NAMES}) == 1


def test_a_value_out_of_range_cannot_be_searched_for(tmp_path: Path) -> None:
    """One veto after the other, each with another range, would find it: the fourth is not cast."""
    g = Gathering(tmp_path)
    outside(g, "east")
    for at in range(4):
        high = str(2000 + at)
        columns = Dictionary.of(dict(g.study.columns) | {"x": Number.read("-10000", high, "1")})
        it = replace(g.study, columns=columns)
        said = "nothing came" if at < 3 else "was stopped by a veto 3 times"
        with pytest.raises(TitanError, match=said):
            run(g.join("east", it, run=1 + at, wait=0.3))
