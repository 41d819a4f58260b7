"""Whatever bytes come: an error that says so, or a value that encodes to those very bytes.

A plain byte mutator with a fixed seed makes 100,000 frames out of good ones of every kind; what is
counted is printed at the end of the test run. hypothesis looks for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.party.campaign.mutated import campaign
from tests.party.decoders import (
    Decoder,
    Link,
    counted,
    decoders,
    envelope_again,
    message_again,
    told_again,
    tried,
)
from tests.party.mutants import good_messages, mutants
from titan.errors import MessageError
from titan.party import wire
from titan.party.links import Incoming
from titan.party.wire import Ack, Hello, Piece, Refusal, Role


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return good_messages(tmp_path_factory.mktemp("good"))


def test_100_000_mutated_frames(
    whole: list[bytes], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    assert {m[0] for m in whole} == {1, 2, 3, 4, 5, 16, 17, 18, 19}, "messages of every kind"
    found: Counter[str] = Counter()
    for decoder in decoders(whole, tmp_path):
        assert all(decoder.tried(data) == "same" for data in decoder.good), decoder.name
        mine = counted(decoder, seed=1, of=100_000)
        assert mine["changed"] == 0, decoder.name
        assert mine["refused"] > mine.total() // 100, decoder.name
        assert mine["same"] > mine.total() // 100 or decoder.name == "answer", decoder.name
        found += mine
    assert found.total() == 100_000
    record_property(
        "counted",
        f"bad bytes: {found.total()} mutated frames, 0 crashes, {found['refused']} refused, "
        f"{found['same']} accepted, 0 of them not encoding to themselves",
    )


def test_the_check_would_notice_a_lax_decoder() -> None:
    """A decoder that takes leftovers at the end is caught by the same mutants."""

    def lax(data: bytes) -> bytes:
        if not data.startswith(good[0][:2]):
            raise MessageError("no")
        return good[0]

    good = [wire.encode(Ack(5))]
    assert Counter(tried(lax, data) for data in mutants(1, good, 500))["changed"] > 0


def test_the_campaign_counts_what_it_should_not_see(capsys: pytest.CaptureFixture[str]) -> None:
    good = [wire.encode(Ack(5))]
    strict, lax = Decoder("strict", Link().again, good, 100), Decoder("lax", bytes.upper, good, 100)
    broken = Decoder("broken", lambda data: bytes([data[3]]), good, 100)
    assert campaign([strict], [], 300, first=1) == 0
    assert campaign([lax], [], 300, first=1) > 0
    assert campaign([broken], [], 300, first=1) > 0
    shown = capsys.readouterr()
    assert "270 mutated frames, 0 of them in sessions: 0 crashes" in shown.out
    assert "lax: changed: " in shown.err
    assert "IndexError" in shown.err


# -- what hypothesis finds --------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    for again in (Link().again, message_again, told_again, envelope_again):
        assert tried(again, data) in ("same", "refused")


@given(st.binary(max_size=120), st.sampled_from([1, 2, 3, 4, 5, 6, 0x10, 0x11]))
def test_any_bytes_behind_a_known_tag(data: bytes, tag: int) -> None:
    """So that what is behind it gets looked at."""
    assert tried(Link().again, bytes([tag]) + data) in ("same", "refused")


u32 = st.integers(0, 2**32 - 1)
b32 = st.binary(min_size=32, max_size=32)
text = st.text(max_size=40).filter(str.isprintable)
hellos = st.builds(Hello, st.sampled_from(Role), b32, u32, b32, u32, text, text, text)
chunks = hellos | st.builds(Ack, u32) | st.builds(Refusal, text, st.booleans())


@given(chunks)
def test_every_chunk_comes_back(chunk: wire.Chunk) -> None:
    assert wire.decode(wire.encode(chunk)) == chunk


@given(u32, st.integers(1, 3 * wire.PIECE_BYTES))
def test_a_message_comes_back_from_its_pieces(number: int, size: int) -> None:
    incoming, message = Incoming(3 * wire.PIECE_BYTES, number), bytes(size)
    *most, last = map(b"".join, wire.pieces(number, message))
    for data in most:
        assert len(data) <= wire.MOST_CHUNK
        assert incoming.take(_piece(data)) is None
    assert taken(incoming, _piece(last)) == message
    assert incoming.expected == number + 1


def taken(incoming: Incoming, piece: Piece) -> bytes:
    message = incoming.take(piece)
    return b"" if message is None else bytes(message)


def _piece(data: bytes) -> Piece:
    piece = wire.decode(data)
    assert isinstance(piece, Piece)
    return piece


# -- one by one -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no known kind"),
        (b"\x00", "no known kind"),
        (b"\x07abc", "no known kind"),
        (b"\x03\x00\x00\x00", "wrong length"),
        (b"\x03" + bytes(5), "wrong length"),
        (b"\x04", "neither final"),
        (b"\x04\x02why", "neither final"),
        (b"\x04\x00\xff", "not UTF-8"),
        (b"\x04\x00\xed\xa0\x80", "not UTF-8"),
        (b"\x04\x00" + b"x" * 4097, "the most is 4096"),
        (b"\x04\x00" + b"\x1b[2Jgone", "does not print"),
        (b"\x02" + bytes(12), "without content"),
        (b"\x02" + bytes(4) + b"\x02\x00\x00\x00" + bytes(4) + b"x", "cut wrongly"),
        (b"\x02" + bytes(4) + b"\x02\x00\x00\x00\x01\x00\x00\x00x", "cut wrongly"),
        (b"\x02" + bytes(4) + b"\x00\x00\x00\x00" + bytes(4) + b"x", "cut wrongly"),
        (b"\x05" + bytes(67), "too short"),
        (b"\x05" + bytes(68) + b"x" * 201, "the most is 200"),
        (b"\x05" + bytes(68) + b"\x1b[2J", "does not print"),
        (b"\x06", "empty"),
        (b"\x06\x00\x00", "cut off"),
        (b"\x06" + bytes(8), "out of order"),
        (b"\x06\x01" + bytes(7), "out of order"),
        (b"\x01\x02\x01", "too short"),
        (b"\x01\x01", "version 1"),
        (b"\x01\x01\x01" + bytes(72) + bytes(6), "version 1"),
        (b"\x01\x02\x03" + bytes(72) + bytes(6), "neither end"),
        (b"\x01\x02\x01" + bytes(72) + bytes(5), "too short"),
        (b"\x01\x02\x01" + bytes(72) + bytes(7), "too long"),
        (b"\x01\x02\x01" + bytes(72) + b"\xff\xff" + bytes(6), "too short"),
    ],
)
def test_what_is_wrong_with_a_chunk_is_said(content: bytes, why: str) -> None:
    with pytest.raises(MessageError, match=why):
        wire.decode(content)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x03",
        b"\x03\x00\x00\x00",  # too little
        b"\x03\x00\x00\x00\x00\x00",  # too much
        b"\x0a\x05\x03\x00\x00\x00\x00",  # as version 1 framed it
    ],
)
def test_a_chunk_has_one_encoding(data: bytes) -> None:
    with pytest.raises(MessageError):
        wire.decode(data)
    assert wire.decode(b"\x03\x00\x00\x00\x00") == Ack(0)


def test_nothing_longer_than_a_chunk_is_looked_at() -> None:
    with pytest.raises(MessageError, match="the most is"):
        wire.decode(bytes([2]) + bytes(wire.MOST_CHUNK))


# -- a link's receiving end -------------------------------------------------------------------


def test_pieces_out_of_place_are_refused_and_repeats_are_counted() -> None:
    incoming = Incoming(most=3 * wire.PIECE_BYTES)
    first, second = (_piece(b"".join(p)) for p in wire.pieces(0, bytes(wire.PIECE_BYTES + 1)))
    with pytest.raises(MessageError, match="where message 0 at 0 was expected"):
        incoming.take(second)
    assert incoming.take(first) is None
    for wrong in (first, Piece(1, 1, 0, b"x")):
        with pytest.raises(MessageError, match="was expected"):
            incoming.take(wrong)
    longer = Piece(0, 2 * wire.PIECE_BYTES, wire.PIECE_BYTES, bytes(wire.PIECE_BYTES))
    with pytest.raises(MessageError, match="a message of"):
        incoming.take(longer)
    assert taken(incoming, second) == bytes(wire.PIECE_BYTES + 1)
    assert incoming.take(first) is None
    assert (incoming.refused, incoming.expected) == (1, 1)
    incoming.take(Piece(1, 2 * wire.PIECE_BYTES, 0, bytes(wire.PIECE_BYTES)))
    incoming.restart()
    assert taken(incoming, Piece(1, 1, 0, b"x")) == b"x", "another connection begins it again"


def test_no_memory_is_taken_for_a_message_that_is_too_long() -> None:
    incoming = Incoming(most=1000)
    piece = Piece(0, 2**32 - 1, 0, bytes(wire.PIECE_BYTES))
    with pytest.raises(MessageError, match="the most is 1000"):
        incoming.take(piece)
    assert incoming._partial is None
