"""Attack 9: one patient fewer, and the ledger looks elsewhere. And the reruns of attack 10.

What was accepted: the same rows as Parquet before and as CSV now, with an unused column more or
fewer, under other names of columns when a party left, among ten more rows where there are twenty
parameters, and with `min_rows_party=1` in both studies. Each time the difference of two answers was
one patient, or one party.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.party.loopback import NAMES, Gathering, answers_agree, run
from tests.study.studies import regression
from titan.errors import PeerError, ReleaseError
from titan.network import Network
from titan.party import attendance
from titan.release import Category, Column, Dictionary, Number
from titan.study import Link, Study
from titan.study.ledger import Ledger

COLUMNS: dict[str, Column] = {
    "age": Number.read("0", "120", "1"),
    "weight": Number.read("0", "300", "0.1"),
    "sex": Category(("f", "m")),
}
FORMULA = "weight ~ age + sex"


@pytest.fixture(autouse=True)
def _nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "SECONDS", 0.0)


def patients(count: int = 60, seed: int = 1) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "age": [rng.randrange(30, 90) for _ in range(count)],
            "weight": [rng.randrange(450, 1200) / 10 for _ in range(count)],
            "sex": [rng.choice("fm") for _ in range(count)],
        }
    )


class North:
    """One party that is asked again and again, while the others never come."""

    def __init__(self, folder: Path, names: tuple[str, ...] = NAMES, **changes: Any) -> None:
        columns = Dictionary.of(COLUMNS)
        content = {"columns": columns, "questions": (regression(FORMULA),), **changes}
        self.g = Gathering(folder, names=names, changes=content)
        self.folder, self.asked = folder, 0

    def accepts(self, rows: Any, study: Study | None = None, **choices: Any) -> bool:
        """Whether `titan join` goes as far as to wait for the others."""
        self.asked += 1
        party = self.g.party("north", study, wait=0.05, **choices)
        party = replace(party, rows=rows, folder=self.folder / f"run-{self.asked}")
        with pytest.raises((PeerError, ReleaseError)) as ended:
            run(party.join(lambda results: None))
        refused = isinstance(ended.value, ReleaseError)
        assert refused is ("allow_differencing=True" in ended.value.hint), "by the ledger"
        return not refused

    def again(self, **changes: Any) -> Study:
        return replace(self.g.study, title=f"asked {self.asked}", **changes)


def test_parquet_before_and_csv_now(tmp_path: Path) -> None:
    north, rows = North(tmp_path), patients()
    parquet.write_table(rows, tmp_path / "before.parquet")
    csv.write_csv(rows, tmp_path / "same.csv")
    csv.write_csv(rows.slice(1), tmp_path / "fewer.csv")
    assert north.accepts(tmp_path / "before.parquet")
    assert north.accepts(tmp_path / "same.csv", north.again())
    assert not north.accepts(tmp_path / "fewer.csv", north.again())
    assert north.accepts(tmp_path / "fewer.csv", north.again(), allow_differencing=True)


@pytest.mark.parametrize("more", [True, False])
def test_one_unused_column_more_or_fewer(tmp_path: Path, more: bool) -> None:
    north, narrow = North(tmp_path), patients()
    wide = narrow.append_column("note", pa.array([f"note {i}" for i in range(60)]))
    before, now = (narrow, wide) if more else (wide, narrow)
    assert north.accepts(before)
    assert north.accepts(now, north.again())
    assert not north.accepts(now.slice(1), north.again())


def test_a_column_that_was_used_is_no_longer_in_the_file(tmp_path: Path) -> None:
    """Other questions on the same people: what both used tells."""
    north, rows = North(tmp_path), patients()
    other = {"questions": (regression("weight ~ age"),)}
    assert north.accepts(rows)
    assert north.accepts(rows.drop_columns("sex"), north.again(**other))
    assert not north.accepts(rows.drop_columns("sex").slice(1), north.again(**other))


@pytest.mark.parametrize("names", [{}, {"age": "years", "weight": "kg", "sex": "gender"}])
def test_renamed_columns_when_a_party_left(tmp_path: Path, names: dict[str, str]) -> None:
    north, rows = North(tmp_path, (*NAMES, "west")), patients()
    assert north.accepts(rows)
    formula = " ".join(names.get(word, word) for word in FORMULA.split())
    fewer = north.again(
        parties=north.g.study.parties[:3],
        links=tuple(Link(a, b) for a, b in Network.cycle(list(NAMES)).edges),
        columns=Dictionary.of({names.get(name, name): its for name, its in COLUMNS.items()}),
        questions=(regression(formula),),
        min_rows_total=30,
    )
    now = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    assert not north.accepts(now, fewer)
    alone = replace(fewer, parties=north.g.study.parties, links=north.g.study.links)
    assert north.accepts(now, alone), "the same parties and rows are no difference"
    assert not north.accepts(now.slice(1), replace(alone, title="one patient fewer"))


def test_ten_more_rows_with_twenty_parameters(tmp_path: Path) -> None:
    """Ten rows in so many unknowns are as good as shown; with two unknowns they hide each other."""
    rng = random.Random(2)
    names = [f"x{i}" for i in range(20)]
    rows = pa.table({name: [rng.randrange(1000) for _ in range(200)] for name in names})
    columns = Dictionary.of({name: Number.read("0", "999", "1") for name in names})
    many = (regression(f"x0 ~ {' + '.join(names[1:])}"),)
    few = (regression("x0 ~ x1"),)
    for questions, accepted in ((many, False), (few, True)):
        folder = tmp_path / f"{accepted}"
        folder.mkdir()
        north = North(folder, columns=columns, questions=questions)
        assert north.accepts(rows.slice(0, 100))
        assert north.accepts(rows.slice(0, 110), north.again()) is accepted
        assert north.accepts(rows.slice(0, 160), north.again())


def test_a_minimum_of_one_row_twice(tmp_path: Path) -> None:
    """Whoever states the studies cannot lower what the ledger keeps apart."""
    north, rows = North(tmp_path, min_rows_party=1, rows_per_parameter=1), patients()
    assert north.accepts(rows)
    assert not north.accepts(rows.slice(1), north.again())
    assert not north.accepts(rows.slice(8), north.again())
    assert north.accepts(rows.slice(9), north.again()), "three rows for each of three parameters"


def test_gaps_in_one_of_two_questions(tmp_path: Path) -> None:
    """Both open the sum of weights; one of them without one patient."""
    both = (regression(FORMULA, name="one"), regression("weight ~ age", name="two"))
    north, rows = North(tmp_path, questions=both, missing="drop"), patients()
    gap = [None, *rows["sex"].to_pylist()[1:]]
    assert not north.accepts(rows.set_column(2, "sex", pa.array(gap)))
    gaps = [*[None] * 9, *rows["sex"].to_pylist()[9:]]
    assert north.accepts(rows.set_column(2, "sex", pa.array(gaps)))


# -- attack 10: reruns ------------------------------------------------------------------------


def test_reruns_on_the_same_rows_tell_nothing_new(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    run(g.all())
    first = {name: results.to_dict() for name, results in g.shown.items()}
    run(g.all(run=2))
    answers_agree(g)
    assert {name: results.to_dict() for name, results in g.shown.items()} == first


def test_reruns_end_after_three_vetoes(tmp_path: Path) -> None:
    north, rows = North(tmp_path), patients()
    for number in (1, 2, 3):
        assert north.accepts(rows, run=number)
        with Ledger.open(tmp_path / "north.ledger") as ledger:
            ledger.mark_vetoed(north.g.study.digest, number)
    for study in (north.g.study, north.again()):
        party = replace(north.g.party("north", study, run=4), rows=rows, folder=tmp_path / "last")
        with pytest.raises(ReleaseError, match="stopped by a veto 3 times on these rows"):
            run(party.join(lambda results: None))
