"""A run that stops for all ends like one with an answer: last messages, acknowledged, then left."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest

from tests.party.loopback import NAMES as THREE
from tests.party.loopback import Gathering, Patience, run, until
from tests.party.tables import NAMES, Table, Whole
from titan.errors import DataError, FullError, MessageError, PeerError, RecoveryError, TitanError
from titan.network import Network
from titan.party import arrival_queue, messages, run_to_answer
from titan.party.conversation import Conversation
from titan.party.durable_session import DurableSession
from titan.party.engine import Engine
from titan.party.messages import AGREED, Enclosed, Told
from titan.party.session import Session
from titan.party.wire import Role
from titan.protocol import Envelope, Plan, RecoveryName
from titan.protocol.messages import Kind
from titan.study.frames import Frame
from titan.study.journal import Journal

CHORDED = Network([*Network.cycle(list(NAMES)).edges, ("north", "south"), ("south", "north")])


def too_few() -> TitanError:
    return DataError("too few rows in all")


def ended_in_order(table: Table) -> bool:
    """Every link has carried its last message, and it was acknowledged."""
    return all(
        str(seat.session.progress) == "end" and not seat.durable.unacknowledged()
        for seat in table.seats.values()
    )


def errors(table: Table) -> dict[str, str]:
    return {name: str(seat.session.stopped) for name, seat in table.seats.items()}


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
@pytest.mark.parametrize("solver", [None, 1])
def test_when_all_stop_between_the_sums(
    tmp_path: Path, recovery: RecoveryName, solver: int | None
) -> None:
    with Table(tmp_path, CHORDED, recovery, solver=solver, stop=too_few) as table:
        table.run()
        assert set(errors(table).values()) == {"too few rows in all"}
        assert ended_in_order(table)
        for seat in table.seats.values():
            assert {frame.sum for frame in seat.journal.incoming()} == {0, None}


@pytest.mark.parametrize("solver", [None, 1])
def test_when_the_digests_differ(tmp_path: Path, solver: int | None) -> None:
    announce = Session._announce

    def lying(self: Session) -> Any:
        if self.run.party == 1:
            self.totals[0] = self.totals[0].copy()
            self.totals[0][0, 0] ^= 1
        return announce(self)

    with Table(tmp_path, CHORDED, solver=solver) as table:
        with patch.object(Session, "_announce", lying):
            table.run()
        assert all("the pooled sums differ" in error for error in errors(table).values())
        assert ended_in_order(table)


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_when_the_masks_do_not_cancel(tmp_path: Path, recovery: RecoveryName) -> None:
    with Table(tmp_path, CHORDED, recovery) as table:
        wrong = RecoveryError("the masks did not cancel")
        with patch.object(Plan, "without_carried_one", side_effect=wrong):
            table.run()
        assert set(errors(table).values()) == {"the masks did not cancel"}
        assert ended_in_order(table)


@pytest.mark.parametrize("network", [Network.cycle(list(NAMES)), CHORDED])
@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_when_one_party_stops_alone_the_others_do_not_wait_for_it(
    tmp_path: Path, network: Network, recovery: RecoveryName
) -> None:
    """Its error is its own; the others hear that it has ended, each from its neighbours."""
    with Table(tmp_path, network, recovery) as table:
        cast("Whole", table.seats["south"].session.sums._part).stop = too_few
        table.run()
        found = errors(table)
        assert found.pop("south") == "too few rows in all"
        assert all("ended the run before there was an answer" in each for each in found.values())
        assert "south ended the run" in found["west"], "which hears it from south itself"
        assert all(isinstance(table.seats[name].session.stopped, PeerError) for name in found)
        assert ended_in_order(table)


def test_a_stop_is_the_same_after_a_restart(tmp_path: Path) -> None:
    with Table(tmp_path, CHORDED, stop=too_few) as table:
        table.run(lambda: table.seats["south"].session.stopped is not None)
        table.leave("south")
        table.sit("south")
        table.run()
        assert set(errors(table).values()) == {"too few rows in all"}
        assert ended_in_order(table)


def test_after_a_stop_messages_are_judged_as_before_and_answered_by_nothing(
    tmp_path: Path,
) -> None:
    with Table(tmp_path, CHORDED, stop=too_few) as table:
        south = table.seats["south"].session
        table.run(lambda: south.stopped is not None)
        south._ended.clear()
        late = Enclosed(1, Envelope(Kind.MASK, 1, 2, 0, bytes(64))).encode()
        assert south.receive(messages.decode("east", 97, late)).frames == ()
        for bad, why in (
            (late, "came twice"),
            (Enclosed(1, Envelope(Kind.MASK, 1, 2, 1, bytes(64))).encode(), "not planned"),
            (Enclosed(1, Envelope(Kind.MASKED, 1, 2, 1, bytes(3))).encode(), "without its count"),
            (Told(1, bytes(64), bytes(32)).encode(AGREED), "did not sign"),
        ):
            with pytest.raises(MessageError, match=why):
                south.receive(messages.decode("east", 98, bad))


# -- over TLS ---------------------------------------------------------------------------------


def test_nobody_leaves_before_everything_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any help of a clock: whoever waits for one here waits for longer than the test."""
    monkeypatch.setattr(arrival_queue, "_MOMENT", 3600.0)
    monkeypatch.setattr(run_to_answer, "_STOPPED", 3600.0)
    monkeypatch.setattr(run_to_answer, "_GRACE", 3600.0)
    g = Gathering(tmp_path, changes={"min_rows_total": 40})
    found = run(g.errors(wait=3600.0)).values()
    assert all("36 rows in all, and 3 parties need at least 40" in str(each) for each in found)
    for name in THREE:
        with Journal.open(g.run_folder(name) / "journal.db") as journal:
            sent = journal._all("SELECT peer, max(sequence), kind FROM sent GROUP BY peer")
            assert sent
            for peer, last, kind in sent:
                assert kind == "END"
                assert journal.acknowledged_by(peer) == last, f"{name} to {peer}"
            state = journal.state
            assert state is not None
            assert state.erased


