"""Invariant: an average asked by a study is exact, of one row on the study's grid per party."""

from __future__ import annotations

import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from titan.errors import DataError, InputError, NumberError
from titan.joint import SumSettings, together
from titan.joint.average_question import AveragingRows
from titan.joint.averaged import Average
from titan.joint.kinds import Question, Setting
from titan.moments import Source, open_source
from titan.network import Network
from titan.release import Category, Column, Dictionary, Flag, Number
from titan.release.policy import DEFAULT
from titan.results import decode, encode

from .plain import number

ENGINES: tuple[Any, ...] = ("local", "vectorised")
NET = Network.cycle(["north", "east", "south"])
COLUMNS: dict[str, Column] = {
    "income": number("-1000", "100000", "0.01"),
    "staff": number("5", "500", "5"),
    "member": Flag(),
    "town": Category(("a", "b")),
}
KNOWN = Dictionary.of(COLUMNS)
ROWS: list[dict[str, Any]] = [
    {"income": "0.10", "staff": 5},
    {"income": "-3.33", "staff": 10},
    {"income": "70000", "staff": 500},
]


def asked(text: dict[str, Any] | None = None, known: Dictionary = KNOWN) -> AveragingRows:
    setting = Setting(NET.parties, known, DEFAULT)
    computation = Question.of("average", "q1", text or {}, known).computation(setting)
    assert isinstance(computation, AveragingRows)
    return computation


def averaged(computation: AveragingRows, rows: list[Any], engine: Any = "local") -> Average:
    parts = [computation.prepare(source(computation, row)) for row in rows]
    return together(computation, parts, SumSettings(NET, engine=engine)).answer


def source(computation: AveragingRows, row: Any) -> Source:
    """A file, or a table of one row: by name, or in the order of the columns."""
    if isinstance(row, Source):
        return row
    named = row if isinstance(row, dict) else dict(zip(computation.names, row, strict=True))
    return open_source({name: [number] for name, number in named.items()})


def sources(tmp_path: Path) -> list[Any]:
    found = []
    for at, row in enumerate(ROWS):
        path = tmp_path / f"{at}.csv"
        path.write_text("id,staff,income\n7,{staff},{income}\n".format(**row))
        found.append(open_source(path))
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_one_row_of_every_party(tmp_path: Path, engine: Any) -> None:
    computation = asked()
    assert computation.names == ("income", "staff")
    out = averaged(computation, sources(tmp_path), engine)
    total = Fraction("0.10") - Fraction("3.33") + 70000
    assert out.exact == (total / 3, Fraction(515, 3))
    assert out.names == ("income", "staff")
    assert np.asarray(out.total).tolist() == [float(total), 515.0]
    assert np.asarray(out.value).tolist() == [float(total / 3), 515 / 3]
    for value, bound, exact in zip(out.value, out.error_bound, out.exact, strict=True):  # type: ignore[arg-type]
        assert abs(Fraction(float(value)) - exact) <= Fraction(float(bound)) < Fraction(1, 10**10)


def test_files_mappings_and_arrays_say_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    computation = asked()
    expected = averaged(computation, sources(tmp_path)).exact
    mappings = [{k: Fraction(v) for k, v in row.items()} for row in ROWS]
    decimals = [[Decimal(str(row["income"])), row["staff"]] for row in ROWS]
    floats = [np.array([float(row["income"]), row["staff"]]) for row in ROWS]
    assert averaged(computation, mappings).exact == expected
    assert averaged(computation, decimals).exact == expected
    assert averaged(computation, floats).exact == expected
    files = []
    for at, row in enumerate(floats):
        path = tmp_path / f"{at}.parquet"
        pq.write_table(pa.table({"income": row[:1], "staff": row[1:]}), path)
        files.append(open_source(path))
    assert averaged(computation, files).exact == expected


@st.composite
def grids(draw: st.DrawFn) -> tuple[Number, list[int]]:
    """A column, and the steps above its lower end that three parties have."""
    step = Fraction(draw(st.sampled_from(["1", "0.1", "0.25", "7", "1e-9", "1e6"])))
    low = Fraction(draw(st.integers(-(10**6), 10**6)), draw(st.sampled_from([1, 8, 100])))
    steps = draw(st.integers(0, 10**12))
    column = Number(low, low + steps * step, step)
    return column, draw(st.lists(st.integers(0, steps), min_size=3, max_size=3))


@settings(max_examples=60)
@given(st.lists(grids(), min_size=1, max_size=4), st.sampled_from(ENGINES))
def test_sums_on_any_grid_are_exact(drawn: list[tuple[Number, list[int]]], engine: Any) -> None:
    known = Dictionary.of({f"c{at}": column for at, (column, _) in enumerate(drawn)})
    rows = [
        {
            f"c{at}": c.low + at_party[party] * (c.step or 0)
            for at, (c, at_party) in enumerate(drawn)
        }
        for party in range(3)
    ]
    out = averaged(asked(known=known), rows, engine)
    means = [sum((row[name] for row in rows), Fraction(0)) / 3 for name in out.names]
    assert list(out.exact) == means
    assert np.asarray(out.value).tolist() == [float(mean) for mean in means]
    again = decode(encode(out))[0]
    assert (again.exact, again.names) == (out.exact, out.names)


