"""What the ledger keeps of a party's rows: the same rows give the same digests, others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.counted import Counted
from tests.study.digests import digests as digests_of
from tests.study.studies import study
from titan.cli.output import show_error
from titan.errors import DataError, InputError
from titan.joint.kinds import Question
from titan.moments import Column, collect, open_source
from titan.moments.cell_digests import CellDigests
from titan.moments.rows import ModelRows
from titan.party.preparing import prepare, rows_for
from titan.release import Dictionary, Number
from titan.study import Study, digesting
from titan.study.differencing import LedgerQuestion
from titan.study.ledger import Ledger

HEADER = "id,y,age,sex,note"
ROWS = [f"{i},{i % 7}.50,{20 + i % 50},{'fm'[i % 2]},note {i % 3}" for i in range(60)]
COLUMNS = Dictionary.of({"age": Number.read("0", "120", "1"), "y": Number.read("0", "50", "0.01")})
STUDY = study(columns=COLUMNS)


def of(tmp_path: Path, ledger: Ledger, rows: Sequence[str], it: Study = STUDY) -> LedgerQuestion:
    file = tmp_path / "north.csv"
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    return entered(it, file, ledger)


def entered(it: Study, data: Any, ledger: Ledger) -> LedgerQuestion:
    (entry,) = prepare(it, 1, open_source(data), ledger.row_key)[1]
    return entry


def model_rows(it: Study) -> ModelRows:
    found = it.meeting.computation("q1").rows  # type: ignore[attr-defined]
    assert isinstance(found, ModelRows)
    return found


def change(one: LedgerQuestion, other: LedgerQuestion) -> int:
    """How many rows differ: the more of those only here, those only there."""
    here, there = (Counter(digests_of(it.rows)) for it in (one, other))
    return max((here - there).total(), (there - here).total())


def test_an_entry_says_what_the_study_says(tmp_path: Path, ledger: Ledger) -> None:
    it = of(tmp_path, ledger, ROWS)
    assert (it.study, it.title, it.run, it.tau) == (STUDY.digest, STUDY.title, 1, 1)
    assert it.parties == {card.name: card.fingerprint for card in STUDY.parties}
    assert it.minimum == 9, "three rows for each of three parameters"
    assert dict(it.columns) == {
        "y": {"kind": "number", "range": ["0", "50"], "step": "0.01"},
        "age": {"kind": "number", "range": ["0", "120"], "step": "1"},
        "sex": {},
    }
    assert it.model == str(STUDY.questions[0]) == f"regression: {model_rows(STUDY).model}"
    assert it.rows.columns == ("age", "sex", "y")
    assert len(it.rows) == 60


def test_moments_and_digests_come_of_one_pass(tmp_path: Path, ledger: Ledger) -> None:
    it = study(missing="drop", columns=COLUMNS)
    apart = of(tmp_path, ledger, [*ROWS, "99,1,NA,f,note"], it)
    source = Counted(open_source(tmp_path / "north.csv"))
    parts, (entry,) = prepare(it, 1, source, ledger.row_key)
    assert source.passes == [{"y", "age", "sex"}], "and of what is used alone"
    assert change(entry, apart) == 0
    found = collect(tmp_path / "north.csv", model_rows(it).model, missing="drop")
    assert (parts["q1"].moments, parts["q1"].dropped) == (found.moments, found.dropped)
    assert (found.moments.rows, found.dropped) == (60, 1)


def test_what_moments_refuse_is_refused_in_their_words(tmp_path: Path, ledger: Ledger) -> None:
    for it, rows, said in (
        (STUDY, ["1,2,300,f,note"], "a value outside the study's range"),
        (STUDY, [*ROWS, "99,1,NA,f,note"], '1 missing in "age"'),
        (study(missing="drop"), ["99,1,NA,f,note"], "north.csv has no complete rows"),
        (STUDY, [], "north.csv has no rows"),
        (STUDY, ["1,2,3,x,note"], 'line 2, column "sex": none of the stated levels'),
    ):
        (tmp_path / "north.csv").write_text("\n".join([HEADER, *rows]) + "\n")
        with pytest.raises(DataError, match=said):
            prepare(it, 1, open_source(tmp_path / "north.csv"), ledger.row_key)


def test_order_and_batches_do_not_matter(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = of(tmp_path, ledger, ROWS)
    assert change(whole, of(tmp_path, ledger, ROWS[::-1])) == 0
    monkeypatch.setattr(digesting, "BATCH_ROWS", 7)
    monkeypatch.setattr(digesting, "_LEAST_ROWS", 1)
    assert change(whole, of(tmp_path, ledger, ROWS)) == 0


def test_a_single_cell_makes_another_row(tmp_path: Path, ledger: Ledger) -> None:
    whole = of(tmp_path, ledger, ROWS)
    for old, new, expected in (
        ("5,5.50,25,m,note 2", "5,5.51,25,m,note 2", 1),
        ("5,5.50,25,m,note 2", "5,5.50,25,f,note 2", 1),
        ("5,5.50,25,m,note 2", "5,5.50,25,m,note 3", 0),  # a column that no one uses
        ("5,5.50,25,m,note 2", "5,5.5,25,m,note 2", 0),  # the same number
    ):
        assert old in ROWS
        edited = [new if row == old else row for row in ROWS]
        assert change(whole, of(tmp_path, ledger, edited)) == expected, new


def test_columns_are_told_apart(tmp_path: Path, ledger: Ledger) -> None:
    def entry(cells: str, header: str = "y,age,sex,a,b") -> LedgerQuestion:
        (tmp_path / "north.csv").write_text(f"{header}\n{cells}\n")
        return entered(STUDY, tmp_path / "north.csv", ledger)

    one = entry("1,23,f,x,")
    assert change(one, entry("12,3,f,x,")) == 1
    assert change(one, entry("1,23,f,,x")) == 0
    assert change(one, entry("1,23,f,x,", header="y,age,sex,a,c")) == 0, "unused"
    assert change(one, entry("f,,1,x,23", header="sex,b,y,a,age")) == 0, "columns moved"
    assert change(entry("1,23,f,x,"), entry("23,1,f,x,")) == 1, "values moved"


def test_the_used_numbers_are_the_same_from_every_kind_of_source(
    tmp_path: Path, ledger: Ledger
) -> None:
    text = of(tmp_path, ledger, ROWS)
    columns: dict[str, Any] = {
        "y": [i % 7 + 0.5 for i in range(60)],
        "age": [20 + i % 50 for i in range(60)],
        "sex": ["fm"[i % 2] for i in range(60)],
    }
    parquet.write_table(pa.table(columns), tmp_path / "north.parquet")
    exact = {**columns, "y": [Decimal(x).quantize(Decimal("0.000")) for x in columns["y"]]}
    for source in (
        tmp_path / "north.parquet", pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns),
        columns, exact, pa.table({**columns, "sex": pa.array(columns["sex"]).dictionary_encode()}),
    ):  # fmt: skip
        assert change(entered(STUDY, source, ledger), text) == 0


def test_any_column_may_stand_beside_the_used_ones(ledger: Ledger) -> None:
    used = {"y": [1.0, 2.0], "age": [3, 4], "sex": ["f", "m"]}
    beside = {
        "day": pa.array([0, 1], pa.date32()), "raw": pa.array([b"\xff", None]),
        "list": pa.array([[1], None]), "nothing": pa.nulls(2),
        "wide": pa.array([Decimal("1.5"), None]),
    }  # fmt: skip
    table = pa.table({**used, **beside})
    assert len(entered(STUDY, table, ledger).rows) == 2
    frame = pd.DataFrame({**used, "objects": [pd.NA, (1, 2)], "when": pd.to_datetime(["2024"] * 2)})
    assert len(entered(STUDY, frame, ledger).rows) == 2


def test_rows_with_gaps_are_not_used(tmp_path: Path, ledger: Ledger) -> None:
    dropping = study(missing="drop")
    whole = of(tmp_path, ledger, ROWS, dropping)
    gap = "99,1,NA,f,note"
    assert change(whole, of(tmp_path, ledger, [*ROWS[:9], gap, *ROWS[9:]], dropping)) == 0
    one_less = [",".join([*ROWS[0].split(",")[:2], "", "f", "note 0"]), *ROWS[1:]]
    assert change(whole, of(tmp_path, ledger, one_less, dropping)) == 1
    with pytest.raises(DataError, match='1 missing in "age"'):
        of(tmp_path, ledger, [*ROWS, gap])
    with pytest.raises(DataError, match="no complete rows"):
        of(tmp_path, ledger, [gap], dropping)
    with pytest.raises(DataError, match="no rows"):
        of(tmp_path, ledger, [])


def test_rows_that_cannot_be_read_are_refused(tmp_path: Path, ledger: Ledger) -> None:
    with pytest.raises(DataError, match='line 2, column "sex": none of the stated levels'):
        of(tmp_path, ledger, ["1,2,3,x,note"])
    with pytest.raises(DataError, match='no column "age"'):
        entered(STUDY, {"y": [1], "sex": ["f"]}, ledger)


def test_a_model_that_leaves_one_row_more_out_is_refused(
    tmp_path: Path,
    ledger: Ledger,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both release the sums of y and age; their difference would be that row."""
    rows = [f"{row}" for row in ROWS[:-1]] + [ROWS[-1].replace(",m,", ",,")]
    smaller = study(missing="drop", formula="y ~ age")
    ledger.record([of(tmp_path, ledger, rows, smaller)])
    larger = of(tmp_path, ledger, rows, study(missing="drop"))
    with pytest.raises(InputError, match="only a few of this party's rows differ") as refused:
        ledger.record([larger])
    assert "allow_differencing=True" in refused.value.hint
    monkeypatch.setattr("sys.argv", ["titan", "join"])
    show_error(refused.value)
    assert "say so: --allow-differencing\n" in capsys.readouterr().err, "as it is typed"
    ledger.record([larger], allow_differencing=True)


