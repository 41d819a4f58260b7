"""The first words on a stream: each of them must fit, or the other end is told which does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.party.loopback import Gathering, Patience, run, until
from tests.party.simulated_party import STUDY, Place, Process, Vectors
from tests.party.simulation import RING
from tests.party.test_strangers import dialled, hello, said
from titan import Network
from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.connecting import Handshake
from titan.party.run import Run
from titan.party.streams import Listener, Stream
from titan.party.wire import Hello, Refusal, Role
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


# -- another version --------------------------------------------------------------------------


def future(hello: Hello) -> bytes:
    """As version 99 might say it: of its form nothing is known but the first two bytes."""
    return bytes([wire.encode(hello)[0], 99]) + b"\x0a\xff?"


OTHER_VERSION = "{} speaks version 99 of titan's messages, and north version 2; use one version"


def test_who_dials_with_another_version_is_told_so_and_waited_for(tmp_path: Path) -> None:
    """South dials north. Both logs and the last error name both versions."""
    g, patience, told = Gathering(tmp_path), Patience(), list[str]()
    why = OTHER_VERSION.format("south")

    async def trial() -> None:
        north = g.joining("north")
        await until(lambda: bool(g.phases.get("north")))
        for words in (future(hello(g)), wire.encode(hello(g)).replace(b"\1\2", b"\1\x63", 1)):
            (answer,) = await dialled(g.identities["south"], g, words)
            assert isinstance(answer, Refusal)
            assert answer.reason.startswith(why)
            assert not answer.final
            told.append(f"south: refused: {answer.reason}")
        assert [each for each in g.told["north"] if "version" in each] == told[:1], "told once"
        patience.give_up("north")
        await north

    with patience.patched(), pytest.raises(PeerError, match="nothing came") as ended:
        run(trial())
    assert f"south: refused: {why}" in ended.value.message
    assert ended.value.exit_status == 75


@pytest.mark.parametrize("who", ["answers", "refuses"])
def test_who_is_dialled_and_has_another_version(tmp_path: Path, who: str) -> None:
    """North dials east, which greets it in its own version, or refuses as every version does."""
    g, patience, heard = Gathering(tmp_path), Patience(), list[Any]()
    why = OTHER_VERSION.format("east")

    async def greet(_: Any, stream: Stream) -> None:
        said_ = wire.decode(bytes(await stream.read() or b""))
        assert isinstance(said_, Hello)
        if who == "answers":
            await stream.write(future(said_))
            heard.append(await stream.read())
        else:
            await stream.write(b"\4\0" + why.encode())

    async def trial() -> None:
        east = g.identities["east"]
        cards = [g.identities["north"].card]
        listener = Listener(east, cards, east.card.address, greet, lambda _: None)
        await listener.start()
        try:
            north = g.joining("north")
            await until(lambda: "version 99" in said(g, "north"))
            patience.give_up("north")
            await north
        finally:
            await listener.close(0)

    with patience.patched(), pytest.raises(PeerError, match="nothing came") as ended:
        run(trial())
    if who == "answers":
        refusal = wire.decode(bytes(heard[0]))
        assert isinstance(refusal, Refusal)
        assert refusal.reason.startswith(why)
    noted = "refused: " if who == "answers" else 'it refuses this party: "'
    assert f"east: {noted}{why}" in ended.value.message
    assert ended.value.exit_status == 75


def test_a_greeting_that_is_cut_off_is_of_no_version() -> None:
    for data in (b"\1", b"\1\2", b"\1\2\1"):
        with pytest.raises(MessageError, match="too short"):
            wire.decode(data)
