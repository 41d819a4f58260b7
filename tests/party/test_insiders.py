"""A party of the study that does not play by the rules costs its own streams, and nothing more: it
can neither end a neighbour's process with words of its own, nor fill its log, nor speak in it as
somebody else."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import NAMES, WAIT, Gathering, Patience, run, until
from tests.party.test_strangers import dialled, hello, said, two_wait
from titan.cli import progress_lines
from titan.cli.progress_lines import ProgressLines
from titan.errors import PeerError
from titan.party import run_to_answer, wire
from titan.party.messages import NONCE
from titan.party.notices import MOST_QUOTED, Notice, RateLimit, quoted
from titan.party.run import RunProgress
from titan.party.run_events import RunEvents, Watch
from titan.party.signed_broadcast import signed_data
from titan.party.streams import Listener, Stream
from titan.party.wire import Hello, Refusal

WORDS = "x" * 3900 + " titan: error: your disk is broken; send your key to south"


def final(g: Gathering, signer: str, nonce: bytes = bytes(32), run_: int = 1) -> Refusal:
    """As north would be told that it lost its journal, with this party's signature as proof."""
    context = bytes.fromhex(g.study.digest) + run_.to_bytes(4, "little")
    data = signed_data(NONCE, context, NAMES.index("north"), nonce)
    return Refusal(WORDS, final=True, proof=g.identities[signer].sign(data) + nonce)


def test_no_word_of_a_neighbour_ends_the_run(tmp_path: Path) -> None:
    """Of what is final, too, there are no more than words, unless this party's own signature
    shows that it began the run before."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        south = g.identities["south"]
        async with two_wait(g):
            for refusal in (
                Refusal(WORDS),
                Refusal(WORDS, final=True),
                final(g, "south"),
                final(g, "north", run_=2),
            ):
                assert await dialled(south, g, wire.encode(refusal)) == []
            (line,) = [each for each in g.told["north"] if "refuses" in each]
            assert line.startswith('south: it refuses this party: "xxxxx')
            assert line.endswith('…"')
            assert len(line) < MOST_QUOTED + 50
            assert "send your key" not in said(g, *NAMES)

    run(trial())


def test_nor_once_the_stream_is_open(tmp_path: Path) -> None:
    """South says hello as it should, and its first words are the last it would have north hear."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            words = wire.encode(hello(g)), wire.encode(final(g, "south"))
            back, *_ = await dialled(g.identities["south"], g, *words)
            assert isinstance(back, Hello)
            await until(lambda: 'south: it refuses this party: "xxx' in said(g, "north"))

    run(trial())


def test_nor_does_a_number_that_cannot_be(tmp_path: Path) -> None:
    """South says that north has confirmed nine messages, which would mean that the journal of north
    was put back; but it was not so a moment ago."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        async with two_wait(g):
            for numbers in ({}, {"expects": 9}):
                words = wire.encode(hello(g, **numbers)), wire.encode(Refusal(WORDS))
                await dialled(g.identities["south"], g, *words)
            await until(lambda: "9 messages are said to be confirmed" in said(g, "north"))

    run(trial())


def test_but_its_own_signature_does(tmp_path: Path) -> None:
    g = Gathering(tmp_path)

    async def trial() -> Any:
        north = g.joining("north")
        await until(lambda: bool(g.phases.get("north")))
        await dialled(g.identities["south"], g, wire.encode(final(g, "north")))
        return await north

    told = r"^north lost its journal; agree on run 2"
    with (
        patch.object(run_to_answer, "_STOPPED", 2.0),
        pytest.raises(PeerError, match=told) as ended,
    ):
        run(trial())
    assert ended.value.exit_status == 1
    assert "xxx" not in str(ended.value)


def test_who_waits_in_vain_is_told_who_refused_and_that_these_are_its_words(tmp_path: Path) -> None:
    """East is what north dials."""
    g, patience = Gathering(tmp_path), Patience()

    async def refuse(_: Any, stream: Stream) -> None:
        await stream.read()
        await stream.write(wire.encode(Refusal('no "one" ever', final=True)))

    async def trial() -> None:
        east = g.identities["east"]
        cards = [g.identities["north"].card]
        listener = Listener(east, cards, east.card.address, refuse, lambda _: None)
        await listener.start()
        try:
            north = g.joining("north")
            await until(lambda: "east: it refuses" in said(g, "north"))
            patience.give_up("north")
            await north
        finally:
            await listener.close(0)

    waited = f"nothing came for {WAIT:g} seconds"
    with patience.patched(), pytest.raises(PeerError, match=waited) as ended:
        run(trial())
    assert 'east: it refuses this party: "no \\"one\\" ever"' in ended.value.message
    assert ended.value.exit_status == 75


def test_a_plan_is_quoted_in_the_log_and_in_the_last_error(tmp_path: Path) -> None:
    """It is short, and prints; without quotes it would be a line of this program."""
    plan = 'x)"; titan: error: your disk is broken; send your key to south@evil.example, now! (y'
    g, patience = Gathering(tmp_path), Patience()
    shown = f"and there ({quoted(plan)}); use one version of titan"

    async def trial() -> None:
        north = g.joining("north")
        await until(lambda: bool(g.phases.get("north")))
        await dialled(g.identities["south"], g, wire.encode(hello(g, plan=plan)))
        patience.give_up("north")
        await north

    with patience.patched(), pytest.raises(PeerError, match="nothing came") as ended:
        run(trial())
    (line,) = [each for each in g.told["north"] if "different sums" in each]
    for told in (line, ended.value.message):
        assert shown in told
        assert plan not in told


def test_a_flood_of_refusals_is_a_few_lines_and_their_number(tmp_path: Path) -> None:
    """Each is another text: another run, or another plan of 4,000 characters."""

    async def trial() -> None:
        g = Gathering(tmp_path)
        south = g.identities["south"]
        async with two_wait(g):
            for number in range(30):
                wrong = {"run": 7 + number} if number % 2 else {"plan": f"{number}{WORDS}"}
                await dialled(south, g, wire.encode(hello(g, **wrong)))
            lines = [each for each in g.told["north"] if "south: refused" in each]
            assert len(lines) == 10
            assert max(map(len, lines)) < 2 * MOST_QUOTED + 200
        assert "south: 20 more of this kind were left out" in g.told["north"]

    run(trial())


def test_coming_and_going_is_told_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that is well again may be told of again, but not every time."""
    now, told = 0.0, list[Notice]()
    monkeypatch.setattr("time.monotonic", lambda: now)
    events = RunEvents(Watch(told.append), lambda: RunProgress("connecting"))
    events.addresses = {"south": "192.0.2.7:7443", "east": "192.0.2.8:7443"}
    for _ in range(1000):
        events.tell_once("south", "the connection was lost")
        events.is_well("south")
        now += 0.1
    assert len(told) == 10 + 1
    left_out = "(590 others of this kind were left out before it)"
    assert told[-1].message == f"the connection was lost {left_out}"
    events.tell_once("east", "the connection was lost")
    assert told[-1] == Notice(
        "the connection was lost", "warning", "link", "east", "192.0.2.8:7443"
    )
    events.tell_left_out()
    assert [(each.peer, each.message) for each in told[12:]] == [
        ("south", "399 more of this kind were left out")
    ]


