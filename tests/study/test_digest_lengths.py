"""The same bytes, cut otherwise, are something else: no digest runs its parts together."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from tests.party.tables import Codes
from tests.study.digests import digests as digests_of
from tests.study.studies import regression, study
from titan import Network
from titan.errors import TitanError
from titan.moments import open_source
from titan.moments.cell_digests import CellDigests
from titan.moments.reading import read_all
from titan.party.private_sums import first_binding
from titan.party.run import run_identity
from titan.party.signed_broadcast import SignedBroadcast
from titan.protocol import Binding, Plan
from titan.release import Dictionary, Number
from titan.ring import Ring
from titan.study import Study
from titan.study.digest_order import Stretch
from titan.study.digesting import DigestRows
from titan.study.journal import Journal
from titan.study.row_digests import Fingerprint, RowKey, RowSet


def all_differ(found: list[Any]) -> None:
    assert len(found) > 1
    for one, other in combinations(found, 2):
        assert one != other


def test_of_the_data_in_a_journal(tmp_path: Path) -> None:
    splits = [[b"rows"], [b"ro", b"ws"], [b"r", b"ows"], [b"rows", b""], [b"", b"rows"], []]
    with Journal.open(tmp_path / "journal.db") as journal:
        all_differ([journal.keyed_digest(parts) for parts in splits])
        long = bytes(range(256)) * 2
        all_differ([journal.keyed_digest([long[:at], long[at:]]) for at in range(512)])


def test_of_sums_so_far() -> None:
    """Which entries a sum has, and how many bits, is part of what masks are bound to."""
    network = Network.cycle(["a", "b", "c"])
    shapes = [[(64, 4)], [(64, 2), (64, 2)], [(64, 1), (64, 3)], [(128, 2)], [(256, 1)]]
    chains = []
    for shape in shapes:
        plans = [Plan.make(network, Ring(bits), entries) for bits, entries in shape]
        binding = first_binding(bytes(32), plans)
        for plan, (bits, entries) in zip(plans, shape, strict=True):
            binding = binding.after(plan.ring, Ring(bits).from_ints([0] * entries))
        chains.append(binding.chain)
    all_differ(chains)


def test_of_totals_of_several_sums() -> None:
    one, ring = Binding.begin(), Ring(64)
    cut = [[[1, 2, 3]], [[1], [2, 3]], [[1, 2], [3]], [[1], [2], [3]], [[1, 2, 3], []]]
    chains = []
    for totals in cut:
        binding = one
        for total in totals:
            binding = binding.after(ring, ring.from_ints(total))
        chains.append(binding.chain)
    all_differ(chains)
    told = [Binding(bytes(32), n).after(ring, ring.from_ints([4])).chain for n in range(300)]
    all_differ(told)


def test_of_which_run_it_is() -> None:
    """Study, run and nonces have fixed lengths, so that nothing can move between them."""
    with pytest.raises(ValueError, match="digests of 32 bytes"):
        Binding.begin(b"a" * 31, b"b" * 33)
    nonces = [bytes([n]) * 32 for n in range(3)]
    all_differ([run_identity(b"s" * 36, order) for order in (nonces, nonces[::-1], nonces[:2])])


def test_of_what_is_signed() -> None:
    """Who says what in which run: signatures of one fit no other."""
    network = Network.cycle(["a", "b", "c"])

    def data(kind: str, context: bytes, origin: int, content: bytes) -> bytes:
        told = SignedBroadcast(kind, network, 0, Codes(0), context, 99, TitanError)
        return told._data(origin, content)

    run, identity = bytes(36), bytes(32)
    all_differ(
        [
            data("NONCE", run, 0, b"\1" + bytes(31)),
            data("NONCE", run, 1, bytes(32)),
            data("AGREED", identity, 0, bytes(32)),
            data("ANSWER", identity, 0, bytes(32)),
            data("ANSWER", identity, 0, bytes(33)),
        ]
    )


def test_of_a_study() -> None:
    plain = study(formula="y ~ ab + c", ranges={"ab": ("0", "9"), "c": ("0", "9")})

    def of(formula: str, name: str = "", title: str = "ab") -> Study:
        read = [word for word in formula.replace("~", "+").split() if word != "+"]
        columns = Dictionary.of({column: Number.read("0", "9", "1") for column in read})
        asked = (regression(formula, name=name or "q1"),)
        return replace(plain, questions=asked, columns=columns, title=title)

    all_differ(
        [
            of("y ~ ab + c").digest,
            of("y ~ a + bc").digest,
            of("y ~ a + b + c").digest,
            of("y ~ ab + c", "q").digest,
            of("y ~ ab + c", title="a").digest,
        ]
    )


# -- rows -------------------------------------------------------------------------------------


def row_set(**columns: list[Any]) -> RowSet:
    source = open_source(pa.table(columns))
    reading = DigestRows({"q": None}, {name: {} for name in columns}, RowKey(bytes(32)))
    (own,) = read_all(source, [reading])
    return RowSet.of(own, "q", list(columns))


def test_of_a_row() -> None:
    """What stands in one cell never counts as standing in the next, nor as zeros behind it."""
    rows = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("c", "ab")]
    all_differ([digests_of(row_set(x=[x], z=[z])) for x, z in rows])
    digits = [("1", "12"), ("11", "2"), ("112", None), (None, "112"), ("12", "1")]
    all_differ([digests_of(row_set(x=[x], z=[z])) for x, z in digits])


def test_of_a_text() -> None:
    short = ["a", "a\0", "a\0\0", "", "\0", "\0" * 8, "a" * 8]
    long = ["a" * 8 + "\0", "a" * 16, "a" * 16 + "\0", "\0" * 16, "\0" * 9]
    for texts in (short, short + long):  # the short ones are digested another way
        found = CellDigests(bytes(32)).texts("value", "", pa.array(texts, pa.string()))
        all_differ([tuple(each) for each in found.tolist()])


def test_of_rows_over_columns() -> None:
    """Under which names rows are kept is part of which rows they are."""

    def fingerprint(columns: tuple[str, ...], *counts: int) -> bytes:
        found, digests = Fingerprint(columns), np.arange(len(counts), dtype=np.uint64)
        found.add(Stretch(digests, np.array(counts, np.int64)))
        return found.digest()

    names = [("ab", "c"), ("a", "bc"), ("abc",), ('ab", "c',), ("c", "ab"), ()]
    all_differ([fingerprint(columns, 1, 1, 1) for columns in names])
    all_differ([fingerprint(("a",), *[1] * n) for n in range(4)])
    all_differ([fingerprint(("a",), *each) for each in ((1, 1), (1, 2), (2, 1), (3,))])


@pytest.mark.parametrize("rows", [0, 7, 1000])
def test_cells_counted_when_they_are_read_are_those_counted_later(rows: int) -> None:
    """In however many blocks they come."""
    rng = np.random.default_rng(rows)
    columns = {
        "x": rng.integers(0, 99, rows + 1).tolist(),
        "g": (["a", "b"] * rows + ["c"])[-rows - 1 :],
    }
    source = open_source(pa.table(columns))
    reading = DigestRows({"q": None}, {name: {} for name in columns}, RowKey(bytes(32)))
    with patch.object(DigestRows, "size", 64):
        (own,) = read_all(source, [reading])
    assert set(own.in_parts) == set(columns)
    assert len(own.pieces) == -(-(rows + 1) // 64)
    later = replace(own, in_parts={})
    for name in columns:
        assert own.parts(name, ["q"]).tolist() == later.parts(name, ["q"]).tolist()
        assert own.parts(name, ["q"]).sum() == rows + 1
