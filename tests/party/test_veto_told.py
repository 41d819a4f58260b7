"""Invariant: after a veto every party knows how many are left; the refuser alone knows why, and can
read it again; and whatever keeps one party from going on keeps nobody waiting."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import NAMES, Gathering, run
from tests.party.test_join_rows import with_cell
from tests.party.test_veto import LEVELS, ends, of_one_party, outside, too_few, two_far_away
from titan.errors import DataError, InputError, ReleaseError, TitanError, VetoError
from titan.joint.checking import ModelChecks
from titan.party import attendance

OTHERS = ("north", "south")


def asked_again(g: Gathering, number: int) -> dict[str, TitanError]:
    async def everybody() -> list[Any]:
        work = (g.joining(name, run=number) for name in NAMES)
        return list(await asyncio.gather(*work, return_exceptions=True))

    return dict(zip(NAMES, run(everybody()), strict=True))


# -- which of the three it was ------------------------------------------------------------------


@pytest.mark.parametrize("why", [too_few, of_one_party, outside])
def test_everybody_is_told_which_veto_it_was(tmp_path: Path, why: Any) -> None:
    """By its own ledger; so that it is not in what all keep alike."""
    g = Gathering(tmp_path, changes={"formula": LEVELS if why is of_one_party else "y ~ x + z"})
    why(g, "east")
    for number in (1, 2, 3):
        told = asked_again(g, number)
        for name in OTHERS:
            assert isinstance(told[name], VetoError)
            assert told[name].message.endswith(f": veto {number} of 3 on these rows")
            assert ("ask again as the next run" in told[name].hint) == (number < 3)
            assert ("not asked again on these rows" in told[name].hint) == (number == 3)
        assert f"this was veto {number} of 3 on these rows" in told["east"].hint
        assert ("--run 2, 3" in told["east"].hint) == (number < 3)
        theirs = "their rows either" if number < 3 else "nor on the other parties'"
        assert theirs in told["east"].hint
        assert ("at any party" if number < 3 else "nor on the other parties'") in told["north"].hint
        kept = {(g.run_folder(name, number) / "result.json").read_bytes() for name in NAMES}
        assert len(kept) == 1
        assert b" of 3" not in kept.pop()
        checks = json.loads((g.run_folder("north", number) / "evidence.json").read_text())["checks"]
        assert checks[-1] == {
            "rule": "veto", "limit": 3, "found": number, "passed": False, "question": None,
        }  # fmt: skip


def test_after_the_third_no_veto_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger refuses, and the others are told who stays away: not "only that some party does".

    With the rows corrected here it is the others' ledgers that refuse, so the hint must not
    promise otherwise.
    """
    monkeypatch.setattr(attendance, "SECONDS", 0.1)
    g = Gathering(tmp_path)
    right = (tmp_path / "east.csv").read_text()
    outside(g, "east")
    only = "the others will learn only that some party does"
    for number in (1, 2, 3):
        asked_again(g, number)
        assert g.told["east"].count(only) == number
    told = asked_again(g, 4)
    assert "stopped by a veto 3 times" in told["east"].message
    assert "count these vetoes as well" in told["east"].hint
    assert g.told["east"].count(only) == 3
    assert g.told["east"][-1] == "telling the others that east does not take part"
    g.write("east", right)
    told = asked_again(g, 5)
    assert all("stopped by a veto 3 times" in str(told[name]) for name in OTHERS)


def test_a_run_that_was_killed_counts_once(tmp_path: Path) -> None:
    """It is the same run that goes on."""
    g = Gathering(tmp_path)
    too_few(g, "east")
    with pytest.raises(TitanError, match="nothing came"):
        run(g.join("north", wait=0.3))
    assert "veto 1 of 3" in str(run(ends(g))["north"])


