"""After a power cut the journal's rows are there, and the long vectors that came are not."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import cast

import pytest

from tests.party.simulated_party import Place, Process, Vectors
from tests.party.simulation import RING
from tests.party.test_session_rules import deliver
from titan import Network
from titan.errors import FileError, PeerError
from titan.party import wire
from titan.party.durable_session import Arrival
from titan.party.lost_journals import LostJournals
from titan.party.messages import LAST
from titan.party.run import RunProgress
from titan.party.run_events import LinkStatus, RunEvents, Watch
from titan.party.wire import Role
from titan.protocol import Plan
from titan.study import Identity, Study, frames
from titan.study.journal import Journal
from titan.study.kinds import MASK
from titan.study.vectors import Vectors as Records

NETWORK = Network.cycle(["north", "east", "south"])
JOB = Vectors([Plan.make(NETWORK, RING, 64, recovery="flood")], [RING.from_ints([7] * 64)])
Parties = list[Process]


@pytest.fixture(autouse=True)
def _only_vectors_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_LONG", 400)


def started(folder: Path, kind: type[Process] = Process) -> Parties:
    places = (Place(party, NETWORK, JOB, None, folder) for party in range(3))
    return [kind(place, Random(place.party), lambda _: None) for place in places]


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[Parties]:
    """Everybody has sent its own vector. East has confirmed north's, and has not passed it on."""
    made = started(tmp_path)
    deliver(made, held=("south", "north"))
    north, east, _ = made
    assert [frame.kind for frame in east.journal.incoming()].count("MASKED") == 1
    east.durable.confirm()
    assert north.durable.acknowledged("east", east.durable.confirmed["north"])
    with north.journal.batch():
        pass  # takes it along
    yield made
    for each in made:
        each.die()


def restarted(parties: Parties) -> Process:
    """North."""
    parties[0] = Process(parties[0].place, Random(0), lambda _: None)
    return parties[0]


def lose_vectors(parties: Parties) -> Process:
    """North's, and what it had in memory."""
    north = parties[0]
    assert any(frame.kind == MASK for frame in north.journal.incoming())
    north.lose_power(rows_are_there=True)
    north = restarted(parties)
    assert not any(frame.kind == MASK for frame in north.journal.incoming())
    return north


def next_for(receiver: Process, sender: Process, ahead: int = 0) -> Arrival:
    number = receiver.durable.accepted[sender.name] + ahead
    (parts,) = sender.durable.outgoing[receiver.name].chunks(number)
    piece = wire.decode(b"".join(parts))
    assert isinstance(piece, wire.Piece)
    return Arrival(sender.name, number, memoryview(bytes(piece.content)))


def test_they_come_again_and_the_same_is_said(parties: Parties) -> None:
    """Also what was confirmed before, and cannot be made again before they have come."""
    north, east, _ = lose_vectors(parties), *parties[1:]
    assert north.durable.outgoing["east"].next == east.durable.accepted["north"], "nothing twice"
    deliver(parties)
    assert all(each.complete for each in parties)
    totals = [each.session.totals for each in parties if each.session is not None]
    assert [RING.to_ints(own) for (own,) in totals] == [[21] * 64] * 3


def test_a_lost_page_reads_as_zeros(parties: Parties) -> None:
    parties[0].die()
    vectors = Path(f"{parties[0].journal.path}-vectors")
    vectors.write_bytes(bytes(vectors.stat().st_size))
    assert restarted(parties).durable.put_back is None
    deliver(parties)
    assert all(each.complete for each in parties)


# -- what would contradict what was said ------------------------------------------------------


def gave_up(north: Process) -> bool:
    """Nothing more is said under a number, and it knows that after a restart."""
    assert north.durable.unacknowledged() == []
    assert north.session is not None
    assert north.session.stopped is north.durable.put_back
    state = north.journal.state
    return state is not None and "than before it was cut short" in str(state.put_back)


def test_if_others_come_nothing_more_is_said(parties: Parties) -> None:
    """South sends another mask than before: north would sign a second vector."""
    north = lose_vectors(parties)
    other = next_for(north, parties[2])
    message = bytearray(other.message)
    message[-1] ^= 1
    assert north.durable.accept([replace(other, message=memoryview(message))]) == []
    assert gave_up(north)


def test_an_end_comes_instead(parties: Parties) -> None:
    north = lose_vectors(parties)
    instead = Arrival("south", north.durable.accepted["south"], memoryview(LAST))
    assert north.durable.accept([instead]) == []
    assert gave_up(north)


def test_a_neighbour_is_lost_meanwhile(parties: Parties) -> None:
    north = lose_vectors(parties)
    north.durable.stop("east", PeerError("east cannot go on with run 1"))
    assert gave_up(north)


