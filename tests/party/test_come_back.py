"""A party that dies comes back with the same bits, or is told clearly that it cannot."""

from __future__ import annotations

import asyncio
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import titan
from tests.party.loopback import NAMES, WAIT, Gathering, answers_agree, rows, run
from titan.errors import DataError, PeerError, TitanError, WaitError
from titan.moments import open_source
from titan.party import addresses, run_to_answer
from titan.party.connecting import Connections
from titan.party.durable_session import DurableSession
from titan.party.preparing import prepare
from titan.party.ready import Wait
from titan.party.run import RunProgress
from titan.party.run_events import RunEvents, Watch
from titan.party.session import Session
from titan.study import Link
from titan.study.audit import JOURNAL, TRANSCRIPT
from titan.study.journal import Journal
from titan.study.ledger import Ledger

OTHER_ROWS = "other rows than before, or another ledger: nothing had been sent, so these count now"


class KilledError(Exception):
    """As kill -9, as far as one process can do it to itself: nothing after it happens."""


# -- killed at chosen points ------------------------------------------------------------------


def dies(kind: type, method: str, when: Callable[[Any], bool], *, after: bool) -> Any:
    """Patch a method of north's so that it dies there once."""
    whole, died = getattr(kind, method), list[bool]()

    def dying(self: Any, *args: Any, **named: Any) -> Any:
        now = not died and when(self)
        if now and not after:
            died.append(True)
            raise KilledError
        found = whole(self, *args, **named)
        if now:
            died.append(True)
            raise KilledError
        return found

    return patch.object(kind, method, dying)


def norths(it: Journal | DurableSession) -> bool:
    journal = it.journal if isinstance(it, DurableSession) else it
    return journal.path.parent.name.startswith("north")


def has_a_mask(it: DurableSession) -> bool:
    """Then somebody had all nonces, and north's came along everybody to get there."""
    query = "SELECT 1 FROM incoming WHERE kind = 'MASK'"
    return norths(it) and it.journal._one(query) is not None


def sent_a_mask(it: DurableSession) -> bool:
    return norths(it) and it.journal._one("SELECT 1 FROM sent WHERE kind = 'MASK'") is not None


def has_total(it: DurableSession) -> bool:
    return norths(it) and isinstance(it.session, Session) and len(it.session.totals) == 1


