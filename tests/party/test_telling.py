"""Invariant: what all tell all takes as many messages along a link as there are steps, not parties.

Each message is known beforehand; one that is refused in part is refused whole.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from tests.party.simulated_party import KeyedSigner
from tests.strategies import networks
from titan import Network
from titan.errors import MessageError, PeerError, TitanError
from titan.party.connecting import Handshake
from titan.party.messages import NONCE, Told, decode
from titan.party.run import Run
from titan.party.signed_broadcast import Passed, SignedBroadcast
from titan.study.frames import Frame
from titan.study.journal import Journal


def _all(network: Network) -> list[SignedBroadcast]:
    error: Callable[[str], TitanError] = PeerError
    return [
        SignedBroadcast(NONCE, network, party, KeyedSigner(party), b"run", 32, error)
        for party in range(len(network))
    ]


def _content(party: int) -> bytes:
    return bytes([party]) * 32


def _deliver(parties: list[SignedBroadcast], seed: int) -> dict[tuple[int, int], list[list[int]]]:
    """Everybody tells, in any order; the origins in the messages that each link carried."""
    rng, sent = Random(seed), dict[tuple[int, int], list[list[int]]]()
    waiting: dict[tuple[int, int], list[list[Told]]] = {}

    def put_out(sender: int, passed: list[Passed]) -> None:
        for receiver, told in passed:
            sent.setdefault((sender, receiver), []).append([each.origin for each in told])
            waiting.setdefault((sender, receiver), []).append(list(told))

    silent = list(range(len(parties)))
    rng.shuffle(silent)
    while silent or waiting:
        if silent and (not waiting or rng.random() < 0.3):
            party = silent.pop()
            put_out(party, parties[party].tell(_content(party)))
            continue
        way = rng.choice(sorted(waiting))
        told = waiting[way].pop(0)
        if not waiting[way]:
            del waiting[way]
        put_out(way[1], parties[way[1]].receive(way[0], told))
    return sent


@given(networks())
def test_all_hear_all_in_as_many_messages_as_steps(network: Network) -> None:
    parties = _all(network)
    sent = _deliver(parties, seed=len(network.edges))
    for each in parties:
        heard = {origin: told.content for origin, told in each.heard.items()}
        assert heard == {party: _content(party) for party in range(len(network))}
    for (_, receiver), told in sent.items():
        assert len(told) <= network.diameter + 1
        assert sorted(chain(*told)) == [p for p in range(len(network)) if p != receiver], (
            "who has ended has told all, whatever way it came"
        )


def test_the_order_of_messages_does_not_hang_on_that_of_arrivals() -> None:
    """So that none of them has another number after a restart."""
    network = Network.design(9, 1)
    told = [_deliver(_all(network), seed) for seed in range(5)]
    assert all(one == other for one, other in pairwise(told))


def test_a_message_with_one_bad_item_changes_nothing() -> None:
    here, there, further = _all(Network.cycle(3))
    (passed,) = (told for _, told in further.tell(_content(2)))
    good, forged = passed[0], Told(1, bytes(64), _content(1))
    for wrong, why in (([good, forged], "did not sign"), ([good, good], "came twice")):
        with pytest.raises(MessageError, match=why):
            here.receive(2, wrong)
        assert not here.heard
    here.receive(2, [good])
    with pytest.raises(MessageError, match="came twice"):
        here.receive(2, [good])
    assert not there.heard


def test_several_are_one_message() -> None:
    told = [Told(party, bytes([party]) * 64, _content(party)) for party in range(3)]
    first, *more = told
    message = first.encode(NONCE, *more)
    assert decode("north", 0, message).content == told
    assert decode("north", 0, first.encode(NONCE)).content == [first]
    with pytest.raises(MessageError, match="without a signature"):
        _ = decode("north", 0, message[:60]).content


def test_a_nonce_told_with_others_proves_that_a_journal_was_lost(tmp_path: Path) -> None:
    """It came through relays, in one message with those of equally distant parties."""
    network = Network.cycle(["north", "east", "south"])
    told = [Told(party, bytes([party]) * 64, _content(party)) for party in (1, 2)]
    with Journal.open(tmp_path / "journal.db") as journal:
        journal.record_incoming(Frame("south", 0, NONCE, told[0].encode(NONCE, told[1])))
        handshake = Handshake(Run(bytes(32), 1, network, 0, bytes(32)), "one plan")
        assert handshake._proof("east", journal) == told[0].signature + told[0].content
        assert handshake._proof("south", journal) == told[1].signature + told[1].content
