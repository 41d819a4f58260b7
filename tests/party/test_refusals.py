"""Bad messages never crash a party and never enter its sum; what is refused changes nothing.

Whoever sends them holds a key of the study, so they are properly framed, numbered and come in at
the right moment; only their content is bad. Each is refused (and the run then ends as if it had
not come), or ends the run with an error, or is one that its sender could have meant. Never is
there an agreement on another sum than the right one.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.party.given_sums import task
from tests.party.mutants import mutated
from tests.party.tables import NAMES, TOTALS, Codes, Table, Whole, fixed, plans, session
from titan import Network
from titan.errors import MessageError, PeerError, RecoveryError
from titan.party import messages
from titan.party.durable_session import Arrival
from titan.party.messages import (
    AGREED,
    ANSWER,
    END,
    HEAD_BYTES,
    LAST,
    NONCE,
    Enclosed,
    Told,
)
from titan.party.origin_signatures import OriginSignatures
from titan.party.ready import Ready
from titan.party.session import Session
from titan.protocol import Envelope, Kind, RecoveryName
from titan.study.frames import Frame

RECOVERIES: tuple[RecoveryName, ...] = ("flood", "tree", "topk")
CHORDED = Network([*Network.cycle(list(NAMES)).edges, ("north", "south"), ("south", "north")])


@dataclass(frozen=True)
class Heard:
    """What one party received in a run in which everybody behaved, in order; and what it sent."""

    party: int
    network: Network
    recovery: RecoveryName
    messages: list[tuple[str, bytes]]
    sent: list[Frame]

    def session(self) -> Session:
        return session(self.party, self.network, plans(self.network, self.recovery))


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> dict[RecoveryName, Heard]:
    """South's: it hears from two, east and north."""
    return {r: listen(tmp_path_factory.mktemp(r), r) for r in RECOVERIES}


def listen(folder: Path, recovery: RecoveryName) -> Heard:
    got: list[tuple[str, bytes]] = []
    with Table(folder, CHORDED, recovery) as table:
        while due := table.due():
            for sender, receiver, _ in due:
                if receiver == "south":
                    got.append((sender, table.message(sender, receiver)))
                assert table.deliver(sender, receiver) == []
    party = CHORDED.index("south")
    it = Heard(party, CHORDED, recovery, got, [])
    again, numbers = it.session(), Counter[str]()
    it.sent.extend(again.start().frames)
    for peer, message in got:
        it.sent.extend(again.receive(messages.decode(peer, numbers[peer], message)).frames)
        numbers[peer] += 1
    assert _right(again)
    return it


def _right(it: Session) -> bool:
    ring = plans(CHORDED)[0].ring
    return it.agreed is not None and [ring.to_ints(t) for t in it.totals] == TOTALS


# -- mutants ----------------------------------------------------------------------------------


@dataclass
class Trial:
    """A run of south's into which mutants are slipped until one has an effect."""

    heard: Heard
    rng: random.Random
    found: Counter[str]

    def __call__(self, mutants_each: int) -> None:
        it, numbers, touched = self.heard.session(), Counter[str](), False
        sent = [*it.start().frames]
        try:
            for peer, message in self.heard.messages:
                for _ in range(0 if touched else mutants_each):
                    touched = touched or self._slip_in(it, message)
                sent += it.receive(messages.decode(peer, numbers[peer], message)).frames
                numbers[peer] += 1
        except MessageError:
            if not touched:  # only refused messages came before it
                raise
        assert it.agreed is None or _right(it), "an agreement on a wrong sum"
        if not touched:
            assert it.agreed is not None
            assert sent == self.heard.sent

    def _slip_in(self, it: Session, due: bytes) -> bool:
        """Whether it had an effect."""
        every = self.heard.messages
        good = self.rng.choice((due, self.rng.choice(every)[1]))
        bad = mutated(self.rng, good, self.rng.choice(every)[1])
        peer = self.rng.choice(("east", "north"))
        try:
            it.receive(messages.decode(peer, 99, bad))
        except MessageError:
            self.found["refused"] += 1
            return False
        self.found["taken" if it.stopped is None else "ended the run"] += 1
        return True


