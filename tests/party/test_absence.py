"""Who does not come for a reason that is not in its rows says so, and nobody waits in the dark.

The others end with its words; what is in the rows is told to nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import NAMES, WAIT, Gathering, answers_agree, rows, run, until
from tests.party.test_strangers import dialled
from titan.cli.progress_lines import live_text
from titan.errors import AbsentError, DataError, MessageError, ReleaseError, TitanError, VetoError
from titan.party import attendance, taking_part, wire
from titan.party.attendance import Attendance
from titan.party.attendance import absence as signed
from titan.party.run import CONNECTING, RunProgress
from titan.party.run_events import RunEvents, Watch, link_statuses
from titan.party.taking_part import Party
from titan.party.wire import Absence, Here
from titan.study.audit import JOURNAL

LONG = 3600.0  # seconds: whoever waits for a clock waits for longer than the test


@pytest.fixture(autouse=True)
def _until_all_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "SECONDS", LONG)
    monkeypatch.setattr(attendance, "Absentee", Telling)


def other_columns(g: Gathering) -> Party:
    g.write("east", "u,v\n" + "1,2\n" * 12)
    return g.party("east")


def refused_by_the_ledger(g: Gathering) -> Party:
    g.write("east", rows("east", 13))
    with patch.object(attendance, "SECONDS", 0.0), pytest.raises(TitanError, match="nothing came"):
        asyncio.run(g.join("east", wait=0.1, run=7))
    g.write("east", rows("east", 12))
    return g.party("east")


CASES: dict[str, tuple[Callable[[Gathering], Party], str]] = {
    "columns": (other_columns, "its file of rows does not fit the study"),
    "ledger": (refused_by_the_ledger, "its ledger refuses the study"),
}


class Telling(attendance.Absentee):
    """Goes on until the others have ended, however they were told: a neighbour may have left."""

    made: ClassVar[list[Telling]] = []

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.loop = asyncio.get_running_loop()
        self.made.append(self)

    @classmethod
    async def until_all_end(cls, others: list[asyncio.Task[Any]]) -> list[Any]:
        found = await asyncio.gather(*others, return_exceptions=True)
        while cls.made:
            it = cls.made.pop()
            with suppress(RuntimeError):  # it has ended by itself, and so has its loop
                it.loop.call_soon_threadsafe(it._all_told.set)
        return found


async def others_wait(g: Gathering, *names: str) -> list[asyncio.Task[Any]]:
    waiting = [g.joining(name, wait=LONG) for name in names]
    await until(lambda: all(g.phases.get(name) for name in names))
    return waiting


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dial", ["push", "pull"])
def test_the_others_end_with_its_words(tmp_path: Path, case: str, dial: str) -> None:
    """Five in a cycle: two of them hear it from others than east."""
    g = Gathering(tmp_path, names=(*NAMES, "west", "home"), dial=dial)
    prepare, words = CASES[case]
    party = prepare(g)

    async def story() -> list[Any]:
        waiting = await others_wait(g, "north", "south", "west", "home")
        east = asyncio.ensure_future(party.join(lambda _: None))
        found = await Telling.until_all_end(waiting)
        with pytest.raises(TitanError) as raised:
            await east
        assert str(raised.value) not in str(found), "what is told is a sentence, not the error"
        return found

    for error in run(story()):
        assert isinstance(error, AbsentError)
        assert error.message == f'east does not take part: "{words}"'
        assert error.exit_status == 75, "if it comes after all, the same command takes part"
    assert not g.shown


def test_a_problem_that_only_its_own_check_finds(tmp_path: Path) -> None:
    """Its clock is wrong, say, or its version another."""
    g = Gathering(tmp_path)

    async def story() -> list[Any]:
        waiting = await others_wait(g, "north", "south")
        with patch.object(taking_part, "checked", side_effect=TitanError("it has expired")):
            east = asyncio.ensure_future(g.join("east"))
            found = await Telling.until_all_end(waiting)
            with pytest.raises(TitanError, match="it has expired"):
                await east
        return found

    for error in run(story()):
        assert error.message == (
            'east does not take part: "its check of the study found a problem"'
        )


def test_what_is_in_the_rows_is_told_to_nobody(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.write("east", "x,z,y\n" + "1,2,much\n" * 12)
    with patch.object(attendance.Absentee, "tell") as tell:
        with pytest.raises(DataError):
            run(g.join("east"))
        assert not tell.called


def test_a_mistyped_name_is_told_to_nobody(tmp_path: Path) -> None:
    """They wait for it, as for anybody who has not come yet."""
    g = Gathering(tmp_path)
    absent = g.folder / "absent.csv"
    with patch.object(attendance.Absentee, "tell") as tell:
        for given in (absent, {g.study.questions[0].name: str(absent)}):
            with pytest.raises(TitanError, match=r"absent\.csv"):
                run(replace(g.party("east"), rows=given).join(lambda _: None))
        assert not tell.called


def test_who_has_too_few_rows_takes_part_and_vetoes(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.write("east", rows("east", 9))

    with patch.object(attendance.Absentee, "tell") as tell:
        found = run(g.errors())
        assert not tell.called
    own = found.pop("east")
    assert type(own) is ReleaseError
    assert "9 rows" in own.message
    for error in found.values():
        assert isinstance(error, VetoError)
        assert "east" not in str(error)


def test_who_has_begun_goes_on_with_the_same_command(tmp_path: Path) -> None:
    """A wrong file given then is no reason for the others to end."""
    g = Gathering(tmp_path)
    with pytest.raises(TitanError, match="nothing came"):
        run(g.join("east", wait=0.1))
    right = (tmp_path / "east.csv").read_text()
    with patch.object(attendance.Absentee, "tell") as tell, pytest.raises(DataError):
        run(other_columns(g).join(lambda _: None))
    assert not tell.called
    g.write("east", right)
    run(g.all())
    answers_agree(g)


def test_when_it_comes_after_all_the_same_run_goes_on(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    right = (tmp_path / "east.csv").read_text()

    async def story() -> None:
        waiting = await others_wait(g, "north", "south")
        east = asyncio.ensure_future(other_columns(g).join(lambda _: None))
        await Telling.until_all_end(waiting)
        with pytest.raises(DataError):
            await east
        g.write("east", right)
        await g.all()

    run(story())
    answers_agree(g)


def test_who_came_after_all_is_not_sent_away_by_what_it_said_before(tmp_path: Path) -> None:
    """South kept east's words of an hour ago, and says them again when east is there."""
    g = Gathering(tmp_path)
    kept = wire.encode(signed(g.study, g.identities["east"], 1, "its people declined"))

    async def story() -> None:
        waiting = await others_wait(g, "north", "east")
        await until(lambda: g.phases["north"][-1] == "connecting, waiting for south")
        async with asyncio.timeout(WAIT):
            await dialled(g.identities["south"], g, kept)
        await asyncio.gather(g.join("south"), *waiting)

    run(story())
    answers_agree(g)


