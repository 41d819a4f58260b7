"""One strict codec: accepted bytes re-encode to themselves, all others are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titan.errors import MessageError
from titan.protocol import Envelope, Kind
from titan.protocol.messages import HEADER_BYTES

numbers = st.integers(0, 2**32 - 1)
envelopes = st.builds(Envelope, st.sampled_from(Kind), numbers, numbers, numbers, st.binary())


@given(envelopes)
def test_round_trip_and_size(envelope: Envelope) -> None:
    data = envelope.encode()
    assert Envelope.decode(data) == envelope
    assert len(data) == envelope.size == HEADER_BYTES + len(envelope.payload)


@given(envelopes, st.integers(0, 10**6), st.integers(1, 255))
def test_mutated_bytes_are_refused_or_mean_exactly_what_they_say(
    envelope: Envelope, at: int, flip: int
) -> None:
    data = bytearray(envelope.encode())
    data[at % len(data)] ^= flip
    try:
        decoded = Envelope.decode(bytes(data))
    except MessageError:
        return
    assert decoded.encode() == data
    assert decoded != envelope


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "0 bytes"),
        (bytes(HEADER_BYTES), "not an envelope"),
        (Envelope(Kind.MASK, 1, 2, 3, b"xy").encode()[:-1], "it says 2"),
        (Envelope(Kind.MASK, 1, 2, 3, b"xy").encode() + b"!", "3 bytes of payload"),
        (b"TE\x01\x63" + bytes(16), "unknown kind 99"),
        (b"TE\x02\x01" + bytes(16), "version 1"),
    ],
)
def test_malformed_bytes(data: bytes, complaint: str) -> None:
    with pytest.raises(MessageError, match=complaint):
        Envelope.decode(data)
