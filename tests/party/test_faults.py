"""A short fault campaign with real processes: exact answers whatever happens, or clear errors.

`make faults` runs a thousand; these few have most kinds of faults between them.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.party.campaign import files
from tests.party.campaign.__main__ import campaign
from tests.party.campaign.disks import Disk
from tests.party.campaign.expected import TOLD, Expected
from tests.party.campaign.faults import Kill, Noise
from tests.party.campaign.judge import Judge
from tests.party.campaign.scenario import NAMES, Scenario, draw
from tests.party.campaign.tally import Tally
from titan.study import Study

SEEDS = (7, 99, 238, 393, 520, 597)
"""Power cuts, hosts far apart, full disks, clocks, other versions among six parties, SIGSTOP; in
several also kills, noise and signals."""
NO_ANSWER = (231, 516, 8117, 70045)
"""A lie in a tree, a journal that was put back, rows of one party that stand out, and
the same after a power cut."""


def test_a_few_runs_with_most_kinds_of_faults_end_exactly(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    tally = asyncio.run(campaign(iter(SEEDS), 3, tmp_path, every=0))
    record_property("counted", f"faults: {tally}")
    assert (tally.runs, tally.wrong, tally.hung, tally.errors) == (len(SEEDS), 0, 0, 0)
    assert tally.exact == sum(len(draw(seed).parties) for seed in SEEDS)
    assert min(tally.kills, tally.duplicated, tally.delayed, tally.reordered) > 0
    hows = ("TERM", "stop", "power", "full", "version", "c")
    assert min(tally.faults[how] for how in hows) > 0
    assert max(tally.parties) >= 6
    assert tally.searched > 0
    assert tally.left == 0


def test_a_lie_a_journal_that_was_put_back_and_a_refusal(tmp_path: Path) -> None:
    tally = asyncio.run(campaign(iter(NO_ANSWER), 3, tmp_path, every=0))
    assert (tally.runs, tally.wrong, tally.hung, tally.left) == (len(NO_ANSWER), 0, 0, 0)
    assert tally.refused == sum(len(draw(seed).parties) for seed in (8117, 70045))
    assert (tally.faults["a"], tally.found_out) == (1, 1)
    assert tally.searched > 0


LOST = "north lost its journal; agree on run 2"

# -- the judge can find what it looks for ------------------------------------------------------


def judged(folder: Path, **changes: object) -> Judge:
    names = ("north", "east", "south")
    links = tuple((a, b, "push") for a, b in zip(names, names[1:] + names[:1], strict=True))
    scenario = Scenario(1, names, links, 0, {"recovery": "tree"}, Noise(), **changes)  # type: ignore[arg-type]
    return Judge(scenario, folder, {}, Expected({"params": [1.0]}), Tally(), [])


def test_an_answer_that_only_some_have(tmp_path: Path) -> None:
    judge = judged(tmp_path)
    judge.ended = {"north": True, "east": False, "south": True}
    judge.judge_all()
    assert judge.troubles == ["north, south: have an answer, and east have none"]


def test_who_gave_up_waiting_for_what_others_have_is_started_again(tmp_path: Path) -> None:
    judge = judged(tmp_path, loses_journal=True, kills=(Kill("north", 0, "time"),))
    for has, for_good, expected in (
        ({"north": False, "east": False, "south": True}, set[str](), True),
        ({"north": False, "east": False, "south": True}, {"east"}, False),  # it would not help
        ({"north": False, "east": True, "south": True}, set[str](), False),  # whose journal is lost
        (dict.fromkeys(("north", "east", "south"), False), set[str](), False),
    ):
        judge.ended, judge._ended_for_good = has, for_good
        assert judge.left_behind is expected


def test_another_answer(tmp_path: Path) -> None:
    judge = judged(tmp_path)
    (tmp_path / "north.json").write_text('{"params": [1.0000000000000002]}')
    assert not judge._is_exact("north", tmp_path / "north.json")
    assert judge.troubles == ["north: has another answer in params"]


def test_a_saved_answer_behind_which_the_disk_was_full(tmp_path: Path) -> None:
    """It must be exact, and the same command goes on; with status 1 there must be none."""
    judge = judged(tmp_path)
    judge.disks = {"north": Disk(tmp_path / "north", own=False)}
    (tmp_path / "north.0.err").write_text("titan: error: the disk is full\n")
    saved = tmp_path / "north" / "north.json"
    saved.write_text('{"params": [1.0]}')
    assert not judge.is_over("north", 0, 75)
    assert (judge.troubles, judge.tally.exact) == ([], 0)
    assert judge.is_over("north", 0, 1)
    saved.write_text('{"params": [')
    assert judge.is_over("north", 0, 75)
    assert [trouble[:26] for trouble in judge.troubles] == [
        "north: has an answer and a",
        "north: has no answer that ",
    ]


def test_a_journal_that_was_lost_behind_its_answer(tmp_path: Path) -> None:
    """Its owner has the answer and an error; then the others must not be without one."""
    for others, expected in ((0, []), (1, ["north: have an answer, and east, south have none"])):
        judge = judged(tmp_path, loses_journal=True, kills=(Kill("north", 0, "answer"),))
        judge.tally.faults["lost"] = 1
        for name in judge.scenario.parties:
            judge.disks[name] = Disk(tmp_path / f"{name}{others}", own=False)
            place = judge.disks[name].place
            (tmp_path / f"{name}.0.err").write_text(
                "titan: error: north lost its journal; agree on run 2\n"
            )
            if name == "north" or not others:
                (place / f"{name}.json").write_text('{"params": [1.0]}')
            assert judge.is_over(name, 0, 1 if name == "north" else others)
        judge.judge_all()
        assert judge.troubles == expected


def test_an_error_though_the_journal_was_not_lost_after_all(tmp_path: Path) -> None:
    judge = judged(tmp_path, loses_journal=True, kills=(Kill("north", 0, "time"),))
    judge.disks["east"] = Disk(tmp_path / "east", own=False)
    (tmp_path / "east.0.err").write_text("titan: error: agree on run 2\n")
    assert judge.is_over("east", 0, 1)
    assert judge.troubles == ["east: an error: titan: error: agree on run 2\n"]


def test_secrets_that_a_run_without_an_answer_left(tmp_path: Path) -> None:
    judge = judged(tmp_path, loses_journal=True, kills=(Kill("north", 0, "time"),))
    judge.tally.faults["lost"] = 1
    (tmp_path / "secrets").write_text(f"{bytes(range(64)).hex()}\n")
    for name in judge.scenario.parties:
        judge.disks[name] = Disk(tmp_path / name, own=False)
        (tmp_path / f"{name}.0.err").write_text(
            "titan: error: north lost its journal; agree on run 2\n"
        )
        assert judge.is_over(name, 0, 1)
    (tmp_path / "east" / "journal.db.secret").write_bytes(bytes(range(64)))
    judge.judge_all()
    assert judge.troubles == ["1 secrets are left on the disk of east"]


def test_a_liar_whom_not_all_name(tmp_path: Path) -> None:
    """Being waited for is not being named."""
    judge = judged(tmp_path, liar="east")
    judge.ended = dict.fromkeys(("north", "east", "south"), False)
    judge.tally.faults["a"] = 1
    (tmp_path / "north.0.err").write_text("titan: error: east sent a sum that is not its own\n")
    (tmp_path / "south.0.err").write_text("titan: waiting for east\ntitan: error: no sum\n")
    judge.judge_all()
    assert judge.tally.wrong == 1
    assert "named by ['north'] only" in judge.troubles[0]


def spoilt(folder: Path, statuses: dict[str, int], words: str, how: str = "rollback") -> Judge:
    """A run in which north's journal was put back, and all end with these words."""
    judge = judged(folder, kills=(Kill("north", 0, "time", how=how),))
    judge.tally.faults[how] = 1
    for name, status in statuses.items():
        place = Path(tempfile.mkdtemp(dir=folder)) / name
        judge.disks[name] = Disk(place, own=False)
        (folder / f"{name}.0.err").write_text(f"titan: error: {words}\n")
        while not judge.is_over(name, 0, status):
            pass
    while judge.starts_all_again():
        pass
    judge.judge_all()
    return judge