# -- why, at home -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "formula", "cell"),
    [
        (too_few, "y ~ x + z", None),
        (outside, "y ~ x + z", "x"),
        (of_one_party, LEVELS, "g = v"),
        (two_far_away, "y ~ x", None),
    ],
)
def test_the_refuser_can_read_its_reason_again(
    tmp_path: Path, why: Any, formula: str, cell: str | None
) -> None:
    g = Gathering(tmp_path, changes={"formula": formula})
    rule = why(g, "east")
    told = run(ends(g))
    own = told["east"]
    assert isinstance(own, ReleaseError)
    g.save()
    folder = tmp_path / "runs" / f"{g.study.digest[:12]}-run1-east"
    folder.parent.mkdir()
    g.run_folder("east").rename(folder)
    assert (folder / "evidence.json").stat().st_mode & 0o777 == 0o600
    question = None if why is outside else "q1"
    for words in (["show", folder], g.words("east")):
        done = titan(*words, cwd=tmp_path)
        assert done.returncode == 3
        assert own.message in done.stderr
        assert "this was veto 1 of 3 on these rows" in done.stderr
        done = titan(*words, "--json", cwd=tmp_path)
        assert done.returncode == 3
        assert json.loads(done.stdout) == {
            "refused": {"rule": rule, "question": question, "cell": cell}
        }
    for place in (folder, g.run_folder("north")):
        assert not (place / "transcript.json").exists()
        for named in (place, place / "transcript.json"):
            done = titan("verify", named, cwd=tmp_path)
            assert done.returncode == 1
            assert "ended without an answer: it has no transcript.json" in done.stderr
            assert f"titan show {place}" in done.stderr
    for name in OTHERS:
        done = titan("show", g.run_folder(name), "--json", cwd=tmp_path)
        assert done.returncode == 3
        assert json.loads(done.stdout)["refused"]["rule"] == "veto"
        assert "veto 1 of 3 on these rows" in done.stderr
        assert "east" not in (g.run_folder(name) / "evidence.json").read_text()
    assert own.message not in (folder / "result.json").read_text()


