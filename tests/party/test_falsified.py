"""A party that alters a partial sum and signs it: nobody has an answer, and all are told who."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.test_commands import answer, titan
from tests.party.campaign.nursing import Nurse
from tests.party.joining import Study, calm
from titan import Network
from titan.party.messages import HEAD_BYTES
from titan.protocol import Plan
from titan.ring import Ring
from titan.study.transcript import Transcript
from titan.study.verified import verify

NAMES = ("north", "east", "south", "west")
CYCLE = Network.cycle(list(NAMES))


def _relay() -> str:
    """One that is sent a partial sum and sends one: neither the root nor a leaf."""
    tree: Any = Plan.make(CYCLE, Ring(64), 1, recovery="tree").scheme
    return next(
        name for party, name in enumerate(NAMES) if party != tree.root and tree.up.children[party]
    )


LIAR = _relay()
HONEST = [name for name in NAMES if name != LIAR]
DEED = f"{LIAR} sent a partial sum that is not that of what it was sent and its own vector"


class End(NamedTuple):
    status: int
    said: str
    answered: bool


class Run(NamedTuple):
    folder: Path
    ends: dict[str, End]

    def of(self, name: str) -> Path:
        [found] = self.folder.glob(f"runs/*-run1-{name}")
        return found

    def transcript(self, name: str) -> Transcript:
        return verify(self.of(name) / "transcript.json").transcript


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two, with a process for every party: an honest one, and one in which a relay lies."""

    async def story(nurse: Nurse, folder: Path, liar: str) -> Run:
        study = Study(folder, nurse, calm(*CYCLE.edges))
        everybody = [
            await study.join(name, lie="partial" if name == liar else "") for name in NAMES
        ]
        ends = {
            each.name: End(await each.ends(), each.said, study.answer(each.name) is not None)
            for each in everybody
        }
        return Run(folder, ends)

    async def both() -> list[Run]:
        async with Nurse() as nurse:
            folders = (tmp_path_factory.mktemp("run") for _ in range(2))
            stories = (story(nurse, *each) for each in zip(folders, ("", LIAR), strict=True))
            return list(await asyncio.gather(*stories))

    return asyncio.run(both())


def test_every_other_party_is_told_who_altered_a_partial_sum(runs: list[Run]) -> None:
    falsified = runs[1]
    for name in NAMES:
        status, said, answered = falsified.ends[name]
        assert (status, answered) == (1, False), said
        if name != LIAR:
            assert "titan: error: the sum was falsified, so there is no answer" in said
            assert DEED in said
            assert f"ask {LIAR} why" in said
    for name in HONEST:
        told = falsified.transcript(name)
        assert told.stopped is not None
        assert (told.stopped.named, DEED in told.stopped.why) == ((LIAR,), True)
        assert (told.pooled, told.result, len(told.sums), told.sums[0].check) == (None, {}, 1, None)
        assert "OPENED" in {m.kind for m in told.sent}
        shown = titan("show", falsified.of(name))
        assert (shown.returncode, DEED in shown.stderr) == (1, True)


def test_their_transcripts_agree(runs: list[Run]) -> None:
    folder, *others = (runs[1].of(name) for name in HONEST)
    agreed = titan("verify", folder, others[0], "--study", runs[1].folder / "study.toml")
    assert (agreed.returncode, agreed.stderr) == (0, "")
    assert f"named: {LIAR}" in agreed.stdout
    told = answer("verify", folder, *others)
    assert (told["verified"], told["differences"]) == (True, [])
    assert [each["stopped"]["named"] for each in told["transcripts"]] == [[LIAR]] * 3


def test_the_bytes_of_checked_sums_are_those_that_were_predicted(runs: list[Run]) -> None:
    """Two bytes more for each message, its head, as the documents say."""
    honest = runs[0]
    predicted = answer("study", "check", honest.folder / "study.toml")
    assert all(each["checked"] for each in predicted["sums"])
    for name in NAMES:
        assert honest.ends[name].status == 0, honest.ends[name].said
        told = honest.transcript(name)
        inside = [m for each in told.sums for m in each.messages]
        for way, end in (("bytes_sent", "sender"), ("bytes_received", "receiver")):
            sizes = [m.size - HEAD_BYTES for m in inside if getattr(m, end) == name]
            assert sum(sizes) == predicted[way][name], way
        assert {m.kind for m in inside} >= {"COMMITTED", "REVEALED", "SUMMED"}
        assert [each.recovery for each in told.sums] == ["tree"] * len(predicted["sums"])
    assert titan("verify", *map(honest.of, NAMES)).returncode == 0
