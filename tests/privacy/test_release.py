"""What the pooled sums give away however well they are hidden: each warning of docs/privacy.md.

These are no faults of the masking. They are why the release is said to be the pooled AᵀA and Aᵀb,
and why too few rows, and studies that differ by little, are refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from titan import Network
from titan.joint import SumSettings, together
from titan.joint.equations import Found
from titan.joint.pooled_model import PooledModel, RowsPart
from titan.matrices import moments_of
from titan.release.policy import DEFAULT

Rows = npt.NDArray[np.int64]
RNG = np.random.default_rng(6)


def people(count: int) -> Rows:
    """A constant, an age, a yes or no, a blood pressure; last the response."""
    ages, pressures = RNG.integers(18, 95, count), RNG.integers(90, 180, count)
    sex, rates = RNG.integers(0, 2, count), RNG.integers(70, 200, count)
    return np.stack([np.ones(count, int), ages, sex, pressures, rates], axis=1)


def pooled(parts: list[Rows]) -> npt.NDArray[Any]:
    """What every party learns: AᵀA beside Aᵀb, (n, n+1). No limit is switched off for it."""
    network = Network.cycle(len(parts))
    secrets = [moments_of(p, (rows[:, :-1], rows[:, -1]), None)
               for p, rows in zip(network.parties, parts, strict=True)]  # fmt: skip
    model = PooledModel(Found(secrets[0].names, len(parts), 128, "solution"), len(parts), DEFAULT)
    rows = [RowsPart(p, each) for p, each in zip(network.parties, secrets, strict=True)]
    found = together(model, rows, SumSettings(network)).answer
    n = len(found.names)
    scale = [Fraction(2) ** s for s in found.scales]
    gram = [
        [round(Fraction(int(found.gram[j, k]), found.denominator) * scale[j] * scale[k])
         for k in range(n)] + [round(found.rhs[j] * scale[j])]
        for j in range(n)
    ]  # fmt: skip
    return np.array(gram)


def moments(rows: Rows) -> Rows:
    A = rows[:, :-1]
    return A.T @ rows


def test_the_helper_gives_the_pooled_matrices() -> None:
    parts = [people(12) for _ in range(3)]
    assert np.array_equal(pooled(parts), moments(np.concatenate(parts)))


def test_of_two_parties_each_learns_the_other_s_sums() -> None:
    mine, other = people(20), people(30)
    assert np.array_equal(pooled([mine, other]) - moments(mine), moments(other))


def test_all_but_one_learn_the_last_one_s_sums() -> None:
    parts = [people(15) for _ in range(4)]
    known = sum((moments(rows) for rows in parts[:3]), np.zeros((4, 5), int))
    assert np.array_equal(pooled(parts) - known, moments(parts[3]))


def test_one_row_more_is_that_row() -> None:
    """Two answers that differ by one patient: the difference is the patient."""
    parts = [people(20) for _ in range(3)]
    fewer = [parts[0], parts[1][:-1], parts[2]]
    patient = (pooled(parts) - pooled(fewer))[0]
    assert patient.tolist() == parts[1][-1].tolist(), "the constant's products are the row itself"


def test_an_indicator_column_counts_who_has_it() -> None:
    parts = [people(20) for _ in range(3)]
    assert pooled(parts)[2, 2] == np.concatenate(parts)[:, 2].sum()


def test_an_indicator_that_one_patient_has_is_that_patient() -> None:
    """The limits count rows and parameters, not how many rows have a level: this is let through."""
    parts = [np.insert(people(20), 1, 0, axis=1) for _ in range(3)]
    parts[2][7, 1] = 1
    found = pooled(parts)
    assert found[1, 1] == 1
    assert found[1].tolist() == parts[2][7].tolist()


def test_a_parameter_for_every_few_rows_is_their_mean() -> None:
    """At the limit, 3 rows a parameter: levels of 3 rows. A saturated model has levels of one."""
    kinds = np.repeat(np.eye(10, dtype=int), 3, axis=0)  # 30 rows, 10 levels of 3 rows each
    rates = RNG.integers(70, 200, 30)
    rows = np.column_stack([kinds, rates])
    found = pooled([rows[0::3], rows[1::3], rows[2::3]])
    means = found[:, -1] / np.diagonal(found)
    assert means == pytest.approx(rates.reshape(10, 3).mean(axis=1))
