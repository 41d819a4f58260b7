"""Everybody hears everything once, in `diameter` rounds, and no message could be left out."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from tests.strategies import networks
from titan import Network
from titan.network import passing_on


def heard(network: Network) -> tuple[list[set[int]], Counter[tuple[int, int]], int]:
    """What all know at the end, how often each heard what, and the number of messages."""
    known = [{party} for party in range(len(network))]
    times: Counter[tuple[int, int]] = Counter()
    links = list(zip(network.senders.tolist(), network.receivers.tolist(), strict=True))
    messages = 0
    for round_ in range(1, network.diameter + 1):
        before = [set(each) for each in known]
        for sender, receiver in links:
            items = network.new_from(sender, receiver, once=True).get(round_)
            if items is None:
                continue
            messages += 1
            assert items, "an empty message"
            assert list(items) == sorted(items)
            assert set(items) <= before[sender], "told before it was known"
            known[receiver] |= set(items)
            times.update((receiver, item) for item in items)
    return known, times, messages


@given(networks())
@settings(max_examples=200, deadline=None)
def test_all_hear_everything_once(network: Network) -> None:
    known, times, _ = heard(network)
    everything = set(range(len(network)))
    assert all(each == everything for each in known)
    assert times == {(p, o): 1 for p in everything for o in everything if p != o}


@given(networks())
@settings(max_examples=100, deadline=None)
def test_everybody_tells_its_own_first(network: Network) -> None:
    for sender in range(len(network)):
        told = [network.new_from(sender, to, once=True) for to in network.out_neighbours(sender)]
        assert (sender,) in [each.get(1) for each in told]


@given(networks())
@settings(max_examples=50, deadline=None)
def test_without_any_one_message_somebody_would_not_hear_all(network: Network) -> None:
    links = list(zip(network.senders.tolist(), network.receivers.tolist(), strict=True))
    told = {link: network.new_from(*link, once=True) for link in links}
    messages = {(round_, *link) for link in links for round_ in told[link]}

    def all_hear(kept: set[tuple[int, int, int]]) -> bool:
        known = [{party} for party in range(len(network))]
        for round_ in range(1, network.diameter + 1):
            before = [set(each) for each in known]
            for n, sender, receiver in kept:
                if n == round_:
                    known[receiver] |= before[sender]
        return all(len(each) == len(network) for each in known)

    begins = Counter(sender for round_, sender, _ in messages if round_ == 1)
    assert all_hear(messages)
    for each in messages:
        only_beginning = each[0] == 1 and begins[each[1]] == 1  # it tells its own first
        assert only_beginning or not all_hear(messages - {each})


@pytest.mark.parametrize(
    ("parties", "tau", "shortest", "few"), [(10, 2, 65, 50), (20, 2, 175, 125)]
)
def test_designed_networks_need_fewer_messages_than_shortest_ways(
    parties: int, tau: int, shortest: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def design() -> Network:
        return Network.design([f"p{n}" for n in range(parties)], tau)

    assert heard(design())[2] == few
    monkeypatch.setattr(passing_on, "MOST_TRIED", 0)
    known, times, messages = heard(design())
    assert messages == shortest
    assert all(len(each) == parties for each in known)
    assert set(times.values()) == {1}


def test_where_all_have_links_alike_all_send_alike() -> None:
    network = Network.design([f"p{n}" for n in range(10)], 2)
    sent = Counter[int]()
    for sender, receiver in zip(network.senders.tolist(), network.receivers.tolist(), strict=True):
        told = network.new_from(sender, receiver, once=True)
        sent[sender] += sum(map(len, told.values()))
    assert set(sent.values()) == {9}
