"""Identical data give identical columns, whatever holds them, in batches of any size."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batches import read_rows

from titan.errors import DataError
from titan.moments import arithmetic
from titan.moments.cells import ArrowCells
from titan.moments.model import Model
from titan.moments.sources import open_source, split_by

DATA: dict[str, list[Any]] = {
    "y": [1.5, -2.25, 1e300, 0.0, 37.2],
    "n": [1, 2, -3, 2**40, 0],
    "s": ["u", "v", "u", "w", "v"],
}
MODEL = Model("y ~ n + I(n * y) + C(s, levels=['u', 'v', 'w'])")


def columns_of(data: Any, model: Model = MODEL, **options: Any) -> list[list[Fraction]]:
    """All rows of each column, batch after batch."""
    batches = list(read_rows(data, model, **options))
    assert all(batch.rows == len(column) for batch in batches for column in batch.columns)
    whole = [[c.fractions() for c in batch.columns] for batch in batches]
    return [list(chain.from_iterable(parts)) for parts in zip(*whole, strict=True)]


def expected() -> list[list[Fraction]]:
    y, n = [Fraction(v) for v in DATA["y"]], [Fraction(v) for v in DATA["n"]]
    dummies = [[Fraction(s == level) for s in DATA["s"]] for level in "vw"]
    # In the order of the formula: the product comes before the levels.
    return [[Fraction(1)] * 5, n, [a * b for a, b in zip(n, y, strict=True)], *dummies, y]


def structured() -> Any:
    kind = [("y", np.float64), ("n", np.int64), ("s", "U1")]
    return np.array(list(zip(*DATA.values(), strict=True)), dtype=kind)


KINDS: dict[str, Callable[[], Any]] = {
    "mapping of lists": lambda: DATA,
    "mapping of arrays": lambda: {name: np.array(values) for name, values in DATA.items()},
    "mapping of series": lambda: {name: pl.Series(values) for name, values in DATA.items()},
    "structured array": structured,
    "pandas": lambda: pd.DataFrame(DATA),
    "pandas, odd index": lambda: pd.DataFrame(DATA, index=[9, 9, 1, 0, 5]),
    "pandas, objects": lambda: pd.DataFrame(DATA).astype(object),
    "pandas, categories": lambda: pd.DataFrame(DATA).astype({"s": "category"}),
    "pandas, nullable": lambda: pd.DataFrame(DATA).convert_dtypes(),
    "polars": lambda: pl.DataFrame(DATA),
    "polars, categories": lambda: pl.DataFrame(DATA).with_columns(pl.col("s").cast(pl.Categorical)),
    "arrow": lambda: pa.table(DATA),
    "arrow, dictionary": lambda: pa.table({**DATA, "s": pa.array(DATA["s"]).dictionary_encode()}),
    "arrow, chunks": lambda: pa.concat_tables([pa.table(DATA)[:2], pa.table(DATA)[2:]]),
    "arrow, stream": lambda: pa.table(DATA).to_reader(),
    "fractions": lambda: {**DATA, "y": [Fraction(v) for v in DATA["y"]]},
    "decimals": lambda: {**DATA, "y": [Decimal(v) for v in DATA["y"]]},
    "text": lambda: {**DATA, "y": [str(Decimal(v)) for v in DATA["y"]]},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_every_kind_of_table_gives_the_same_columns(kind: str, size: int) -> None:
    assert columns_of(KINDS[kind](), batch_rows=size) == expected()


@pytest.mark.parametrize("size", [1, 2, 3, None])
def test_parquet_and_csv_give_the_same_columns(tmp_path: Path, size: int | None) -> None:
    pq.write_table(pa.table(DATA), tmp_path / "rows.parquet", row_group_size=2)
    exact = pd.DataFrame(DATA).assign(y=[str(Decimal(v)) for v in DATA["y"]])
    exact.to_csv(tmp_path / "rows.csv", index=False)
    exact.to_csv(tmp_path / "rows.tsv", index=False, sep="\t")
    exact.to_csv(tmp_path / "rows.csv.gz", index=False)
    for name in ("rows.parquet", "rows.csv", "rows.tsv", "rows.csv.gz"):
        assert columns_of(tmp_path / name, batch_rows=size) == expected()
        assert columns_of(str(tmp_path / name), batch_rows=size) == expected()


# -- what a number is ---------------------------------------------------------------------------


def test_a_float_is_the_binary_number_and_decimal_text_the_decimal_one(tmp_path: Path) -> None:
    """37.2 in a frame is not 37.2 in a CSV; decimal=True reads the frame as the CSV."""
    model = Model("y ~ 1")
    frame = pd.DataFrame({"y": [37.2, 0.1, 1e-7, -2.5e22]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    binary = columns_of(frame, model)[-1]
    decimal = columns_of(tmp_path / "rows.csv", model)[-1]
    assert binary == [Fraction(v) for v in frame["y"]]
    assert decimal == [Fraction("37.2"), Fraction("0.1"), Fraction("1e-7"), Fraction("-2.5e22")]
    assert columns_of(open_source(frame, decimal=True), model)[-1] == decimal
    as_objects = {"y": [*frame["y"], Fraction(1, 2)]}
    assert columns_of(open_source(as_objects, decimal=True), model)[-1][:4] == decimal


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_the_shortest_decimal_is_that_of_repr(values: list[float]) -> None:
    source = open_source({"y": np.array(values)}, decimal=True)
    assert columns_of(source, Model("y ~ 1"))[-1] == [Fraction(repr(v)) for v in values]
    single = np.array(values, np.float32)[np.isfinite(np.array(values, np.float32))]
    if single.size:
        source = open_source({"y": single}, decimal=True)
        shortest = [Fraction(np.format_float_scientific(v, unique=True)) for v in single]
        assert columns_of(source, Model("y ~ 1"))[-1] == shortest


def test_the_shortest_decimal_is_that_of_the_type() -> None:
    exact = [Fraction("0.1"), Fraction("-2.5"), Fraction("0.3333"), Fraction("65500"), 0]
    numbers = np.array([0.1, -2.5, 1 / 3, 65504, 0], np.float16)
    nulls = pa.array([*numbers, None, np.float16("nan")], pa.float16())
    for values in (numbers, list(numbers), pd.Series(numbers), pa.array(numbers), nulls):
        source = open_source({"y": values}, decimal=True)
        assert columns_of(source, Model("y ~ 1"), missing="drop")[-1] == exact
    single = open_source({"y": np.array([0.1, 16777216], np.float32)}, decimal=True)
    assert columns_of(single, Model("y ~ 1"))[-1] == [Fraction("0.1"), 16777216]
    with pytest.raises(DataError, match=r'row 1 .*column "y": an infinite number'):
        columns_of(
            open_source({"y": np.array([1, np.inf], np.float16)}, decimal=True), Model("y ~ 1")
        )


test_the_shortest_decimal_is_that_of_repr = pytest.mark.filterwarnings(
    "ignore:overflow encountered in cast:RuntimeWarning"
)(test_the_shortest_decimal_is_that_of_repr)

EXACT: list[tuple[Any, list[Any]]] = [
    (np.array([0.1, -3.5], np.float32), [float(np.float32(0.1)), -3.5]),
    (np.array([0.1, 2], np.float16), [float(np.float16(0.1)), 2]),
    (np.array([2**64 - 1, 0], np.uint64), [2**64 - 1, 0]),
    (np.array([2**63 - 1, 0], np.uint64), [2**63 - 1, 0]),
    (np.array([-(2**63), 5]), [-(2**63), 5]),
    (np.array([-128, 127], np.int8), [-128, 127]),
    (np.array([True, False]), [1, 0]),
    ([True, np.bool_(False)], [1, 0]),
    ([10**30, -(10**30)], [10**30, -(10**30)]),
    ([Fraction(1, 8), Fraction(7, 5)], [Fraction(1, 8), Fraction(7, 5)]),
    ([Decimal("0.1"), Decimal("-12e3")], [Fraction(1, 10), -12000]),
    ([Decimal("1.1"), 2.5, 3], [Fraction(11, 10), Fraction(5, 2), 3]),
    ([np.float64(0.1), np.int64(3)], [0.1, 3]),
    (["1e-5", " 7 "], [Fraction("1e-5"), 7]),
    (pa.array([Decimal("1.25"), Decimal("-3.00")], pa.decimal128(10, 2)), [Fraction(5, 4), -3]),
    (pa.array([Decimal(10**30), Decimal(-1)], pa.decimal128(38, 2)), [10**30, -1]),
    (pa.array([Decimal(10**60), Decimal(-7)], pa.decimal256(76, 3)), [10**60, -7]),
    (pa.array([Decimal("1.5"), Decimal("-2.5")], pa.decimal64(9, 1)), [1.5, -2.5]),
    (pa.array([Decimal("1.5"), None], pa.decimal128(9, 1))[:1], [1.5]),
    (pl.Series([Decimal("1.5"), Decimal("2.25")]), [1.5, 2.25]),
    (pd.Series([1, 2], dtype="Int64"), [1, 2]),
    (pd.Series(["0.1", "2"], dtype="string"), [Fraction(1, 10), 2]),
    (pd.Series(["1", "2"], dtype="category"), [1, 2]),
]


@pytest.mark.parametrize(("values", "exact"), EXACT, ids=lambda v: type(v).__name__)
def test_every_kind_of_number_is_exact(values: Any, exact: list[Any]) -> None:
    assert columns_of({"y": values}, Model("y ~ 1"))[-1] == [Fraction(v) for v in exact]


def test_two_dimensional_arrays_take_names() -> None:
    array = np.arange(6.0).reshape(3, 2)
    for layout in (array, np.asfortranarray(array), array[::-1][::-1]):
        source = open_source(layout, names=["y", "x"])
        assert columns_of(source, Model("y ~ 0 + x")) == [[1, 3, 5], [0, 2, 4]]


# -- levels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "values"),
    [
        ("['u', 'v']", ["u", "v", " v "]),
        ("[1, 2.5]", np.array([1.0, 2.5, 2.5])),
        ("[1, 2.5]", ["1.0", "2.50", "25e-1"]),
        ("[1, 2.5]", [1, Decimal("2.5"), Fraction(5, 2)]),
        ("['1', '2']", np.array([1, 2, 2])),
        ("[0, 1]", np.array([False, True, True])),
        ("['False', 'True']", np.array([False, True, True])),
        ("['x', 'NA']", ["x", "NA", "NA"]),
        ("['1', '2']", [1, 2, 2]),
        ("[1, 100000000000000000000]", [1, 10**20, 10**20]),
    ],
)
def test_levels_are_found_as_text_or_as_numbers(levels: str, values: Any) -> None:
    data = {"y": [1, 2, 3], "s": values}
    assert columns_of(data, Model(f"y ~ 0 + C(s, levels={levels})"))[:2] == [[1, 0, 0], [0, 1, 1]]


def test_a_level_that_was_not_stated_is_refused_and_not_shown() -> None:
    data = {"y": [1, 2, 3], "s": ["u", "v", "secret"]}
    with pytest.raises(DataError, match=r'row 2 .*column "s": none of the stated levels') as caught:
        columns_of(data, Model("y ~ C(s, levels=['u', 'v'])"))
    assert "secret" not in str(caught.value)


def test_a_double_has_no_text() -> None:
    with pytest.raises(DataError, match="state the levels as numbers"):
        columns_of({"y": [1.5], "s": [0.5]}, Model("y ~ C(s, levels=['0.5', '1'])"))


# -- one source for several parties -------------------------------------------------------------


def test_a_source_is_divided_by_a_column_in_order_of_appearance(tmp_path: Path) -> None:
    frame = pd.DataFrame({"site": ["b", "a", "b", "c"], "y": [1, 2, 3, 4]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    categories = frame.astype({"site": "category"})
    for data in (tmp_path / "rows.csv", frame, pl.DataFrame(frame.to_dict("list")), categories):
        parts = split_by(open_source(data), "site")
        assert list(parts) == ["b", "a", "c"]
        rows = {party: columns_of(part, Model("y ~ 1"))[-1] for party, part in parts.items()}
        assert rows == {"b": [1, 3], "a": [2], "c": [4]}
        assert columns_of(parts["b"], Model("y ~ 1"), batch_rows=1)[-1] == [1, 3]


def test_the_place_of_a_row_survives_division_and_dropping(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("site,y,x\na,1,1\nb,NA,2\na,2,3\nb,4,-1\n")
    part = split_by(open_source(path), "site")["b"]
    with pytest.raises(DataError, match="line 5, in log"):
        columns_of(part, Model("y ~ log(x)"), missing="drop")


def test_a_row_of_no_party_is_refused() -> None:
    with pytest.raises(DataError, match=r'row 1 .*column "site": no party is named'):
        split_by(open_source({"site": ["a", None], "y": [1, 2]}), "site")
    with pytest.raises(DataError, match=r'"site" holds binary numbers.*name the parties by text'):
        split_by(open_source({"site": [1.0, 2.0]}), "site")
    with pytest.raises(DataError, match='no column "hospital"'):
        split_by(open_source({"site": ["a"]}), "hospital")


# -- what cannot be used ------------------------------------------------------------------------

BAD: list[tuple[Any, str]] = [
    ({"y": [1.0, np.inf]}, r'row 1 .*column "y": an infinite number'),
    ({"y": [1, Decimal("-Infinity")]}, r'row 1 .*column "y": an infinite number'),
    ({"y": ["1", "inf"]}, r'row 1 .*column "y": an infinite number'),
    ({"y": ["1", "two"]}, r'row 1 .*column "y": text where a number was expected'),
    ({"y": [1, "two"]}, r'row 1 .*column "y": text where a number was expected'),
    ({"y": [1, 2j]}, r'row 1 .*column "y": complex where a number was expected'),
    ({"y": np.array([1j])}, 'column "y" holds complex128'),
    ({"y": np.array(["2020-01-01"], "datetime64[D]")}, 'column "y" holds date32'),
    ({"y": pa.array([[1]])}, 'column "y" holds list'),
    ({"y": [Fraction(1, 3)]}, "not finite decimals"),
    ({"y": [1, 2], "x": [1]}, 'column "x" has 1 rows and column "y" has 2'),
    ({"x": [1]}, 'the table has no column "y"'),
    ({"y": []}, "the table has no rows"),
    ({"y": 5}, 'column "y" is int, not a sequence'),
    ({"y": "text"}, 'column "y" is str, not a sequence'),
    ({"y": np.ones((2, 2))}, 'column "y" has 2 dimensions'),
    (np.ones((2, 2)), "whose columns have no names"),
    (5, "int is not a table"),
    (None, "NoneType is not a table"),
    (pd.DataFrame([[1, 2]], columns=["y", "y"]), 'two columns called "y"'),
    (pa.table([[1], [2]], names=["y", "y"]), 'two columns called "y"'),
]


@pytest.mark.parametrize(("data", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_tables_are_refused(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        columns_of(data, Model("y ~ 1"))


def test_a_type_that_arrow_does_not_know_is_named() -> None:
    long = pl.Series([1], dtype=pl.Int128)
    with pytest.raises(DataError, match='column "x" of the table holds Int128'):
        columns_of(pl.DataFrame({"y": [1], "x": long}), Model("y ~ x"))
    with pytest.raises(DataError, match='column "x" holds Int128'):
        columns_of({"y": [1], "x": long}, Model("y ~ x"))


def test_a_stream_is_read_once_and_says_so() -> None:
    model = Model("y ~ 1")
    table = pa.table({"y": list(range(10)), "site": ["a", "b"] * 5})
    reader = table.to_reader(max_chunksize=2)
    source = open_source(reader)
    next(read_rows(source, model, batch_rows=2))  # not even to the end
    with pytest.raises(DataError, match=r"read before: .*read only once \(pass a table"):
        columns_of(source, model)
    assert columns_of(table.to_reader(), model)[-1] == list(range(10))
    whole = table.to_reader()
    columns_of(whole, model)
    with pytest.raises(DataError, match="has no rows, or was read before"):
        columns_of(whole, model)
    part = split_by(open_source(table.to_reader()), "site")["a"]
    with pytest.raises(DataError, match="read only once"):
        columns_of(part, model)
    source = open_source(table)
    assert columns_of(source, model) == columns_of(source, model)


def test_the_least_int64_has_a_negative_and_a_square() -> None:
    """Its negative is no int64: it must come as a Python integer from every kind of source."""
    least = -(2**63)
    model = Model("y ~ 0 + I(-y) + I(y * y) + I(y - 1) + I(-1 * y)")
    numbers = np.array([least, 5])
    for data in (
        {"y": numbers},
        {"y": [least, 5]},
        {"y": [str(least), "5"]},
        pa.table({"y": numbers}),
        pl.DataFrame({"y": numbers}),
    ):
        made = [[-least, -5], [least**2, 25], [least - 1, 4], [-least, -5], [least, 5]]
        assert columns_of(data, model) == made
    cells = ArrowCells("y", pa.array(numbers), str)
    column, _ = cells.numbers()
    assert column.numbers.dtype == object
    assert arithmetic.negate(column).fractions() == [-least, -5]
    nearly, _ = ArrowCells("y", pa.array(numbers + 1), str).numbers()
    assert nearly.numbers.dtype == np.int64
    assert arithmetic.negate(nearly).fractions() == [-(least + 1), -6]


def test_arrays_and_names_must_fit() -> None:
    with pytest.raises(DataError, match="1 names for 2 columns"):
        open_source(np.ones((2, 2)), names=["y"])
    with pytest.raises(DataError, match='two columns called "y"'):
        open_source(np.ones((2, 2)), names=["y", "y"])
    with pytest.raises(DataError, match="3 dimensions"):
        open_source(np.ones((2, 2, 2)), names=["y"])