def test_mutants_never_lead_to_a_wrong_sum(
    heard: dict[RecoveryName, Heard], record_property: Callable[[str, object], None]
) -> None:
    whole: Counter[str] = Counter()
    for recovery in RECOVERIES:
        found: Counter[str] = Counter()
        for seed in range(250):
            Trial(heard[recovery], random.Random(seed), found)(3)
        assert found["refused"] > 1000
        assert found["taken"] > 0, "an altered mask is one that its sender may have meant"
        whole += found
    assert whole["ended the run"] > 0, "a relay that altered a vector"
    record_property(
        "counted",
        f"bad messages: {whole.total()} mutants in {3 * 250} runs, {whole['refused']} refused, "
        f"{whole['ended the run']} ended their run with an error, {whole['taken']} could have been "
        "meant; 0 agreements on a wrong sum",
    )


def test_in_a_durable_session_what_is_refused_is_counted_and_not_written_down(
    tmp_path: Path,
) -> None:
    rng = random.Random(5)
    with Table(tmp_path, CHORDED) as table:
        table.run(lambda: len(table.seats["south"].session.totals) == 1)
        south, repeated = table.seats["south"], 0
        before = south.journal.messages()
        known = [bytes(f.body) for f in south.journal.incoming() if f.sum is not None]
        for _ in range(600):
            good = rng.choice(known)
            bad = rng.choice((good, mutated(rng, good, rng.choice(known))))
            if opened_or_none(bad) == opened_or_none(good) or opened_or_none(bad) is None:
                arrival = Arrival("east", south.durable.accepted["east"], memoryview(bad))
                assert [r.peer for r in south.durable.accept([arrival])] == ["east"]
                repeated += 1
        assert repeated > 300
        assert south.durable.refused == repeated
        assert south.journal.messages() == before
        table.run()
        assert all(table.totals(name) == TOTALS for name in NAMES)
        assert all(str(seat.session.progress) == "end" for seat in table.seats.values())


def opened_or_none(message: bytes) -> tuple[object, ...] | None:
    """Where an envelope belongs."""
    try:
        content = messages.decode("east", 0, message).content
    except MessageError:
        return None
    return (*content.envelope[:4], content.number) if isinstance(content, Enclosed) else None


# -- one by one -------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, CHORDED)


def south_in_sum(table: Table, number: int) -> Session:
    """South, in the rounds of a sum."""
    south = table.seats["south"].session
    table.run(lambda: len(south.totals) == number and south.sums.agent is not None)
    return south


def mask(sender: int, receiver: int, round_: int = 0, size: int = 64) -> Envelope:
    return Envelope(Kind.MASK, sender, receiver, round_, bytes(size))


def in_sum(envelope: Envelope, number: int = 0, behind: bytes = b"") -> Frame:
    body = Enclosed(number, envelope, behind).encode()
    return Frame("east", 99, envelope.kind.name, body, number, envelope.round)


def take(it: Session, frame: Frame) -> Ready:
    return it.receive(messages.decode(frame.peer, frame.sequence, frame.body))


NORTH, EAST, SOUTH, WEST = range(4)


def test_out_of_place_is_refused(table: Table) -> None:
    with table:
        south = south_in_sum(table, 1)
        cases = {
            "which will not come": in_sum(mask(EAST, SOUTH), 2),
            "somebody else": in_sum(mask(EAST, WEST), 1),
            "came from east": in_sum(mask(NORTH, SOUTH), 1),
            "for no round": in_sum(mask(EAST, SOUTH, 77), 1),
            "not planned": in_sum(mask(EAST, SOUTH, 1), 1),
            "did not sign": Frame(
                "east", 9, AGREED, Told(WEST, bytes(64), bytes(32)).encode(AGREED)
            ),
            "too short": Frame("east", 9, AGREED, Told(WEST, bytes(64), b"x").encode(AGREED)),
            "or too long": Frame(
                "east", 9, AGREED, Told(WEST, bytes(64), bytes(33)).encode(AGREED)
            ),
            "from party 4": Frame("east", 9, AGREED, Told(4, bytes(64), bytes(32)).encode(AGREED)),
            "not to solve": Frame("east", 9, ANSWER, Told(EAST, bytes(64), b"x").encode(ANSWER)),
            "a nonce of 31": Frame(
                "east", 9, NONCE, Told(EAST, bytes(64), bytes(31)).encode(NONCE)
            ),
            "without a signature": Frame("east", 9, NONCE, b"\x10\xff" + bytes(68)),
        }
        for why, frame in cases.items():
            with pytest.raises(MessageError, match=why):
                take(south, frame)
        table.run()
        assert table.totals("south") == TOTALS