def test_where_a_journal_was_put_back_nobody_waits_for_ever(tmp_path: Path) -> None:
    waiting = spoilt(tmp_path, dict.fromkeys(("north", "east", "south"), 75), "nothing came for 5")
    assert waiting.troubles == [
        "east, north, south: waits again and again, where a journal is not what it was"
    ]
    ends = {"north": 1, "east": 1, "south": 75}
    assert spoilt(tmp_path, ends, "the journal of north was put back").troubles == [
        "south: waits again and again, where a journal is not what it was"
    ]


def test_where_a_journal_was_put_back_somebody_is_told_so(tmp_path: Path) -> None:
    ends = dict.fromkeys(("north", "east", "south"), 1)
    assert spoilt(tmp_path, ends, "the journal of north was put back").troubles == []
    assert spoilt(tmp_path, ends, "no answer").troubles == [
        "north: nobody names its journal: ['no answer', 'no answer', 'no answer']"
    ]


def test_a_liar_for_whom_all_wait(tmp_path: Path) -> None:
    """Where nobody can tell who it was, all must yet be told that somebody lied."""
    for status, expected in ((1, []), (75, ["north, south: waits in vain, and east lied"])):
        judge = judged(tmp_path, liar="east")
        judge.scenario.choices["recovery"] = "topk"
        judge.tally.faults["a"] = 1
        for name in judge.scenario.parties:
            judge.disks[name] = Disk(tmp_path / f"{name}{status}", own=False)
            (tmp_path / f"{name}.0.err").write_text("titan: error: the sum is not what was sent\n")
            while not judge.is_over(name, 0, status):
                pass
        judge.judge_all()
        assert (judge.troubles, judge.tally.found_out) == (expected, int(not expected))


# -- the judge knows what rows deserve ---------------------------------------------------------

DUE = {"north": TOLD, "east": "these rows stand alone: east.csv, line 4", "south": TOLD}
REFUSED = {name: (3, words) for name, words in DUE.items()}


