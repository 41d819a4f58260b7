"""How many parties have rows somewhere: several such counts in one whole number.

A party adds 1 or 0, so a count is at most the number of parties and takes few bits, where a count
of rows may take 40. They stand side by side in one number; none runs over into the next, since no
count can exceed what its bits hold.
"""

from __future__ import annotations

from collections.abc import Sequence

BITS = 40
"""Of one number: no more than a count of rows may take."""


def numbers_for(counts: int, parties: int) -> int:
    """How many numbers hold so many counts."""
    return -(-counts // _in_one(parties))


def together(counts: Sequence[int], parties: int) -> list[int]:
    bits, size = parties.bit_length(), _in_one(parties)
    return [
        sum(count << (bits * at) for at, count in enumerate(counts[start : start + size]))
        for start in range(0, len(counts), size)
    ]


def apart(numbers: Sequence[int], counts: int, parties: int) -> list[int]:
    """Back again. What no parties can have added up to is left in the last count of a number."""
    bits, found = parties.bit_length(), list[int]()
    for number in numbers:
        size = min(_in_one(parties), counts - len(found))
        found += [(number >> (bits * at)) & ((1 << bits) - 1) for at in range(size - 1)]
        found.append(number >> (bits * (size - 1)))
    return found


def _in_one(parties: int) -> int:
    return BITS // parties.bit_length()
