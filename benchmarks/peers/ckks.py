"""Sums under CKKS, approximate homomorphic encryption, by `tenseal`.

Only additions are needed, so the parameters are lean: 109 bits of modulus, all that SEAL admits at
degree 4096 for 128 bits of security, 60 of them for the data, and a scale of 2^50, which leaves
room for sums below 2^9. Making the keys is not counted; writing and reading the ciphertexts is, as
they have to travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from benchmarks.peers.inputs import Floats, vectors
from benchmarks.peers.report import AnyRow, Measured, PeerRow, need
from benchmarks.peers.sealed import TRUST, Sealed
from benchmarks.peers.titan_runs import timed, titan_sum

PARTIES, ENTRIES, TAU = 10, 5151, 2
DEGREE, PRIMES, SCALE = 4096, [60, 49], 2.0**50
SLOTS = DEGREE // 2


def contexts() -> tuple[Any, Any]:
    """The key holder's, and the public one of all others."""
    tenseal = import_module("tenseal")
    holder = tenseal.context(
        tenseal.SCHEME_TYPE.CKKS, poly_modulus_degree=DEGREE, coeff_mod_bit_sizes=PRIMES
    )
    holder.global_scale = SCALE
    public = holder.copy()
    public.make_context_public()
    return holder, public


def sums(holder: Any, public: Any, values: Floats) -> Sealed:
    """As many entries at a time as one ciphertext has slots."""
    tenseal = import_module("tenseal")
    parties, entries = values.shape
    found: list[float] = []
    sent, added_bytes = [0] * parties, 0
    for at in range(0, entries, SLOTS):
        sealed = [tenseal.ckks_vector(public, mine[at : at + SLOTS]).serialize() for mine in values]
        sent = [before + len(c) for before, c in zip(sent, sealed, strict=True)]
        read = [tenseal.ckks_vector_from(public, c) for c in sealed]
        added = sum(read[1:], read[0]).serialize()
        added_bytes += len(added)
        found += tenseal.ckks_vector_from(holder, added).decrypt()
    return Sealed(found, sent, added_bytes)


def measured(values: Floats) -> Measured:
    holder, public = contexts()
    took, sealed = timed(lambda: sums(holder, public, values))
    return sealed.measured(took, values)


def rows() -> Iterator[AnyRow]:
    need("tenseal")
    values = vectors(PARTIES, ENTRIES)
    ours, theirs = titan_sum(values, TAU), measured(values)
    yield PeerRow(
        f"sum, m={PARTIES}, d={ENTRIES}",
        "CKKS (tenseal)",
        theirs,
        ours,
        f"approximate; {TRUST}",
    )