@pytest.mark.parametrize("number", [0, 1])
def test_what_comes_twice_is_refused_in_this_sum_and_in_one_that_is_over(
    table: Table, number: int
) -> None:
    """Else it would stand twice in the journal, and the transcript could not be signed."""
    with table:
        south = south_in_sum(table, number)
        table.run()
        again = [f for f in table.seats["south"].journal.incoming() if f.sum is not None]
        assert {f.kind for f in again} == {"MASK", "MASKED"}
        south._ended.clear()  # as if the others had not said their last
        for frame in again:
            with pytest.raises(MessageError, match="came twice"):
                take(south, frame)
        for frame in table.seats["south"].journal.incoming():
            if frame.kind in (NONCE, AGREED):
                with pytest.raises(MessageError, match="came twice"):
                    take(south, frame)


def test_after_the_last_message_nothing_is_taken(table: Table) -> None:
    with table:
        table.run()
        south = table.seats["south"].session
        for frame in list(table.seats["south"].journal.incoming()):
            if frame.kind == "WORK":
                continue  # no message
            with pytest.raises(MessageError, match="after its last"):
                take(south, frame)


def test_an_end_before_everybody_is_there_is_refused(table: Table) -> None:
    with table, pytest.raises(MessageError, match="before everybody was there"):
        take(table.seats["south"].session, Frame("east", 0, END, LAST))


def test_a_digest_before_the_nonces_is_refused(table: Table) -> None:
    told = Frame("east", 0, AGREED, Told(EAST, bytes(64), bytes(32)).encode(AGREED))
    with table, pytest.raises(MessageError, match="before the nonces"):
        take(table.seats["south"].session, told)


def test_an_early_vector_with_too_few_signatures_is_refused_at_once(table: Table) -> None:
    """Not when its sum begins: then the message of an innocent party would be refused for it."""
    payload = (1).to_bytes(4, "little") + EAST.to_bytes(4, "little") + bytes(32)
    early = Envelope(Kind.MASKED, EAST, SOUTH, 1, payload)
    with table:
        south = table.seats["south"].session
        for number in (0, 1):
            for behind in (b"", bytes(63), bytes(128)):
                with pytest.raises(MessageError, match="bytes of signatures"):
                    take(south, in_sum(early, number, behind))
        table.run()
        assert table.totals("south") == TOTALS


def test_an_early_vector_that_nobody_signed_ends_the_run_and_names_the_relay(table: Table) -> None:
    payload = (1).to_bytes(4, "little") + EAST.to_bytes(4, "little") + bytes(32)
    early = Envelope(Kind.MASKED, EAST, SOUTH, 1, payload)
    with table:
        take(table.seats["south"].session, in_sum(early, 0, bytes(64)))
        table.run_without("east", "MASKED")  # it has said that
        assert_stopped(table.seats["south"].session, "east passed on a vector of east")
        for name in ("north", "east", "west"):  # who hears it by way of others, too
            who = "south ended the run because of east before there was an answer"
            assert_stopped(table.seats[name].session, who)


def test_another_nonce_of_a_party_ends_the_run_and_says_why(table: Table) -> None:
    with table:
        table.run(lambda: table.seats["south"].session.everybody_is_here)
        again = session(EAST, CHORDED, table.plans, nonce=fixed("another"))
        (frame, *_) = again.start().frames
        south = table.seats["south"].session
        take(south, Frame("east", 99, NONCE, frame.body))
        assert_stopped(south, "east lost its journal; agree on run 2")


def test_a_nonce_said_after_somebody_else_ends_the_run_before_any_mask() -> None:
    """The transcript has a nonce of its own for every party, and could not be signed."""
    network = Network.cycle(list(NAMES))
    first, *others = (
        session(party, network, plans(network), nonce=fixed("nonce", max(party, 1)))
        for party in range(len(NAMES))
    )
    told = [frame.body for other in reversed(others) for frame in other.start().frames]
    first.start()
    for number, body in enumerate(told[:-1]):
        passed_on = take(first, Frame("west", number, NONCE, body)).frames
        assert [frame.kind for frame in passed_on] in ([NONCE], [])
    last = take(first, Frame("west", 2, NONCE, told[-1]))
    assert_stopped(first, "of north and east are not all different")
    assert [frame.kind for frame in last.frames] == [END]


