"""The key of a journal's secrets lost or damaged in mid-run: all parties end, and are told why.

Its owner is as one that lost its journal. No party waits in vain for what will not come.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from tests.party.campaign.nursing import Nurse
from tests.party.joining import Joined, Study, calm
from tests.party.loopback import Gathering, run
from tests.party.test_put_back import NAMES, PutBack, all_others_have_it, ends
from tests.without_rights import where_modes_count
from titan.cli import app
from titan.errors import FileError, WaitError
from titan.party.status_file import look
from titan.study.audit import JOURNAL
from titan.study.journal import Journal
from titan.study.kept_runs import DAMAGED, kept_runs, open_journal

CYCLE = (("north", "east"), ("east", "south"), ("south", "north"))


def flip(key: Path) -> None:
    content = bytearray(key.read_bytes())
    content[2000] ^= 1
    key.write_bytes(content)


SPOILT: dict[str, Callable[[Path], None]] = {"lost": Path.unlink, "one bit flipped": flip}


def titan(*words: object) -> str:
    return CliRunner().invoke(app, [*map(str, words)]).stdout


def sent_in(journal: Path) -> set[str]:
    with Journal.open(journal) as found:
        return {message.kind for message in found.messages() if message.sender == "north"}


@pytest.mark.parametrize("how", SPOILT)
def test_all_end_and_know_why(tmp_path: Path, how: str) -> None:
    """In processes. North was killed when its masks had left."""

    async def story() -> list[Joined]:
        async with Nurse() as nurse:
            study = Study(tmp_path, nurse, calm(*CYCLE))
            others = [await study.join(name) for name in ("east", "south")]
            north = await study.join("north", kill="total")
            assert await north.ends() == -9
            (key,) = tmp_path.glob("runs/*-north/journal.db.secret")
            sent = sent_in(key.with_name(JOURNAL))
            assert "MASK" in sent
            assert "AGREED" not in sent
            SPOILT[how](key)
            parties = [await study.join("north"), *others]
            assert [await party.ends() for party in parties] == [1, 1, 1]
            return parties

    north, *others = asyncio.run(story())
    assert "the key of its secrets" in north.said
    assert f"it is set aside as {DAMAGED}, and the others are told" in north.said
    assert "error: north lost its journal; agree on run 2" in north.said
    for other in others:
        error = other.said[other.said.index("titan: error:") :]
        assert "north" in error
        assert "run 2" in error
        assert "goes on from here" not in error
    assert not list(tmp_path.glob("runs/*/*.secret"))
    assert {found.state for found in kept_runs(tmp_path / "runs")} == {"no answer"}
    told = json.loads(titan("status", tmp_path / "runs", "--json"))["runs"]
    assert {found["state"] for found in told} == {"failed"}


@pytest.mark.parametrize("how", SPOILT)
def test_after_the_answer_all_others_have_it(tmp_path: Path, how: str) -> None:
    g = Gathering(tmp_path, names=NAMES)
    trouble = PutBack(g, "nothing", "complete", confirms=False)
    key = g.run_folder("north") / f"{JOURNAL}.secret"
    with patch.object(trouble, "restore", lambda: SPOILT[how](key)):
        all_others_have_it(ends(g, trouble), g)
    assert not key.exists()


@pytest.fixture
def g(tmp_path: Path) -> Gathering:
    """North waited for others in vain."""
    g = Gathering(tmp_path)
    with pytest.raises(WaitError):
        run(g.join("north", wait=0.1))
    return g


@pytest.mark.parametrize("how", SPOILT)
def test_where_nobody_knows_the_run_the_same_command_begins_it_again(
    g: Gathering, how: str
) -> None:
    """With other masks and another nonce: no old one is with anybody."""
    SPOILT[how](g.run_folder("north") / f"{JOURNAL}.secret")
    run(g.all())
    assert set(g.shown) == {"north", "east", "south"}
    assert any(DAMAGED in line for line in g.told["north"])
    assert not list(g.run_folder("north").glob("*.secret"))


def test_what_is_set_aside_opens_with_no_key_any_more(g: Gathering) -> None:
    """Not with its own either, should a backup have that."""
    folder = g.run_folder("north")
    key = (folder / f"{JOURNAL}.secret").read_bytes()
    flip(folder / f"{JOURNAL}.secret")
    open_journal(folder, lambda _: None).close()
    back = folder / f"{DAMAGED}.secret"
    back.write_bytes(key)
    back.chmod(0o600)
    with Journal.open(folder / DAMAGED) as journal:
        assert journal.state is not None
        assert journal.state.erased
        assert journal.state.keys == ()
    assert not back.exists()


def test_a_key_that_cannot_be_read_just_now_is_not_damaged(g: Gathering) -> None:
    """An error, and nobody is told; then the same command goes on."""
    folder = g.run_folder("north")
    key = folder / f"{JOURNAL}.secret"
    kept, told = key.read_bytes(), list[str]()
    key.chmod(0)
    try:
        with where_modes_count(key) as elsewhere, pytest.raises(FileError, match="cannot be read"):
            elsewhere.apply(open_and_close, (folder,))
    finally:
        key.chmod(0o600)
    aside = key.rename(folder / "aside")
    key.mkdir()  # what cannot be read for another reason
    with pytest.raises(FileError, match="cannot be read"):
        open_journal(folder, told.append)
    key.rmdir()
    key.symlink_to(folder / "not there just now")
    with pytest.raises(FileError, match="cannot be read"):
        open_journal(folder, told.append)
    key.unlink()
    aside.rename(key)
    assert key.read_bytes() == kept
    assert not told
    assert not (folder / DAMAGED).exists()
    run(g.all())
    assert set(g.shown) == {"north", "east", "south"}


def open_and_close(folder: Path) -> None:
    open_journal(folder, lambda _: None).close()


@pytest.mark.parametrize("how", SPOILT)
def test_it_can_be_given_up(g: Gathering, how: str) -> None:
    folder = g.run_folder("north")
    SPOILT[how](folder / f"{JOURNAL}.secret")
    assert " damaged " in titan("runs", "list", g.folder)
    assert "secrets of 1 run erased" in titan("runs", "clean", g.folder, "--yes")
    (found,) = kept_runs(g.folder)
    assert (found.state, found.secrets) == ("given up", False)
    assert look(folder) is None, "titan status has nothing more to say"
    assert "secrets of 0 runs erased" in titan("runs", "clean", g.folder, "--yes")