numbers = st.integers(-(10**40), 10**40) | st.integers(-(2**62), 2**62) | st.integers(-9, 9)


@given(st.lists(numbers, min_size=1, max_size=8), st.integers(0, 12), st.integers(0, 5))
@example([0, 2**63 - 1], 0, 0)  # more lies between them than a range can count
@example([2**63 - 1], 0, 0)
def test_a_number_has_one_form(values: list[int], places: int, more: int) -> None:
    """Written with more zeros, alone or beside others, wide or narrow: the same digest."""
    column = Column.of_integers(values, -places, -places)
    longer = Column.of_integers([v * 10**more for v in values], -places - more, -places - more)
    shown = of_numbers(column)
    assert shown == of_numbers(longer)
    assert shown == [of_numbers(Column.of_integers([v], -places, -places))[0] for v in values]
    assert len(set(shown)) == len(set(values))


def test_numbers_at_the_end_of_64_bits_in_one_column_after_another() -> None:
    top, digests = 2**63 - 1, CellDigests(bytes(32))
    for values in ([top - 1, top], [top - 2, top], [-top - 1, -top]):
        column = Column.of_integers(values, 0, 0)
        shown = list(map(tuple, digests.numbers("x", column).tolist()))
        assert shown == of_numbers(column)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_a_float_is_the_number_it_is(values: list[float]) -> None:
    column = Column(np.array(values, np.float64))
    exact, divisor = Column.of_fractions(column.fractions())
    assert divisor == 1
    assert of_numbers(column) == of_numbers(exact)


