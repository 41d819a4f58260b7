"""A journal put back to an earlier state: everybody is told so, and all others end alike.

Before anybody can have an answer the run ends for all. After that, all others get theirs.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, answers_agree, run, until
from tests.party.test_come_back import KilledError, norths
from tests.results.test_altered import sealed
from titan import load
from titan.errors import PeerError
from titan.party import run_to_answer
from titan.party.connection import StreamEndedError
from titan.party.conversation import Conversation
from titan.party.durable_session import DurableSession
from titan.party.kept_answer import kept_answer
from titan.party.messages import AGREED, ANSWER, END
from titan.party.run_to_answer import Outcome
from titan.party.session import Session
from titan.party.status_file import read as read_status
from titan.results import decode
from titan.results.result_file import NAME as RESULT
from titan.study import Identity
from titan.study.audit import JOURNAL, TRANSCRIPT
from titan.study.journal import Journal
from titan.study.transcript import Stopped
from titan.study.verified import verify

NAMES = ("north", "east", "south", "west")


def begun(it: Session) -> bool:
    return len(it.nonces) > 1


def summing(it: Session) -> bool:
    return it.everybody_is_here


def one_total(it: Session) -> bool:
    return len(it.totals) == 1


def complete(it: Session) -> bool:
    return it.complete


def never(_: Session) -> bool:
    return False


STAGES = {each.__name__: each for each in (begun, summing, one_total, complete, never)}


class PutBack:
    """North's folder is copied at one stage; at another north dies, and finds that copy.

    Without a stage to copy at, it finds nothing. It may die before it can confirm what it has.
    """

    def __init__(self, g: Gathering, copied: str, died: str, *, confirms: bool = True) -> None:
        self._confirms = confirms
        self.g, self._copied, self.died = g, STAGES.get(copied), STAGES[died]
        self._folder = g.run_folder("north")
        self._aside = g.folder / "aside"
        self._dead: DurableSession | None = None

    def _look(self, durable: DurableSession) -> None:
        session = durable.session
        if not norths(durable) or not isinstance(session, Session) or self._dead is not None:
            return
        durable.confirm()  # what is confirmed now, north will have lost
        if self._copied and not self._aside.exists() and self._copied(session):
            # By another process: closing a file would drop SQLite's lock on it.
            subprocess.run(["cp", "-a", self._folder, self._aside], check=True)
        elif (self._aside.exists() or not self._copied) and self.died(session):
            self._dead = durable
            raise KilledError

    @contextmanager
    def watch(self) -> Iterator[None]:
        accept: Callable[..., Any] = DurableSession.accept
        write = Conversation._write

        def accepting(durable: DurableSession, arrivals: Any) -> Any:
            found = accept(durable, arrivals)
            self._look(durable)
            return found

        async def writing(it: Conversation, *parts: bytes) -> None:
            if it.durable is self._dead and not self._confirms:
                raise StreamEndedError
            await write(it, *parts)

        with (
            patch.object(DurableSession, "accept", accepting),
            patch.object(Conversation, "_write", writing),
        ):
            yield

    def restore(self) -> None:
        shutil.rmtree(self._folder)
        if self._copied:
            self._aside.rename(self._folder)


@contextmanager
def short_grace(seconds: float = 1.0) -> Iterator[None]:
    """For last messages, of which a party that cannot go on confirms none."""
    with patch.object(run_to_answer.stay, "__defaults__", (seconds,)):
        yield


def ends(g: Gathering, trouble: PutBack) -> dict[str, Any]:
    """How it ends for everybody: an outcome, or an error.

    Those who have the answer must still be there when north is back, on a busy machine too.
    """

    async def trial() -> dict[str, Any]:
        others = {name: g.joining(name) for name in NAMES[1:]}
        with trouble.watch(), pytest.raises(KilledError):
            await g.join("north")
        trouble.restore()
        g.shown.pop("north", None)  # it may have seen the answer
        tasks = [g.joining("north"), *others.values()]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return dict(zip(NAMES, found, strict=True))

    with short_grace(3.0 if trouble.died is complete else 1.0):
        return run(trial())  # type: ignore[no-any-return]


def all_without(found: dict[str, Any], g: Gathering) -> None:
    """Nobody has an answer, everybody knows why, and no secret is left."""
    assert not g.shown
    for name, error in found.items():
        assert isinstance(error, PeerError), name
        assert error.exit_status == 1, "no restart would get any further"
        assert "run 2" in error.hint or "run 2" in error.message
        assert not list(g.run_folder(name).glob("*.secret"))
        assert name == "north" or is_about_north(error), f"{name}: {error.message}"
    assert "north" in found["north"].message
    assert set(found["north"].named) <= {"north"}
    said = [error.message for error in found.values() if "journal" in error.message]
    assert len(said) >= 2, "north knows it, and a neighbour"


def is_about_north(error: PeerError) -> bool:
    """It names north: alone, or with who says that it ended the run because of north."""
    others = [name for name in NAMES[1:] if name in error.message.split()]
    words = "".join(f"{other} ended the run because of north" for other in others)
    return "north" in error.message and words in error.message and error.named == (*others, "north")


def all_others_have_it(found: dict[str, Any], g: Gathering) -> None:
    assert set(g.shown) == set(NAMES[1:])
    answers_agree(g, NAMES[1:])
    assert isinstance(found["north"], PeerError)
    assert "ask one of them for result.json" in found["north"].hint
    assert all(isinstance(found[name], Outcome) for name in NAMES[1:])


CASES = {
    "before all were there": ("nothing", "begun", {}, all_without),
    "before any digest": ("summing", "one_total", {}, all_without),
    "all of it": ("nothing", "summing", {}, all_without),
    "after the answer": ("begun", "complete", {}, all_others_have_it),
    "all of it after the answer": ("nothing", "complete", {}, all_others_have_it),
    "one solves": ("one_total", "complete", {"solver": "west"}, all_others_have_it),
}


@pytest.mark.parametrize("case", CASES)
def test_everybody_ends_alike_and_knows_why(tmp_path: Path, case: str) -> None:
    """On a cycle, where every way leads through north."""
    copied, died, changes, expected = CASES[case]
    g = Gathering(tmp_path, names=NAMES, changes=changes)
    # Who has heard that its last words were heard does not stay to be asked.
    trouble = PutBack(g, copied, died, confirms=expected is all_without)
    expected(ends(g, trouble), g)


def test_a_damaged_journal_ends_alike_too(tmp_path: Path) -> None:
    """One bit of one message of those that may be read by all."""
    g = Gathering(tmp_path, names=NAMES)
    trouble = PutBack(g, "nothing", "one_total")

    def damage() -> None:
        with Journal.open(g.run_folder("north") / JOURNAL) as journal, journal.batch():
            found = journal._one("SELECT place, body FROM incoming WHERE kind = 'MASKED'")
            changed = found[1][:-1] + bytes([found[1][-1] ^ 1])
            journal._do("UPDATE incoming SET body = ? WHERE place = ?", changed, found[0])

    with patch.object(trouble, "restore", damage):
        found = ends(g, trouble)
    assert "is damaged: incoming west" in found["north"].message
    all_without(found, g)


@pytest.mark.parametrize(
    "place", [0, 2000, 3 * 4096, 7 * 4096], ids=["head", "first", "fourth", "eighth"]
)
def test_a_journal_that_cannot_be_read_at_all_ends_alike_too(tmp_path: Path, place: int) -> None:
    """As a lost one: nobody waits for what will not come, and no key of it is left."""
    g = Gathering(tmp_path, names=NAMES)
    trouble = PutBack(g, "nothing", "one_total")
    folder = g.run_folder("north")

    def damage() -> None:
        path = folder / JOURNAL
        kept = path.read_bytes()
        path.write_bytes(kept[:place] + bytes(4000) + kept[place + 4000 :])

    with patch.object(trouble, "restore", damage):
        found = ends(g, trouble)
    assert any("it is set aside as journal.damaged" in line for line in g.told["north"])
    all_without(found, g)
    status = read_status(folder)
    assert status is not None
    assert status.state == "failed"


def test_a_ledger_knows_a_run_that_is_over(tmp_path: Path) -> None:
    """Nobody else is there any more to say so."""
    g = Gathering(tmp_path)
    trouble = PutBack(g, "begun", "never")
    with trouble.watch(), short_grace():
        run(g.all())
    trouble.restore()
    g.shown.clear()
    with pytest.raises(PeerError, match="run 1 is over at north, as its ledger knows") as told:
        run(g.join("north", wait=0.2))
    assert told.value.exit_status == 1
    assert "ask them for result.json; if nobody has it, agree on run 2" in told.value.hint
    assert not g.shown


def files_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (RESULT, TRANSCRIPT, "evidence.json")}


@pytest.mark.parametrize("how", ["lost", "its answer altered", "its transcript altered"])
def test_the_answer_outlives_its_journal(tmp_path: Path, how: str) -> None:
    """What was signed for is not replaced by what a lost or damaged journal knows."""
    g = Gathering(tmp_path)
    with short_grace():
        run(g.all())
    folder = g.run_folder("north")
    kept, path = files_of(folder), folder / JOURNAL
    if how == "lost":
        path.unlink()
    else:
        column = "result" if how == "its answer altered" else "transcript"
        with Journal.open(path) as journal:
            (content,) = journal._one(f"SELECT {column} FROM journal")  # noqa: S608 - a constant
            altered = bytes(content).replace(b"0", b"1", 1)
            journal._do(f"UPDATE journal SET {column} = ?", altered)  # noqa: S608 - the same
    g.shown.clear()
    with pytest.raises(PeerError, match="run 1 is over at north") as told, short_grace():
        run(g.join("north", wait=0.2))
    assert told.value.exit_status == 1
    assert f'the answer of this run is in "{folder}"' in told.value.hint
    assert not g.shown
    run(g.join("north", wait=0.2))  # with the journal that was made in its place
    (again,) = g.shown["north"].entries
    assert "run 1 is over at north" in str(again.outcome)
    assert files_of(folder) == kept
    assert load(folder).to_dict() == decode(kept[RESULT]).to_dict()


def test_what_somebody_else_signed_is_not_kept(tmp_path: Path) -> None:
    """Nor what was signed in another run, or for something else: then it does not stand in the way
    of this one's answer."""
    g = Gathering(tmp_path)
    with short_grace():
        run(g.all())
    folder, now = g.run_folder("north"), datetime.now(UTC)
    assert kept_answer(folder, g.study, 1, "north") == (folder / RESULT).read_bytes()
    assert kept_answer(folder, g.study, 2, "north") is None
    assert kept_answer(folder, g.study, 1, "east") is None
    assert kept_answer(folder, replace(g.study, title="Another"), 1, "north") is None
    answer = (folder / RESULT).read_bytes()
    (folder / RESULT).write_bytes(sealed(json.loads(answer) | {"run": 2}))
    assert kept_answer(folder, g.study, 1, "north") is None
    (folder / RESULT).write_bytes(answer)
    other, told = Identity.create("north", "a:1", now=now), verify(folder / TRANSCRIPT).transcript
    north = g.identities["north"]
    stopped = replace(told, pooled=None, result={}, stopped=Stopped("it was falsified", ()))
    for signed in (
        replace(told, certificate=other.card.certificate).signed(other.sign),
        stopped.signed(north.sign),
    ):
        (folder / TRANSCRIPT).write_bytes(signed)
        assert verify(folder / TRANSCRIPT)
        assert kept_answer(folder, g.study, 1, "north") is None
    (folder / TRANSCRIPT).write_bytes(told.signed(north.sign))
    assert kept_answer(folder, g.study, 1, "north") == answer


