"""Invariant: `titan.fit` is the regression on all rows together, whoever holds them in any form."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titan
from tests.leastsquares.test_nist import EXACT_FITS, SETS, assert_agrees
from titan.engines import EngineName
from titan.errors import DataError, FormulaError, InputError, NetworkError, PlanError, RankError
from titan.leastsquares import Ball
from titan.leastsquares.inference import compute
from titan.moments import open_source, split_by
from titan.protocol import RecoveryName
from titan_lab import datasets

small_fit = partial(titan.fit, allow_small=True)  # a few rows are easier to check; see test_limits

NET = titan.Network.cycle(3)
ROWS = [
    {"y": "1.1", "a": "1", "b": "0.5", "g": "u"},
    {"y": "2.3", "a": "2", "b": "0.1", "g": "v"},
    {"y": "2.9", "a": "3", "b": "-0.4", "g": "u"},
    {"y": "4.2", "a": "4", "b": "1e-1", "g": "w"},
    {"y": "5.5", "a": "5", "b": "0.3", "g": "v"},
    {"y": "5.4", "a": "6", "b": ".7", "g": "w"},
    {"y": "7.7", "a": "7", "b": "2", "g": "u"},
]


def part(i: int, *, numbers: bool = True) -> dict[str, list[Any]]:
    rows = ROWS[i::3]
    return {
        name: [float(row[name]) if numbers and name != "g" else row[name] for row in rows]
        for name in ROWS[0]
    }


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def csv_files(folder: Path, rows: list[dict[str, str]]) -> dict[str, Path]:
    return {
        party: write(folder / f"{party}.csv", rows[i::3]) for i, party in enumerate(NET.parties)
    }


# -- rows in every form -----------------------------------------------------------------------


def in_form(form: str, i: int, folder: Path) -> Any:
    if form == "mapping":
        return part(i)
    if form == "arrays":
        return {name: np.array(values) for name, values in part(i).items()}
    if form == "pandas":
        return import_module("pandas").DataFrame(part(i))
    if form == "polars":
        return import_module("polars").DataFrame(part(i))
    pyarrow = import_module("pyarrow")
    table = pyarrow.table(part(i))
    if form == "arrow":
        return table
    from pyarrow import parquet

    path = folder / f"{i}.parquet"
    parquet.write_table(table, path)
    return path if form == "parquet" else str(path)


@pytest.mark.parametrize(
    "form", ["mapping", "arrays", "pandas", "polars", "arrow", "parquet", "parquet-text-path"]
)
@pytest.mark.parametrize("decimal", [False, True])
def test_every_form_of_table(form: str, decimal: bool, tmp_path: Path) -> None:
    tables = [in_form(form, i, tmp_path) for i in range(3)]
    formula = "y ~ a + b + C(g, levels=['u', 'v', 'w'])"
    found = small_fit(tables, NET, formula=formula, decimal=decimal)
    expected = small_fit([part(i) for i in range(3)], NET, formula=formula, decimal=decimal)
    assert found.params.enclosures == expected.params.enclosures
    assert found.bse.enclosures == expected.bse.enclosures
    as_text = small_fit(csv_files(tmp_path, ROWS), NET, formula=formula)
    assert (found.params.enclosures == as_text.params.enclosures) is decimal


def test_a_csv_is_read_as_written(tmp_path: Path) -> None:
    """The slope of y on a, in fractions of the decimal text."""
    ball = small_fit(csv_files(tmp_path, ROWS), NET, formula="y ~ a - 1").params.enclosures[0]
    pairs = [(Fraction(row["y"]), Fraction(row["a"])) for row in ROWS]
    over = sum((y * a for y, a in pairs), Fraction(0))
    truth = over / sum((a * a for _, a in pairs), Fraction(0))
    assert isinstance(ball, Ball)
    assert abs(ball.mid - truth) <= ball.rad < Fraction(1, 10**30)


def test_list_mapping_and_one_table_agree(tmp_path: Path) -> None:
    files = csv_files(tmp_path, ROWS)
    listed = small_fit(list(files.values()), NET, formula="y ~ a + b")
    by_name = small_fit(files, NET, formula="y ~ a + b")
    alone = titan.fit(write(tmp_path / "all.csv", ROWS), formula="y ~ a + b")
    by_columns = small_fit(files, NET, response="y", columns=["a", "b"])
    assert listed.params.enclosures == by_name.params.enclosures == by_columns.params.enclosures
    for name in listed.params:
        pooled, exact = listed.params.enclosure(name), alone.params.enclosure(name)
        assert isinstance(pooled, Ball)
        assert isinstance(exact, Ball)
        assert abs(pooled.mid - exact.mid) <= pooled.rad + exact.rad
    assert alone.cost is None
    assert dict(alone.params) == dict(listed.params)


def test_one_file_divided_by_a_column() -> None:
    """Four hospitals on a directed network, against statsmodels on all their rows."""
    api = import_module("statsmodels.formula.api")
    pandas = import_module("pandas")
    path = datasets.path("heart_disease")
    hospitals = split_by(open_source(path), "hospital")
    network = titan.Network(
        [(p, q) for p in hospitals for q in hospitals if p != q], parties=list(hospitals)
    )
    fit = small_fit(hospitals, network, formula="thalach ~ age + sex", tau=2)
    theirs = api.ols("thalach ~ age + sex", pandas.read_csv(path)).fit()
    np.testing.assert_allclose(np.asarray(fit.params), theirs.params, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(fit.bse), theirs.bse, rtol=1e-10)
    assert list(fit.params) == list(theirs.params.index)


@pytest.mark.parametrize("engine", ["local", "vectorised"])
@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_every_way_gives_the_same_bits(engine: EngineName, recovery: RecoveryName) -> None:
    tables = [part(i) for i in range(3)]
    expected = small_fit(tables, NET, formula="y ~ a + b")
    found = small_fit(tables, NET, formula="y ~ a + b", engine=engine, recovery=recovery)
    assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize("bits", [64, 192])
def test_other_sizes_of_ring(bits: int) -> None:
    tables = [part(i) for i in range(3)]
    found = small_fit(tables, NET, formula="y ~ a + b", bits=bits)
    expected = small_fit(tables, NET, formula="y ~ a + b")
    assert dict(found.params) == pytest.approx(dict(expected.params), rel=1e-13)
    assert (min(found.solution.digits) > min(expected.solution.digits)) is (bits > 128)


# -- NIST -------------------------------------------------------------------------------------


def formula_of(model: dict[str, Any], columns: list[str]) -> str:
    degree = model["polynomial_degree"]
    right = f"poly(x, {degree}, raw=True)" if degree and degree > 1 else " + ".join(columns)
    return f"y ~ {right}" + ("" if model["intercept"] else " - 1")


@pytest.mark.parametrize("name", SETS)
def test_every_certified_digit(name: str, tmp_path: Path) -> None:
    """From decimal text over three parties, through the whole protocol."""
    certified = datasets.nist(name)
    with certified.path.open() as file:
        rows = list(csv.DictReader(file))
    formula = formula_of(certified.facts["model"], [key for key in rows[0] if key != "y"])
    fit = small_fit(csv_files(tmp_path, rows), NET, formula=formula, tau=1)
    facts = certified.facts["certified"]
    assert len(fit.params) == len(facts["parameters"])
    for j, parameter in enumerate(facts["parameters"]):
        assert_agrees(fit.params.enclosures[j], parameter["estimate"])
        assert_agrees(fit.bse.enclosures[j], parameter["sd"])
    assert_agrees(fit.statistics["rsquared"], facts["r_squared"])
    assert fit.exact_fit is (name in EXACT_FITS)
    if name not in EXACT_FITS:
        scale = compute(lambda s: (s / fit.df_resid).sqrt(), fit.residual_sum)
        assert_agrees(scale, facts["residual_sd"])


# -- missing ----------------------------------------------------------------------------------


def with_gaps(i: int) -> dict[str, list[Any]]:
    table = part(i)
    table["a"] = [*table["a"], None, 3.0]
    table["y"] = [*table["y"], 1.0, None]
    return table | {"b": [*table["b"], 0.0, 0.0], "g": [*table["g"], "u", "v"]}


def test_missing_values_are_refused_and_counted() -> None:
    with pytest.raises(DataError, match=r"'2'.*1 missing in \"a\", 1 in \"y\"") as caught:
        small_fit([part(0), with_gaps(1), part(2)], NET, formula="y ~ a")
    assert "drop" in caught.value.hint


def test_one_party_may_solve_and_tell_the_others() -> None:
    tables = [part(i) for i in range(3)]
    everyone = small_fit(tables, NET, formula="y ~ a")
    one = small_fit(tables, NET, formula="y ~ a", solver="2", record=True)
    assert one.params.enclosures == everyone.params.enclosures
    assert one.bse.enclosures == everyone.bse.enclosures
    assert one.cost.messages > everyone.cost.messages
    told = [m for m in one.view(["1"]) if m.kind.name == "RESULT"]
    assert told, "the answer reached a party that did not solve"
    for choices, complaint in (
        ({"solver": "nobody"}, "nobody"),
        ({"solver": "2", "cov_type": "HC0"}, "needs the solution at every party"),
    ):
        with pytest.raises(InputError, match=complaint):
            small_fit(tables, NET, formula="y ~ a", **choices)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="solver without a network"):
        titan.fit(tables[0], formula="y ~ a", solver="2")


def test_dropped_rows_are_reported() -> None:
    fit = small_fit([part(0), with_gaps(1), part(2)], NET, formula="y ~ a", missing="drop")
    whole = small_fit([part(i) for i in range(3)], NET, formula="y ~ a", missing="drop")
    assert fit.params.enclosures == whole.params.enclosures
    assert fit.dropped == {"2": 2}
    assert fit.nobs == 7
    assert "2 rows were left out as incomplete." in fit.summary()
    assert fit.to_dict()["dropped"] == 2
    assert "incomplete" not in whole.summary()
    alone = titan.fit(with_gaps(1), formula="y ~ a - 1", missing="drop")
    assert alone.dropped == {"the table": 2}


def test_nothing_but_gaps() -> None:
    table = {"y": [1.0, None], "a": [None, 2.0]}
    with pytest.raises(DataError, match="the table of '1' has no complete rows"):
        small_fit([table, part(1), part(2)], NET, formula="y ~ a", missing="drop")


# -- results ----------------------------------------------------------------------------------


def test_as_json() -> None:
    fit = small_fit([part(i) for i in range(3)], NET, formula="y ~ a + b")
    as_json = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert as_json["params"] == dict(fit.params)
    assert as_json["nobs"] == 7
    assert fit.cost.bytes_sent.total > 0
    assert json.loads(json.dumps(fit.cost.as_dict()))["rounds"] == fit.cost.rounds


# -- refusals ---------------------------------------------------------------------------------


def test_pooled_dependence_is_named_and_a_partys_own_is_fine() -> None:
    tables = [part(i) for i in range(3)]
    for i, table in enumerate(tables):
        table["c"] = [float(i)] * len(table["y"])  # constant inside every party
        table["d"] = [2 * a - 1 for a in table["a"]]
    assert "c" in small_fit(tables, NET, formula="y ~ a + c").params
    with pytest.raises(RankError) as caught:
        small_fit(tables, NET, formula="y ~ a + b + d")
    assert set(caught.value.columns) == {"Intercept", "a", "d"}


def test_a_zero_column_is_named() -> None:
    tables = [part(i) | {"z": [0.0] * len(ROWS[i::3])} for i in range(3)]
    with pytest.raises(RankError, match="'z' is zero in all rows of all parties"):
        small_fit(tables, NET, formula="y ~ a + z")


def test_a_level_nobody_has_is_named() -> None:
    with pytest.raises(RankError, match=r"'C\(g\)\[T\.x\]' is zero in all rows"):
        small_fit(
            [part(i) for i in range(3)], NET, formula="y ~ a + C(g, levels=['u', 'v', 'w', 'x'])"
        )


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"a": [1.0, np.inf]}, DataError, "the table of '2', row 1.*infinite"),
        ({"a": ["1", "two"]}, DataError, "the table of '2', row 1"),
        ({"a": []}, DataError, "has 0 rows and column"),
        (None, DataError, "the table of '2' has no column \"a\""),
        ("empty", DataError, "the table of '2' has no rows"),
    ],
)
def test_bad_tables(change: Any, error: type[Exception], says: str) -> None:
    table = part(1)
    if change is None:
        del table["a"]
    elif change == "empty":
        table = {name: [] for name in table}
    else:
        table |= change
    with pytest.raises(error, match=says):
        small_fit([part(0), table, part(2)], NET, formula="y ~ a")


def test_an_unknown_level_is_placed() -> None:
    with pytest.raises(DataError, match=r"the table of '1', row 1 .*none of the stated levels"):
        small_fit([part(i) for i in range(3)], NET, formula="y ~ C(g, levels=['u', 'v'])")


@pytest.mark.parametrize(
    ("choices", "error", "says"),
    [
        ({}, InputError, "the model is not clear"),
        ({"formula": "y ~ a", "response": "y"}, InputError, "not clear"),
        ({"formula": "y ~ a", "intercept": False}, InputError, "beside a formula"),
        ({"formula": "y ~ a", "release": "solution"}, PlanError, "no standard errors"),
        ({"formula": "y ~ __import__('os')"}, FormulaError, "there is no function"),
        ({"formula": "y ~ a", "missing": "zero"}, DataError, "missing='zero'"),
        ({"formula": "y ~ a", "engine": "steam"}, PlanError, "steam"),
        ({"formula": "y ~ a", "tau": 2}, NetworkError, "at most one honest party"),
        ({"formula": "y ~ poly(a, 9, raw=True)"}, DataError, "7 rows in all for 10"),
    ],
)
def test_bad_choices(choices: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        small_fit([part(i) for i in range(3)], NET, **choices)


def test_parties_that_do_not_match() -> None:
    with pytest.raises(InputError, match="2 items for 3 parties"):
        small_fit([part(0), part(1)], NET, formula="y ~ a")
    with pytest.raises(NetworkError, match="nobody"):
        small_fit({"nobody": part(0)}, NET, formula="y ~ a")


def test_choices_of_sums_need_a_network() -> None:
    """Nobody should believe that tau was heeded."""
    with pytest.raises(PlanError, match="tau without a network"):
        titan.fit(part(0), formula="y ~ a", tau=1)


# -- precision --------------------------------------------------------------------------------


def test_made_columns_are_exact_unless_bits_are_asked_for() -> None:
    """Rounded to so many bits of what the rows can make; columns as they are stay exact."""
    rows = [{"x": [n + 40 * at for n in range(1, 41)], "y": [n * n % 17 for n in range(40)]}
            for at in range(3)]  # fmt: skip
    together = {name: [v for table in rows for v in table[name]] for name in ("x", "y")}
    net = titan.Network.cycle(3)
    made = "y ~ x + log(x)"
    exact = titan.fit(rows, net, formula=made)
    few = titan.fit(rows, net, formula=made, precision=8)
    unit = 2.0**-5  # the largest, log 120, is below 8 = 2^8 units
    rounded = together | {"l": [round(math.log(x) / unit) * unit for x in together["x"]]}
    expected = titan.fit(rounded, formula="y ~ x + l")
    assert list(few.params.values()) == pytest.approx(list(expected.params.values()), rel=1e-12)
    assert few.params["log(x)"] != exact.params["log(x)"]
    assert titan.fit(together, formula=made, precision=8).params == few.params
    assert titan.fit(rows, net, formula="y ~ x", precision=8).params == titan.fit(
        rows, net, formula="y ~ x").params  # fmt: skip
    alone = titan.ridge(together, formula=made, alpha=1.0, precision=8)
    assert titan.ridge(rows, net, formula=made, alpha=1.0, precision=8).params == pytest.approx(
        alone.params)  # fmt: skip
    for wrong in (7, 65):
        with pytest.raises(PlanError, match="from 8 to 64 bits"):
            titan.fit(rows, net, formula=made, precision=wrong)
