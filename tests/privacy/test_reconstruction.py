"""Every leak that `titan privacy` predicts is real: the coalition's view alone gives the sums.

That no other exists is what the enumeration shows; here every coalition, harmless or not, works out
the sum of each group of honest parties from what it saw.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from tests.cli.test_commands import answer
from tests.strategies import networks
from titan import Network
from titan.privacy.view import sum_of_inputs
from titan.protocol import MaskMode, RecoveryName
from titan_lab.privacy.reconstruction import partial_sums

RECOVERIES = ["topk", "flood", "tree"]
PATH = Network([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "c")])


@given(
    networks(most=5),
    st.sampled_from(RECOVERIES),
    st.sampled_from(["sent", "seeded"]),
    st.integers(0, 2**32),
)
@settings(max_examples=60)
def test_each_group_s_sum_follows_from_the_view(
    network: Network, recovery: RecoveryName, masks: MaskMode, seed: int
) -> None:
    values = np.random.default_rng(seed).integers(-(10**6), 10**6, (len(network), 3))
    out = titan.average(values, network, recovery=recovery, masks=masks, record=True)
    for size in range(1, len(network)):
        for coalition in combinations(network.parties, size):
            view = out.view(coalition)
            found = partial_sums(view)
            assert list(found) == network.honest_components(coalition)
            for group, sums in found.items():
                true = values[[network.index(party) for party in group]].sum(axis=0)
                assert [s * Fraction(2) ** -view.sums[0].fraction for s in sums] == true.tolist()


@pytest.mark.parametrize("masks", ["sent", "seeded"])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_party_s_own_messages_tell_its_input(recovery: Any, masks: Any) -> None:
    """Which is how the view of a rehearsal has it; the carried 1 comes out as 1."""
    out = titan.average([17, 4, -3, 1000], PATH, recovery=recovery, masks=masks, record=True)
    for party in PATH.parties:
        view = out.view([party])
        plan = view.sums[0].plan
        found = plan.ring.to_ints(sum_of_inputs(plan, [party], list(view)))
        assert found == [*view.inputs[party][0], 1]


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_every_leak_that_the_command_predicts(recovery: Any, tmp_path: Any) -> None:
    """As a user meets it: the command's components, then their sums from the coalition's view."""
    PATH.to_csv(tmp_path / "links.csv")
    told = answer("privacy", tmp_path / "links.csv", "--tau", 2, "--limit", 100)
    assert [d["coalition"] for d in told["dangerous"]] == [["b"], ["c"]]
    values = {"a": 17, "b": 4, "c": -3, "d": 1000}
    out = titan.average(values, PATH, recovery=recovery, record=True)
    for size in (1, 2, 3):
        for coalition in combinations(PATH.parties, size):
            said = answer("privacy", tmp_path / "links.csv", "--coalition", ",".join(coalition))
            found = partial_sums(out.view(coalition))
            (unit,) = out.units
            learned = {group: numbers[0] * unit for group, numbers in found.items()}
            groups = [tuple(group) for group in said["components"]]
            assert learned == {group: sum(values[p] for p in group) for group in groups}
            assert said["harmless"] == (len(groups) == 1 and len(groups[0]) > 1)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_cut_party_learns_the_moments_of_each_side(recovery: Any) -> None:
    """Least squares: the one in the middle gets a single party's row count and sums of squares."""
    rng = np.random.default_rng(5)
    parts = {p: (rng.integers(-9, 9, (10 + i, 2)), rng.integers(-9, 9, 10 + i)) for i, p in
             enumerate(PATH.parties)}  # fmt: skip
    view = titan.solve(parts, PATH, recovery=recovery, record=True).view(["b"])
    first, second = partial_sums(view, 0), partial_sums(view, 1)
    A, b = parts["a"]
    exact = [s * Fraction(2) ** -256 for s in first[("a",)]]
    assert exact == [*np.diagonal(A.T @ A), *(A.T @ b), len(b)]
    assert set(second) == {("a",), ("c", "d")}
    others = sum(len(parts[p][1]) for p in ("c", "d"))
    assert first[("c", "d")][-1] == others << 256
