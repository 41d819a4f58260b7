"""Invariant: a description is that of all rows in one place, exactly, and nothing small is told."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import titan
from titan.errors import DataError, FileError, InputError, NotThereError, PlanError, ReleaseError
from titan.joint.describe import Describing
from titan.joint.description import ColumnSummary, Description
from titan.joint.explanations import explained
from titan.joint.kinds import Question, Setting
from titan.joint.on_grid import Bins
from titan.joint.settings import SumSettings
from titan.joint.together import together
from titan.moments import open_source
from titan.network import Network
from titan.release import Category, Column, Dictionary, Flag, Number, Time
from titan.release.policy import DEFAULT, NONE
from titan.results import decode, encode

from ..strategies import networks
from . import plain
from .plain import number

ENGINES: tuple[Any, ...] = ("local", "vectorised")
DICTIONARY: dict[str, Column] = {
    "age": number("0", "120", "1", "years"),
    "bmi": number("10", "60", "0.1"),
    "sex": Category(("f", "m", "x")),
    "died": Flag(),
    "days": Time(Fraction(0), Fraction(3650), Fraction(1), "days"),
}
BINS = {"age": "0:120:40", "bmi": "20:40:5"}
EDGES = {
    "age": (Fraction(0), Fraction(120), Fraction(40)),
    "bmi": (Fraction(20), Fraction(40), Fraction(5)),
}


def table(rows: int, seed: int) -> dict[str, list[Any]]:
    """Texts, as in a CSV; a tenth of the values is missing."""
    rng = np.random.default_rng(seed)

    def gaps(values: list[str]) -> list[Any]:
        return [value if rng.random() > 0.1 else None for value in values]

    return {
        "age": gaps([str(n) for n in rng.integers(0, 121, rows)]),
        "bmi": gaps([f"{x:.1f}" for x in np.clip(rng.normal(27, 5, rows), 10, 60)]),
        "sex": gaps([str(s) for s in rng.choice(["f", "m"], rows)]),
        "died": gaps([str(n) for n in rng.integers(0, 2, rows)]),
        "days": gaps([str(n) for n in rng.integers(0, 3651, rows)]),
    }


TABLES = [table(40 + seed, seed) for seed in range(4)]


@pytest.mark.parametrize("engine", ENGINES)
def test_it_is_that_of_all_rows_together(engine: Any) -> None:
    found = titan.describe(TABLES, "cycle", dictionary=DICTIONARY, bins=BINS, engine=engine)
    assert found == plain.description(TABLES, DICTIONARY, EDGES)
    assert found.nobs == sum(40 + seed for seed in range(4))
    assert found.cost is not None
    assert found["sex"].levels[2] == ("x", 0)
    assert all(column.missing for column in found.values())


@pytest.mark.parametrize("engine", ENGINES)
def test_pandas_says_the_same(engine: Any) -> None:
    rng = np.random.default_rng(3)
    frames = [
        pd.DataFrame(
            {
                "income": np.round(rng.lognormal(8, 1, 60), 2),
                "children": rng.integers(0, 5, 60),
                "deep": rng.normal(-7, 1e-3, 60),
                "city": rng.choice(["Rom", "Ulm"], 60),
            }
        )
        for _ in range(3)
    ]
    frames[1].loc[5:9, ["income", "city"]] = np.nan
    found = titan.describe(frames, "complete", engine=engine, tau=1)
    whole = pd.concat(frames)
    expected = whole.describe()
    assert found.names == ("income", "children", "deep", "city")
    for name in ("income", "children", "deep"):
        assert found[name].count == expected[name]["count"]
        assert math.isclose(found[name].mean, expected[name]["mean"], rel_tol=1e-12)
        assert math.isclose(found[name].std, expected[name]["std"], rel_tol=1e-12)
    assert dict(found["city"].levels) == whole["city"].value_counts().to_dict()
    assert found.missing == {"income": 5, "children": 0, "deep": 0, "city": 5}
    both = pd.DataFrame({"mean": found.mean, "std": found.std})
    assert list(both.index) == ["income", "children", "deep"]


DECIMALS = st.sampled_from(["1", "0.1", "0.25", "0.01", "3", "100", "1e-12"])


@st.composite
def number_columns(draw: st.DrawFn) -> Number:
    step = Fraction(draw(DECIMALS))
    low = Fraction(draw(st.integers(-2000, 2000)), draw(st.sampled_from([1, 2, 10, 1000])))
    return Number(low, low + step * draw(st.integers(1, 2000) | st.just(10**30)), step)


@st.composite
def studies(draw: st.DrawFn) -> tuple[Any, dict[str, Column], list[dict[str, list[Any]]], Any]:
    """A network, a dictionary, a table for each party, bins for some columns."""
    network = draw(networks(most=4))
    columns = draw(
        st.lists(
            number_columns() | st.just(Flag()) | st.just(Category(("a", "b", "c d"))),
            min_size=1,
            max_size=3,
        )
    )
    dictionary: dict[str, Column] = {f"c{at}": column for at, column in enumerate(columns)}
    tables = []
    for _ in network.parties:
        rows = draw(st.integers(1, 6))
        cells = {n: [draw(cell(column)) for _ in range(rows)] for n, column in dictionary.items()}
        tables.append(cells)
    bins = {}
    for name, column in dictionary.items():
        if isinstance(column, Number) and draw(st.booleans()):
            width = (column.high - column.low) / draw(st.sampled_from([1, 2, 4, 5]))
            shift = draw(st.sampled_from([Fraction(0), width / 2]))
            low = column.low - shift
            bins[name] = (low, low + width * draw(st.integers(1, 4)), width)
    return network, dictionary, tables, bins


def cell(column: Column) -> st.SearchStrategy[Any]:
    if isinstance(column, Number):
        assert column.step is not None
        low, step, steps = column.low, column.step, int((column.high - column.low) / column.step)
        return st.none() | st.integers(0, steps).map(lambda n: low + n * step)
    levels = [0, 1] if isinstance(column, Flag) else list(column.levels)
    return st.none() | st.sampled_from(levels)


@settings(max_examples=80)
@given(studies(), st.sampled_from(ENGINES))
def test_any_tables_on_any_grid(study: Any, engine: Any) -> None:
    network, dictionary, tables, bins = study
    asked = {name: ":".join(map(titan_text, ends)) for name, ends in bins.items()}
    found = titan.describe(
        tables, network, dictionary=dictionary, bins=asked, allow_small=True, engine=engine
    )
    assert found == plain.description(tables, dictionary, bins)
    assert decode(encode(found))[0] == found
    for column in found.values():
        mean, variance = column.exact_mean, column.exact_variance
        if mean is not None:
            assert column.mean == float(mean)
            assert abs(Fraction(column.mean) - mean) <= Fraction(column.error_bound["mean"])
        if variance is not None:
            assert correctly_rounded_root(column.std, variance)


def titan_text(number: Fraction) -> str:
    from titan.decimals import decimal_text

    return decimal_text(number)


def correctly_rounded_root(root: float, square: Fraction) -> bool:
    """No other double is nearer: √square lies between the midpoints to both neighbours."""
    below = (Fraction(root) + Fraction(math.nextafter(root, -math.inf))) / 2
    above = (Fraction(root) + Fraction(math.nextafter(root, math.inf))) / 2
    return (below < 0 or below**2 <= square) and square <= above**2


@given(st.fractions(min_value=0).filter(bool) | st.integers(1, 10**80).map(Fraction))
def test_roots_are_correctly_rounded(square: Fraction) -> None:
    two = ColumnSummary("x", "number", 0, 2, total=Fraction(0), squares=square)
    assert two.exact_variance == square
    assert correctly_rounded_root(two.std, square)
    assert two.error_bound["std"] == math.ulp(two.std) / 2


def test_one_table_needs_no_network() -> None:
    found = titan.describe(TABLES[0], dictionary=DICTIONARY, bins=BINS)
    assert found == plain.description(TABLES[:1], DICTIONARY, EDGES)
    assert found.cost is None
    with pytest.raises(PlanError, match="tau without a network"):
        titan.describe(TABLES[0], dictionary=DICTIONARY, tau=1)
    with pytest.raises(PlanError, match="allow_small without a network"):
        titan.describe(TABLES[0], dictionary=DICTIONARY, allow_small=True)


def test_all_kinds_of_tables_give_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(TABLES[0])
    frame.to_csv(tmp_path / "a.csv", index=False)
    typed = frame.astype({"age": "float64", "bmi": "float64", "died": "float64", "days": "float64"})
    typed.to_parquet(tmp_path / "a.parquet")
    expected = plain.description(TABLES[:1], DICTIONARY, EDGES)
    exact = {n: [None if c is None else Decimal(c) for c in TABLES[0][n]] for n in ("age", "bmi")}
    for data in (frame, typed, tmp_path / "a.csv", tmp_path / "a.parquet", TABLES[0] | exact):
        assert titan.describe(data, dictionary=DICTIONARY, bins=BINS) == expected


def test_values_between_grid_points_go_to_the_nearest_as_in_any_question() -> None:
    column = {"x": number("0", "1", "0.1")}
    found = titan.describe({"x": [0.1, 0.2, 0.30000000000000004, "0.26"]}, dictionary=column)
    assert found["x"].total == Fraction(9, 10)
    known = Dictionary.of(column)
    question = Question.of("describe", "q1", {}, known).computation(Setting(("a",), known, NONE))
    part = question.prepare(open_source({"x": ["0.26", "0.3", None, "0.99"]}))
    assert part.rounded == {"x": 2}


def test_many_blocks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = titan.describe(TABLES[0], dictionary=DICTIONARY, bins=BINS)
    asked = Question.of("describe", "q1", {}, Dictionary.of(DICTIONARY))
    computation = asked.computation(Setting(("a",), Dictionary.of(DICTIONARY), NONE))
    monkeypatch.setattr("titan.moments.reading.Reading.size", 7)
    assert computation.prepare(open_source(TABLES[0])).rows == expected.nobs
    assert titan.describe(TABLES[0], dictionary=DICTIONARY, bins=BINS) == expected


# -- what is opened, and when -----------------------------------------------------------------


def asked(text: dict[str, Any], limits: Any = DEFAULT, parties: int = 2) -> Describing:
    known = Dictionary.of(DICTIONARY)
    setting = Setting(tuple(f"p{n}" for n in range(parties)), known, limits)
    computation = Question.of("describe", "q1", text, known).computation(setting)
    assert isinstance(computation, Describing)
    return computation


def test_counts_come_first_and_the_sizes_of_sums_are_known_before() -> None:
    counts, totals = asked({"columns": ("age", "bmi", "sex"), "bins": ("age=0:120:40",)}).sums
    assert (counts.name, counts.entries) == ("counts", 1 + (1 + 3 + 6 + 1) + (1 + 8 + 1) + (1 + 3))
    assert "the rows and parties off coarser grids of age, bmi" in counts.opens
    assert counts.ring.bits == 42
    assert (totals.name, totals.entries) == ("totals", 4)
    assert totals.ring.bits == (600**2 << 40).bit_length() + 1
    assert "each cell of a histogram of age" in counts.opens
    assert "each level of sex" in counts.opens
    assert totals.opens == "the sums over all rows of age, bmi and of their squares"
    assert len(asked({"columns": ("sex", "died")}).sums) == 1
    _, alone = asked({"columns": ("age", "sex")}).sums
    assert alone.opens == "the sums over all rows of age and of its square"


def test_everything_that_is_told_is_explained() -> None:
    computation = asked({"bins": ("age=0:120:40",)})
    explanation = explained(computation)
    assert explanation.columns == tuple(sorted(DICTIONARY))
    told = sum(item.numbers for item in explanation.items)
    assert told == sum(sum_.entries for sum_ in computation.sums)


def test_a_party_with_few_rows_sends_nothing() -> None:
    small = [table(9, 1), table(30, 2)]
    with pytest.raises(ReleaseError, match="'1' has 9 rows, and a party needs at least 10"):
        titan.describe(small, "cycle", dictionary=DICTIONARY)


def stopped_after_counts(tables: list[Any], columns: list[str], **choices: Any) -> str:
    """Who refuses between the sums has let nobody see a total of values."""
    seen: list[int] = []
    learn = Describing.learn

    def spy(self: Describing, n: int, known: Any, total: Any) -> Any:
        seen.append(n)
        return learn(self, n, known, total)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Describing, "learn", spy)
        with pytest.raises(ReleaseError) as error:
            titan.describe(tables, "cycle", columns=columns, **choices)
    assert seen == [0]
    return str(error.value)


def test_small_cells_are_refused_between_the_sums() -> None:
    tables = [{"sex": ["f"] * 12, "age": [30] * 12}, {"sex": ["m"] + ["f"] * 11, "age": [31] * 12}]
    text = stopped_after_counts(tables, ["age", "sex"])
    assert "sex = m holds for 1 row in all, and what occurs needs at least 3" in text
    tables[1]["age"] = [31] * 10 + [70, 71]
    text = stopped_after_counts(tables, ["age"], bins={"age": "0:100:50"})
    assert "age = 50 to 100 holds for 2 rows in all" in text
    text = stopped_after_counts(tables, ["age"], bins={"age": "0:50:10"})
    assert "age = outside holds for 2 rows in all" in text
    assert titan.describe(tables, "cycle", columns=["age"]).nobs == 24


def test_few_values_in_all_are_refused_between_the_sums() -> None:
    tables = [{"x": [1, 2, 3] + [None] * 9}, {"x": [4, 5] + [None] * 10}]
    text = stopped_after_counts(tables, ["x"])
    assert "x has 5 values in all, and a mean and a standard deviation need at least 6" in text
    assert titan.describe(tables, "cycle", allow_small=True)["x"].mean == 3.0


def test_a_column_without_values_is_described_as_such() -> None:
    found = titan.describe([{"x": [None] * 10, "y": [1] * 10}] * 2, "cycle")
    assert (found["x"].count, found["x"].missing) == (0, 20)
    assert math.isnan(found["x"].mean)
    assert found.to_dict()["columns"]["x"]["mean"] is None
    assert found["x"].error_bound == {}
    one = titan.describe({"x": [2.5]})["x"]
    assert (one.mean, math.isnan(one.std)) == (2.5, True)


def test_a_coalition_sees_its_own_rows_and_masks() -> None:
    found = titan.describe(TABLES, "cycle", dictionary=DICTIONARY, record=True)
    view = found.view(["1"])
    assert [each.name for each in view.sums] == ["counts", "totals"]


# -- results ----------------------------------------------------------------------------------


def test_results_are_kept_printed_and_compared() -> None:
    found = titan.describe(TABLES, "cycle", dictionary=DICTIONARY, bins=BINS)
    for again in (decode(encode(found))[0], pickle.loads(pickle.dumps(found))):  # noqa: S301
        assert isinstance(again, Description)
        assert again == found
        assert again.summary() == found.summary()
        assert again.to_dict() == found.to_dict()
        assert again.cost.as_dict() == found.cost.as_dict()
    assert found.names == tuple(DICTIONARY)
    assert list(found) == list(DICTIONARY)
    assert "nobody" not in found
    assert found.get("nobody") is None
    with pytest.raises(NotThereError, match="there is no column 'nobody'"):
        found["nobody"]
    assert repr(found) == "Description(age, bmi, sex, died, days, nobs=166)"


def test_the_table() -> None:
    columns: dict[str, Column] = {
        "age": number("0", "99", "1", "years"),
        "sex": Category(("f", "m")),
    }
    rows = {"age": [20, 30, 40, None, 99], "sex": ["f", "f", "m", "m", "f"]}
    found = titan.describe(rows, dictionary=columns, bins={"age": "0:90:45"})
    assert found.summary().splitlines() == [
        "Table 1: 5 rows",
        "-------------------------------------------------",
        "            count  missing  mean or share     std",
        "-------------------------------------------------",
        "age, years      4        1          47.25  35.453",
        "  0 to 45       3                   75.0%",
        "  45 to 90      0                    0.0%",
        "  outside       1                   25.0%",
        "sex             5        0",
        "  f             3                   60.0%",
        "  m             2                   40.0%",
        "-------------------------------------------------",
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"nobs": 1}, "do not add up"),
        ({"columns": [{}]}, "exactly the fields"),
        ({"columns": []}, "names are missing"),
        ({"nobs": True}, "whole one"),
    ],
)
def test_states_that_no_description_has(change: dict[str, Any], complaint: str) -> None:
    state = titan.describe(TABLES[0], dictionary=DICTIONARY).to_state() | change
    with pytest.raises(ValueError, match=complaint):
        Description.from_state(state)


# -- questions --------------------------------------------------------------------------------


def test_a_question_has_one_form() -> None:
    known = Dictionary.of(DICTIONARY)
    one = Question.of("describe", "q1", {"bins": ("age=0:120:10.0",)}, known)
    other = Question.of(
        "describe", "q1", {"columns": tuple(sorted(DICTIONARY)), "bins": ("age=0:1.2e2:10",)}, known
    )
    assert one == other
    assert str(one) == "describe: age, bmi, days, died, sex; bins age=0:120:10"
    assert Question.of("describe", "q1", one.options, known) == one


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ({"columns": ("age", "height")}, r"'height' is \(.*--range height=0:120 --step height=1"),
        ({"columns": ("age", "age")}, "'age' stands twice"),
        ({"columns": ("age",), "bins": ("bmi=0:10:1",)}, "bins of 'bmi'"),
        ({"columns": ("sex",), "bins": ("sex=0:10:1",)}, "bins of 'sex'"),
        ({"columns": ("age",), "bins": ("age=0:10:3",)}, "whole number of cells"),
        ({"columns": ("age",), "bins": ("age=10:0:1",)}, "whole number of cells"),
        ({"columns": ("age",), "bins": ("age=0:10",)}, "cannot be read"),
        ({"columns": ("age",), "bins": ("age=0:10:0",)}, "whole number of cells"),
        ({"columns": ("age",), "bins": ("age=a:10:1",)}, "cannot be read"),
        ({"columns": ("age",), "bins": ("0:10:1",)}, "of one column"),
        ({"columns": ("age",), "bins": ("age=0:9:1", "age=0:8:1")}, "of one column"),
        ({"columns": ("age",), "bins": ("age=0:1:0.00001",)}, "too many"),
    ],
)
def test_questions_that_cannot_be_asked(text: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Question.of("describe", "q1", text, Dictionary.of(DICTIONARY))


def test_numbers_need_a_step_and_a_question_a_column() -> None:
    stepless = Dictionary.of({"age": Number(Fraction(0), Fraction(9))})
    with pytest.raises(InputError, match=r"the step of 'age' \(--step age=1\)"):
        Question.of("describe", "q1", {}, stepless)
    with pytest.raises(InputError, match="no column is named"):
        Question.of("describe", "q1", {}, Dictionary())


def test_bins_of_columns_with_odd_names() -> None:
    assert list(Bins.by_column({"a=b:c": "0:1:1"})) == ["a=b:c"]
    assert str(Bins.by_column(["x=-1e1:0:0.50"])["x"]) == "-10:0:0.5"


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"age": ["121"]}, 'column "age": a value outside the study\'s range, 0 to 120'),
        ({"age": ["old"]}, 'column "age"'),
        ({"bmi": ["9.9"]}, "outside"),
        ({"died": ["2"]}, 'column "died"'),
        ({"sex": ["q"]}, "none of the stated levels"),
        ({"sex": []}, "has no rows"),
    ],
)
def test_rows_that_the_dictionary_does_not_know(data: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as error:
        titan.describe(data, dictionary=DICTIONARY, columns=list(data))
    assert "121" not in str(error.value)


def test_other_bad_input(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='no column "height"'):
        titan.describe(TABLES[0], columns=["height"])
    with pytest.raises(DataError, match='no column "age"'):
        titan.describe({"x": [1]}, columns=["age"], dictionary=DICTIONARY)
    bad: list[tuple[str, Any]] = [("columns", "age"), ("columns", 5), ("columns", [5]), ("bins", 5)]
    for option, value in bad:
        with pytest.raises(InputError, match=f"{option}=.* is not a list of texts"):
            titan.describe(TABLES[0], **{option: value})
    for dictionary in (5, {"age": "number"}, ["age"]):
        with pytest.raises(InputError, match="the dictionary does not say"):
            titan.describe(TABLES[0], dictionary=dictionary)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="describe does not take bits"):
        titan.describe(TABLES, "cycle", bits=64)
    with pytest.raises(PlanError, match="no option 'tua'"):
        titan.describe(TABLES, "cycle", tua=1)  # type: ignore[call-arg]
    with pytest.raises(FileError, match="cannot be read"):
        titan.describe(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="int is no"):
        titan.describe(3)


# -- a dictionary made up from the rows -------------------------------------------------------


def test_a_word_among_numbers_is_no_level() -> None:
    with pytest.raises(DataError, match=r'row 1 .*column "x"'):
        titan.describe({"x": ["1", "two", "3"]})
    with pytest.raises(DataError, match="numbers in one table and words in another"):
        titan.describe([{"x": ["1"] * 10}, {"x": ["a"] * 10}], "cycle")
    with pytest.raises(DataError, match=r"column 'x': it has 10001 levels \(name the columns"):
        titan.describe({"x": [f"p{n}" for n in range(10_001)]})


def test_ranges_are_those_of_all_tables() -> None:
    found = titan.describe([{"x": ["0.5"] * 10}, {"x": ["100"] * 9 + ["-0.25"]}], "cycle")
    assert found["x"].total == 5 + 900 - Fraction(1, 4)
    flags = titan.describe({"yes": np.array([True, False, True])})
    assert flags["yes"].levels == (("0", 1), ("1", 2))


@pytest.mark.parametrize("own", [0, 1, 3])
def test_nobody_s_last_digits_stand_alone(own: int) -> None:
    """Of four parties who weigh to 0.1 kg, some hold pounds: below 0.1 the sum is theirs."""
    kg, pounds = [50 + Fraction(n, 10) for n in range(40)], Fraction("0.45359237")
    tables = [
        {"w": [float(round(x / pounds) * pounds if party < own else x) for x in kg]}
        for party in range(4)
    ]
    known = Dictionary.of({"w": number("0", "300", "0.00000001")})
    setting = Setting(("a", "b", "c", "d"), known, DEFAULT)
    computation = Question.of("describe", "", {"columns": ("w",)}, known).computation(setting)
    parts = [computation.prepare(open_source(table)) for table in tables]
    if own == 1:
        with pytest.raises(ReleaseError, match="in the rows of 1 party only") as caught:
            together(computation, parts, SumSettings(Network.cycle(4)))
        assert caught.value.rule == "digits"
    else:
        assert together(computation, parts, SumSettings(Network.cycle(4))).answer.nobs == 160


@pytest.mark.parametrize(("ones", "refused"), [(0, False), (1, True), (2, True), (9, False)])
def test_a_number_of_few_values_is_counted_like_a_flag(ones: int, refused: bool) -> None:
    """Σx of zeros and ones is a count."""
    known = Dictionary.of({"ill": number("0", "1", "1")})
    setting = Setting(("a", "b", "c"), known, DEFAULT)
    computation = Question.of("describe", "", {"columns": ("ill",)}, known).computation(setting)
    tables = [{"ill": [int(3 * n + party < ones) for n in range(12)]} for party in range(3)]
    parts = [computation.prepare(open_source(table)) for table in tables]
    if refused:
        with pytest.raises(ReleaseError, match=f"ill = 1 holds for {ones} rows? in all"):
            together(computation, parts, SumSettings(Network.cycle(3)))
    else:
        found = together(computation, parts, SumSettings(Network.cycle(3))).answer
        assert found["ill"].total == ones
