"""Every peer's figures come from a run whose answer is right: tiny runs, against exact answers.

A peer that is not installed is skipped, and pytest says which.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from benchmarks.peers import ckks, mpi, mpyc_solve, mpyc_sum, paillier, pooled
from benchmarks.peers.inputs import Equations, vectors
from benchmarks.peers.mpyc_parties import run_parties
from benchmarks.peers.processes import until_all_know
from benchmarks.peers.report import NotMeasuredError
from benchmarks.peers.titan_runs import sum_over_tls

ULP = 2.0**-52


def test_mpyc_sums_exactly_in_three_processes() -> None:
    pytest.importorskip("mpyc", reason="mpyc is not installed")
    values = vectors(3, 5)
    results = run_parties("benchmarks.peers.mpyc_sum", values, tau=1, repeats=2)
    exact = [sum(round(x * mpyc_sum.FRACTION) for x in column) for column in values.T.tolist()]
    assert len(results) == 3
    for result in results:
        assert [int(x) for x in result["found"]] == exact
        assert len(result["began"]) == len(result["knew"]) == 2
        # 5 numbers of 70 bits to each of the two others, and one share to one of them
        assert result["sent"] > 3 * 5 * 8
    assert until_all_know(results) > 0


def test_titan_sums_exactly_in_three_processes() -> None:
    found = sum_over_tls(vectors(3, 5), tau=1, repeats=2)
    assert found.error < ULP
    assert found.seconds > 0
    assert found.sent is not None
    assert found.sent > 2 * 5 * 16  # a mask and a masked vector, of 128 bits an entry


def test_mpyc_solves_exactly_in_three_processes() -> None:
    pytest.importorskip("mpyc", reason="mpyc is not installed")
    equations = Equations.draw(3, 10, 3)
    results = run_parties("benchmarks.peers.mpyc_solve", equations.moments(), tau=1, repeats=1)
    for result in results:
        *numerators, determinant = map(int, result["found"])
        assert [Fraction(v, determinant) for v in numerators] == equations.exact()


def test_the_field_of_mpycs_solve_has_room_for_every_determinant() -> None:
    """Hadamard's bound is reached by matrices of ±1 whose rows are orthogonal."""
    assert mpyc_solve.hadamard(2) >= 2 * 2 ** (2 * mpyc_solve.ENTRY_BITS)


@pytest.mark.parametrize("way", [paillier.one_by_one, paillier.packed])
def test_paillier_sums_exactly(way: paillier.Way) -> None:
    pytest.importorskip("phe", reason="phe is not installed")
    entries = 3 if way is paillier.one_by_one else 40  # 40 need two ciphertexts
    found = paillier.measured(way, vectors(3, entries))
    assert found.error < ULP
    ciphertexts = entries if way is paillier.one_by_one else 2
    assert found.sent is not None
    assert 0 <= ciphertexts * 2 * paillier.KEY_BITS // 8 - found.sent < 8


def test_ckks_sums_approximately() -> None:
    pytest.importorskip("tenseal", reason="tenseal is not installed")
    found = ckks.measured(vectors(3, ckks.SLOTS + 1))
    assert 0 < found.error < 1e-9
    assert found.sent is not None
    assert found.sent > 16 * ckks.SLOTS


def test_mpi_sums_in_processes() -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    try:
        mpi.launcher()
    except NotMeasuredError as missing:
        pytest.skip(str(missing))
    found = mpi.measured(vectors(2, 5))
    assert found.error < ULP
    assert found.sent is None


@pytest.mark.parametrize("name", pooled.PEERS)
def test_pooled_rows_give_the_solution(name: str) -> None:
    package, fit = pooled.PEERS[name]
    pytest.importorskip(package, reason=f"{package} is not installed")
    found = pooled.measured(fit, Equations.draw(3, 20, 3))
    assert found.error < 1e-12
    assert found.sent == 20 * (3 + 1) * 8  # one party's rows
