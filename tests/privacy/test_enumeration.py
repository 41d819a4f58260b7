"""The promise, proved for small networks: views tell the honest groups' sums and nothing else.

For every graph, coalition and pair of inputs that agree on the coalition's: over all choices of
masks the two views are equally distributed, count for count, exactly if the inputs have equal sums
over every weak component of the honest parties. Everything runs through the production masking,
agent and recovery; only the masks are given, and all of them are.

A case is a recovery, a graph, a coalition and a pair of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tests.privacy.enumeration import (
    GRAPHS,
    Enumerating,
    Enumeration,
    Tally,
    coalitions,
    compare,
    refines,
    strongly_connected,
)  # fmt: skip
from titan import Network
from titan.protocol import RecoveryName
from titan.ring import Residues

THREE = list(strongly_connected(3))


Say = Callable[[str, object], None]


def examine(network: Network, bits: int) -> Iterator[tuple[str, Tally]]:
    """All coalitions and recoveries; what others show is a function of what topk shows."""
    topk = Enumeration.of(network, bits, "topk")
    flood, tree = Enumeration.of(network, bits, "flood"), Enumeration.of(network, bits, "tree")
    for coalition in coalitions(len(network)):
        yield "topk", compare(topk, coalition)
        shown = topk.views(coalition)
        for name, other in (("flood", flood), ("tree", tree)):
            assert refines(shown, other.views(coalition)), (name, network.edges, coalition)
            yield name, compare(other, coalition)


def report(what: str, networks: Iterable[Network], bits: int, say: Say) -> Tally:
    """Examine all, say what was counted (at the end of the run), refuse any mismatch."""
    by_name = {"topk": Tally(), "flood": Tally(), "tree": Tally()}
    graphs = 0
    for network in networks:
        graphs += 1
        for name, tally in examine(network, bits):
            by_name[name] += tally
    counted = ", ".join(f"{name} {t.cases} cases" for name, t in by_name.items())
    wrong = sum(t.mismatches for t in by_name.values())
    say("counted", f"{what}: {graphs} graphs, {counted}; {wrong} mismatches")
    assert wrong == 0
    assert by_name["topk"] == by_name["flood"] == by_name["tree"]
    assert 0 < by_name["topk"].alike < by_name["topk"].cases, "some pairs are alike, some are not"
    return by_name["topk"]


THREE_AT_1, THREE_AT_2, LARGER, THREE_BITS = 864, 31_104, 18_000, 53_760
KEYED_AT_2 = THREE_AT_2 // 18
"""Of (graph, coalition, pair of inputs), for each recovery."""


@pytest.mark.parametrize(("bits", "cases"), [(1, THREE_AT_1), (2, THREE_AT_2)])
def test_every_digraph_of_3_parties(bits: int, cases: int, record_property: Say) -> None:
    assert len(THREE) == 18
    done = report(f"3 parties, {bits} bit{'s'[: bits - 1]}", THREE, bits, record_property)
    assert done.cases == cases


def test_graphs_of_4_and_5_parties(record_property: Say) -> None:
    graphs = (make() for make in GRAPHS.values())
    assert report("4 and 5 parties, 1 bit", graphs, 1, record_property).cases == LARGER


def test_three_bits(record_property: Say) -> None:
    done = report("cycle of 3 parties, 3 bits", [Network.cycle(3)], 3, record_property)
    assert done.cases == THREE_BITS


def test_the_documentation_says_how_many() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "privacy.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert f"{THREE_AT_1 + THREE_AT_2 + LARGER + THREE_BITS:,} cases for each" in text
    assert f"{len(GRAPHS)} graphs of 4 and 5 parties at 1 bit" in text


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_with_all_that_keys_can_make(recovery: RecoveryName, record_property: Say) -> None:
    """Every r and every F(k) on every edge; a coalition knows the keys of its own edges."""
    done = Tally()
    for network, bits in [*((each, 1) for each in THREE), (Network.cycle(3), 2)]:
        enumeration = Enumeration.of(network, bits, recovery, keyed=True)
        for coalition in coalitions(3):
            done += compare(enumeration, coalition)
    record_property("counted", f"{recovery} with keys: {done.cases} cases, {done.mismatches} wrong")
    assert done.mismatches == 0
    assert done.cases == THREE_AT_1 + KEYED_AT_2
    assert 0 < done.alike < done.cases


def test_a_key_made_of_r_is_found_out() -> None:
    """x + F(x) is not uniform: why the key is drawn by itself."""

    def enumerated(self: Enumerating, key: bytes, count: int) -> Residues:
        r = self._digit(self.streams.setdefault(key, len(self.streams)))
        return r & ~r >> np.uint64(1)  # some function of r

    with patch.object(Enumerating, "stream", enumerated):
        enumeration = Enumeration.of(Network.cycle(3), 2, "flood")
    assert compare(enumeration, (0,)).mismatches > 0


# -- other lists, and that the comparison can fail ---------------------------------------------


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", ["cycle of 4", "triangle with a tail", "cycle of 4 with a chord"])
def test_shorter_lists_show_the_same(name: str, k: int) -> None:
    """FAIM (k = 1) and k = 2 take several runs; what they show comes to the same."""
    network = GRAPHS[name]()
    whole, short = Enumeration.of(network, 1, "topk"), Enumeration.of(network, 1, "topk", k)
    for coalition in coalitions(len(network)):
        assert compare(short, coalition) == compare(whole, coalition)
        assert refines(short.views(coalition), whole.views(coalition))
        assert refines(whole.views(coalition), short.views(coalition))


class Short(Enumerating):
    """A range without its top value: where the mask would be the largest, it is 0."""

    def words(self, count: int) -> Any:
        drawn = super().words(count)
        return np.where(drawn == (1 << self.bits) - 1, 0, drawn).astype(np.uint64)


class Repeating(Enumerating):
    """Every edge has the same mask."""

    def words(self, count: int) -> Any:
        self.drawn, at = 0, self.drawn
        drawn = super().words(count)
        self.drawn = at + 1
        return drawn


@pytest.mark.parametrize("source", [Short, Repeating])
def test_bad_masks_are_found_out(source: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: masks that are not uniform, or not independent, are caught."""
    monkeypatch.setattr("tests.privacy.enumeration.Enumerating", source)
    enumeration = Enumeration.of(Network.cycle(3), 2, "topk")
    assert compare(enumeration, (0,)).mismatches > 0


def test_a_recovery_that_showed_more_is_found_out() -> None:
    """Views of an honest party's own mask are no function of what the coalition saw."""
    enumeration = Enumeration.of(Network.cycle(3), 1, "topk")
    assert not refines(enumeration.views((0,)), enumeration.views((0, 1)))
    assert refines(enumeration.views((0, 1)), enumeration.views((0,)))
