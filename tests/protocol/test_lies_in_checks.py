"""Parties that lie in the check of a sum: they are named, or it fails; no total is wrong."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.protocol.lying import (
    COMPLETE,
    CYCLE,
    RECOVERIES,
    RELAYED,
    Begun,
    Lie,
    Relay,
    TestSeals,
    agents,
    checked,
    nothing,
    play,
    truth,
)
from tests.sums import stacked
from titan import Network
from titan.engines import local
from titan.errors import CheckError, MessageError, RecoveryError
from titan.protocol import Envelope, Kind, Plan, RecoveryName
from titan.protocol.checking import CheckedState
from titan.protocol.messages import Payload
from titan.protocol.recovery.interface import SEAL_BYTES

LIAR = 1


def told_by_liar(kind: Kind, change: Callable[[bytes, int], bytes], liar: int = LIAR) -> Lie:
    """What a party tells of itself is another thing, which it signs; given the receiver, too."""

    def lie(envelope: Envelope) -> Envelope:
        if envelope.kind is not kind or envelope.sender != liar:
            return envelope
        items = dict(read_told(envelope.payload))
        if liar in items:
            content = change(items[liar][:-SEAL_BYTES], envelope.receiver)
            items[liar] = content + TestSeals(liar).sign(kind, content)
        return envelope._replace(payload=write_told(items))

    return lie


def tells(kind: Kind, change: Callable[[bytes], bytes], liar: int = LIAR) -> Begun:
    """A party tells something else than is so, and itself goes by that."""

    def begun(party: int, state: CheckedState) -> None:
        if party != liar:
            return
        tell = state._tell

        def lying(of: Kind, content: bytes) -> None:
            tell(of, change(content) if of is kind else content)

        state._tell = lying  # type: ignore[method-assign, assignment]

    return begun


def read_told(payload: Payload) -> Iterator[tuple[int, bytes]]:
    [count] = struct.unpack_from("<I", payload)
    origins = struct.unpack_from(f"<{count}I", payload, 4)
    size = (len(payload) - 4 - 4 * count) // max(count, 1)
    for place, origin in enumerate(origins):
        at = 4 + 4 * count + place * size
        yield origin, bytes(payload[at : at + size])


def write_told(items: dict[int, bytes]) -> bytes:
    head = struct.pack(f"<{1 + len(items)}I", len(items), *sorted(items))
    return head + b"".join(items[origin] for origin in sorted(items))


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def ends(plan: Plan, *, lie: Lie = truth, begun: Begun = nothing, liar: int = LIAR) -> list[Any]:
    """How a run with these lies ends for the honest ones."""
    played = play(agents(plan, [[5] * plan.dimension] * 4), random.Random(3), lie, begun)
    return [played.end(party) for party in range(4) if party != liar]


def assert_named(found: list[Any], *deeds: str, liar: int = LIAR) -> None:
    for error in found:
        assert isinstance(error, CheckError), error
        assert error.named == (str(liar),), error
        for deed in deeds:
            assert f"{liar} {deed}" in error.message


@pytest.mark.parametrize("network", [COMPLETE, CYCLE])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_another_nonce_than_committed_to(network: Network, recovery: RecoveryName) -> None:
    begun = tells(Kind.REVEALED, lambda content: flipped(content, 40))
    found = ends(checked(network, 64, 3, recovery), begun=begun)
    assert_named(found, "revealed another nonce than it had committed to")


@pytest.mark.parametrize("network", [COMPLETE, CYCLE])
@pytest.mark.parametrize("liar", range(4))
def test_the_digest_of_another_total(network: Network, liar: int) -> None:
    """One of the four is the root, which is sent no total."""
    begun = tells(Kind.REVEALED, lambda content: flipped(content, 0), liar)
    found = ends(checked(network, 64, 3, "tree"), begun=begun, liar=liar)
    assert_named(found, "told the digest of another total than it had", liar=liar)


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("at", [0, 40])
def test_two_commitments_to_two_parties(recovery: RecoveryName, at: int) -> None:
    """Nobody passes on what all hear from the liar itself; that they differ shows in digests."""
    lie = told_by_liar(
        Kind.COMMITTED, lambda content, to: flipped(content, at) if to == 2 else content
    )
    found = ends(checked(COMPLETE, 64, 3, recovery), lie=lie)
    assert_named(found)
    assert any("told different parties different things (COMMITTED)" in e.message for e in found)


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize(("bits", "d"), [(64, 3), (64, 80), (3, 3), (3, 80)])
def test_other_sums_than_those_of_the_vector(recovery: RecoveryName, bits: int, d: int) -> None:
    begun = tells(Kind.SUMMED, lambda content: flipped(content, 34))
    found = ends(checked(CYCLE, bits, d, recovery), begun=begun)
    assert_named(found, "told wrong sums of its vector")


@pytest.mark.parametrize("network", [COMPLETE, CYCLE])
def test_sums_that_are_no_residues_are_wrong_sums(network: Network) -> None:
    """Whoever passes them on did nothing wrong: they are signed."""
    begun = tells(Kind.SUMMED, lambda content: content[:32] + b"\xff" * (len(content) - 32))
    assert_named(ends(checked(network, 3, 3, "tree"), begun=begun), "told wrong sums of its vector")


@pytest.mark.parametrize("d", [3, 80])
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize(
    ("kind", "at"), [(Kind.REVEALED, 0), (Kind.REVEALED, 40), (Kind.SUMMED, 0), (Kind.SUMMED, 34)]
)
def test_who_tells_one_party_something_else_is_named_by_all(
    kind: Kind, at: int, recovery: RecoveryName, d: int
) -> None:
    """To whom all seemed right opens what it sent as soon as another does, and all compare."""
    lie = told_by_liar(kind, lambda content, to: flipped(content, at) if to == 2 else content)
    found = ends(checked(COMPLETE, 64, d, recovery), lie=lie)
    assert_named(found)


def test_nothing_is_opened_before_its_time() -> None:
    """Not even kept: who opens has heard the sums of this party."""
    plan = checked(CYCLE, 64, 3, "tree")
    parties = agents(plan, [[1] * 3] * 4)
    phase = plan.scheme.phases[Kind.OPENED]  # type: ignore[attr-defined]
    early = Envelope(
        Kind.OPENED, 0, 1, phase.before + 1, write_told({0: bytes(phase.telling.size)})
    )
    with pytest.raises(MessageError, match="before its time"):
        parties[1].receive(early)
    played = play(parties, random.Random(1))
    assert plan.ring.to_ints(played.end(1)) == [4] * 3  # type: ignore[arg-type]


@pytest.mark.parametrize("opened", [0, 8 * 4 + 10], ids=["a vector", "a commitment"])
def test_another_vector_opened_than_committed_to(opened: int) -> None:
    """It alters what it sends, and shows what would fit that."""
    plan = checked(CYCLE, 64, 3, "tree", round_bytes=10**9)
    relay = Relay(plan, LIAR, RELAYED["tree"], 0, random.Random(1))
    found = ends(plan, lie=relay, begun=tells(Kind.OPENED, lambda c: flipped(c, opened)))
    assert_named(found, "shows what nobody signed" if opened else "opened another vector")


def test_a_vector_that_is_no_vector_and_one_that_is_not_shown() -> None:
    plan = checked(CYCLE, 3, 3, "tree", round_bytes=10**9)
    relay = Relay(plan, LIAR, RELAYED["tree"], 0, random.Random(1))
    opened = tells(Kind.OPENED, lambda content: b"\xff" * 4 + content[4:])
    assert_named(ends(plan, lie=relay, begun=opened), "opened another vector")
    relay = Relay(plan, LIAR, RELAYED["tree"], 0, random.Random(1))
    hidden = tells(Kind.OPENED, lambda content: content[:-300] + bytes(300))
    assert_named(ends(plan, lie=relay, begun=hidden), "does not show what it was sent")


def passed_on(kind: Kind, change: Callable[[dict[int, bytes]], None]) -> Lie:
    """Party 1 passes on other things than it was told."""

    def lie(envelope: Envelope) -> Envelope:
        if envelope.kind is not kind or envelope.sender != LIAR:
            return envelope
        items = dict(read_told(envelope.payload))
        if LIAR not in items:
            change(items)
        return envelope._replace(payload=write_told(items))

    return lie


TOLD = [Kind.COMMITTED, Kind.REVEALED, Kind.SUMMED]


@pytest.mark.parametrize("kind", TOLD)
def test_whoever_passes_on_what_nobody_signed_is_named(kind: Kind) -> None:
    def forge(items: dict[int, bytes]) -> None:
        items.update({origin: flipped(item, 0) for origin, item in items.items()})

    played = play(
        agents(checked(CYCLE, 64, 3, "tree"), [[1] * 3] * 4),
        random.Random(1),
        passed_on(kind, forge),
    )
    [(receiver, error)] = played.raised.items()
    assert receiver == 2
    assert isinstance(error, CheckError)
    assert error.named == ("1",)
    assert "1 passed on as that of 0 what 0 did not sign" in error.message
    with pytest.raises(RecoveryError, match="has failed"):
        _ = played.agents[2].total
    if kind is not Kind.SUMMED:
        assert not any(agent.done for agent in played.agents)


@pytest.mark.parametrize("kind", TOLD)
@pytest.mark.parametrize(
    "change", [dict.clear, lambda items: items.update({3: items.popitem()[1]})]
)
def test_whoever_leaves_something_out_fails_the_sum(kind: Kind, change: Any) -> None:
    plan = checked(CYCLE, 64, 3, "tree")
    with pytest.raises(MessageError, match="does not have what is due"):
        play(agents(plan, [[1] * 3] * 4), random.Random(1), passed_on(kind, change))


def test_whoever_hears_two_things_of_one_party_names_it() -> None:
    """0 reaches 3 by two ways of equal length, and tells something else along each."""
    network = Network([(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)])
    lie = told_by_liar(
        Kind.COMMITTED, lambda content, to: flipped(content, 0) if to == 2 else content, 0
    )
    played = play(agents(checked(network, 64, 3, "tree"), [[1] * 3] * 4), random.Random(1), lie)
    error = played.raised[3]
    assert isinstance(error, CheckError)
    assert error.named == ("0",)
    assert "0 told different parties different things (COMMITTED)" in error.message


def test_nothing_is_opened_where_that_would_be_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("titan.protocol.checked.MOST_OPENED", 100)
    plan = checked(CYCLE, 64, 3, "tree", round_bytes=10**9)
    assert plan.scheme.most_rounds == plan.scheme.rounds
    found = ends(plan, lie=Relay(plan, LIAR, RELAYED["tree"], 0, random.Random(1)))
    assert all(isinstance(error, CheckError) and error.named == () for error in found)


# -- what may arrive --------------------------------------------------------------------------


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_garbage_is_a_message_error_or_is_read_as_it_is(recovery: RecoveryName) -> None:
    """In every kind that there is in a checked sum; what is accepted encodes to the same bytes."""
    rng = random.Random(5)
    plan = checked(Network.cycle(3), 3, 2, recovery)
    secrets = stacked(plan.ring, [[1, 2]] * 3)
    good = [e for e in local.run(plan, secrets, seals=TestSeals, record=True).envelopes if e.round]
    accepted = Counter[Kind]()
    for _ in range(4000):
        kind, sender, _, round_, payload = rng.choice(good)
        data = bytearray(payload)
        change = rng.randrange(5)
        if change == 0:
            data = bytearray(rng.randbytes(rng.randrange(200)))
        elif change == 1:
            del data[rng.randrange(len(data)) :]
        elif change == 2:
            data += rng.randbytes(rng.randrange(1, 5))
        else:
            data[rng.randrange(min(len(data), 12 if change == 3 else 999))] = rng.randrange(256)
        if rng.random() < 0.1:
            kind = Kind.OPENED
        try:
            content = plan.read(kind, sender, round_, bytes(data))
        except MessageError:
            continue
        accepted[kind] += 1
        if kind in (*TOLD, Kind.OPENED):
            assert write_told(dict(content.items)) == data
        elif kind is not Kind.LIST:
            assert plan.ring.to_bytes(content.content) + content.tail == data
    assert accepted.keys() >= {*TOLD, *RELAYED[recovery]} - {Kind.PARTIAL}
