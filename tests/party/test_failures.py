"""What `titan join` does when others fail: wait, say for whom, keep the journal, serve the late."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.party.campaign.nursing import Nurse
from tests.party.joining import Joined, Study, calm

# South hears of the others through east alone; they hear of each other without it.
LINKS = (("north", "east"), ("east", "north"), ("east", "south"), ("south", "north"))
AWHILE = 4.0  # seconds; south cannot know that north has left with everything, and waits for it


async def _ends(study: Study, name: str, wait: float) -> Joined:
    """Who gives up, since the machine is busy, gives the same command again."""
    while True:
        party = await study.join(name, wait=wait)
        if await party.ends() != 75:
            return party


def _run(folder: Path, story: Callable[[Study], Awaitable[None]]) -> None:
    async def tell() -> None:
        async with Nurse() as nurse:
            await story(Study(folder, nurse, calm(*LINKS)))

    asyncio.run(tell())


def test_who_never_comes_is_named_and_the_same_command_goes_on_later(tmp_path: Path) -> None:
    async def story(study: Study) -> None:
        early = [await study.join(name, wait=2) for name in ("north", "east")]
        assert [await party.ends() for party in early] == [75, 75]
        for party in early:
            assert "titan: error: nothing came for 2 seconds" in party.said
            assert re.search(r"error: .*waiting for [^)]*south", party.said)
            assert "the journal is kept: the same command goes on from here" in party.said
            assert study.answer(party.name) is None
            assert list(tmp_path.glob(f"runs/*-{party.name}/journal.db"))
        everybody = [await study.join(name) for name in study.scenario.parties]
        assert [await party.ends() for party in everybody] == [0, 0, 0]
        for name in study.scenario.parties:
            assert study.answer(name) == study.expected

    _run(tmp_path, story)


def test_a_party_stays_until_another_has_all_it_needs(tmp_path: Path) -> None:
    async def story(study: Study) -> None:
        south = await study.join("south", kill="agreement")
        north, east = await study.join("north"), await study.join("east")
        assert await south.ends() == -9
        await east.shows_its_answer()
        assert await north.ends() == 0  # it sends to east alone, who has everything
        assert not east.ended.done()  # south lacks the digests that come through east
        again = await _ends(study, "south", AWHILE)
        assert [await again.ends(), await east.ends()] == [0, 0]
        assert study.answer("south") == study.answer("east") == study.expected

    _run(tmp_path, story)


def test_join_on_a_finished_run_serves_who_was_killed_too_early(tmp_path: Path) -> None:
    async def story(study: Study) -> None:
        south = await study.join("south", kill="agreement")
        others = await asyncio.gather(*(_ends(study, name, 3) for name in ("north", "east")))
        assert [await south.ends(), *[await other.ends() for other in others]] == [-9, 0, 0]
        assert "south has not confirmed everything" in others[1].said
        east = await study.join("east")
        again = await _ends(study, "south", AWHILE)
        assert [await again.ends(), await east.ends()] == [0, 0]
        assert study.answer("south") == study.answer("east") == study.expected

    _run(tmp_path, story)


def test_all_killed_with_the_answer_on_the_screen_have_it_still(tmp_path: Path) -> None:
    async def story(study: Study) -> None:
        everybody = [await study.join(name) for name in study.scenario.parties]
        for party in everybody:
            await party.shows_its_answer()
            if not party.ended.done():
                party.kill()
            await party.ends()
        again = [await study.join(name, wait=4) for name in study.scenario.parties]
        assert [await party.ends() for party in again] == [0, 0, 0]
        for name in study.scenario.parties:
            assert study.answer(name) == study.expected

    _run(tmp_path, story)
