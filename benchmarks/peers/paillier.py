"""Sums under Paillier's encryption, by `phe`, with a key of 2048 bits.

Done twice: one number to a ciphertext, as phe's documentation shows it, on a vector short enough to
wait for; and packed, as many numbers side by side in one plaintext as fit, which is its fastest.
Making the key is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from benchmarks.peers.inputs import MAGNITUDE, Floats, vectors
from benchmarks.peers.report import AnyRow, Measured, PeerRow, need
from benchmarks.peers.sealed import TRUST, Sealed
from benchmarks.peers.titan_runs import timed, titan_sum

PARTIES, ENTRIES, SHORT, TAU = 10, 5151, 55, 2
KEY_BITS = 2048
FRACTION = 2**64

Way = Callable[[Any, Any, Floats], Sealed]


def one_by_one(public: Any, secret: Any, values: Floats) -> Sealed:
    sealed = [[public.encrypt(x) for x in mine] for mine in values.tolist()]
    added = [sum(column[1:], column[0]) for column in zip(*sealed, strict=True)]
    found = [float(secret.decrypt(c)) for c in added]
    *own, total = ([c.ciphertext(be_secure=False) for c in mine] for mine in (*sealed, added))
    return Sealed(found, [_size(mine) for mine in own], _size(total))


def packed(public: Any, secret: Any, values: Floats) -> Sealed:
    """The same with several fixed-point numbers in one plaintext, each in a slot of its own."""
    parties, entries = values.shape
    offset = MAGNITUDE * FRACTION  # makes every number positive, so that slots do not borrow
    slot = (2 * parties * offset).bit_length()
    per = (KEY_BITS - 2) // slot
    sealed = []
    for mine in values.tolist():
        numbers = [round(x * FRACTION) + offset for x in mine]
        groups = [numbers[at : at + per] for at in range(0, entries, per)]
        sealed.append([public.raw_encrypt(_pack(group, slot)) for group in groups])
    added = []
    for column in zip(*sealed, strict=True):
        product = 1
        for c in column:
            product = product * c % public.nsquare
        added.append(product)
    slots = [n for c in added for n in _unpack(secret.raw_decrypt(c), slot, per)]
    found = [(n - parties * offset) / FRACTION for n in slots[:entries]]
    return Sealed(found, [_size(mine) for mine in sealed], _size(added))


def _pack(numbers: Sequence[int], slot: int) -> int:
    return sum(n << (slot * at) for at, n in enumerate(numbers))


def _unpack(plain: int, slot: int, count: int) -> list[int]:
    return [(plain >> (slot * at)) & ((1 << slot) - 1) for at in range(count)]


def _size(ciphertexts: Sequence[int]) -> int:
    return sum((int(c).bit_length() + 7) // 8 for c in ciphertexts)


def measured(way: Way, values: Floats) -> Measured:
    """Once: it takes long enough not to depend on the weather."""
    public, secret = import_module("phe.paillier").generate_paillier_keypair(n_length=KEY_BITS)
    took, sealed = timed(lambda: way(public, secret, values), repeats=1)
    return sealed.measured(took, values)


def rows() -> Iterator[AnyRow]:
    need("phe")
    fast = "with gmpy2" if import_module("phe.util").HAVE_GMP else "without gmpy2, which it likes"
    ways: tuple[tuple[str, Way, int], ...] = (
        ("one number to a ciphertext", one_by_one, SHORT),
        ("packed", packed, ENTRIES),
    )
    for name, way, entries in ways:
        values = vectors(PARTIES, entries)
        ours, theirs = titan_sum(values, TAU), measured(way, values)
        task = f"sum, m={PARTIES}, d={entries}"
        yield PeerRow(task, f"Paillier (phe), {name}", theirs, ours, f"{fast}; {TRUST}")