def test_the_ring_follows_from_the_dictionary() -> None:
    (sum_,) = asked().sums
    assert (sum_.entries, sum_.unit) == (2, Fraction(1))
    assert sum_.ring.bits == (3 * 10_000_000).bit_length() + 1
    (one,) = asked({"columns": ("income",)}).sums
    assert one.unit == Fraction(1, 100)
    (flag,) = asked({"columns": ("member",)}).sums
    assert (flag.unit, flag.ring.bits) == (Fraction(1), 3)


def test_numbers_between_grid_points_go_to_the_nearest() -> None:
    out = averaged(asked({"columns": ("staff",)}), [[7], [8], [12.5]])
    assert out.exact == (Fraction(5 + 10 + 15, 3),)  # halfway: the even number of steps


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ([100000.01, 5], 'column "income": a value outside the study\'s range, -1000 to 100000'),
        ([0, 4], 'column "staff": a value outside'),
        ([float("nan"), 5], 'column "income": no number'),
        ([float("inf"), 5], 'column "income"'),
        (["one", 5], 'column "income"'),
        ({"income": 1}, 'no column "staff"'),
    ],
)
def test_numbers_that_cannot_be_used(row: Any, complaint: str) -> None:
    computation = asked()
    with pytest.raises(InputError, match=complaint) as error:
        computation.prepare(source(computation, row))
    assert "100000.01" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("income,staff\n1,5\n2,5\n", r"has 2 rows, where an average takes one .*describe"),
        ("income,staff\n", "has no rows"),
        ("income,staff\n1,\n", 'column "staff": no number'),
        ("income\n1\n", 'no column "staff"'),
        ("income,staff\nmuch,5\n", 'column "income"'),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=complaint):
        asked().prepare(open_source(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ({"columns": ("town",)}, "'town', which is a category"),
        ({"columns": ("height",)}, r"'height', which is not in the .*--range height=0:120"),
        ({"columns": ("staff", "staff")}, "is named twice"),
        ({"column": ("staff",)}, "no option 'column'"),
    ],
)
def test_questions_that_cannot_be_asked(text: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        asked(text)


def test_an_average_needs_numbers_with_a_step() -> None:
    with pytest.raises(InputError, match="an average that names no column"):
        asked(known=Dictionary.of({"town": Category(("a",))}))
    with pytest.raises(InputError, match=r"the step of 'x' \(--step x=1\)"):
        asked(known=Dictionary.of({"x": Number(Fraction(0), Fraction(1))}))


def test_columns_are_settled_into_the_question() -> None:
    plain = Question.of("average", "q1", {}, KNOWN)
    assert plain == Question.of("average", "q1", {"columns": ("income", "staff")}, KNOWN)
    assert str(plain) == "average: income, staff"


# -- the answer, from wherever ----------------------------------------------------------------


def test_json_and_table_of_named_columns() -> None:
    out = averaged(asked(), ROWS_AS_NUMBERS)
    told = out.to_dict()
    assert told["value"] == {"income": float(Fraction("69996.77") / 3), "staff": 515 / 3}
    assert told["total"] == {"income": 69996.77, "staff": 515.0}
    assert set(told["error_bound"]) == {"income", "staff"}
    assert told["parties"] == ["north", "east", "south"]
    assert "cost" not in told
    lines = [line.split()[:1] for line in out.summary().splitlines() if line.strip("-")]
    assert lines == [
        ["average"],
        ["income"],
        ["staff"],
        ["3"],
    ]


ROWS_AS_NUMBERS = [{k: Fraction(v) for k, v in row.items()} for row in ROWS]


@pytest.mark.parametrize(
    "values",
    [[1.5, 2, 3], [[0.1, 7], [0.2, 8], [0.3, 9]], np.arange(12.0).reshape(3, 2, 2), [[]] * 3],
)
def test_in_one_process_the_answer_is_kept_as_well(values: Any) -> None:
    out = titan.average(values, NET)
    for again in (decode(encode(out))[0], pickle.loads(pickle.dumps(out))):  # noqa: S301
        assert isinstance(again, Average)
        assert again.to_dict() == out.to_dict()
        assert again.exact == out.exact
        assert again.summary() == out.summary()
        assert np.array_equal(again.value, out.value)
    told = out.to_dict()
    assert list(told) == ["value", "total", "error_bound", "parties", "recovery", "bits", "cost"]
    assert told["value"] == np.asarray(out.value).tolist()


def test_long_vectors_are_told_in_part() -> None:
    text = titan.average([list(range(30))] * 3, NET).summary()
    assert "and 10 more entries" in text
    assert "3 parties; " in text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sums": ["1", "2"]}, "as many sums and units as entries"),
        ({"units": ["1", "1"]}, "as many sums and units as entries"),
        ({"names": ["a", "b"]}, "as many names as entries"),
        ({"parties": []}, "names are missing"),
        ({"sums": [3]}, "where an integer should be"),
        ({"extra": 1}, "exactly the fields"),
    ],
)
def test_states_that_no_average_has(change: dict[str, Any], complaint: str) -> None:
    state = titan.average([1, 2, 3], NET).to_state() | change
    with pytest.raises(ValueError, match=complaint):
        Average.from_state(state)


def test_an_average_beyond_floats_is_refused() -> None:
    with pytest.raises(NumberError, match="beyond the range of float64"):
        titan.average([10**400, 0, 0], NET, bound=10**401, bits=4096)
