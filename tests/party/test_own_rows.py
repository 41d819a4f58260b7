"""What is wrong with one's own rows is found at home, all of it, before anybody is asked."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.counted import Counted
from tests.party.loopback import NAMES, Gathering, answers_agree, rows, run
from tests.study.studies import regression, study
from titan.errors import DataError, ReleaseError
from titan.joint.kinds import Question
from titan.moments import open_source, sources
from titan.party import taking_part
from titan.party.own_rows import OwnRows, look
from titan.party.wrong_cells import Finding, LookAtCells, Wanted
from titan.release import Category, Dictionary, Flag, Number
from titan.study import Study
from titan.study.ledger import Ledger

COLUMNS = Dictionary.of(
    {
        "age": Number.read("0", "120", "1"),
        "y": Number.read("0", "50", "0.1"),
        "died": Flag(),
        "sex": Category(("f", "m")),
    }
)
FORMULA = "y ~ age + sex"
USUAL = study(formula=FORMULA, columns=COLUMNS)
DESCRIBE = Question("describe", "table", (("columns", ("age", "sex", "died")),))


def table(count: int = 24, **changes: Callable[[int], Any]) -> dict[str, list[Any]]:
    usual: dict[str, Callable[[int], Any]] = {
        "age": lambda at: 20 + 7 * at % 60,
        "y": lambda at: (11 * at % 40) + 0.5,
        "died": lambda at: at % 2,
        "sex": lambda at: "fm"[at // 2 % 2],
    }
    return {name: [f(at) for at in range(count)] for name, f in (usual | changes).items()}


def found(it: Study = USUAL, count: int = 24, **changes: Callable[[int], Any]) -> OwnRows:
    return look(it, table(count, **changes))


def one(at: int, value: Any, otherwise: Any = 1) -> Callable[[int], Any]:
    return lambda row: value if row == at else otherwise


def said(own: OwnRows) -> str:
    return "\n".join(error.message for error in own.errors)


# -- nothing wrong ------------------------------------------------------------------------------


def test_rows_that_pass() -> None:
    own = found(y=lambda at: at + 0.25 if at < 3 else at)
    assert (own.outcome, own.exit_status, own.errors, own.notes) == ("passes", 0, (), ())
    assert own.as_dict()["questions"] == [{"name": "q1", "rows": 24, "used": 24, "dropped": 0}]
    assert own.rounded == {"y": 3}


def test_gaps_that_are_dropped_are_counted() -> None:
    it = replace(USUAL, missing="drop")
    own = found(it, age=lambda at: None if at < 4 else 20 + at)
    assert own.outcome == "passes"
    assert [(each.rows, each.used, each.dropped) for each in own.rows] == [(24, 20, 4)]


def test_every_question_is_counted() -> None:
    columns = ("columns", ("age",))
    it = study(
        questions=(regression(FORMULA), DESCRIBE, Question("average", "mean", (columns,))),
        columns=COLUMNS,
        missing="drop",
    )
    given = table(age=lambda at: None if at < 4 else 20 + at)
    own = look(it, {"q1": given, "table": given, "mean": {"age": [40]}})
    assert [(each.question, each.rows, each.dropped) for each in own.rows] == [
        ("q1", 24, 4), ("table", 24, 0), ("mean", 1, 0),
    ]  # fmt: skip
    assert own.outcome == "passes"


# -- what would be a veto -----------------------------------------------------------------------


def test_all_values_outside_their_ranges_are_counted() -> None:
    own = found(age=lambda at: -5 if at in (3, 7, 9) else 30 + at, y=one(5, 77.25, 3.5))
    assert own.outcome == "veto"
    assert own.exit_status == 3
    age, y = own.vetoes
    assert "3 values outside the study's range, 0 to 120" in age.message
    assert "row 3 (counted from 0)" in age.message
    assert 'row 5 (counted from 0), column "y": a value outside' in y.message
    assert age.refused() == {"rule": "range", "question": None, "cell": "age"}
    assert "-5" not in said(own)
    assert "77" not in said(own), "no value is shown"
    assert own.mistakes == ()


def test_a_flag_is_0_or_1() -> None:
    it = study(questions=(DESCRIBE,), columns=COLUMNS)
    own = found(it, died=lambda at: 2 if at < 2 else at % 2)
    assert own.outcome == "mistake", "of a table, they are levels that are not stated"
    own = found(study(formula="y ~ died", columns=COLUMNS), died=lambda at: 2 if at < 2 else 0)
    assert "2 values neither 0 nor 1" in said(own)
    assert own.outcome == "veto"


def test_rows_with_gaps_are_not_looked_at() -> None:
    it = replace(USUAL, missing="drop")
    own = found(it, age=lambda at: 999 if at < 2 else 30, y=lambda at: None if at == 0 else at)
    assert 'column "age": a value outside' in said(own)
    assert own.rows[0].dropped == 1


def test_too_few_rows() -> None:
    own = found(count=9)
    assert [error.rule for error in own.vetoes] == ["rows_per_party"]
    assert own.rows[0].used == 9
    own = found(count=9, age=lambda at: -1)
    assert sorted(error.rule for error in own.vetoes) == ["range", "rows_per_party"]


def test_all_small_cells_of_its_own_where_no_small_count_is_opened() -> None:
    it = replace(USUAL, cells="local")
    assert found(replace(it, cells="pooled"), sex=one(3, "m", "f")).outcome == "passes"
    own = found(it, sex=one(3, "m", "f"))
    assert own.outcome == "veto"
    assert own.vetoes[0].refused() == {"rule": "cells", "question": "q1", "cell": "sex = m"}
    both = study(formula="y ~ sex + died", columns=COLUMNS, cells="local")
    own = found(both, sex=one(3, "m", "f"), died=one(4, 1, 0))
    assert {"sex = m", "died = 1"} <= {error.cell for error in own.vetoes}
    assert len({error.cell for error in own.vetoes}) == len(own.vetoes)


def test_a_row_that_stands_alone_whatever_others_have() -> None:
    """A year of birth, say, among ages: within the range, and all but the whole of Σ age²."""
    it = study(formula="y ~ age", columns=COLUMNS)
    given = table(40, age=lambda at: 119 if at == 5 else 1 + at % 3)
    own = look(it, given)
    assert [(error.rule, error.question) for error in own.vetoes] == [("leverage", "q1")]
    assert "row 5 (counted from 0)" in said(own)
    assert look(it, given, most=39).errors == (), "rows are not read again"
    table_beside = Question("describe", "table", (("columns", ("age",)),))
    both = study(questions=(regression("y ~ 1"), table_beside), columns=COLUMNS)
    assert [(error.rule, error.question) for error in look(both, given).vetoes] == [
        ("leverage", "")
    ]


def test_a_row_alone_in_its_cell_may_have_company_elsewhere() -> None:
    assert found(count=40, sex=one(3, "m", "f")).outcome == "passes"


# -- mistakes -----------------------------------------------------------------------------------


def csv(folder: Path, *lines: str, header: str = "age,y,sex") -> Path:
    (folder / "north.csv").write_text("\n".join([header, *lines]) + "\n")
    return folder / "north.csv"


LINES = [f"{20 + at},{at}.5,{'fm'[at % 2]}" for at in range(24)]


def test_all_mistakes_are_listed(tmp_path: Path) -> None:
    lines = [*LINES, "much,1,f", "30,2,x", "31,,m", "900,3,f", "32,3,y"]
    own = look(USUAL, csv(tmp_path, *lines))
    assert own.outcome == "mistake"
    assert own.exit_status == 1
    assert 'line 26, column "age": ' in said(own)
    assert 'line 27, column "sex": none of the stated levels' in said(own)
    assert '1 missing in "y"' in said(own)
    assert [error.rule for error in own.vetoes] == ["range"], "text beside it hides nothing"
    assert "2 such cells" in said(own), "levels that are not stated"
    assert [each.rows for each in own.rows] == [29]
    for cell in ("much", "x,", "900"):
        assert cell not in said(own)


def test_each_kind_of_mistake_in_a_column_is_counted_and_listed_by_line(tmp_path: Path) -> None:
    wrong = ["150,1,f", "30,2,x", "much,1,f", "150,3,x", "1;5,1,m", "much,,f", "inf,1,f"]
    own = look(USUAL, csv(tmp_path, *LINES, *wrong, "150,3,x", '"1,5",3,f'))
    assert [(error.message, type(error)) for error in own.errors] == [
        (
            'column "age": 3 values outside the study\'s range, 0 to 120 (the first: north.csv, '
            "line 26)",
            ReleaseError,
        ),
        (
            'north.csv, line 27, column "sex": none of the stated levels (3 such cells; this is '
            "the first)",
            DataError,
        ),
        (
            'north.csv, line 28, column "age": text where a number was expected (3 such cells; '
            "this is the first)",
            DataError,
        ),
        ('north.csv, line 32, column "age": an infinite number', DataError),
        ('north.csv, line 34, column "age": a comma inside a number', DataError),
        ('north.csv has values that are not there: 1 missing in "y"', DataError),
    ]


def test_of_python_objects_too() -> None:
    given = table(age=lambda at: "much" if at in (3, 5) else 900 if at == 7 else Fraction(at))
    own = look(USUAL, given)
    assert "row 3 (counted from 0)" in own.errors[0].message
    assert "(2 such cells" in own.errors[0].message
    assert [error.rule for error in own.vetoes] == ["range"]


def test_a_column_of_another_type_is_one_mistake() -> None:
    own = look(USUAL, table(sex=lambda at: at + 0.5))
    assert [error.message for error in own.errors] == [
        'column "sex" holds binary numbers, where text was expected'
    ]


def test_levels_that_are_numbers() -> None:
    it = study(formula="y ~ C(died, levels=[0, 1])", columns=COLUMNS)
    own = look(it, table(died=lambda at: {2: "x", 3: 7, 4: 7}.get(at, at % 2)))
    assert [error.message.partition(": ")[2] for error in own.errors] == [
        "text where a number was expected",
        "none of the stated levels (2 such cells; this is the first)",
    ]


def test_a_hint_says_what_the_study_has_there(tmp_path: Path) -> None:
    """C(…) is written by who states the study, not by who brings rows."""
    own = look(USUAL, csv(tmp_path, *LINES, "much,1,f"))
    assert own.errors[0].hint == (
        "in the study it is a number: age from 0 to 120 by 1; correct this cell"
    )
    own = look(study(formula="y ~ died", columns=COLUMNS), table(died=one(3, "yes")))
    assert own.errors[0].hint == "in the study it is a flag: died 0 or 1; correct this cell"


def test_rows_with_gaps_that_refuse_a_file_are_not_dropped() -> None:
    own = found(age=lambda at: None if at < 4 else 20 + at)
    assert [(each.dropped, each.refused) for each in own.rows] == [(4, True)]


def test_mistakes_and_vetoes_beside_each_other(tmp_path: Path) -> None:
    own = look(USUAL, csv(tmp_path, *LINES, "900,3,f", "30,2,x"))
    assert [error.rule for error in own.vetoes] == ["range"]
    assert len(own.mistakes) == 1
    assert own.outcome == "mistake", "which join meets first"


def test_columns_that_are_missing_and_those_that_are_there(tmp_path: Path) -> None:
    own = look(USUAL, csv(tmp_path, *("900,f" for _ in range(12)), header="age,sex"))
    assert own.outcome == "mistake"
    assert 'has no column "y"' in said(own)
    assert "12 values outside the study's range" in said(own)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "north.csv"),
        ("age,y,sex\n", "no rows"),
        ("age,y,sex\n1,2\n", "north.csv"),
        ("age,age,sex\n1,2,f\n", "two columns"),
        ("u,v\n1,2\n", 'no column "age" nor "y" nor "sex"'),
    ],
)
def test_files_that_are_no_rows(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "north.csv").write_text(text)
    own = look(USUAL, tmp_path / "north.csv")
    assert own.outcome == "mistake"
    assert words in said(own)


def test_no_such_file(tmp_path: Path) -> None:
    own = look(USUAL, tmp_path / "absent.csv")
    assert own.exit_status == 1
    assert "absent.csv" in said(own)


def test_what_only_a_formula_finds_is_told(tmp_path: Path) -> None:
    weighted = study(
        formula=FORMULA,
        weights="w",
        columns=Dictionary.of({**COLUMNS, "w": Number.read("-9", "9", "1")}),
    )
    own = look(weighted, table(w=one(4, -1)))
    assert "a negative weight" in said(own)
    assert own.outcome == "mistake"


def test_an_average_has_one_row() -> None:
    it = study(questions=(Question("average", "mean", (("columns", ("age",)),)),), columns=COLUMNS)
    assert look(it, {"age": [40]}).outcome == "passes"
    assert "has 2 rows" in said(look(it, {"age": [40, 41]}))
    own = look(it, {"age": [140]})
    assert [error.rule for error in own.vetoes] == ["range"]


def test_what_is_found_does_not_depend_on_blocks() -> None:
    given = table(age=lambda at: 900 if at % 5 == 4 else 30, sex=lambda at: "x" if at > 20 else "f")
    wanted = Wanted.by(USUAL.meeting.computation("q1"))
    assert wanted is not None
    reading = LookAtCells(wanted, COLUMNS, frozenset(given))
    source = open_source(given)
    parts = [
        [reading.block(block) for block in source.batches(reading.columns, size)]
        for size in (sources.BATCH_ROWS, 5)
    ]
    (whole,), (first, *others) = parts
    for part in others:
        first = reading.merge(first, pickle.loads(pickle.dumps(part)))  # noqa: S301
    assert first.count == whole.count
    assert first.outside == whole.outside
    assert first.outside == {"age": Finding(4, 4, "the table, row 4 (counted from 0)")}
    assert first.unreadable == whole.unreadable
    (unknown,) = first.unreadable.values()
    assert (unknown.count, unknown.at) == (3, 21)


# -- notes --------------------------------------------------------------------------------------


def test_a_level_that_all_own_rows_have() -> None:
    """Attack 8: what is counted there may be this party alone."""
    notes = found(sex=lambda at: "m").notes
    assert notes == (
        "all your rows have sex = m: if no other party has that level, the counts tell how many "
        "rows you have; one that fewer than 3 parties have is refused, once all have seen the "
        "counts",
    )
    both = study(questions=(regression(FORMULA), DESCRIBE), columns=COLUMNS)
    assert found(both, sex=lambda at: "m").notes == notes, "once"
    weighted = study(
        formula=FORMULA,
        weights="w",
        columns=Dictionary.of({**COLUMNS, "w": Number.read("0", "9", "1")}),
    )
    own = look(weighted, table(sex=lambda at: "f" if at == 3 else "m", w=one(3, 0)))
    assert own.notes[:1] == notes, "but for rows that are in no sum"
    assert ["w = 0 in 1 row" in note for note in own.notes[1:]] == [True]


def test_a_level_that_few_own_rows_have() -> None:
    """With pooled cells its count is opened before anything is refused."""
    notes = found(sex=one(3, "m", "f")).notes
    assert notes == (
        "your rows have sex = m in 1 row: with fewer than 3 in all, the study is refused, and all "
        "will have seen that count",
    )
    both = study(questions=(regression(FORMULA), DESCRIBE), columns=COLUMNS)
    assert [note for note in found(both, sex=one(3, "m", "f")).notes if "sex" in note] == [*notes]
    crossed = study(formula="y ~ sex * died", columns=COLUMNS)
    own = found(crossed, sex=lambda at: "m" if at < 2 else "f")
    assert [note.partition(":")[0] for note in own.notes] == ["your rows have sex = m in 2 rows"]
    levels = tuple(f"l{at}" for at in range(24))
    many = study(formula="y ~ age + z", columns=Dictionary.of({**COLUMNS, "z": Category(levels)}))
    own = look(many, table(z=lambda at: levels[at]))
    assert len(own.notes) == 9
    assert own.notes[-1].startswith("and so with 16 more cells")


# -- taking part --------------------------------------------------------------------------------


def counted(g: Gathering, name: str) -> tuple[Counted, taking_part.Party]:
    source = Counted(open_source(str(g.folder / f"{name}.csv")))
    return source, replace(g.party(name), rows=source)


def test_nothing_is_written_and_rows_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_part, "_QUICK", 0)
    g = Gathering(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    source, party = counted(g, "north")
    party, own = party.look()
    assert own.outcome == "passes"
    assert sorted(tmp_path.rglob("*")) == before
    assert len(source.passes) == 1

    async def story(north: taking_part.Party) -> None:
        others = [g.joining(name) for name in NAMES if name != "north"]
        await asyncio.gather(north.join(lambda shown: g.shown.update(north=shown.results)), *others)

    run(story(party))
    answers_agree(g)
    again = tmp_path / "again"
    again.mkdir()
    g = Gathering(again)
    plain, party = counted(g, "north")
    run(story(party))
    assert len(source.passes) == len(plain.passes), "as often as by who did not look"


def test_a_ledger_that_changed_meanwhile_is_heeded(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    source, party = counted(g, "north")
    party, _ = party.look()
    with pytest.raises(Exception, match="nothing came"):
        run(g.join("north", run=2, wait=0.1))
    read = len(source.passes)
    assert party.prepared is not None
    assert party._prepared().key == Ledger.key_for(tmp_path / "north.ledger") != party.prepared.key
    assert len(source.passes) > read


def test_who_goes_on_all_the_same_vetoes(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    g.write("east", rows("east", 5))
    party, own = g.party("east").look()
    assert [error.rule for error in own.vetoes] == ["rows_per_party"]

    async def story() -> list[Any]:
        others = [g.joining(name) for name in NAMES if name != "east"]
        return await asyncio.gather(party.join(lambda _: None), *others, return_exceptions=True)

    errors = run(story())
    assert [error.rule for error in errors] == ["rows_per_party", "veto", "veto"]


def test_of_a_run_that_is_over_nothing_is_asked_of_the_rows(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    run(g.all())
    g.write("north", "x\n")
    assert g.party("north").look()[1] == OwnRows()


def test_errors_are_of_the_tree() -> None:
    own = found(age=lambda at: -1)
    assert all(isinstance(error, ReleaseError | DataError) for error in own.errors)
