"""A value outside the study's range is refused by its owner, exactly, and not shown."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.study.studies import FORMULA, study
from titan.errors import DataError
from titan.moments import Model, collect
from titan.release import Dictionary, Number


def rows(age: list[Any]) -> dict[str, list[Any]]:
    return {"y": [1.0] * len(age), "age": age, "sex": ["f", "m"] * (len(age) // 2)}


MODEL = Model(FORMULA)


def within(low: str, high: str) -> Dictionary:
    return study(ranges={"age": (low, high)}).columns


def test_the_ends_belong_to_the_range() -> None:
    it = within("0", "120")
    found = collect(rows([0.0, 120.0, 7.5, 8.0]), MODEL, check=it.place)
    assert found.moments.rows == 4


@pytest.mark.parametrize("age", [-5e-324, 120.00000000000001, 1e300])
def test_one_unit_outside_is_outside(age: float) -> None:
    it = within("0", "120")
    with pytest.raises(DataError, match='column "age": a value outside') as found:
        collect(rows([1.0, 2.0, age, 4.0]), MODEL, check=it.place)
    assert "row 2" in found.value.message
    assert "0 to 120" in found.value.message
    assert str(age) not in str(found.value)


def test_decimal_text_is_compared_as_written(tmp_path: Path) -> None:
    """0.3 in a CSV is three tenths; the double nearest to it is a little less."""
    it = Dictionary.of({"age": Number.read("0.3", "0.3")})
    path = tmp_path / "rows.csv"
    path.write_text("y,age,sex\n1,0.3,f\n2,0.30,m\n")
    assert collect(path, MODEL, check=it.place).moments.rows == 2
    path.write_text(f"y,age,sex\n1,0.3,f\n2,0.{'2' + '9' * 40},m\n")
    with pytest.raises(DataError, match='line 3, column "age": a value outside'):
        collect(path, MODEL, check=it.place)
    assert Fraction(0.3) < Fraction(3, 10)
    with pytest.raises(DataError, match="a value outside"):
        collect(rows([0.3, 0.3]), MODEL, check=it.place)


def test_with_a_step_a_float_stands_for_the_decimal_that_was_written() -> None:
    it = within("0.3", "0.3")
    assert collect(rows([0.3, 0.3]), MODEL, check=it.place).moments.rows == 2
    with pytest.raises(DataError, match="a value outside"):
        collect(rows([0.3, 0.30000000000000004]), MODEL, check=it.place)


def test_rows_that_are_left_out_are_not_looked_at() -> None:
    it = within("0", "120")
    data = rows([1.0, 500.0, 3.0, 4.0])
    data["y"][1] = None
    found = collect(data, MODEL, missing="drop", check=it.place)
    assert (found.moments.rows, found.dropped) == (3, 1)
