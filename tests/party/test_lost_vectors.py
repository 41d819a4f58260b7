"""After a power cut the journal's rows are there, and the long vectors that came are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.party.simulated_party import Place, Process, Vectors
from tests.party.simulation import RING
from tests.party.test_session_rules import deliver
from titan import Network
from titan.errors import RecoveryError
from titan.protocol import Plan
from titan.study import frames
from titan.study.frames import MASK

PLACE = Place(
    0,
    (network := Network.cycle(["north", "east", "south"])),
    Vectors([Plan.make(network, RING, 1, recovery="flood")], [RING.from_ints([7])]),
    None,
    Path(),
)


@pytest.fixture
def parties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Process]]:
    """Everybody has sent its own vector. East has confirmed north's, and has not passed it on."""
    monkeypatch.setattr(frames, "_LONG", 10)
    place = replace(PLACE, folder=tmp_path)
    made = [Process(replace(place, party=p), Random(p), lambda _: None) for p in range(3)]
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


def lose_vectors(parties: list[Process]) -> Process:
    """North's, and what it had in memory."""
    north = parties[0]
    assert any(frame.kind == MASK for frame in north.journal.incoming())
    north.lose_power(rows_are_there=True)
    parties[0] = Process(north.place, Random(0), lambda _: None)
    assert not any(frame.kind == MASK for frame in parties[0].journal.incoming())
    return parties[0]


def test_they_come_again_and_the_same_is_said(parties: list[Process]) -> None:
    """Also what was confirmed before, and cannot be made again before they have come."""
    north = lose_vectors(parties)
    made_again = north.durable.outgoing["east"]
    assert made_again.next == parties[1].durable.accepted["north"], "nothing of it is sent twice"
    deliver(parties)
    assert all(each.complete for each in parties)
    totals = [each.session.totals for each in parties if each.session is not None]
    assert [RING.to_ints(own) for (own,) in totals] == [[21]] * 3


def test_if_others_come_nothing_more_is_said(parties: list[Process]) -> None:
    """South sends another mask than before: north would sign a second vector."""
    lose_vectors(parties)
    waiting = parties[2].durable.outgoing["north"].waiting
    (at,) = (at for at, frame in enumerate(waiting) if frame.kind == MASK)
    body = bytearray(waiting[at].body)
    body[-1] ^= 1
    waiting[at] = replace(waiting[at], body=bytes(body))
    with pytest.raises(RecoveryError, match="is not what it was before the restart"):
        deliver(parties)
