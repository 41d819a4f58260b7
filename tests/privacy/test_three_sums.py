"""The promise for a computation of three sums with vetoes: views tell totals, or that somebody
refuses.

For every coalition and every two runs in which its own parts are the same: the views have the same
distribution, count for count, exactly if the totals of the honest groups are the same up to the
first veto, and that veto is in the same sum. Who vetoes, how many do, what they have and what the
others have in that sum makes no difference. All inputs, vetoers, masks and noise are tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.privacy.enumeration import Tally, coalitions, of
from tests.privacy.test_enumeration import THREE, Say
from tests.privacy.vetoes import Examined
from titan import Network
from titan.joint.computation import Words
from titan.joint.meeting import Meeting
from titan.protocol import RecoveryName
from titan.ring import Residues

GRAPHS = {
    "cycle": Network.cycle(3),
    "complete": Network.complete(3),
    "path": of(3, [(0, 1), (1, 0), (1, 2), (2, 1)]),
}


def examine(networks: Iterable[Network], recovery: RecoveryName, bits: int, vetoers: int) -> Tally:
    done = Tally()
    for network in networks:
        examined = Examined(network, bits, recovery)
        for coalition in coalitions(len(network)):
            done += examined.tally(coalition, vetoers)
        done.graphs += 1
    return done


def say(what: str, done: Tally, record: Say) -> None:
    record("counted", f"{what}: {done.graphs} graphs, {done.cases} cases; {done.mismatches} wrong")
    assert done.mismatches == 0
    assert 0 < done.alike < done.cases


CASES = 51_806_208


@pytest.mark.parametrize(("graph", "recovery"), [("complete", "tree")])
def test_three_sums_with_vetoes(graph: str, recovery: RecoveryName, record_property: Say) -> None:
    """Two bits, so that two vetoes need not cancel. The path has a party that parts the others."""
    done = examine([GRAPHS[graph]], recovery, 2, 3)
    say(f"three sums with vetoes, {graph} of 3, {recovery}", done, record_property)
    assert done.cases == CASES


def test_the_documentation_says_how_many() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "privacy.md"
    assert f"{CASES:,} pairs of runs" in " ".join(page.read_text(encoding="utf-8").split())


def test_one_bit_and_every_digraph(record_property: Say) -> None:
    """One bit: a veto is 1, and two cancel; so at most one vetoes."""
    done = examine(THREE, "flood", 1, 1)
    say("three sums with a veto, 1 bit", done, record_property)


# -- that the comparison can fail -----------------------------------------------------------------


class Half(Meeting):
    """A veto that leaves what is summed as it was."""

    def veto(self, n: int, words: Words) -> Residues:
        noise = super().veto(n, words)
        noise[:, :-1] = 0
        return noise


class Loud(Meeting):
    """A veto that is a constant."""

    def veto(self, n: int, words: Words) -> Residues:
        noise = super().veto(n, words)
        noise[:, -1] = 1
        return noise


@pytest.mark.parametrize("meeting", [Half, Loud])
def test_a_veto_that_is_not_noise_is_found_out(meeting: type[Meeting]) -> None:
    """The sum of who does not veto shows; or how many do."""
    examined = Examined(Network.cycle(3), 2, "flood", meeting)
    assert examined.tally((0,), 3).mismatches > 0