def ended(
    folder: Path, due: dict[str, str], ends: dict[str, tuple[int, str]], **changes: object
) -> Judge:
    """What the judge says of parties that end with this status and this error."""
    judge, place = judged(folder, **changes), Path(tempfile.mkdtemp(dir=folder))
    judge.folder, judge.expected = place, Expected(refusals=due) if due else judge.expected
    judge.tally.faults["lost"] += judge.scenario.loses_journal
    for name, (status, words) in ends.items():
        judge.disks[name] = Disk(place / name, own=False)
        if status == 0:
            (place / name / f"{name}.json").write_text('{"params": [1.0]}')
        (place / f"{name}.0.err").write_text(f"titan: error: {words}\ntitan: hint: ask less\n")
        assert judge.is_over(name, 0, status)
    judge.judge_all()
    return judge


def test_a_refusal_that_the_rows_deserve(tmp_path: Path) -> None:
    judge = ended(tmp_path, DUE, REFUSED)
    assert (judge.troubles, judge.tally.refused, judge.tally.errors) == ([], 3, 0)


def test_a_refusal_that_the_rows_do_not_deserve(tmp_path: Path) -> None:
    """Not even where an error would do, since a journal was lost."""
    expected = [f"{name}: refuses what no rule forbids: {[words]}" for name, words in DUE.items()]
    assert ended(tmp_path, {}, REFUSED).troubles == expected
    lost = {"loses_journal": True, "kills": (Kill("north", 0, "time"),)}
    assert ended(tmp_path, {}, REFUSED, **lost).troubles == expected
    assert ended(tmp_path, DUE, REFUSED, **lost).troubles == []


def test_a_refusal_of_the_wrong_party_or_for_another_reason(tmp_path: Path) -> None:
    for name, words in (
        ("north", DUE["east"]),  # which it must not learn
        ("east", TOLD),  # whose rows are the reason
        ("east", "these rows stand alone: east.csv, line 5"),
        ("south", TOLD.replace("1 of 3", "2 of 3")),  # counted twice
    ):
        judge = ended(tmp_path, DUE, REFUSED | {name: (3, words)})
        assert judge.troubles == [f"{name}: must say {DUE[name]!r}, and says {[words]}"]


def test_something_else_where_a_refusal_is_due(tmp_path: Path) -> None:
    forbidden = f"south: has an answer that a rule forbids: {sorted({*DUE.values()})}"
    for status, expected in (
        (0, forbidden),
        (1, "south: an error: titan: error: the disk is full"),
    ):
        judge = ended(tmp_path, DUE, REFUSED | {"south": (status, "the disk is full")})
        assert [each.partition("\n")[0] for each in judge.troubles] == [expected]
        assert judge.tally.exact == 0


def test_who_could_lie_and_did_not_where_a_refusal_is_due(tmp_path: Path) -> None:
    assert ended(tmp_path, DUE, REFUSED, liar="east").troubles == []


def test_what_rows_deserve_follows_from_the_rows(tmp_path: Path) -> None:
    """Two questions of the same rows, in which two of east's rows have nearly all weight together;
    not so with the rows of another party in their place."""
    scenario = draw(8117)
    addresses = {name: f"127.0.0.1:{at}" for at, name in enumerate(scenario.parties, 7000)}
    found = files.write(scenario, tmp_path, addresses)
    assert found == Expected(
        refusals={
            "north": TOLD,
            "east": "of all own rows, these few stand alone in the model's columns: "
            "east.csv, line 4, east.csv, line 5",
            "south": TOLD,
        }
    )
    (tmp_path / "east.csv").write_bytes((tmp_path / "north.csv").read_bytes())
    found = Expected.of(Study.load(tmp_path / "study.toml"), tmp_path)
    assert (set(found.answer["questions"]), found.refusals) == (set(scenario.questions), {})


@pytest.mark.parametrize("outlier", ["", "east"])
@pytest.mark.parametrize("parties", [3, 15])
def test_what_rows_deserve_is_what_their_leverage_says(
    parties: int, outlier: str, tmp_path: Path
) -> None:
    """As NumPy has it, by none of the rules' own code; among many parties nothing stands out."""
    names = NAMES[:parties]
    links = tuple((a, b, "push") for a, b in zip(names, names[1:] + names[:1], strict=True))
    scenario = Scenario(1, names, links, 0, {"recovery": "tree"}, outlier=outlier)
    found = files.write(
        scenario, tmp_path, {name: f"127.0.0.1:{port}" for port, name in enumerate(names, 7000)}
    )
    tables = [np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1) for name in names]
    rows = np.concatenate(tables)[:, :2]
    q, _ = np.linalg.qr(np.column_stack([np.ones(len(rows)), rows]))
    alone = np.nonzero((q**2).sum(axis=1) > 1 / 3)[0]
    assert alone.tolist() == ([len(tables[0])] if outlier and parties == 3 else [])
    assert {name for name, words in found.refusals.items() if words != TOLD} == (
        {"east"} if len(alone) else set()
    )
    assert bool(found.answer) is not bool(found.refusals)