def test_the_head_of_a_message_is_checked() -> None:
    for bad, why in (
        (b"", "without its head"),
        (b"\x10", "without its head"),
        (b"\x0b\x00", "unknown kind 11"),
        (b"\x10\x00" + bytes(99), "inside a sum"),
        (b"\x13\xffbye", "without a signature"),
        (b"\x01\xff" + bytes(99), "outside the sums"),
        (b"\x01\x00", "without its head"),
        (b"\x02\x00" + mask(0, 1).encode(), "envelope of another"),
        (b"\x01\x00" + mask(0, 1).encode() + b"x", "something behind it"),
    ):
        with pytest.raises(MessageError, match=why):
            messages.decode("east", 0, bad)
    assert HEAD_BYTES == 2


def assert_stopped(it: Session, why: str) -> None:
    assert isinstance(it.stopped, PeerError)
    assert why in it.stopped.message


# -- what was signed for something else -------------------------------------------------------


def test_a_vector_signed_in_one_sum_is_not_taken_in_the_next(table: Table) -> None:
    with table:
        south = south_in_sum(table, 1)
        (first,) = (
            frame
            for frame in table.seats["south"].journal.incoming()
            if (frame.peer, frame.kind, frame.sum, frame.round) == ("east", "MASKED", 0, 1)
        )
        old = Enclosed.decode(first.body)
        take(south, in_sum(old.envelope, 1, bytes(old.signatures)))
        assert_stopped(south, "a vector of east that east did not sign")


@pytest.mark.parametrize("other", [{"number": 2}, {"study": bytes(32)}])
def test_a_nonce_of_another_run_or_study_is_not_taken(table: Table, other: dict[str, Any]) -> None:
    with table:
        south, east = (table.seats[name].session for name in ("south", "east"))
        elsewhere = Session(
            replace(east.run, **other), task(Whole(table.plans, EAST)), [], Codes(EAST)
        )
        (frame, *_) = (f for f in elsewhere.start().frames if f.peer == "south")
        with pytest.raises(MessageError, match="a NONCE that east did not sign"):
            take(south, Frame("east", 0, NONCE, frame.body))


def test_a_digest_of_a_run_with_other_nonces_is_not_taken(tmp_path: Path, table: Table) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere = Table(folder, CHORDED)
    elsewhere.leave("west")
    (folder / "west.db").unlink()
    elsewhere.sit("west", fixed("another"))
    with table, elsewhere:
        elsewhere.run()
        told = [f for f in elsewhere.seats["south"].journal.incoming() if f.kind == AGREED]
        south = south_in_sum(table, 1)
        assert told
        for frame in told:
            with pytest.raises(MessageError, match="did not sign"):
                take(south, Frame(frame.peer, 99, AGREED, frame.body))


def test_whoever_signs_two_vectors_for_one_sum_is_named() -> None:
    """By two ways, to two neighbours: each alone looks right."""
    plan = plans(CHORDED)[0]
    signatures = OriginSignatures(CHORDED, plan, SOUTH, Codes(SOUTH), b"a sum")
    for relay, vector in ((EAST, bytes(32)), (NORTH, bytes(32))):
        signatures.check(*signed_by_west(signatures, relay, vector))
    with pytest.raises(RecoveryError, match="west signed two different vectors"):
        signatures.check(*signed_by_west(signatures, NORTH, bytes(31) + b"1"))


def signed_by_west(
    signatures: OriginSignatures, relay: int, vector: bytes
) -> tuple[Enclosed, list[tuple[int, bytes]]]:
    payload = (1).to_bytes(4, "little") + WEST.to_bytes(4, "little") + vector
    signature = Codes(WEST).sign(signatures._data(WEST, hashlib.sha256(vector).digest()))
    envelope = Envelope(Kind.MASKED, relay, SOUTH, 1, payload)
    return Enclosed(0, envelope, signature), [(WEST, vector)]