def test_another_version_may_go_on(parties: Parties) -> None:
    north = lose_vectors(parties)
    north.journal._do("UPDATE journal SET software = '0.0'")
    stopped = PeerError("east cannot go on with run 1")
    for _ in range(2):
        with pytest.raises(PeerError, match=r"resume with the version .*, 0\.0"):
            north.durable.stop("east", stopped)
    assert north.durable.put_back is None


def test_who_ended_before_it_had_said_again_what_others_have_gives_up(parties: Parties) -> None:
    """Rows were lost, too. East has what followed from them, and would wait for a later number."""
    north, east, south = parties
    north.durable.confirm()
    assert north.durable.accept([next_for(north, south)]) == []
    assert east.durable.accept([next_for(east, north)]) == []
    north.lose_power(rows_are_there=False)
    north = restarted(parties)
    link = LinkStatus("east", Role.SENDER)
    lost = LostJournals(
        cast("Study", None),
        cast("Identity", None),
        north.durable,
        {("north", "east"): link},
        RunEvents(Watch(), lambda: RunProgress("nowhere", [])),
        lambda: None,
    )
    hello = east.handshake.hello(Role.RECEIVER, "north", east.durable.accepted["north"])

    async def concerns() -> bool:
        return lost.concerns(link, hello)

    assert not asyncio.run(concerns()), "it may soon have said it again"
    assert lost.ahead == {"east"}
    north.durable.stop("east", PeerError("somebody cannot go on"))
    assert asyncio.run(concerns())
    assert north.durable.put_back is not None
    assert "had said more in run 1 before it was cut short" in str(north.durable.put_back)


# -- what the disk has ------------------------------------------------------------------------


class Watched(Process):
    """Its journal waits for the disk as ever."""

    def _sync(self) -> None:
        Journal.sync(self.journal)

    def _sync_rows(self) -> None:
        Journal.sync_rows(self.journal)


def test_what_an_earlier_process_wrote_is_waited_for_before_it_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed, started again; then the power goes."""
    disk: dict[str, bytes] = {}

    def fsync(file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        if path.is_file():
            disk[str(path)] = path.read_bytes()

    monkeypatch.setattr(os, "fsync", fsync)
    parties = started(tmp_path, Watched)
    deliver(parties, held=("south", "north"))
    vectors = Path(f"{parties[0].journal.path}-vectors")
    parties[0].journal._vectors.write()
    assert disk.get(str(vectors), b"") != vectors.read_bytes(), "nobody has waited for it"
    parties[0].die()
    again = Watched(parties[0].place, Random(0), lambda _: None)
    assert again.durable.confirmed["south"] > 1
    assert disk[str(vectors)] == vectors.read_bytes()
    for each in (again, *parties[1:]):
        each.die()


def test_a_signed_vector_waits_for_the_notes_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The own one; not those that are passed on, and not for the vectors that came."""
    parties = started(tmp_path)
    waited: list[tuple[str, str, int]] = []
    for each in parties:
        for name in ("sync", "sync_rows"):

            def note(party: Process = each, name: str = name) -> None:
                waited.extend((name, f.kind, f.round) for f in party.durable._due)

            monkeypatch.setattr(each.journal, name, note)
    deliver(parties)
    assert all(each.complete for each in parties)
    sent = {(f.kind, f.round) for each in parties for f in each.durable.unacknowledged()}
    assert {("MASKED", 1), ("MASKED", 2)} <= sent
    of_sums = [each for each in waited if each[1] in (MASK, "MASKED")]
    assert sorted(of_sums) == [("sync_rows", MASK, 0)] * 3 + [("sync_rows", "MASKED", 1)] * 3
    for each in parties:
        each.die()


def test_what_was_rolled_back_never_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mask makes north's vector; for what came with it there is no room. Then it is stopped."""
    parties = started(tmp_path)
    north, _, south = parties
    deliver(parties, held=("south", "north"), until=MASK)
    append, room = Records.append, [True, False]

    def fills_up(self: Records, body: bytes) -> int:
        if not room.pop(0):
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(self, body)

    with monkeypatch.context() as full:
        full.setattr(Records, "append", fills_up)
        with pytest.raises(FileError, match="space"):
            north.durable.accept([next_for(north, south), next_for(north, south, 1)])
    before = list(north.durable.unacknowledged())
    with pytest.raises(FileError, match="space"):
        north.durable.stop("east", PeerError("east cannot go on"))
    north.durable.release()
    assert north.durable.unacknowledged() == before
    for each in parties:
        each.die()