def test_nobody_is_there(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with patch.object(attendance, "SECONDS", 0.1), pytest.raises(DataError, match="no column"):
        run(other_columns(g).join(lambda _: None))


# -- the command line -------------------------------------------------------------------------


def declining(g: Gathering, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda _: False)
    words = [word for word in g.words("east") if word != "--yes"]
    return titan(*words, cwd=g.folder)


def test_declined_at_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = Gathering(tmp_path)
    g.save()

    async def story() -> list[Any]:
        waiting = await others_wait(g, "north", "south")
        east = asyncio.ensure_future(asyncio.to_thread(declining, g, monkeypatch))
        found = await Telling.until_all_end(waiting)
        done = await east
        assert done.returncode == 1
        assert "Nothing was sent, but that east does not take part." in done.stdout
        return found

    assert {str(error).partition(" (")[0] for error in run(story())} == {
        'east does not take part: "its people declined"'
    }


def test_declined_while_another_process_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That one has the journal: it would be wrong to say that east does not come."""
    g = Gathering(tmp_path)
    g.save()
    folder = tmp_path / "runs" / f"{g.study.digest[:12]}-run1-east"
    folder.mkdir(parents=True, mode=0o700)
    with absence_untold(), journal_of(folder):
        done = declining(g, monkeypatch)
    assert done.returncode == 1
    assert "Nothing was sent." in done.stdout


def absence_untold() -> Any:
    return patch.object(attendance.Absentee, "tell", side_effect=AssertionError)


def journal_of(folder: Path) -> Any:
    from titan.study.journal import Journal

    return Journal.open(folder / JOURNAL)


# -- what counts ------------------------------------------------------------------------------


def attending(g: Gathering, events: RunEvents, begun: set[str]) -> Attendance:
    links = link_statuses(g.study, "north")
    return Attendance(g.study, 1, "north", links, events, lambda: begun)


def heard(g: Gathering, chunk: Absence | Here, begun: set[str] | None = None) -> RunEvents:
    events = RunEvents(Watch(), lambda: RunProgress(CONNECTING))
    attending(g, events, begun or set()).take(chunk)
    return events


def test_an_absence_counts_under_its_own_signature_alone(tmp_path: Path) -> None:
    async def story() -> None:
        g = Gathering(tmp_path)
        east = g.identities["east"]
        good = signed(g.study, east, 1, "why")
        events = heard(g, good)
        assert isinstance(events.failure, AbsentError)
        assert wire.decode(events.last_words) == good, "to be passed on as it came"
        other = Gathering(tmp_path, changes={"title": "Another"}).study
        for bad in (
            replace(good, party=2),
            replace(good, reason="another"),
            replace(good, signature=bytes(64)),
            signed(g.study, east, 2, "why"),
            signed(other, east, 1, "why"),
            replace(signed(g.study, g.identities["south"], 1, "why"), party=1),
        ):
            with pytest.raises(MessageError, match="did not sign for this run"):
                heard(g, bad)
        with pytest.raises(MessageError, match="said of party 3"):
            heard(g, replace(good, party=3))
        with pytest.raises(MessageError, match="said of party 3"):
            heard(g, Here((0, 3)))
        with pytest.raises(MessageError, match="east, who has begun"):
            heard(g, good, {"east"})

    asyncio.run(story())


def test_its_words_are_quoted_and_few(tmp_path: Path) -> None:
    async def story() -> str:
        g = Gathering(tmp_path)
        long = signed(g.study, g.identities["east"], 1, "x" * 200)
        assert wire.decode(wire.encode(long)) == long
        return str(heard(g, signed(g.study, g.identities["east"], 1, "titan: error: no")).failure)

    assert asyncio.run(story()).startswith('east does not take part: "titan: error: no"')


# -- who is missing ---------------------------------------------------------------------------


def test_only_who_is_missing_is_named(tmp_path: Path) -> None:
    """South hears nobody's nonce without east, and none of west's, but knows who has come."""
    names = ("north", "east", "south", "west", "home")
    g = Gathering(tmp_path, names=names)

    async def story() -> None:
        waiting = await others_wait(g, "north", "south", "west", "home")
        there = ("north", "south", "west", "home")
        await until(lambda: all(g.phases[n][-1] == "connecting, waiting for east" for n in there))
        await asyncio.gather(*waiting, g.joining("east"))

    run(story())
    answers_agree(g)


def test_who_waits_alone_names_all_from_the_start(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(TitanError, match="nothing came"):
        run(g.join("north", wait=0.1))
    assert g.phases["north"] == ["connecting, waiting for east, south"]


def test_a_terminal_shows_who_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from titan.cli.join import _watching

    g = Gathering(tmp_path)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    watching = _watching(g.study.network.parties, "north")
    with watching as watch, pytest.raises(TitanError, match="nothing came"):
        run(replace(g.party("north", wait=0.3), watch=watch).join(lambda _: None))
    shown = capsys.readouterr().err
    assert "waiting for east, south" in shown
    assert "here: 1 of 3: north (you)" in shown


def test_the_live_lines_name_the_sum_the_round_and_who_is_here() -> None:
    in_sum = RunProgress.in_sum(1, 3, "recovery, round 2 of 4", ["east"])
    told = live_text(replace(in_sum, here=("north", "east")), ("north", "east", "south"), "north")
    assert told.splitlines() == [
        "sum 2 of 3: recovery, round 2 of 4, waiting for east",
        "  here: 2 of 3: north (you), east",
    ]
    everybody = replace(in_sum, here=("north", "east", "south"))
    assert "here: all 3: north (you), east, south" in live_text(everybody, everybody.here, "north")
    many = tuple(map(str, range(40)))
    assert live_text(replace(in_sum, here=many), many, "0").endswith("6, 7 and 32 more")


def test_who_came_and_went_is_missing_to_its_neighbours(tmp_path: Path) -> None:
    async def story() -> None:
        g = Gathering(tmp_path)
        events = RunEvents(Watch(), lambda: RunProgress(CONNECTING))
        here = attending(g, events, set())
        links = {link.peer: link for link in here.links.values()}
        waits = RunProgress(CONNECTING, ["east", "south"])
        assert here.named(waits).waiting == ["east", "south"]
        links["south"].opened()
        here.came(["south"])
        assert here.named(waits).waiting == ["east"]
        links["south"].up = False
        assert here.named(waits).waiting == ["east", "south"]
        links["south"].up = links["east"].up = True
        here.came(["east"])
        assert here.named(waits).waiting == ["east", "south"], "somebody, then"
        later = RunProgress("sum 1 of 2: masks", ["south"])
        assert str(here.named(later)) == str(later), "who is awaited in a sum is the session's"

    asyncio.run(story())
