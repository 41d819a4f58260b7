"""Who ends a run that others want to check is named by all, not by its neighbours alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.party.loopback import Gathering, run
from tests.party.tables import NAMES, Codes, Table
from tests.party.test_refusals import assert_stopped
from tests.party.test_told_differently import lying
from titan import Network
from titan.errors import CheckError, MessageError, PeerError
from titan.party import messages
from titan.party.messages import END, LAST, Enclosed, Told
from titan.party.ready import Ready, Wait
from titan.party.session import Session
from titan.party.stops import Stop
from titan.protocol import Plan, RecoveryName
from titan.ring import Ring
from titan.study.verified import verify

QUITTER = "east"
OTHERS = [name for name in NAMES if name != QUITTER]


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def plans(network: Network, recovery: RecoveryName, *_: object) -> list[Plan]:
        return [Plan.make(network, Ring(64), 3, recovery=recovery, relays="checked")] * 2

    monkeypatch.setattr("tests.party.tables.plans", plans)


def quits(table: Table, when: Callable[[Session], bool]) -> None:
    """At some time the quitter ends the run, of its own accord, and all others hear of it."""
    east = table.seats[QUITTER]
    table.run(lambda: when(east.session))
    assert when(east.session)
    east.durable.stop(QUITTER, PeerError("it does not want to"))
    table.run()


def quitting(when: Callable[[Session], bool]) -> Callable[[Session, list[Enclosed]], Ready]:
    """It ends the run instead of what it should say then."""
    summed = Session._summed

    def other(session: Session, enclosed: list[Enclosed]) -> Ready:
        out = summed(session, enclosed)
        if session.run.name != QUITTER or not when(session):
            return out
        said = [frame for frame in out.frames if frame.kind not in ("REVEALED", "OPENED")]
        for frame in out.frames[len(said) :]:
            session._sequences[NAMES.index(frame.peer)] -= 1
        session.halt(PeerError("it does not want to"))
        return Ready(said, Wait.FOR_ALL)

    return other


@pytest.mark.parametrize("recovery", ["tree", "topk"])
def test_who_refuses_to_reveal_is_named_by_all(tmp_path: Path, recovery: RecoveryName) -> None:
    with Table(tmp_path, recovery=recovery) as table:
        quits(table, lambda it: it.sums.checking)
        for name in OTHERS:
            error = table.seats[name].session.stopped
            assert isinstance(error, CheckError), (name, error)
            assert error.named == (QUITTER,)
            assert "sum 1 could not be checked: east ended the run before" in error.message


def test_who_refuses_to_show_what_it_sent_is_named_by_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it may have been another who falsified the sum."""
    monkeypatch.setattr(Session, "_summed", lying(0))
    monkeypatch.setattr(Session, "_summed", quitting(lambda it: it.sums.opening))
    with Table(tmp_path, recovery="tree") as table:
        table.run()
        for name in OTHERS:
            error = table.seats[name].session.stopped
            assert isinstance(error, CheckError), (name, error)
            assert error.named == (QUITTER,)
            assert "sum 1 was falsified, and east ended the run before all had" in error.message


def test_nobody_is_checked_before_a_sum_is_recovered(tmp_path: Path) -> None:
    with Table(tmp_path, recovery="tree") as table:
        quits(table, lambda it: it.everybody_is_here)
        for name in OTHERS:
            error = table.seats[name].session.stopped
            assert type(error) is PeerError
            assert "east ended the run before there was an answer" in error.message


def test_whose_word_is_missing_is_told_to_who_waits(tmp_path: Path) -> None:
    """East says nothing any more: also those see it who hear of it by way of others."""
    with Table(tmp_path, recovery="tree") as table:
        table.run_without(QUITTER, "REVEALED")
        for name in OTHERS:
            progress = table.seats[name].session.progress
            assert progress.phase.startswith("sum 1 of 2: check"), name
            assert QUITTER in progress.waiting, name


def test_nobody_ends_in_anothers_name(tmp_path: Path) -> None:
    with Table(tmp_path, recovery="tree") as table:
        table.run(lambda: table.seats["south"].session.everybody_is_here)
        east, west = NAMES.index("east"), NAMES.index("west")
        session = table.seats["south"].session
        run_ = session._identity
        honest = Stop(west, west).told(Codes(west), run_)
        forged = [
            Stop(west, west).told(Codes(east), run_),
            Stop(west, west).told(Codes(west), bytes(32)),
            Told(west, honest.signature, (east).to_bytes(4, "little")),
            Told(99, honest.signature, honest.content),
            Told(west, honest.signature, honest.content + b"\0"),
            Told(west, honest.signature, bytes(32)),
        ]
        for told in forged:
            with pytest.raises(MessageError):
                session.receive(messages.decode("east", 99, told.encode(END)))
        with pytest.raises(MessageError):
            messages.decode("east", 99, LAST + bytes(9))
        assert session.stopped is None
        session.receive(messages.decode("east", 99, honest.encode(END)))
        assert_stopped(session, "west ended the run before there was an answer")


def test_it_stands_in_every_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of real parties, on a cycle, where one of them is nobody's neighbour that could tell it."""
    g = Gathering(tmp_path, names=NAMES, changes={"recovery": "tree"})
    monkeypatch.setattr(Session, "_summed", quitting(lambda it: it.sums.checking))
    found = run(g.errors())
    for name in OTHERS:
        assert isinstance(found[name], CheckError), (name, found[name])
        told = verify(g.run_folder(name) / "transcript.json").transcript
        assert told.stopped is not None
        assert told.stopped.named == (QUITTER,)
        assert not list(g.run_folder(name).glob("*.secret"))
