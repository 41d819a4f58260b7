"""A dictionary that exists is sound, and rows that do not fit it are refused by their owner."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from titan.errors import DataError, FormulaError, InputError
from titan.moments import Model, Moments, collect
from titan.release import Category, Dictionary, Flag, Number, Time
from titan.release.dictionary import content

COLUMNS = Dictionary.of({
    "age": Number.read("0", "120", "1", "years"),
    "kg": Number.read("0", "300", "0.1"),
    "score": Number.read("-1", "1"),
    "died": Flag(),
    "sex": Category(("f", "m")),
    "days": Time.read("0", "3650", "1"),
})  # fmt: skip


# -- what it is -------------------------------------------------------------------------------


def test_ranges_are_exact() -> None:
    it = Number.read("0.1", "1e2")
    assert (it.low, it.high) == (Fraction(1, 10), Fraction(100))
    assert content(it) == {"kind": "number", "range": ["0.1", "100"]}
    assert Fraction(1, 10) in it
    assert Fraction(0.1) in it, "the double is a little more than a tenth"
    assert Fraction(1, 10) - Fraction(1, 10**30) not in it


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_decimal_text_has_one_form(number: Any) -> None:
    text = str(number)
    assume(abs(number.as_tuple().exponent) <= 308)
    once = Number.read(text, text)
    assert once.low == Fraction(number)
    assert Number.read(*content(once)["range"]) == once


ENDS = [
    "", "x", "1/3", "nan", "inf", "1_0", " 1", "1e309", "1" * 401, "1." + "1" * 95 + "e-308", "٣",
    True, 1.5, None, [],
]  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_ends_that_are_not_numbers(end: Any) -> None:
    with pytest.raises(InputError, match="range has an end that is not a decimal number"):
        Number.read(end, "1e308")
    if end is not None:
        with pytest.raises(InputError, match="step is not a decimal number"):
            Number.read("0", "1", end)


def test_a_fraction_that_is_not_a_decimal() -> None:
    with pytest.raises(InputError, match="range has an end"):
        Number(Fraction(1, 3), Fraction(1))
    with pytest.raises(InputError, match="step is not a decimal number"):
        Number(Fraction(0), Fraction(1), Fraction(1, 3))


BAD: dict[str, Any] = {
    "its range is empty": lambda: Number.read("1", "0"),
    "its step does not divide its range": lambda: Number.read("0", "1", "0.3"),
    "its step is not above zero": lambda: Number.read("0", "1", "0"),
    "a time needs a step": lambda: Time.read("0", "10"),
    "its unit is not one line": lambda: Number.read("0", "1", unit="a\nb"),
    "two of its levels are 'f'": lambda: Category(("f", "m", " f")),
    "its level ' f' is not one line": lambda: Category((" f", "m")),
    "its level '' is not one line": lambda: Category(("", "m")),
    "it has 0 levels": lambda: Category(()),
    "it has 10001 levels": lambda: Category(tuple(map(str, range(10_001)))),
    "columns: 'a' is described twice": lambda: Dictionary((("a", Flag()), ("a", Flag()))),
    "columns: the name ' a' is not one line": lambda: Dictionary.of({" a": Flag()}),
}


@pytest.mark.parametrize("message", BAD)
def test_what_cannot_be(message: str) -> None:
    with pytest.raises(InputError) as found:
        BAD[message]()
    assert found.value.message.startswith(message)


def test_equal_content_is_equal() -> None:
    backwards = Dictionary(tuple(reversed(COLUMNS.columns)))
    assert (backwards, hash(backwards)) == (COLUMNS, hash(COLUMNS))
    assert list(backwards) == sorted(COLUMNS)
    again = pickle.loads(pickle.dumps(COLUMNS))  # noqa: S301 - our own
    assert (again, again["age"]) == (COLUMNS, COLUMNS["age"])
    assert COLUMNS.content()["age"] == {
        "kind": "number", "range": ["0", "120"], "step": "1", "unit": "years",
    }  # fmt: skip


# -- models -----------------------------------------------------------------------------------


def test_models_have_the_levels_of_the_dictionary() -> None:
    assert COLUMNS.model("kg ~ age + sex").names == ("Intercept", "age", "sex[T.m]", "kg")
    assert COLUMNS.model("kg ~ C(age, levels=[1, 2])")
    with pytest.raises(FormulaError, match="'age', which is a number in the dictionary"):
        COLUMNS.model('kg ~ C(age, levels=["old", "young"])')
    with pytest.raises(InputError, match="'sex': a category in the dictionary"):
        COLUMNS.check_numbers(["age", "sex", "unknown"])


# -- rows -------------------------------------------------------------------------------------


def rows(**columns: list[Any]) -> dict[str, list[Any]]:
    length = len(next(iter(columns.values())))
    return {"age": [1] * length, "kg": [1] * length} | columns


def exactly(moments: Moments) -> list[Fraction]:
    n = len(moments.names)
    return [moments.fraction(j, k) for j in range(n) for k in range(n)]


def test_rows_are_put_on_the_grid_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("age,kg\n1.5,60\n2.5,60.05\n3,61.15\n4.0,62.2\n")
    model = Model("kg ~ age")
    found = collect(file, model, check=COLUMNS.place)
    assert found.rounded == {"age": 2, "kg": 2}
    exact = collect(rows(age=[2, 2, 3, 4], kg=["60", "60", "61.2", "62.2"]), model)
    assert exactly(found.moments) == exactly(exact.moments)
    assert COLUMNS.rounding_notes(found.rounded) == [
        "2 values of age were rounded to the study's steps of 1",
        "2 values of kg were rounded to the study's steps of 0.1",
    ]
    assert COLUMNS.rounding_notes({"age": 1}) == [
        "1 value of age was rounded to the study's steps of 1"
    ]


def test_counts_add_up_over_blocks() -> None:
    """More rows than a block has."""
    many = 70_000
    found = collect(
        rows(age=[1.25, 2.0] * (many // 2), kg=[1.0] * many), Model("kg ~ age"), check=COLUMNS.place
    )
    assert (found.rounded, found.moments.rows) == ({"age": many // 2}, many)


def test_text_and_doubles_are_equal_on_the_grid(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("age,kg\n1,60.1\n2,70.7\n")
    model = Model("kg ~ age")
    doubles = rows(age=[1.0, 2.0], kg=[60.1, 70.7])
    one, other = (collect(data, model, check=COLUMNS.place) for data in (file, doubles))
    assert exactly(one.moments) == exactly(other.moments)
    assert one.rounded == other.rounded == {}
    assert exactly(collect(doubles, model).moments) != exactly(one.moments)


@pytest.mark.parametrize("kg", ["300.01", "-0.01", "1e30"])
def test_outside_is_refused_even_if_it_would_be_rounded_inside(tmp_path: Path, kg: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(f"age,kg\n1,60.1\n2,{kg}\n")
    with pytest.raises(DataError, match=r'line 3, column "kg": a value outside') as found:
        collect(file, Model("kg ~ age"), check=COLUMNS.place)
    assert "0 to 300" in found.value.message
    assert kg not in str(found.value).replace("0 to 300", "")


def test_flags_are_zero_or_one() -> None:
    model = Model("died ~ age")
    good = collect(rows(died=[0, 1.0, True, "1"]), model, check=COLUMNS.place)
    assert good.moments.fraction(2, 2) == 3
    for bad in (2, 0.5, -1, "1.01"):
        with pytest.raises(DataError, match=r'row 1 .*column "died": neither 0 nor 1'):
            collect(rows(died=[0, bad]), model, check=COLUMNS.place)


def test_without_a_step_nothing_is_rounded() -> None:
    model = Model("score ~ age")
    found = collect(rows(score=["0.123456789", "-1"]), model, check=COLUMNS.place)
    assert found.rounded == {}
    assert found.moments.fraction(2, 2) == Fraction("0.123456789") ** 2 + 1


def test_a_further_pass_reads_the_same_numbers() -> None:
    """Residuals of HC0 are those of the rows as they were put on the grid."""
    from tests.batches import scores

    data, model = rows(age=[1.4, 2.4, 3.4], kg=[1.0, 2.0, 4.0]), Model("kg ~ age")
    x = [Fraction(0), Fraction(1)]
    placed = rows(age=[1, 2, 3], kg=[1, 2, 4])
    found = scores(data, model, x, check=COLUMNS.place)
    assert exactly(found) == exactly(scores(placed, model, x))
    assert exactly(found) != exactly(scores(data, model, x))