def test_with_other_rows_a_refused_run_is_over(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    rows = (tmp_path / "east.csv").read_text()
    outside(g, "east")
    told = run(ends(g))["east"]
    assert run(g.join("east")).refused.message == told.message
    g.write("east", rows)
    with pytest.raises(
        InputError, match="run 1 of this study is over, and its rows were different ones"
    ):
        run(g.join("east"))


# -- nobody waits for a party that cannot go on -------------------------------------------------


def changes_its_file(g: Gathering, monkeypatch: pytest.MonkeyPatch) -> str:
    """While the counts are compared."""
    before = ModelChecks.before_regressors

    def looked(self: ModelChecks, counts: Any, part: Any) -> None:
        if "east" in part.owner:
            lines = (g.folder / "east.csv").read_text().splitlines()
            g.write("east", "\n".join([*lines[:-1], "5,5,5"]) + "\n")
        before(self, counts, part)

    monkeypatch.setattr(ModelChecks, "before_regressors", looked)
    return "changed since it was first read"


def loses_its_file(g: Gathering, monkeypatch: pytest.MonkeyPatch) -> str:
    before = ModelChecks.before_outcomes

    def looked(self: ModelChecks, regressors: Any, part: Any) -> None:
        if "east" in part.owner:
            (g.folder / "east.csv").unlink()
        before(self, regressors, part)

    monkeypatch.setattr(ModelChecks, "before_outcomes", looked)
    return "east.csv"


def fails(g: Gathering, monkeypatch: pytest.MonkeyPatch) -> str:
    """What no error of ours says."""
    before = ModelChecks.before_outcomes

    def looked(self: ModelChecks, regressors: Any, part: Any) -> None:
        if "east" in part.owner:
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        before(self, regressors, part)

    monkeypatch.setattr(ModelChecks, "before_outcomes", looked)
    return "a look at the own rows failed with LinAlgError"


@pytest.mark.parametrize("recovery", ["flood", "tree"])
@pytest.mark.parametrize(
    ("why", "rule"), [(changes_its_file, "data"), (loses_its_file, "data"), (fails, "program")]
)
def test_whatever_stops_one_party_after_the_counts_is_a_veto(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: Any, rule: str, recovery: str
) -> None:
    """Else the others wait, or learn whose rows they are."""
    g = Gathering(tmp_path, changes={"recovery": recovery})
    said = why(g, monkeypatch)
    told = run(ends(g))
    for name in OTHERS:
        assert isinstance(told[name], VetoError)
        assert "east" not in str(told[name])
    own = told["east"]
    assert isinstance(own, ReleaseError)
    assert said in own.message
    assert own.rule == rule
    checks = json.loads((g.run_folder("east") / "evidence.json").read_text())["checks"]
    assert checks[-1]["rule"] == rule
    assert checks[-1]["passed"] is False


# -- what can be mended -------------------------------------------------------------------------


def unknown_level(g: Gathering) -> str:
    for name in NAMES:
        header, *lines = (g.folder / f"{name}.csv").read_text().splitlines()
        levels = "uvuvuvuvuvu" + ("w" if name == "east" else "v")
        own = [f"{line},{level}" for line, level in zip(lines, levels, strict=True)]
        g.write(name, "\n".join([f"{header},g", *own]) + "\n")
    return "none of the stated levels"


def test_text_among_numbers_is_told_as_the_study_has_it(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with_cell(g, "east", 0, "unknown")
    with pytest.raises(DataError) as refused:
        run(g.join("east"))
    assert not isinstance(refused.value, ReleaseError)
    assert "C(" not in refused.value.hint
    assert refused.value.hint == (
        "in the study it is a number: x from -10000 to 10000 by 1; correct this cell; "
        "mend the file and run the same command again; the others wait for you"
    )
    assert not (tmp_path / "east.ledger").exists()


def test_an_unknown_level_can_be_mended(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"formula": LEVELS})
    said = unknown_level(g)
    with pytest.raises(DataError, match=said) as refused:
        run(g.join("east"))
    assert refused.value.hint.endswith(
        "mend the file and run the same command again; the others wait for you"
    )


def test_so_can_a_gap_on_the_command_line(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with_cell(g, "east", 1, "")
    g.save()
    done = titan(*g.words("east"), cwd=tmp_path)
    assert done.returncode == 1
    assert (
        'hint: missing = "drop" in the study leaves such rows out; mend the file and run the same '
        "command again; the others wait for you"
    ) in done.stderr


def test_where_nobody_waits_nobody_is_said_to(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with_cell(g, "east", 0, "unknown")
    g.save()
    done = titan("fit", "east.csv", "--formula", "y ~ x", cwd=tmp_path)
    assert "write C(x" in done.stderr
    assert "wait for you" not in done.stderr
    done = titan("rehearse", "study.toml", "--data", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert "mend the file and run the same command again" in done.stderr
    assert "wait for you" not in done.stderr


# -- evidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize("why", [too_few, outside, of_one_party, two_far_away])
def test_no_check_stands_twice_in_the_evidence(tmp_path: Path, why: Any) -> None:
    g = Gathering(tmp_path, changes={"formula": LEVELS if why is of_one_party else "y ~ x"})
    why(g, "east")
    run(ends(g))
    failed = {
        too_few: ("rows_per_party", 10),
        outside: ("range", None),
        of_one_party: ("cells_of_others", 3),
        two_far_away: ("leverage", 0.3333),
    }
    for name in NAMES:
        found = json.loads((g.run_folder(name) / "evidence.json").read_text())
        rules = [(check["question"], check["rule"]) for check in found["checks"]]
        assert len(rules) == len(set(rules))
        wrong = [(c["rule"], c["limit"]) for c in found["checks"] if c["passed"] is False]
        assert wrong == ([failed[why]] if name == "east" else [("veto", 3)])
        limits = {check["rule"]: check["limit"] for check in found["checks"]}
        assert limits["own_leverage"] == 3
        assert limits["bits"] == 0.3
        told = found["refused"]
        assert told["rule"] == ("veto" if name != "east" else told["rule"])


def test_cells_and_coarser_grids_are_told_apart(tmp_path: Path) -> None:
    """A cell of 6 rows; and of all numbers, how many rows need the last digits."""
    g = Gathering(tmp_path, changes={"formula": LEVELS})
    for name in NAMES:
        header, *lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        own = [f"{line},{level}" for line, level in zip(lines, "vvvvuuuuuuuu", strict=True)]
        g.write(name, "\n".join([f"{header},g", *own]) + "\n")
    run(g.all())
    found = json.loads((g.run_folder("north") / "evidence.json").read_text())
    checks = {check["rule"]: check for check in found["checks"]}
    assert (checks["cells"]["limit"], checks["cells"]["found"]) == (3, 12)
    assert checks["digits_rows"]["limit"] == 3
    assert checks["digits_rows"]["found"] > 12
    assert (checks["digits"]["limit"], checks["digits"]["found"]) == (3, 3)
    assert checks["digits_of_others"]["limit"] == 36
    assert all(check["passed"] for check in found["checks"])
    assert found["refused"] is None