@contextmanager
def lossy(*, own: bool, lost: Sequence[str] = (AGREED, ANSWER, END)) -> Iterator[None]:
    """North dies before it tells others' digests, nor its own, nor that it has ended."""
    make, noted = Session._frame, DurableSession.write_down

    def frame(self: Session, receiver: int, kind: str, body: bytes, *more: Any) -> Any:
        made = make(self, receiver, kind, body, *more)
        kept = kind not in lost or (own and kind == AGREED and body[2] == 0)
        return made if self.run.party or kept else replace(made, peer="nobody")

    def write_down(self: DurableSession, ready: Any) -> None:
        frames = [frame for frame in ready.frames if frame.peer != "nobody"]
        noted(self, replace(ready, frames=frames))

    with (
        patch.object(Session, "_frame", frame),
        patch.object(DurableSession, "write_down", write_down),
    ):
        yield


@contextmanager
def slow_writing() -> Iterator[None]:
    """So slow that much is heard before a word is out."""
    write = Conversation._write

    async def slowly(self: Conversation, *parts: bytes) -> None:
        await write(self, *parts)
        await asyncio.sleep(0.05)

    with patch.object(Conversation, "_write", slowly):
        yield


def test_a_digest_that_nobody_was_told_is_the_end_for_all(tmp_path: Path) -> None:
    """All others have told theirs, so none of them could decide alone."""
    g = Gathering(tmp_path, names=NAMES)
    with lossy(own=False), slow_writing():
        all_without(ends(g, PutBack(g, "one_total", "complete")), g)


def test_who_had_the_answer_alone_leaves_nobody_without_it(tmp_path: Path) -> None:
    """Its digest and the answer that it is to tell are on no disk but its own when its journal
    goes; its ledger has kept them."""
    g = Gathering(tmp_path, names=NAMES, changes={"solver": "north"})
    trouble = PutBack(g, "one_total", "never")

    async def trial() -> dict[str, Any]:
        others = {name: g.joining(name) for name in NAMES[1:]}
        with lossy(own=False), trouble.watch():
            north = g.joining("north")
            await until(lambda: "north" in g.shown)
            north.cancel()
            await asyncio.wait((north,))
        trouble.restore()
        assert set(g.shown) == {"north"}
        g.shown.clear()
        others["north"] = g.joining("north")
        await asyncio.wait(others.values())
        return {name: task.exception() or task.result() for name, task in others.items()}

    with short_grace():
        all_others_have_it(run(trial()), g)
