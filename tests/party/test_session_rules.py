"""A message that is refused changes nothing, and is refused when it comes, not when it is used."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from tests.party.given_sums import send
from tests.party.simulated_party import Place, Process, Vectors
from tests.party.simulation import RING
from tests.party.tables import Table
from titan import Network
from titan.errors import FileError
from titan.party import wire
from titan.party.durable_session import Arrival
from titan.party.messages import LAST, Enclosed, Told
from titan.party.ready import Ready, Wait
from titan.protocol import Envelope, Plan
from titan.protocol.messages import Kind
from titan.study.frames import Frame


def _process(folder: Path) -> Process:
    network = Network.cycle(["north", "east", "south"])
    plans = [Plan.make(network, RING, 1, recovery="flood")] * 2
    job = Vectors(plans, [RING.from_ints([7])] * 2)
    return Process(Place(0, network, job, None, folder), Random(0), lambda _: None)


def be_over(process: Process) -> None:
    """With an answer, and without secrets."""
    process.journal.finish(b"an answer", b"a transcript")
    process.journal.erase_secrets()
    process.journal.close()


def test_a_vector_for_a_later_sum_without_its_signature_is_refused_at_once(tmp_path: Path) -> None:
    process = _process(tmp_path)
    assert process.session is not None
    plan = process.session.plans[1]
    vector = struct.pack("<II", 1, 2) + bytes(plan.ring.width * plan.entries)
    early = Envelope(Kind.MASKED, 2, 0, 1, vector).encode()
    message = bytes([Kind.MASKED, 1]) + early + b"not a signature"
    refused = process.durable.accept([Arrival("south", 0, memoryview(message))])
    assert [(each.peer, each.number) for each in refused] == [("south", 0)]
    assert "15 bytes of signatures" in refused[0].reason
    assert process.durable.accepted["south"] == 0
    process.journal.close()


def test_who_has_said_its_last_is_owed_nothing(tmp_path: Path) -> None:
    process = _process(tmp_path)
    assert [frame.peer for frame in process.durable.needed()] == ["east"]
    process.durable._ended_by.add("east")
    assert process.durable.needed() == []
    assert process.durable.unacknowledged()
    process.journal.close()


def test_a_mask_that_was_taken_and_erased_is_not_asked_for_again(tmp_path: Path) -> None:
    process = _process(tmp_path)
    for number, kind in enumerate(("NONCE", "MASK")):
        process.journal.record_incoming(Frame("south", number, kind, b"what it said"))
    be_over(process)
    again = _process(tmp_path)
    assert again.concluded
    assert again.durable.accepted["south"] == again.durable.incoming["south"].expected == 2
    again.journal.close()


def test_what_is_not_on_disk_is_neither_confirmed_nor_sent(tmp_path: Path) -> None:
    """The disk is full when a nonce arrives: links that are still open must not show it."""
    process = _process(tmp_path)
    south = Process(replace(process.place, party=2), Random(1), lambda _: None)
    (nonce,) = south.durable.unacknowledged()
    waiting = len(process.durable.outgoing["east"])
    with (
        patch.object(process.journal, "_commit", side_effect=FileError("the disk is full")),
        pytest.raises(FileError, match="full"),
    ):
        process.durable.accept([Arrival("south", 0, memoryview(nonce.body))])
    assert process.session is not None
    assert "south" in process.session.nonces, "it was taken, and would have been passed on"
    assert process.durable.accepted["south"] == 0
    assert len(process.durable.outgoing["east"]) == waiting
    south.journal.close()
    process.journal.close()


def test_a_run_that_is_over_takes_no_more_than_a_run_has(tmp_path: Path) -> None:
    """A neighbour that goes on talking would fill the disk: nobody reads it any more."""
    be_over(_process(tmp_path))
    again = _process(tmp_path)
    told = memoryview(bytes([18, 255]) + bytes(200))
    sums = 2 * 3  # a mask and two rounds each
    for number in range(sums + 2 * 3 + 2):
        assert again.durable.accept([Arrival("south", number, told)]) == []
    (refused,) = again.durable.accept([Arrival("south", number + 1, told)])
    assert "more than a run has to say" in refused.reason
    again.journal.close()


def test_a_run_that_is_over_takes_nothing_after_the_last(tmp_path: Path) -> None:
    be_over(_process(tmp_path))
    for life in range(2):  # it is known after a restart too
        again = _process(tmp_path)
        refused = again.durable.accept(
            Arrival("south", number, memoryview(LAST)) for number in range(life, 2)
        )
        assert [each.number for each in refused] == [1]
        again.journal.close()


def test_every_sum_has_masks_of_its_own(tmp_path: Path) -> None:
    """Used twice, they would show the difference of two inputs."""
    with Table(tmp_path) as table:
        table.run()
        for seat in table.seats.values():
            first, second = (
                Enclosed.decode(frame.body).envelope.payload
                for frame in seat.journal.incoming()
                if frame.kind == "MASK"
            )
            assert bytes(first) != bytes(second)


def test_what_follows_a_message_that_was_refused_comes_again(tmp_path: Path) -> None:
    """Both arrive together; the second would else stand in the journal after a gap."""
    process = _process(tmp_path)
    south = Process(replace(process.place, party=2), Random(1), lambda _: None)
    (nonce,) = south.durable.unacknowledged()
    rubbish, good = memoryview(b"rubbish"), memoryview(nonce.body)
    refused = process.durable.accept([Arrival("south", 0, rubbish), Arrival("south", 1, good)])
    assert [each.number for each in refused] == [0]
    assert process.durable.accepted["south"] == process.durable.incoming["south"].expected == 0
    assert list(process.journal.incoming()) == []
    assert process.durable.accept([Arrival("south", 0, good)]) == []
    assert process.durable.accepted["south"] == 1
    south.journal.close()
    process.journal.close()


def test_a_digest_of_another_waits_for_the_own_sums(tmp_path: Path) -> None:
    """Passed on at once, it could after a power cut take the number of a message of a sum."""
    network = Network.complete(["north", "east", "south"])
    job = Vectors([Plan.make(network, RING, 1, recovery="flood")], [RING.from_ints([7])])
    parties = [
        Process(Place(party, network, job, None, tmp_path), Random(party), lambda _: None)
        for party in range(3)
    ]
    north = parties[0]
    deliver(parties, held=("east", "north"))
    assert north.session is not None
    assert north.session._digests is not None
    assert 2 in north.session._digests.heard, "the digest of south came through south"
    assert "AGREED" not in _kinds_sent(north)
    deliver(parties)
    assert all(party.complete for party in parties)
    assert _kinds_sent(north)[-4:] == ["MASKED", "AGREED", "AGREED", "END"]
    for party in parties:
        party.journal.close()


def deliver(
    parties: list[Process], held: tuple[str, str] | None = None, until: str = "MASKED"
) -> None:
    """Everything that is put out; along the link that is held, nothing from this kind on."""
    moved = True
    while moved:
        moved = False
        for sender, receiver in product(parties, parties):
            if receiver.name not in sender.durable.outgoing:
                continue
            number = receiver.durable.accepted[sender.name]
            waiting = sender.durable.outgoing[receiver.name]
            if number == waiting.next:
                continue
            (parts,) = waiting.chunks(number)
            message = bytes(wire.decode(b"".join(parts)).content)  # type: ignore[union-attr]
            if (sender.name, receiver.name) == held and message[0] == Kind[until]:
                continue
            assert (
                receiver.durable.accept([Arrival(sender.name, number, memoryview(message))]) == []
            )
            moved = True


def _kinds_sent(process: Process) -> list[str]:
    """To east, in order."""
    return [frame.kind for frame in process.durable.unacknowledged() if frame.peer == "east"]


def test_what_waits_for_the_disk_before_it_leaves(tmp_path: Path) -> None:
    """What is told to all, not the messages of sums but for the first."""
    network = Network.cycle(["north", "east", "south"])
    job = Vectors([Plan.make(network, RING, 1, recovery="tree")] * 2, [RING.from_ints([7])] * 2)
    parties = [
        Process(Place(party, network, job, None, tmp_path), Random(party), lambda _: None)
        for party in range(3)
    ]
    waits: Counter[str] = Counter()
    for party in parties:
        party.journal.sync = partial(_note_due, party, waits)  # type: ignore[method-assign]
        party.journal.sync_rows = partial(_note_due, party, waits)  # type: ignore[method-assign]
    deliver(parties)
    assert all(party.complete for party in parties)
    sent = Counter(frame.kind for party in parties for frame in party.durable.unacknowledged())
    assert waits["NONCE"] == sent["NONCE"] - 3, "each party's own left before"
    assert waits["MASK"] == 3 < sent["MASK"], "of each party the first, and no more"
    assert waits["AGREED"] == sent["AGREED"]
    assert waits["PARTIAL"] == 0 < sent["PARTIAL"]
    for party in parties:
        party.journal.close()


def _note_due(party: Process, waits: Counter[str]) -> None:
    waits.update(frame.kind for frame in party.durable._due)


@pytest.mark.parametrize("wait", Wait)
@pytest.mark.parametrize("sum_", [None, 0])
def test_the_session_alone_says_when_to_wait_for_the_disk(
    tmp_path: Path, wait: Wait, sum_: int | None
) -> None:
    """Whatever its message is, and before it can be sent."""
    process, released = _process(tmp_path), []
    sequence = process.durable.outgoing["east"].next

    def synced(what: Wait) -> None:
        released.append((what, process.durable.outgoing["east"].next))

    process.journal.sync = partial(synced, Wait.FOR_ALL)  # type: ignore[method-assign]
    process.journal.sync_rows = partial(synced, Wait.FOR_NOTES)  # type: ignore[method-assign]
    frame = Frame("east", sequence, "NONCE" if sum_ is None else "PARTIAL", b"x", sum_)
    send(process.durable, Ready([frame], wait))
    assert released == ([(wait, sequence)] if wait else []), "when it was not yet released"
    assert process.durable.outgoing["east"].next == sequence + 1
    send(process.durable, Ready([replace(frame, sequence=sequence + 1)]))
    assert len(released) <= 1, "it is said for these messages, not for later ones"
    process.journal.close()


def test_no_answer_before_the_own_digest(tmp_path: Path) -> None:
    """Passed on between the sums, it would take a message's turn."""
    network = Network.complete(["north", "east", "south"])
    job = Vectors([Plan.make(network, RING, 1, recovery="flood")], [RING.from_ints([7])])
    parties = [
        Process(Place(party, network, job, 1, tmp_path), Random(party), lambda _: None)
        for party in range(3)
    ]
    deliver(parties, held=("east", "north"))
    early = Told(1, bytes(64), b"an answer").encode("ANSWER")
    number = parties[0].durable.accepted["south"]
    (refused,) = parties[0].durable.accept([Arrival("south", number, memoryview(early))])
    assert "before this party could have agreed" in refused.reason
    for party in parties:
        party.journal.close()


def test_another_first_sum_means_other_masks_for_the_second(tmp_path: Path) -> None:
    """Its input follows from the first sum, which after a power cut may come again otherwise."""
    masks = [_masks_of_north(tmp_path / f"{i}", east) for i, east in enumerate((7, 7, 8))]
    assert masks[0] == masks[1]
    assert masks[0][0] == masks[2][0]
    assert masks[0][1] != masks[2][1]


def _masks_of_north(folder: Path, of_east: int) -> list[bytes]:
    """One for each of two sums; the keys and nonces are always the same."""
    folder.mkdir()
    network = Network.cycle(["north", "east", "south"])
    plans = [Plan.make(network, RING, 1, recovery="tree")] * 2
    jobs = [Vectors(plans, [RING.from_ints([n])] * 2) for n in (7, of_east, 7)]
    parties = [
        Process(Place(party, network, job, None, folder), Random(party), lambda _: None)
        for party, job in enumerate(jobs)
    ]
    deliver(parties)
    assert all(party.complete for party in parties)
    sent = [frame for frame in parties[0].durable.unacknowledged() if frame.kind == "MASK"]
    for party in parties:
        party.journal.close()
    return [bytes(frame.body) for frame in sent]