def of_numbers(column: Column) -> list[tuple[int, ...]]:
    return list(map(tuple, CellDigests(bytes(32)).numbers("x", column).tolist()))


@given(
    st.lists(st.integers(-300, 300) | st.integers(-(10**9), 10**9), min_size=1, max_size=8),
    st.integers(0, 3),
    st.sampled_from([None, ("-40", "1"), ("0", "0.5"), ("0.25", "0.1"), ("-3", "2"), ("0", "30")]),
    st.sampled_from([1, 100]),
)
def test_a_value_has_one_digest_however_often_it_occurs(
    values: list[int], places: int, grid: tuple[str, str] | None, times: int
) -> None:
    """That of its point on the ledger's grid, where there is one."""
    column = Column.of_integers(values * times, -places, -places)
    kind: dict[str, Any] = {}
    points = column.fractions()[: len(values)]
    if grid is not None:
        low, step = map(Fraction, grid)
        kind = {"kind": "number", "range": [grid[0], "0"], "step": grid[1]}
        points = [low + round((value - low) / step) * step for value in points]
    digests = CellDigests(bytes(32))
    expected = [int(digests.numbers("", Column.constant(point, 1))[0, 0]) for point in points]
    assert digesting._numbers(column, kind, digests).tolist() == expected * times


