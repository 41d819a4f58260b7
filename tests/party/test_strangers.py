"""Over real TLS: whoever is not the party of this study, version and run is refused and logged by
name, and the run goes on waiting for the right one and succeeds with it.

Whether somebody is let in is tried from both ends of a link, since either may dial. Who dials with
a wrong certificate is named at the end that listens as far as it can be: by who is still awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import NAMES, Gathering, Patience, answers_agree, at, run, until
from tests.study.parties import EXPIRED, NOW, identity
from titan import Network
from titan.errors import InputError, PeerError
from titan.joint.task import described
from titan.party import connecting, streams, taking_part, wire
from titan.party.connection import StreamEndedError
from titan.party.engine import Engine
from titan.party.streams import Dialler, Listener, NoConnectionError, Stream
from titan.party.taking_part import Party
from titan.party.wire import Ack, Hello, Refusal, Role
from titan.study import Card, Identity, Report, Study, preflight

DIALS = ["push", "pull"]
TURNED_AWAY = "127.0.0.1: somebody dialled and did not get through TLS"


@asynccontextmanager
async def two_wait(g: Gathering) -> AsyncIterator[None]:
    """North and east take part; south comes when the block is over, and all have the answer."""
    waiting = [g.joining("north"), g.joining("east")]
    await until(lambda: all(g.phases.get(name) for name in ("north", "east")))  # they listen
    try:
        yield
    except BaseException:
        for task in waiting:
            task.cancel()
        raise
    assert not any(task.done() for task in waiting), "the run goes on waiting"
    await asyncio.gather(*waiting, g.joining("south"))
    answers_agree(g)


def said(g: Gathering, *names: str) -> str:
    return "\n".join(line for name in names for line in g.told.get(name, ()))


async def pretend_in(g: Gathering, study: Study, seen: Callable[[], bool], run_: int = 1) -> None:
    party = replace(g.party("south", study, run=run_), folder=g.folder / "pretender")
    task = asyncio.ensure_future(party.join(lambda _: None))
    try:
        await until(lambda: seen() or task.done())
        assert not task.done(), "it is refused, not failing"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        (g.folder / "south.ledger").unlink(missing_ok=True)


@pytest.mark.parametrize("who", ["a stranger", "a party in another's place", "another key"])
def test_another_certificate(tmp_path: Path, who: str) -> None:
    """Whoever answers or dials with it: the other end says so, and nobody is let in."""
    false = {
        "a stranger": identity("mallory"),
        "a party in another's place": identity("east"),
        "another key": identity("south", again=1),
    }[who]
    let_in: list[str] = []

    async def accept(card: Card, _: Stream) -> None:
        let_in.append(card.name)

    async def trial() -> None:
        g = Gathering(tmp_path)
        address = g.identities["south"].card.address
        async with two_wait(g):
            listener = Listener(false, [g.identities["east"].card], address, accept, lambda _: None)
            await listener.start()
            answered = "south: it answered with a certificate that is not the study's"
            await until(lambda: answered in said(g, "east"))
            await listener.close(0)
            with pytest.raises((NoConnectionError, StreamEndedError)):
                await dialled(false, g, wire.encode(hello(g)))
            await until(lambda: TURNED_AWAY in said(g, "north"))
            assert said(g, "north").count(TURNED_AWAY) == 1, "told once, not each time"

    with patch.object(streams, "_HANDSHAKE", 0.3):
        run(trial())
    assert let_in == []


@pytest.mark.parametrize("dial", DIALS)
def test_another_study_or_version_of_it(tmp_path: Path, dial: str) -> None:
    async def trial() -> None:
        g = Gathering(tmp_path, dial=dial)
        other = replace(g.study, title="Another")
        listener, dialler = ("north", "east") if dial == "push" else ("east", "north")

        def seen() -> bool:
            refused = (
                "south: refused: another study, or another version of this study: fingerprint "
            )
            refusing = 'south: it refuses this party: "another study'
            return refused in said(g, listener) and refusing in said(g, dialler)

        async with two_wait(g):
            await pretend_in(g, other, seen)
            assert said(g, "north", "east").count("another study") == 2, "told once, not each time"

    run(trial())


@pytest.mark.parametrize("dial", DIALS)
def test_who_waited_for_a_party_of_another_study_is_told_to_compare(
    tmp_path: Path, dial: str
) -> None:
    """Also who waits longer, until nobody answers there any more."""
    g = Gathering(tmp_path, dial=dial)
    dialler = "east" if dial == "push" else "north"
    engines: dict[str, Engine] = {}

    def engine(party: Party, durable: Any) -> Engine:
        found = Engine(party.study, party.identity, durable, party.listen, party.watch)
        return engines.setdefault(party.identity.name, found)

    def hint(name: str) -> str:
        return engines[name]._waited_in_vain(1.0).hint

    async def trial() -> None:
        async with two_wait(g):
            await until(lambda: len(engines) == 2)
            assert "the same command goes on from here" in hint("north")
            seen = ("north", "east", "south")
            other = replace(g.study, title="Another")
            await pretend_in(
                g, other, lambda: all("another study" in said(g, each) for each in seen)
            )
            await until(lambda: said(g, dialler).endswith("south: nobody answers there yet"))
            for name in ("north", "east"):
                assert hint(name).startswith("compare fingerprints with south: titan study check")
            assert hint("south").startswith("compare fingerprints with east, north: ")
            engines.clear()

    with patch.object(Party, "engine", engine):
        run(trial())


@pytest.mark.parametrize("dial", DIALS)
def test_another_run(tmp_path: Path, dial: str) -> None:
    async def trial() -> None:
        g = Gathering(tmp_path, dial=dial)
        listener, dialler = ("north", "east") if dial == "push" else ("east", "north")

        def seen() -> bool:
            refused = "south: refused: run 2 is asked for there, and run 1 here; agree on one"
            refusing = 'south: it refuses this party: "run 1 is asked for there, and run 2 here'
            return refused in said(g, listener) and refusing in said(g, dialler)

        async with two_wait(g):
            await pretend_in(g, g.study, seen, 2)

    run(trial())


# -- expired ----------------------------------------------------------------------------------


def with_expired_south(g: Gathering) -> Study:
    port = int(g.identities["south"].card.address.rpartition(":")[2])
    g.identities["south"] = at(identity("south", made=EXPIRED, days=1), port)
    cards = tuple(g.identities[name].card for name in NAMES)
    return replace(g.study, parties=cards)


def test_a_study_with_an_expired_certificate_is_not_joined(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    study = with_expired_south(g)
    for name in NAMES:
        with pytest.raises(InputError, match=r"cannot be joined: .*south"):
            run(g.party(name, study).join(lambda _: None))


@pytest.mark.parametrize("dial", DIALS)
def test_a_certificate_that_expires_meanwhile_is_refused_by_tls(tmp_path: Path, dial: str) -> None:
    """Pinned, but out of date: as it would be if it ran out between check and connection."""

    def unchecked(study: Study) -> Report:
        return preflight.check(study, NOW)

    async def trial() -> None:
        g = Gathering(tmp_path, dial=dial)
        study = with_expired_south(g)
        tasks = [asyncio.ensure_future(g.join(name, study)) for name in NAMES]
        here, there = (f"certificate has expired, by the clock {at}here" for at in ("", "t"))
        told = {"east": here, "north": here, "south": there}
        await until(lambda: all(words in said(g, name) for name, words in told.items()))
        dialled = "north" if dial == "push" else "east"
        assert f"somebody dialled: its {here}" in said(g, dialled)
        await until(lambda: all(g.phases.get(name) for name in NAMES))
        patience.give_up(*NAMES)
        for name, task in zip(NAMES, tasks, strict=True):
            with pytest.raises(PeerError, match=r"nothing came for \d+ seconds \(connecting"):
                await task
            assert name not in g.shown

    patience = Patience()
    with patch.object(taking_part, "checked", unchecked), patience.patched():
        run(trial())


# -- without TLS ------------------------------------------------------------------------------


def test_a_plaintext_server_in_souths_place(tmp_path: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async def trial() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            host, port = g.identities["south"].card.address.split(":")
            async with await asyncio.start_server(answer, host, port):
                await until(
                    lambda: "south: whoever answers there does not speak TLS" in said(g, "east")
                )

    run(trial())


def test_a_plaintext_client(tmp_path: Path) -> None:
    async def trial() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            address = g.identities["north"].card.address
            reader, writer = await asyncio.open_connection(*address.split(":"))
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            await reader.read(100)
            writer.close()
            await until(lambda: TURNED_AWAY in said(g, "north"))
            assert "; south is awaited" in said(g, "north")

    with patch.object(streams, "_HANDSHAKE", 0.3):
        run(trial())


def test_nobody_is_turned_away_who_comes_as_it_should(tmp_path: Path) -> None:
    listeners: list[Listener] = []
    close = Listener.close

    async def closing(self: Listener, grace: float) -> None:
        listeners.append(self)
        await close(self, grace)

    g = Gathering(tmp_path)
    with patch.object(Listener, "close", closing):
        run(g.all())
    assert [(each.begun, each.came) for each in listeners] == [(1, 1)] * len(NAMES)


# -- parties of the study with a wrong word ---------------------------------------------------


def hello(g: Gathering, **changes: object) -> Hello:
    """What south says to north on the link south → north."""
    party = g.party("south")
    right = Hello(
        Role.SENDER, bytes.fromhex(g.study.digest), 1, bytes(32), 0, "south", "north",
        described(party.study.plans),
    )  # fmt: skip
    return replace(right, **changes)  # type: ignore[arg-type]


async def dialled(it: Identity, g: Gathering, *chunks: bytes) -> list[wire.Chunk]:
    """Dial north, say something, and hear what comes until the stream ends."""
    heard: list[wire.Chunk] = []

    async def converse(stream: Stream) -> None:
        for chunk in chunks:
            await stream.write(chunk)
        while (data := await stream.read()) is not None:
            heard.append(wire.decode(bytes(data)))

    await Dialler(it, g.identities["north"].card).stream(converse)
    return heard


def test_a_party_of_the_study_with_a_wrong_word(tmp_path: Path) -> None:
    """South may dial north; what it says is wrong in one way after the other."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        south = g.identities["south"]
        async with two_wait(g):
            for said_, reason in (
                (hello(g, role=Role.RECEIVER), "no such link with south"),
                (hello(g, name="east"), "no such link with south"),
                (hello(g, peer="east"), "no such link with south"),
                (hello(g, study=bytes(32)), "another study, or another version"),
                (hello(g, run=7), "run 7 is asked for there, and run 1 here"),
                (hello(g, plan="by hand"), "the two parties would make different sums"),
            ):
                (answer,) = await dialled(south, g, wire.encode(said_))
                assert isinstance(answer, Refusal)
                assert reason in answer.reason
                assert not answer.final
                assert f"south: refused: {reason}" in said(g, "north")
            assert await dialled(south, g, wire.encode(Ack(0))) == []
            assert "south: the first chunk was not a hello" in said(g, "north")
            assert await dialled(south, g, b"\x0a\x02??") == []
            assert "south: a chunk of no known kind" in said(g, "north")
            back, *_ = await dialled(south, g, wire.encode(hello(g)), wire.encode(Ack(0)))
            assert isinstance(back, Hello)
            assert "south: something else than a piece of a message" in said(g, "north")
            with pytest.raises(StreamEndedError):
                await dialled(south, g, bytes(wire.MOST_CHUNK + 1))

    run(trial())