POINTS: dict[str, tuple[type, str, Callable[[Any], bool], bool]] = {
    "begun": (Journal, "begin", norths, True),
    "first message on disk": (DurableSession, "accept", norths, True),
    "between the sums": (DurableSession, "accept", has_total, True),
    "a transaction lost": (Journal, "record_incoming", norths, True),
    "answered, not written": (Journal, "finish", norths, False),
    "written, not erased": (Journal, "erase_secrets", norths, False),
    "erased": (Journal, "erase_secrets", norths, True),
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_back_with_the_same_answer(tmp_path: Path, point: str) -> None:
    kind, method, when, after = POINTS[point]
    # Who has the answer already stays only for those who may have left.
    wait = 2.0 if method == "erase_secrets" else WAIT

    async def trial() -> None:
        g = Gathering(tmp_path)
        others = [g.joining(name) for name in NAMES if name != "north"]
        with dies(kind, method, when, after=after):
            with pytest.raises(KilledError):
                await g.join("north")
            g.shown.pop("north", None)
            await asyncio.gather(g.join("north", wait=wait), *others)
        answers_agree(g)
        with Journal.open(g.run_folder("north") / JOURNAL) as journal:
            assert journal.state is not None
            assert journal.state.erased
            assert journal.state.keys == ()

    with patch.object(run_to_answer, "_GRACE", 0.5):  # for last messages of those who have left
        run(trial())


# -- a lost journal ---------------------------------------------------------------------------


LINKS = {
    "north dials east": (),
    "north dials south": (Link("north", "east", "pull"), Link("south", "north", "pull")),
    "north is dialled by both": (Link("north", "east", "pull"), Link("south", "north")),
}


@pytest.mark.parametrize("links", LINKS)
def test_a_lost_journal_is_told_to_all_and_the_next_run_works(tmp_path: Path, links: str) -> None:
    """East and south know north's nonce; north comes back with another."""
    changes = {"links": (*LINKS[links], Link("east", "south"))} if LINKS[links] else {}

    async def trial() -> None:
        g = Gathering(tmp_path, changes=changes)
        others = [g.joining(name) for name in ("east", "south")]

        with dies(DurableSession, "accept", has_a_mask, after=True), pytest.raises(KilledError):
            await g.join("north")
        shutil.rmtree(g.run_folder("north"))
        with pytest.raises(PeerError, match="north lost its journal; agree on run 2"):
            await g.join("north")
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        said = "\n".join(line for name in ("east", "south") for line in g.told[name])
        assert "north: refused: north lost its journal; agree on run 2" in said
        assert not g.shown
        await g.all(run=2)
        answers_agree(g)

    run(trial())


def test_told_to_stop_while_it_leaves_it_lets_go_of_its_port(tmp_path: Path) -> None:
    """The next run here wants the same one."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        leaving, close = asyncio.Event(), Connections.close

        async def slowly(self: Connections) -> None:
            leaving.set()
            await asyncio.sleep(0.05)
            await close(self)

        with patch.object(Connections, "close", slowly):
            east = g.joining("east", wait=0.2)  # alone: it leaves with an error, by itself
            await leaving.wait()
            east.cancel()
            with pytest.raises(asyncio.CancelledError):
                await east
        assert addresses._trouble_at(g.identities["east"].card.address) is None

    run(trial())


# -- data that changed ------------------------------------------------------------------------


def test_changed_data_are_refused_and_the_old_ones_go_on(tmp_path: Path) -> None:
    async def trial() -> None:
        g = Gathering(tmp_path)
        others = [g.joining(name) for name in NAMES if name != "north"]
        with dies(DurableSession, "accept", sent_a_mask, after=True), pytest.raises(KilledError):
            await g.join("north")
        g.write("north", rows("north", 13))
        with pytest.raises(DataError, match="the data changed since the run began"):
            await g.join("north")
        g.write("north", rows("north"))
        await asyncio.gather(g.join("north"), *others)
        answers_agree(g)

    run(trial())


@pytest.mark.parametrize("point", ["begun", "first message on disk"])
def test_other_data_go_on_while_nothing_has_left(tmp_path: Path, point: str) -> None:
    """The others know north's nonce at most. Its ledger has the rows that were used, alone."""
    kind, method, when, after = POINTS[point]
    g = Gathering(tmp_path)
    corrected = rows("north", 13)

    async def trial() -> None:
        others = [g.joining(name) for name in NAMES if name != "north"]
        with dies(kind, method, when, after=after), pytest.raises(KilledError):
            await g.join("north")
        killed = patch.object(run_to_answer.RunToAnswer, "run", side_effect=KilledError)
        with killed, pytest.raises(KilledError):  # once more with the first rows
            await g.join("north")
        g.write("north", corrected)
        await asyncio.gather(g.join("north"), *others)

    run(trial())
    answers_agree(g)
    assert g.shown["north"].to_dict()["nobs"] == 2 * 12 + 13
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        assert [each.run for each in ledger.recorded()] == [1]
        source = open_source(tmp_path / "north.csv")
        assert [*map(ledger.has_rows_of, prepare(g.study, 1, source, ledger.row_key)[1])] == [True]
        assert len(ledger._all("SELECT * FROM entries")) == 1
        assert len(ledger._all("SELECT * FROM row_sets")) == 1


def test_a_crash_between_journal_and_ledger_leaves_neither_in_the_way(tmp_path: Path) -> None:
    """The journal has the new rows, the ledger still the first ones."""
    g = Gathering(tmp_path)
    with pytest.raises(PeerError, match="nothing came"):
        run(g.join("north", wait=0.1))
    before = (tmp_path / "north.ledger").read_bytes()
    g.write("north", rows("north", 13))
    for _ in range(2):
        with pytest.raises(PeerError, match="nothing came"):
            run(g.join("north", wait=0.1))
        (tmp_path / "north.ledger").write_bytes(before)
    assert OTHER_ROWS in g.told["north"]


def test_a_run_begun_twice_keeps_its_rows(tmp_path: Path) -> None:
    """Of the first beginning nothing is proved any more."""
    g = Gathering(tmp_path)
    for _ in range(2):
        shutil.rmtree(g.run_folder("north"), ignore_errors=True)
        with pytest.raises(PeerError, match="nothing came"):
            run(g.join("north", wait=0.1))
    g.write("north", rows("north", 13))
    with pytest.raises(TitanError, match="begun more than once"):
        run(g.join("north", wait=0.1))
    g.write("north", rows("north"))
    with pytest.raises(PeerError, match="nothing came"):
        run(g.join("north", wait=0.1))


def test_the_first_message_of_a_sum_waits_for_the_disk(tmp_path: Path) -> None:
    """Else a power cut could undo the proof that masks have left."""
    synced: list[tuple[Wait, bool]] = []
    release = DurableSession.release

    def releasing(self: DurableSession) -> None:
        sums = any(frame.sum is not None for frame in self._due)
        first = not any(f.sum is not None for link in self.outgoing.values() for f in link.waiting)
        if sums and norths(self):
            synced.append((self._wait, first))
        release(self)

    with patch.object(DurableSession, "release", releasing):
        run(Gathering(tmp_path).all())
    assert synced[0] == (Wait.FOR_NOTES, True)


# -- what is left on disk ---------------------------------------------------------------------


def inputs_of(folder: Path, watched: list[bytes]) -> Any:
    """Collect every key, nonce excepted, every mask and every keyed check that is ever written."""
    begin, sending, record = Journal.begin, Journal.sending, Journal.record_incoming

    def began(self: Journal, **given: Any) -> Any:
        if self.path.parent == folder:
            watched.extend([*given["keys"], given["data_digest"]])
            assert self._key is not None
            watched.append(self._key.check)
        return begin(self, **given)

    def sent(self: Journal, frame: Any) -> None:
        sending(self, frame)
        if self.path.parent == folder and frame.secret:
            watched.append(bytes(frame.body)[-32:])

    def got(self: Journal, frame: Any) -> bool:
        if self.path.parent == folder and frame.secret:
            watched.append(bytes(frame.body)[-32:])
        return record(self, frame)

    return patch.multiple(Journal, begin=began, sending=sent, record_incoming=got)


@pytest.mark.parametrize("masks", ["sent", "seeded"])
@pytest.mark.parametrize("keep", [False, True])
def test_secrets_are_erased_and_files_are_private(tmp_path: Path, masks: str, keep: bool) -> None:
    g = Gathering(tmp_path, changes={"masks": masks})
    folder, secrets = g.run_folder("north"), list[bytes]()
    with inputs_of(folder, secrets):
        run(g.all(keep_journal=keep))
    assert len(secrets) >= 2 + 2 + 4, "two keys, two digests, masks of two sums both ways"
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert set(files) >= {JOURNAL, TRANSCRIPT}
    found = [any(secret in content for content in files.values()) for secret in secrets]
    assert any(found) is keep, "a kept journal has them: the search finds what is there"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(files) >= {"result.json", "evidence.json"}
    for name in files:
        if not name.endswith(".lock"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "north.ledger").stat().st_mode) == 0o600