AGES = [f"{20 + i % 50}.{i % 10}" for i in range(60)]


@pytest.mark.parametrize("later", [("0", "120", "0.1"), ("-40", "120", "0.5")])
def test_values_are_compared_on_the_grid_of_first_use(
    ledger: Ledger, later: tuple[str, ...]
) -> None:
    """Whoever states a column more finely does not make other rows of the same ones."""

    def prepared(ages: Sequence[Any], *grid: str, title: str = "Later") -> list[LedgerQuestion]:
        columns = Dictionary.of({"age": Number.read(*grid)})
        asked = (Question("describe", "", (("columns", ("age",)),)),)
        it = study(questions=asked, columns=columns, title=title)
        return prepare(it, 1, open_source({"age": ages}), ledger.row_key)[1]

    (first,) = prepared(AGES, "0", "120", "1", title="First")
    ledger.record([first])
    (again,) = prepared(AGES, *later)
    assert change(first, again) == 0
    (binary,) = prepared([float(age) for age in AGES], *later)
    assert change(first, binary) == 0
    ledger.record([again])
    with pytest.raises(InputError, match="only a few of this party's rows differ"):
        ledger.record(prepared(AGES[1:], *later, title="Last"))


def test_every_question_of_a_study_is_remembered(tmp_path: Path, ledger: Ledger) -> None:
    """The second of two tables on the same rows counts as much as the first."""

    def described(*names: str) -> Study:
        columns = Dictionary.of(
            {"age": Number.read("0", "120", "1"), "y": Number.read("0", "9", "0.5")}
        )
        asked = tuple(Question("describe", "", (("columns", (name,)),)) for name in names)
        return study(questions=asked, columns=columns)

    def prepared(it: Study, lines: Sequence[str], header: str = HEADER) -> list[LedgerQuestion]:
        file = tmp_path / "north.csv"
        file.write_text("\n".join([header, *lines]) + "\n")
        return prepare(it, 1, open_source(file), ledger.row_key)[1]

    ledger.record(prepared(described("age", "y"), ROWS))
    for entry in prepared(described("age", "y"), ROWS):
        assert ledger.has_rows_of(entry), "and is the same after a restart"
    fewer, wider = ROWS[:-1], [f"{row},1" for row in ROWS[:-1]]
    for lines, header in ((fewer, HEADER), (wider, f"{HEADER},unused")):
        with pytest.raises(InputError, match="only a few of this party's rows differ"):
            ledger.record(prepared(described("y"), lines, header))


def test_one_file_for_several_questions_is_one_source(tmp_path: Path) -> None:
    """What they tell together of its rows is looked at, however the file was named."""
    for name in ("rows.csv", "other.csv"):
        (tmp_path / name).write_text("\n".join([HEADER, *ROWS]) + "\n")
    asked = tuple(Question("describe", name, (("columns", ("age",)),)) for name in "abc")
    paths = [tmp_path / "rows.csv", tmp_path / ".." / tmp_path.name / "rows.csv"]
    given = {"a": str(paths[0]), "b": paths[1], "c": tmp_path / "other.csv"}
    found = rows_for(study(questions=asked, columns=COLUMNS), given)
    assert isinstance(found, dict)
    assert found["a"] is found["b"] is not found["c"]