def test_a_party_that_does_not_say_hello_is_not_waited_for(tmp_path: Path) -> None:
    async def trial() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            assert await dialled(g.identities["south"], g) == []
            assert "south: it did not say hello" in said(g, "north")

    with patch.object(connecting, "_PATIENCE", 0.2):
        run(trial())


def test_a_party_that_speaks_in_another_way_is_told_of(tmp_path: Path) -> None:
    """As one of a version that speaks HTTP/2 does; it is not a connection that was lost."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            with pytest.raises(StreamEndedError):
                await dialled(g.identities["south"], g, bytes(wire.MOST_CHUNK + 17))
            await until(lambda: "south: a chunk of 1048593 bytes; the most is" in said(g, "north"))

    run(trial())


def test_a_link_that_is_not_its_to_dial(tmp_path: Path) -> None:
    """In a cycle east only listens for north: its certificate is not even let in. Where it may
    dial for a link of its own, it may not dial for another."""

    async def cycle() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            with pytest.raises((NoConnectionError, StreamEndedError)):
                await dialled(g.identities["east"], g, wire.encode(hello(g, name="east")))

    async def complete() -> None:
        (tmp_path / "complete").mkdir()
        g = Gathering(tmp_path / "complete", network=Network.complete(list(NAMES)))
        async with two_wait(g):
            wrong = hello(g, name="east", role=Role.RECEIVER)
            (answer,) = await dialled(g.identities["east"], g, wire.encode(wrong))
            assert isinstance(answer, Refusal)
            assert answer.reason == "no such link with east"

    run(cycle())
    run(complete())
