"""More of the same proof than everyday tests have time for: `make privacy` runs it."""

from __future__ import annotations

import pytest

from tests.privacy.enumeration import DENSE, GRAPHS, strongly_connected
from tests.privacy.test_enumeration import THREE, Say, report
from tests.privacy.test_three_sums import examine, say
from titan.protocol import RecoveryName


def test_dense_graphs_of_4_and_5_parties(record_property: Say) -> None:
    report("4 and 5 parties, dense, 1 bit", (make() for make in DENSE.values()), 1, record_property)


def test_all_digraphs_of_4_parties_with_few_links(record_property: Say) -> None:
    few = (network for network in strongly_connected(4) if len(network.edges) <= 6)
    report("4 parties, at most 6 links, 1 bit", few, 1, record_property)


def test_two_and_three_bits_on_larger_graphs(record_property: Say) -> None:
    four = [GRAPHS[name]() for name in ("cycle of 4", "triangle with a tail")]
    report("4 parties, 2 bits", four, 2, record_property)
    path = next(network for network in THREE if len(network.edges) == 4)
    report("3 parties with 4 links, 3 bits", [path], 3, record_property)


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_three_sums_with_vetoes_on_every_digraph(
    recovery: RecoveryName, record_property: Say
) -> None:
    done = examine(THREE, recovery, 2, 3)
    say(f"three sums with vetoes, 2 bits, {recovery}", done, record_property)