def test_a_run_that_is_over_shows_its_answer_again(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    run(g.all())
    before, transcript = dict(g.shown), (g.run_folder("north") / TRANSCRIPT).read_bytes()
    g.shown.clear()
    (g.run_folder("north") / TRANSCRIPT).unlink()
    run(g.join("north", wait=1.0))
    assert g.shown["north"].to_dict() == before["north"].to_dict()
    assert (g.run_folder("north") / TRANSCRIPT).read_bytes() == transcript


def test_who_goes_on_is_told_which_version_began_the_run(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with patch.object(titan, "__version__", "0.0.1"), pytest.raises(TitanError):
        run(g.join("north", wait=0.1))
    assert not [line for line in g.told["north"] if line.startswith("begun")]
    with pytest.raises(TitanError, match="nothing came"):
        run(g.join("north", wait=0.1))
    assert f"begun by titan 0.0.1; this is {titan.__version__}" in g.told["north"]


def test_nobody_comes(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(TitanError, match=r"nothing came for 0.5 seconds .*waiting for east, south"):
        run(g.join("north", wait=0.5))
    assert not g.shown
    run(g.all())
    answers_agree(g)


def test_an_interrupt_is_not_lost_though_news_comes_with_it() -> None:
    """Ctrl-C cancels the waiting; in Python 3.11 `wait_for` forgets that if its turn has come."""

    async def trial() -> None:
        events = RunEvents(Watch(), lambda: RunProgress("masks"))
        waiting = asyncio.ensure_future(events.until(lambda: False, 60.0))
        await asyncio.sleep(0.01)
        events.changed()
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,), timeout=WAIT)
        assert waiting.cancelled()

    run(trial())


def test_what_is_said_of_rows_is_true_where_something_else_is_gone(tmp_path: Path) -> None:
    """The rows are the same: without its key the run begins again, with another ledger goes on."""
    g = Gathering(tmp_path)
    with pytest.raises(WaitError):
        run(g.join("north", wait=0.2))
    key = g.run_folder("north") / "journal.db.secret"
    key.unlink()
    with pytest.raises(WaitError):
        run(g.join("north", wait=0.2))
    assert any("the key of its secrets" in line for line in g.told["north"])
    assert OTHER_ROWS not in g.told["north"]
    (tmp_path / "north.ledger").unlink()
    with pytest.raises(WaitError):
        run(g.join("north", wait=0.2))
    assert OTHER_ROWS in g.told["north"], "their digests are keyed by the ledger"