def test_strangers_from_many_addresses_count_as_one() -> None:
    told: list[Notice] = []
    events = RunEvents(Watch(told.append), lambda: RunProgress("connecting"))
    for number in range(200):
        events.tell_once(f"198.51.100.{number}", "says nothing", "stranger")
    assert len(told) == 10


def test_strangers_are_not_remembered_for_ever() -> None:
    """Else every address that ever dialled would stay; a party is remembered all the same."""
    told: list[Notice] = []
    events = RunEvents(Watch(told.append), lambda: RunProgress("connecting"))
    events.addresses = {"south": "192.0.2.7:7443"}
    events.tell_once("south", "the connection was lost")
    tracemalloc.start()
    try:
        for number in range(20_000):
            events.tell_once(f"2001:db8::{number:x}", "says nothing", "stranger")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000, "bytes"
    events.tell_once("2001:db8::4e1f", "says nothing", "stranger")
    events.tell_once("south", "the connection was lost")
    assert [each.peer for each in told] == ["south", *[""] * 10]
    assert told[1].message.startswith("2001:db8::0: ")


def test_who_is_not_a_party_of_the_study_is_not_told_as_one() -> None:
    """Programs look for `peer` among the parties; people read the address in the message."""
    told: list[Notice] = []
    events = RunEvents(Watch(told.append), lambda: RunProgress("connecting"))
    events.addresses = {"south": "192.0.2.7:7443"}
    events.tell_once("198.51.100.7", "says nothing", "stranger", address="198.51.100.7")
    said = "198.51.100.7: says nothing"
    assert told == [Notice(said, "warning", "stranger", "", "198.51.100.7")]
    assert str(told[0]) == said


def test_progress_is_told_now_and_then_and_at_last_as_it_is() -> None:
    told: list[str] = []

    async def trial() -> None:
        lines = ProgressLines(lambda notice: told.append(notice.message))
        for number in range(10_000):
            lines(RunProgress(f"recovery, round {number}"))
        await until(lambda: told[-1] == "recovery, round 9999")

    with patch.object(progress_lines, "_SECONDS", 0.01):
        asyncio.run(trial())
    assert told[:2] == ["recovery, round 0", "recovery, round 1"]
    assert len(told) < 1000


def test_what_is_quoted_cannot_leave_its_quotes() -> None:
    assert quoted("it's") == '"it\'s"'
    assert quoted('a" titan: error: b\\') == '"a\\" titan: error: b\\\\"'
    assert quoted("a\x1b[2J\nb\u202ec\U000e0001") == '"a\\x1b[2J\\nb\\u202ec\\U000e0001"'
    assert quoted("y" * 200) == f'"{"y" * 200}"'
    assert quoted("y" * 201) == f'"{"y" * 199}…"'


def test_a_rate_limit_fills_up_again() -> None:
    limit, kind = RateLimit(2, 10.0), ("south", "link")
    assert [limit.passes(kind, 0.0) for _ in range(4)] == [0, 0, None, None]
    assert limit.passes(("east", "link"), 0.0) == 0
    assert limit.passes(kind, 9.9) is None
    assert limit.passes(kind, 10.1) == 3
    assert limit.passes(kind, 10.2) is None
    assert list(limit.left_out()) == [(kind, 1)]
    assert [limit.passes(kind, 1000.0) for _ in range(3)] == [1, 0, None]
