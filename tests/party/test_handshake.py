"""The first words on a stream: each of them must fit, or the other end is told which does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.party.simulated_party import STUDY, Place, Process, Vectors
from tests.party.simulation import RING
from titan import Network
from titan.party.connecting import Handshake
from titan.party.run import Run
from titan.party.wire import Hello, Role
from titan.protocol import Plan

NETWORK = Network.cycle(["north", "east", "south"])
SOUTHS = bytes(range(32))


def souths_hello() -> Hello:
    """South is to send to north."""
    return Handshake(Run(STUDY, 1, NETWORK, 2, SOUTHS), "one plan").hello(Role.SENDER, "north")


@pytest.fixture
def north(tmp_path: Path) -> Any:
    job = Vectors([Plan.make(NETWORK, RING, 1)], [RING.from_ints([7])])
    process = Process(Place(0, NETWORK, job, None, tmp_path), Random(0), lambda _: None)
    yield process
    process.journal.close()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"study": bytes(32)}, "another study"),
        ({"run": 2}, "run 2 is asked for there, and run 1 here"),
        ({"name": "east"}, "no such link with south"),
        ({"peer": "east"}, "no such link with south"),
        ({"role": Role.RECEIVER}, "no such link with south"),
        ({"plan": "another"}, 'different sums, here (one plan) and there ("another")'),
    ],
)
def test_a_word_that_does_not_fit(north: Process, said: dict[str, Any], why: str) -> None:
    hello = replace(souths_hello(), **said)
    refusal = north.handshake.refusal(hello, "south", Role.RECEIVER, north.journal)
    assert refusal is not None
    assert why in refusal.reason
    assert not refusal.final


def test_the_right_words_and_another_nonce_than_before(north: Process) -> None:
    def refusal(hello: Hello) -> Any:
        return north.handshake.refusal(hello, "south", Role.RECEIVER, north.journal)

    assert refusal(souths_hello()) is None
    north.journal.set_nonce("south", SOUTHS)
    assert refusal(souths_hello()) is None
    final = refusal(replace(souths_hello(), nonce=bytes(32)))
    assert final.final
    assert final.reason == "south lost its journal; agree on run 2"
