"""Invariant: W G Wᵀ is the identity to 2^-128, by integers alone, whatever the condition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.leastsquares.systems import nist
from titan.errors import RankError
from titan.leastsquares import PooledMoments
from titan.leastsquares.pooled import exact, integers
from titan.leastsquares.whitening import whiten
from titan.moments import Model, collect
from titan_lab import datasets


def of(matrix: list[list[int]]) -> PooledMoments:
    n, a = len(matrix[0]), integers(matrix)
    names = [f"x{j}" for j in range(n)]
    return PooledMoments.of_integers(
        names, a.T.dot(a), [0] * n, [Fraction(1, 10)] * n, rows=len(matrix)
    )


@pytest.mark.parametrize(("name", "degree"), [("Filip", 10), ("Wampler5", 5), ("Norris", 1)])
def test_hard_problems(name: str, degree: int) -> None:
    model = Model(f"y ~ poly(x, {degree}, raw=True)")
    moments = exact(collect(datasets.path(name), model).moments)
    found = whiten(moments)
    assert found.defect <= Fraction(1, 1 << 128)
    assert not np.triu(found.matrix, 1).any()
    n = len(moments.names)
    for k in range(n):  # WᵀW = G⁻¹
        unit = [Fraction(j == k) for j in range(n)]
        inverse = found.transposed(found.image(unit))
        product = [
            sum(
                Fraction(int(g), moments.denominator) * v for g, v in zip(row, inverse, strict=True)
            )
            for row in moments.gram
        ]
        assert max(abs(p - u) for p, u in zip(product, unit, strict=True)) < Fraction(1, 1 << 60)


def test_the_leverages_of_a_known_problem_add_up_to_the_number_of_columns() -> None:
    problem = nist("Filip")[0]
    model = Model("y ~ poly(x, 10, raw=True)")
    found = whiten(exact(collect(datasets.path("Filip"), model).moments))
    total = Fraction(0)
    for row in problem.A:
        scaled = [Fraction(v) / Fraction(2) ** s for v, s in zip(row, found.scales, strict=True)]
        length = sum(v**2 for v in found.image(scaled))
        assert 0 < length < 1
        total += length
    assert abs(total - 11) < Fraction(1, 1 << 100)


def test_columns_that_depend_on_each_other() -> None:
    moments = of([[1, 2, 3], [1, 5, 6], [1, 7, 8], [1, 0, 1]])
    with pytest.raises(RankError, match="exactly dependent"):
        whiten(moments)
    assert whiten(moments, full_rank=False).matrix.shape == (2, 3)
    assert whiten(of([[0], [0]]), full_rank=False).matrix.shape == (0, 1)


@pytest.mark.parametrize("far", [40, 400, 2000])
def test_columns_that_all_but_depend_on_each_other(far: int) -> None:
    """One row in 2^far makes the difference, and it is found."""
    moments = of([[1 << far, (1 << far) + 1], [1 << far, 1 << far], [1 << far, 1 << far]])
    for full_rank in (True, False):
        found = whiten(moments, full_rank=full_rank)
        assert found.matrix.shape == (2, 2)
        scaled = [Fraction(v, 10) for v in (1 << far, (1 << far) + 1)]
        row = [v / Fraction(2) ** s for v, s in zip(scaled, found.scales, strict=True)]
        length = sum((v**2 for v in found.image(row)), Fraction(0))
        assert abs(length - 1) < Fraction(1, 1 << 100)
