"""One link's numbers: what its other end says of them is checked before it is believed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.party.tables import NAMES, Codes, Table
from titan import Network
from titan.errors import MessageError
from titan.party import wire
from titan.party.links import Incoming, Outgoing
from titan.party.messages import AGREED, ANSWER, END, LAST, NONCE, Told
from titan.party.run import MOST_ANSWER, Run
from titan.party.stops import Stop
from titan.party.wire import PIECE_BYTES, Piece
from titan.protocol import Plan
from titan.ring import Ring
from titan.study.frames import Frame


def three_of_five() -> Outgoing:
    """Messages 2, 3 and 4 wait; 0 and 1 have arrived."""
    link = Outgoing()
    for number in range(5):
        link.waiting.append(Frame("south", number, "END", bytes([number])))
    assert link.acknowledged(2)
    return link


def test_what_was_not_sent_cannot_be_acknowledged() -> None:
    link = three_of_five()
    with pytest.raises(MessageError, match="message 5 was acknowledged, of 5"):
        link.acknowledged(6)
    assert len(link) == 3, "nothing changed"
    assert link.acknowledged(5)
    assert not link.acknowledged(5), "known already"
    assert not link.acknowledged(1), "nor is what is older"
    assert (link.first, link.next, len(link)) == (5, 5, 0)


def test_what_arrived_before_a_restart_is_not_sent_again_when_it_is_made_again() -> None:
    link = Outgoing()
    link.add(Frame("south", 0, "END", b"0"))
    link.resume(3)
    assert (link.first, link.next, len(link)) == (3, 3, 0)
    for number in (1, 2, 3):
        link.add(Frame("south", number, "END", bytes([number])))
    assert (link.first, link.next, len(link)) == (3, 4, 1)
    link.resume(1)
    assert (link.first, link.next, len(link)) == (3, 4, 1), "nor is anything forgotten"


def test_a_receiver_may_expect_what_there_is() -> None:
    link = three_of_five()
    assert [link.start(number) for number in (2, 3, 5)] == [2, 3, 5]
    for number in (0, 1, 6):
        with pytest.raises(MessageError, match=f"message {number} is expected next, of 2 to 5"):
            link.start(number)


def test_what_is_acknowledged_meanwhile_is_not_sent() -> None:
    link = three_of_five()
    assert list(link.chunks(1)) == []
    (parts,) = link.chunks(2)
    assert wire.decode(b"".join(parts)) == Piece(2, 1, 0, b"\x02")


def test_a_message_that_is_too_long_is_refused_at_its_first_piece() -> None:
    link = Incoming(2 * PIECE_BYTES)
    whole = bytes(PIECE_BYTES)
    with pytest.raises(MessageError, match="the most is"):
        link.take(Piece(0, 2 * PIECE_BYTES + 1, 0, whole))
    assert link.take(Piece(0, 2 * PIECE_BYTES, 0, whole)) is None
    with pytest.raises(MessageError, match="the most is"):
        link.take(Piece(0, PIECE_BYTES + 1, PIECE_BYTES, b"x"))
    message = link.take(Piece(0, 2 * PIECE_BYTES, PIECE_BYTES, whole))
    assert message is not None
    assert message.tobytes() == bytes(2 * PIECE_BYTES)
    assert link.expected == 1


def test_a_message_that_is_too_long_for_its_kind_is_refused_before_it_is_kept() -> None:
    """Its first byte says what it is; also behind a piece of nothing."""
    for number in (0, 1):
        link, (limited, free) = Incoming(2 * PIECE_BYTES, number, {16: 10}), (b"\x10", b"\x11")
        link.take(Piece(number, 2 * PIECE_BYTES, 0, b""))
        with pytest.raises(MessageError, match="the most is 10"):
            link.take(Piece(number, 2 * PIECE_BYTES, 0, limited + bytes(PIECE_BYTES - 1)))
        assert link.take(Piece(number, 2 * PIECE_BYTES, 0, free + bytes(PIECE_BYTES - 1))) is None
        last = Piece(number, 2 * PIECE_BYTES, PIECE_BYTES, limited + bytes(PIECE_BYTES - 1))
        assert link.take(last) is not None, "what is further on in a message says nothing of it"


@pytest.mark.parametrize("solver", [None, 1])
def test_where_one_solves_nothing_but_an_answer_may_be_that_long(solver: int | None) -> None:
    """A nonce of 64 MiB is 671,088 nonces, of three parties."""
    network = Network.complete(["north", "east", "south"])
    plans = [Plan.make(network, Ring(64), 3, recovery="flood")]
    sizes = Run(bytes(32), 1, network, 0, bytes(32), solver).largest_messages(plans)
    told = Told(0, bytes(64), bytes(32))
    for kind in (NONCE, AGREED):
        assert sizes[told.encode(kind)[0]] == len(told.encode(kind, told, told))
    assert sizes[LAST[0]] >= len(Stop(0, None).told(Codes(0), bytes(32)).encode(END))
    answer = Told(0, bytes(64), bytes(MOST_ANSWER)).encode(ANSWER)
    assert (sizes[answer[0]] == len(answer)) == (solver is not None)
    assert max(size for kind, size in sizes.items() if kind != answer[0]) < 10_000


def test_a_party_takes_no_nonce_that_is_longer_than_all_nonces(tmp_path: Path) -> None:
    told = Told(0, bytes(64), bytes(32))
    most = len(told.encode(NONCE, *[told] * (len(NAMES) - 1)))
    with Table(tmp_path, Network.complete(list(NAMES))) as table:
        incoming = table.seats["north"].durable.incoming["east"]
        with pytest.raises(MessageError, match=f"the most is {most}$"):
            incoming.take(Piece(0, most + 1, 0, told.encode(NONCE)))


def test_a_message_begun_on_an_old_connection_is_begun_again() -> None:
    link, whole = Incoming(2 * PIECE_BYTES), bytes(PIECE_BYTES)
    first, second = (
        Piece(0, PIECE_BYTES + 1, 0, whole),
        Piece(0, PIECE_BYTES + 1, PIECE_BYTES, b"x"),
    )
    link.take(first)
    link.restart()
    with pytest.raises(MessageError, match="at 0 was expected"):
        link.take(second)
    assert link.take(first) is None
    message = link.take(second)
    assert message is not None
    assert message.tobytes() == whole + b"x"


def test_a_repeat_is_counted_and_nothing_else() -> None:
    link = Incoming(10)
    assert link.take(Piece(0, 1, 0, b"a")) is not None
    assert link.take(Piece(0, 1, 0, b"a")) is None
    assert (link.refused, link.expected) == (1, 1)
    with pytest.raises(MessageError, match="message 1 at 0 was expected"):
        link.take(Piece(2, 1, 0, b"c"))