def _deaf_north() -> Callable[[DurableSession, str, int], bool]:
    hear = DurableSession.acknowledged

    def deaf(self: DurableSession, peer: str, next_: int) -> bool:
        return self.session.run.name != "north" and hear(self, peer, next_)

    return deaf


TRUSTED = {"min_rows_total": 40, "recovery": "topk", "relays": "trusted"}
"""Nothing but a confirmation says that a mask is on its receiver's disk."""


def test_who_is_told_to_go_before_its_last_is_confirmed_finds_the_others_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    g, patience = Gathering(tmp_path, changes=TRUSTED), Patience()
    monkeypatch.setattr(run_to_answer, "_GRACE", 0.1)

    async def trial() -> list[Any]:
        others = [g.joining(name) for name in ("east", "south")]
        with monkeypatch.context() as first:
            first.setattr(DurableSession, "acknowledged", _deaf_north())
            north = g.joining("north")
            await until(lambda: "east" in patience.engines)
            await until(lambda: patience.engines["east"]._queue._durable.heard_all("north"))
            north.cancel()
            await asyncio.wait((north,))
        return await asyncio.gather(*others, g.joining("north"), return_exceptions=True)

    with patience.patched():
        found = run(trial())
    assert all("36 rows in all, and 3 parties need at least 40" in str(each) for each in found)
    assert all(are_erased(g).values())


def are_erased(g: Gathering) -> dict[str, bool]:
    erased = {}
    for name in THREE:
        with Journal.open(g.run_folder(name) / "journal.db") as journal:
            assert journal.state is not None
            erased[name] = journal.state.erased
    return erased


def _leads_east(closing: Conversation) -> bool:
    return closing.durable.session.run.name == "north" and closing.link.role is Role.SENDER


def test_who_is_killed_after_it_let_the_others_go_needs_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are told that nothing more comes, and leave. A restart finds that they confirmed it."""
    g, close = Gathering(tmp_path, changes=TRUSTED), Conversation._close
    folder, ledger, left = g.run_folder("north"), "north.ledger", tmp_path / "what a kill leaves"

    async def killed(closing: Conversation) -> None:
        await close(closing)
        if _leads_east(closing):
            shutil.copytree(folder, left / folder.name)
            shutil.copy(tmp_path / ledger, left)

    with monkeypatch.context() as first:
        first.setattr(Conversation, "_close", killed)
        run(g.errors())
    shutil.rmtree(folder)
    (left / folder.name).rename(folder)
    (left / ledger).replace(tmp_path / ledger)
    monkeypatch.setattr(run_to_answer, "_STOPPED", 0.5)
    with pytest.raises(DataError, match="36 rows in all"):
        run(g.join("north"))
    assert all(are_erased(g).values())
    assert not any("kept" in line for line in g.told["north"])


@pytest.mark.parametrize("dial", ["push", "pull"])
def test_who_cannot_note_a_confirmation_does_not_let_the_others_go(
    tmp_path: Path, dial: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk is full, say: they stay until it has come back, and confirm once more. Where
    it was dialled, it would say politely that it has ended, if it did not break off."""
    g = Gathering(tmp_path, dial=dial, changes=TRUSTED)
    full = FullError("the disk is full")

    async def trial() -> list[Any]:
        others = [g.joining(name) for name in ("east", "south")]
        with monkeypatch.context() as first:
            first.setattr(Conversation, "_close", _failing_at(_leads_east, full))
            with pytest.raises(FullError, match="the disk is full"):
                await g.join("north")
        return await asyncio.gather(*others, g.joining("north"), return_exceptions=True)

    found = run(trial())
    assert all("36 rows in all, and 3 parties need at least 40" in str(each) for each in found)
    assert all(are_erased(g).values())


def _failing_at(where: Callable[[Conversation], bool], error: TitanError) -> Any:
    """`_close`, from which on the journal fails."""
    close = Conversation._close

    async def failing(closing: Conversation) -> None:
        def fail(*_: object) -> None:
            raise error

        if where(closing):
            for write in ("_keep_acknowledged", "finish"):
                setattr(closing.durable.journal, write, fail)
        await close(closing)

    return failing


def test_who_keeps_masks_says_for_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_to_answer, "_STOPPED", 0.5)
    monkeypatch.setattr(DurableSession, "acknowledged", _deaf_north())
    g = Gathering(tmp_path, changes=TRUSTED)
    run(g.errors())
    assert "not confirmed by east: the masks that were sent there are kept" in g.told["north"][-1]
    assert not any("kept" in line for name in ("east", "south") for line in g.told[name])
    assert are_erased(g) == {"north": False, "east": True, "south": True}


def test_nobody_is_kept_for_ever_by_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets of a run without an answer are erased after it, so it has an end."""
    monkeypatch.setattr(run_to_answer, "_STOPPED_AT_MOST", 0.05)

    class Busy:
        """Where there is always something new, and never an end."""

        async def until(self, condition: Callable[[], bool], wait: float) -> None:
            await asyncio.Event().wait()

    class Owes:
        def needed(self) -> list[Frame]:
            return [Frame("east", 0, "MASK", b"")]

    engine, durable = cast("Engine", Busy()), cast("DurableSession", Owes())
    assert run(run_to_answer.stay(engine, durable, 3600.0, stopped=True)) == ("east",)
