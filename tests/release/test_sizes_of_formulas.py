"""What the dictionary says of a made column holds in every row; a divisor can never be 0."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from titan.errors import InputError
from titan.moments import functions
from titan.moments.columns import Column
from titan.moments.model import Model, Readings
from titan.release import Dictionary, Flag, Number
from titan.release.made import MadeColumns
from titan.release.sizes import sizes

KNOWN = Dictionary.of(
    {
        "a": Number.read(-4, 5, "0.5"),
        "b": Number.read(1, 3, "0.25"),
        "f": Flag(),
        "y": Number.read(0, 9, 1),
    }
)
FORMULAS = ["I(a / b)", "I(b / 4)", "I(1 / (b - 5))", "abs(a)", "I(abs(a) / (1 + abs(a)))",
            "I(a > 1)", "I(~(a > 1))", "I(b * (a > 1))", "I((a > 1) | (f == 1))", "np.log2(b)",
            "log10(b)", "log1p(b)", "expm1(a)", "I(a / b > 1):b", "0 + I(a > 1)",
            "C(s, Sum, levels=['u', 'v'])"]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_value_lies_in_its_size(formula: str) -> None:
    model = Model(f"y ~ {formula}")
    a, b = (Fraction(n, 2) for n in range(-8, 11)), [Fraction(n, 4) for n in range(4, 13)]
    rows = [(x, z, f) for x in a for z in b for f in (0, 1)]
    numbers = {
        name: Column.of_fractions([Fraction(row[at]) for row in rows])[0]
        for at, name in enumerate(("a", "b", "f"))
    }
    numbers["y"] = Column(np.zeros(len(rows), np.int64))
    codes = {c: np.arange(len(rows)) % 2 for c in model.categories}
    columns = model.evaluate(Readings(len(rows), numbers, codes))
    for column, size in zip(columns, sizes(model, KNOWN), strict=True):
        for value in column.fractions():
            assert size.low <= value <= size.high
            assert (value / size.unit).denominator == 1
    made = MadeColumns.of(model, KNOWN, 20)
    for column, size in zip(made.rounding(columns), made.sizes, strict=True):
        assert all((value / size.unit).denominator == 1 for value in column.fractions())


@pytest.mark.parametrize("formula", ["I(b / a)", "I(1 / f)", "I(1 / (b - 2))", "I(1 / a > 1)"])
def test_a_divisor_that_can_be_0_is_refused_before_any_row(formula: str) -> None:
    with pytest.raises(InputError, match=r"divisor .* division by zero") as refused:
        sizes(Model(f"y ~ {formula}"), KNOWN)
    assert "narrower range" in refused.value.hint


def test_functions_round_once() -> None:
    for x in (Fraction(8), Fraction(1, 1024)):
        assert functions.value("log2", x) == log(x, 2)
    assert functions.value("log10", Fraction(1, 1000)) == -3
    assert functions.value("log2", Fraction(3)) == 1.584962500721156
    assert functions.value("log1p", Fraction(1, 10**30)) == 1e-30
    assert functions.value("expm1", Fraction(-(10**9))) == -1
    thirds = functions.divide(Column(np.array([1, 2, -1])), Column(np.array([3, 3, 3])))
    assert thirds.numbers.tolist() == [1 / 3, 2 / 3, -1 / 3]
    long = Column(np.array([10**30 + 1], object))
    assert functions.divide(long, Column(np.array([3]))).numbers[0] == (10**30 + 1) / 3
    with pytest.raises(functions.DomainError, match="division by zero"):
        functions.divide(Column(np.ones(2, np.int64)), Column(np.array([1, 0])))
