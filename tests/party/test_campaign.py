"""The parts of the fault campaign: a fault that does nothing is not counted as one."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import titan
from tests.party.campaign.clock import READERS
from tests.party.campaign.disks import Disk
from tests.party.campaign.files import MADE
from tests.party.campaign.judge import text_of
from tests.party.campaign.moments import reached
from tests.party.campaign.nursing import _ENVIRONMENT, ROOT
from tests.party.campaign.scenario import QUESTIONS, STEPPED, draw
from tests.party.campaign.tally import LEAST, Tally


def test_a_journal_is_put_back_only_if_it_had_moved_on(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "north", own=False)
    disk.remember()
    assert not disk.roll_back(), "there was none"
    folder = disk.place / "runs" / "run"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "journal.db", isolation_level=None)) as journal:
        journal.execute("PRAGMA journal_mode = wal")
        journal.execute("CREATE TABLE said (word)")
        disk.remember()
        assert disk.has_journal
        assert not disk.has_moved_on()
        journal.execute("PRAGMA wal_checkpoint")  # other bytes, and the same rows
        assert disk.has_moved_on()
        assert not disk.roll_back()
        journal.execute("INSERT INTO said VALUES ('no')")
        assert disk.roll_back()
    with closing(sqlite3.connect(folder / "journal.db")) as journal:
        assert journal.execute("SELECT * FROM said").fetchall() == []


def test_a_key_is_lost_only_where_there_is_one(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "north", own=False)
    assert not disk.lose_key(altered=False)
    key = disk.place / "runs" / "run" / "journal.db.secret"
    key.parent.mkdir(parents=True)
    key.write_bytes(bytes(4096))
    assert disk.lose_key(altered=True)
    assert key.read_bytes().count(0) == 4095
    assert disk.lose_key(altered=False)
    assert not key.exists()


def test_a_campaign_of_many_runs_says_what_it_has_hardly_tried() -> None:
    questions = Counter(dict.fromkeys((*QUESTIONS, *STEPPED, "large"), 9))
    tally = Tally(1000, faults=Counter(LEAST), questions=questions, parties=Counter({20: 1}))
    assert tally.too_few() == []
    tally.faults["hole"] -= 1
    tally.questions["cox"] = 0
    assert tally.too_few() == ["links black-holed: 4 of 5", "questions of cox"]
    assert tally.too_few(apart=False) == ["questions of cox"]
    tally.runs = 499
    assert tally.too_few() == []


def test_a_phase_that_a_recovery_does_not_have_is_over_with_the_next() -> None:
    assert not reached("check", "titan: sum 1 of 2: recovery, round 1 of 2")
    assert reached("check", "titan: sum 1 of 2: check")
    assert reached("check", "titan: agreement, waiting for east")
    assert not reached("end", "titan: hint: send it to the end of the line")


def test_who_is_to_lie_in_a_flood_has_something_to_pass_on() -> None:
    """Nobody has on a graph on which all hear each other."""
    lies = [s for s in map(draw, range(1000)) if s.liar and s.choices["recovery"] == "flood"]
    assert len(lies) > 9
    for scenario in lies:
        assert len(scenario.links) == len(scenario.parties) > 2


CLOCK = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from tests.party.campaign import clock
from titan.party.tls import Expected, Tls, TlsError
from tests.study.parties import identity
notes, days = sys.argv[1], float(sys.argv[2])
clock.set_clock(notes, days, 0, 0.0, 0.0)
for module in clock.READERS:
    assert abs((module.datetime.now(UTC) - datetime.now(UTC)).days - days) <= 1
north, east = identity("north"), identity("east")
ends = [
    Tls(Expected(north, [east.card]), dials=True), Tls(Expected(east, [north.card]), dials=False)
]
try:
    for one, other in (ends, ends[::-1], ends):
        one.shake_hands()
        other.take(memoryview(one.due()))
except TlsError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("days", "noted", "said"),
    [(0, "", ""), (1, "c", ""), (-10_000, "ce", "not valid yet"), (90_000, "ce", "has expired")],
)
def test_a_wrong_clock_is_what_certificates_are_compared_with(
    tmp_path: Path, days: int, noted: str, said: str
) -> None:
    """And what log, status and ledger read; in a process of its own."""
    notes = tmp_path / "notes"
    words = [sys.executable, "-c", CLOCK, str(notes), str(days)]
    found = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=ROOT, env=os.environ | _ENVIRONMENT
    )
    assert said in found.stdout
    assert bool(said) == bool(found.stdout)
    assert "".join(sorted({*text_of(notes)})) == noted


def test_whatever_reads_the_clock_reads_a_wrong_one() -> None:
    """In `titan join`, that is: in none of these commands' other modules."""
    source = Path(titan.__file__).parent
    asked = re.compile(r"datetime\.now\(")
    places = [*source.glob("party/*.py"), source / "cli" / "log.py", source / "cli" / "join.py"]
    found = {path.stem for path in places if asked.search(path.read_text())}
    assert found - {"rehearsal"} == {module.__name__.rpartition(".")[2] for module in READERS}


def test_strangers_come_to_one_who_listens_and_fill_what_few_descriptors_it_has() -> None:
    crowded = [s for s in map(draw, range(300)) if s.strangers]
    assert {bool(s.descriptors) for s in crowded} == {True, False}
    for scenario in crowded:
        (found,) = scenario.strangers
        listen = {b if how == "push" else a for a, b, how in scenario.links}
        assert found.party in listen
        assert found.idle >= 2 * scenario.descriptors.get(found.party, 0)


def test_a_clock_is_wrong_by_more_than_certificates_last_or_by_a_day() -> None:
    clocks = [s.clock for s in map(draw, range(1000)) if s.clock is not None]
    assert {clock.from_start for clock in clocks} == {True, False}
    for clock in clocks:
        now = datetime.now(UTC) + timedelta(days=clock.days + clock.jump)
        assert (MADE < now < MADE + timedelta(days=36_500)) is (clock.jump == 1.0)
        assert clock.order(1) == ((0.0, 0, 0.0, 0.0) if clock.from_start else clock.order(0))
