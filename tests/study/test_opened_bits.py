"""How much a study opens, in bits: ⌈log₂ of the possible values⌉ of every number, added up."""

from __future__ import annotations

from itertools import product
from math import ceil, log2
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import answer, titan
from tests.study.parties import NOW
from tests.study.studies import regression, study
from titan.joint.kinds import Question
from titan.release import Category, Dictionary, Flag, Number
from titan.release.sizes import Size, size_of
from titan.study import check
from titan.study.shares import shares

COLUMNS = Dictionary.of(
    {
        "age": Number.read("0", "120", "1"),
        "y": Number.read("-1", "1", "0.5"),
        "sex": Category(("f", "m")),
        "died": Flag(),
    }
)


def opened(*questions: Question, **changes: Any) -> Any:
    it = study(columns=COLUMNS, questions=questions, **changes)
    return [each["opened"] for each in check(it, NOW).facts["questions"]]


def bits(values: int) -> int:
    return ceil(log2(values))


@pytest.mark.parametrize(("low", "high", "step"), [("0", "2", "1"), ("-1", "1", "0.5")])
@pytest.mark.parametrize("power", [1, 2])
def test_the_possible_values_of_a_sum_are_not_more(
    low: str, high: str, step: str, power: int
) -> None:
    """Every sum of three rows, one by one; of the raw column itself it is just so many."""
    size = size_of("x", {"x": Number.read(low, high, step)})
    assert isinstance(size, Size)
    points = [
        size.low + at * size.unit for at in range(int((size.high - size.low) / size.unit) + 1)
    ]
    sums = {sum(row**power for row in rows) for rows in product(points, repeat=3)}
    assert bits(len(sums)) <= (size**power).bits(3)
    assert power == 2 or bits(len(sums)) == size.bits(3)


def test_a_description() -> None:
    (found,) = opened(Question("describe", "", (("columns", ("age", "died")),)))
    counts, rows = 1 + 2 + 2, 40  # rows; two columns' gaps; the two levels of the flag
    digits = 3  # coarser grids of age: rows off them, and parties
    expected = (counts + digits) * bits(rows + 1) + (digits + 1) * bits(4 + 1)
    expected += bits(rows * 120 + 1) + bits(rows * 120**2 + 1)
    assert found == {
        "numbers": counts + 2 * digits + 1 + 2, "bits": expected, "rows": rows,
        "rows_bits": int(rows * (log2(121) + 1)),
    }  # fmt: skip


def test_a_regression_of_a_flag() -> None:
    """Of the constant's square nothing is told that the number of rows does not say."""
    (found,) = opened(regression("age ~ died", release="solution"))
    rows, cells = 40, 2
    digits = 3  # coarser grids of age: rows off them, and parties
    counts = (cells + digits) * bits(rows + 1) + (digits + cells + 1) * bits(4 + 1)  # age varies
    gram = 0 + 2 * bits(rows + 1)
    assert found["bits"] == counts + gram + 2 * bits(rows * 120 + 1)
    together = 1  # up to 13 counts of parties in one number
    assert found["numbers"] == cells + digits + together + 3 + 2, "all rows, and one of the cells"


def test_an_average_is_of_one_row_of_every_party() -> None:
    (found,) = opened(Question("average", "", (("columns", ("age",)),)))
    assert found == {"numbers": 1, "bits": bits(4 * 120 + 1), "rows": 4,
                     "rows_bits": int(4 * log2(121))}  # fmt: skip


def test_robust_errors_and_exact_columns_open_more() -> None:
    plain, robust = opened(regression("y ~ age"), regression("y ~ age", cov_type="HC0", name="r"))
    assert robust["numbers"] == plain["numbers"] + 3
    assert robust["bits"] == plain["bits"] + 3 * (24 + bits(40 + 1) + 2)
    made = regression("y ~ exp(-0.05 * age)")
    (few,), (many,) = opened(made), opened(made, precision="exact")
    assert few["numbers"] == many["numbers"]
    assert few["bits"] < many["bits"]


def test_levels_that_only_the_formula_states_count_as_well() -> None:
    (found,) = opened(regression('y ~ C(ward, levels=["a", "b", "c", "d"])'))
    assert found["rows_bits"] == int(found["rows"] * (log2(5) + 2))


def test_the_shares_of_the_budget(tmp_path: Path) -> None:
    it = study(columns=COLUMNS, questions=(regression("y ~ exp(-0.05 * age)"),))
    found = shares(it)
    of = [each["of"] for each in found]
    assert of == ["rows at each age", "rows at each age and y", "the sum of y at each age"]
    for each in found:
        assert (each["bits"] <= each["limit"]) is (each["rows"] >= each["least_rows"])
    it.save(tmp_path / "study.toml")
    told = answer("study", "check", "study.toml", cwd=tmp_path)
    assert told["shares"] == found
    shown = " ".join(titan("study", "check", "study.toml", cwd=tmp_path).stdout.split())
    for each in found:
        assert f"of {each['of']}: {each['numbers']} numbers" in shown
        assert f"needs {each['least_rows']} rows" in shown
    (question,) = told["questions"]
    assert (
        f"in all {question['opened']['numbers']} numbers of {question['opened']['bits']} bits"
        in (shown)
    )
    assert shares(study(columns=COLUMNS, min_cell=0)) == []
