"""Invariant: proportional hazards asked in a study end with the same bits however driven, and no
party's risk sets, nor a row that stands out, are in what it opens."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.joint.test_glm_study import in_one_process
from tests.party.loopback import NAMES, Gathering
from tests.release.asking import ask, study_of
from titan.errors import InputError
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.party.own_rows import look
from titan.party.preparing import prepare
from titan.release import Category, Dictionary, Flag, Number, Time
from titan.study import check
from titan.study.asking import read_question
from titan.study.ledger import Ledger
from titan.study.shares import in_words, shares

COLUMNS = Dictionary.of(
    {
        "months": Time.read("0", "60", "1", "months"),
        "died": Flag(),
        "x": Number.read("0", "20", "1"),
        "arm": Category(("a", "b")),
    }
)
Rows = dict[str, dict[str, list[Any]]]


def asking(name: str = "hr", formula: str = "x + arm", **options: Any) -> Question:
    said = {"formula": formula, "time": "months", "event": "died"}
    said |= {key: str(value) for key, value in options.items()}
    return Question("cox", name, tuple(said.items()))


def rows_of(names: tuple[str, ...] = NAMES, rows: int = 60) -> Rows:
    found: Rows = {}
    for name in names:
        rng = random.Random(name)
        own: dict[str, list[Any]] = {"months": [], "died": [], "x": [], "arm": []}
        for _ in range(rows):
            x, arm = rng.randrange(21), rng.choice("ab")
            hazard = np.exp(0.08 * (x - 10) - 0.5 * (arm == "b"))
            event, left = 1 + int(rng.expovariate(hazard / 20)), rng.randrange(3, 61)
            cells = min(event, left), int(event <= left), x, arm
            for column, cell in zip(own, cells, strict=True):
                own[column].append(cell)
        found[name] = own
    return found


def gathering(folder: Path, *questions: Question, rows: int = 60) -> Gathering:
    g = Gathering(folder, changes={"questions": questions, "columns": COLUMNS})
    for name, own in rows_of(rows=rows).items():
        lines = [",".join(map(str, cells)) for cells in zip(*own.values(), strict=True)]
        g.write(name, "\n".join([",".join(own), *lines]) + "\n")
    return g


def test_engines_find_the_same_bits(tmp_path: Path) -> None:
    """So do real parties: `tests/party/test_cox_resumed.py`, `tests/party/test_acceptance.py`."""
    asked = asking(grid=3), asking("fine", "x", grid=3, precision=40)
    study = gathering(tmp_path, *asked, rows=400).study
    states = in_one_process(study, tmp_path)
    hr, fine = (state.answer for state in states)
    assert (hr.digits >= 5, fine.digits >= 9) == (True, True)
    assert max(2 + hr.iterations, 2 + fine.iterations) <= 14
    vectorised = in_one_process(study, tmp_path, "vectorised")
    assert [s.answer.to_state() for s in vectorised] == [s.answer.to_state() for s in states]


def test_check_lists_what_every_step_opens() -> None:
    report = check(study_of(rows_of(), COLUMNS, asking()), datetime.now(UTC)).as_dict()
    (question,) = report["questions"]
    learned = {item["what"]: item for item in report["learned"]}
    said = learned["steps"]["sentence"]
    assert "for each of at most 22 steps 5 numbers, p(p+3)/2 for p = 2 columns" in said
    assert "all rows of the same party that are still there" in said
    assert learned["steps"]["numbers"] == 22 * 5
    told = sum(item["numbers"] for item in report["learned"])
    assert told == sum(each["entries"] for each in question["sums"])
    (share,) = shares(study_of(rows_of(), COLUMNS, asking()))
    assert share["of"] == "rows at each months and x, by arm"
    assert (share["question"], share["step_bits"]) == ("hr", 24)
    assert share["least_rows"] < share["rows_for_all_bits"]
    assert "24 bits need about" in in_words(share)
    counted = learned["cells"]["sentence"]
    assert "the rows in every cell of arm by died" in counted
    assert "months" not in counted, "when rows leave is in no count"


# -- what must not be told --------------------------------------------------------------------


def test_of_times_only_their_order_at_each_party_is_in_any_sum() -> None:
    """Rows that leave at other times in the same order: every sum is the same, at each party."""
    rows = {name: own | {"months": [min(m, 40) for m in own["months"]]}
            for name, own in rows_of().items()}  # fmt: skip
    later = {name: own | {"months": [m + at * (m > 30) for m in own["months"]]}
             for at, (name, own) in enumerate(rows.items(), 7)}  # fmt: skip
    first, second = (ask(each, COLUMNS, asking()) for each in (rows, later))
    assert first.states[0].answer.to_state() == second.states[0].answer.to_state()
    assert first.opened == second.opened


def test_few_events_at_a_level_are_refused_before_any_number_leaves() -> None:
    rows = rows_of()
    for own in rows.values():
        own["died"] = [
            int(d and arm == "a") for d, arm in zip(own["died"], own["arm"], strict=True)
        ]
    rows["north"]["died"][rows["north"]["arm"].index("b")] = 1
    ended = ask(rows, COLUMNS, asking())
    assert ended.refused is not None
    assert ended.refused.cell == "arm = b, died = 1"
    assert ended.opened == ("counts",)


def test_events_of_two_parties_are_refused_where_one_is_curious() -> None:
    rows = rows_of()
    rows["south"]["died"] = [0] * 60
    ended = ask(rows, COLUMNS, asking(formula="x"))
    assert ended.refused is not None
    assert "died = 1 holds in the rows of 2 parties only" in ended.refused.message
    assert ended.opened == ("counts",)


def test_a_pair_of_levels_that_two_parties_have_is_refused() -> None:
    """Products of columns are summed with weights of every row, so that no margin hides them."""
    rows = rows_of()
    for name, own in rows.items():
        south = name == "south"
        own["s"] = [int(i % 3 == 0 and not (south and a == "b")) for i, a in enumerate(own["arm"])]
    columns = Dictionary.of({**COLUMNS, "s": Flag()})
    ended = ask(rows, columns, asking(formula="arm + s"))
    assert ended.refused is not None
    assert (ended.refused.rule, ended.refused.cell) == ("cell_parties", "arm = b, s = 1")


def test_a_party_none_of_whose_events_count_does_not_hide_the_others() -> None:
    """Its events come when two of its rows are left: it adds nothing to any sum."""
    rows = rows_of()
    south = rows["south"]
    south["months"], south["died"] = [min(m, 50) for m in south["months"]], [0] * 60
    south["months"][:2], south["died"][:2] = [58, 60], [1, 1]
    ended = ask(rows, COLUMNS, asking(formula="x"))
    assert ended.refused is not None
    assert "died = 1 holds in the rows of 2 parties only" in ended.refused.message
    notes = look(study_of(rows, COLUMNS, asking(formula="x")), south).notes
    assert any("2 events of your rows when fewer than 3" in note for note in notes)
    south["months"][2], south["died"][2] = 55, 1
    assert ask(rows, COLUMNS, asking(formula="x")).refused is None, "with three at risk one counts"


def test_what_an_event_among_two_at_risk_would_have_told() -> None:
    """The attack: all know the sums over south, but for its last event. Counted, with two at risk,
    it shifts the first score by half of the difference of the two rows' x."""
    rows = rows_of()
    south = rows["south"]
    south["months"] = [min(m, 50) for m in south["months"]]
    south["months"][:2], south["died"][:2], south["x"][:2] = [58, 60], [1, 0], [20, 3]
    scores = {}
    for least in (3, 1):
        study = study_of(rows, COLUMNS, asking(formula="x"), min_cell=least)
        computation: Any = study.meeting.computation("hr")
        for died in (0, 1):
            south["died"][0] = died
            part = computation.prepare(open_source(south))
            others = [computation.prepare(open_source(rows[n])) for n in ("north", "east")]
            scores[least, died] = _first_score(computation, [*others, part])
    assert scores[3, 0] == scores[3, 1], "it does not count"
    assert scores[1, 1] - scores[1, 0] == pytest.approx((20 - 3) / 2, abs=0.1), "x of two patients"


def _first_score(computation: Any, parts: list[Any]) -> float:
    """Of x as it is, at 0, by all parties' first sums."""
    known = computation.begin()
    for n in range(2):
        ring = computation.sums[n].ring
        total = ring.zeros(computation.sums[n].entries)
        for part in parts:
            total = ring.add(total, computation.secret(n, known, part))
        known = computation.learn(n, known, total)
    newton = known.newton
    sums = sum(computation.totals(part, newton.problem, newton.point.at).sums[1] for part in parts)
    scale = newton.problem.transform[0][0] / 2 ** newton.problem.scales[0]
    return float(sums / 2**140 / scale)


def test_a_row_that_stands_out_within_its_party_is_seen_before_any_score_leaves() -> None:
    """AᵀA does not show it, since parties differ more; the Hessian at 0 does, and has no score."""
    rows = rows_of()
    rows["north"]["x"] = [x % 2 for x in rows["north"]["x"]]
    rows["south"]["x"] = [19 + x % 2 for x in rows["south"]["x"]]
    rows["east"]["x"] = [20, 20, *[10 + x % 2 for x in rows["east"]["x"][2:]]]
    rows["east"]["months"][:2] = [60, 60]
    ended = ask(rows, COLUMNS, asking(formula="x"))
    assert set(ended.owners) == {"east"}
    assert "weigh more than one of 3 in the next step" in ended.owners["east"].message
    assert len(ended.opened) == 3, "counts, AᵀA, and the Hessian"


def test_the_first_hessian_is_opened_without_the_score() -> None:
    computation: Any = study_of(rows_of(), COLUMNS, asking()).meeting.computation("hr")
    parts = [computation.prepare(open_source(own)) for own in rows_of().values()]
    known, steps = computation.begin(), []
    for n in range(4):
        ring = computation.sums[n].ring
        secrets = [computation.secret(n, known, part) for part in parts]
        steps.append([ring.to_signed(secret) for secret in secrets])
        known = computation.learn(n, known, reduce(ring.add, secrets))
    for bare, whole in zip(steps[2], steps[3], strict=True):
        assert bare[:3] == whole[:3], "the same Hessian, with the same digits"
        assert bare[3:] == [0, 0, 0, 0]
        assert all(whole[3:5])
        assert whole[5:] == [0, 0], "the likelihood is told in the last step"


def test_a_party_vetoes_a_step_in_which_one_row_has_most_of_the_weight() -> None:
    """Who has most of x has the event first. As the slope grows, of the others at risk the one row
    in the middle has all the weight."""
    rows = rows_of(rows=90)
    for name, own in rows.items():
        rng = random.Random(name)
        own["x"] = [rng.choice([0, 1, 20, 20]) for _ in range(90)]
        own["died"] = [int(x > 10) for x in own["x"]]
        own["months"] = [rng.randrange(1, 20) if x > 10 else 40 for x in own["x"]]
    rows["east"]["x"][0], rows["east"]["months"][0], rows["east"]["died"][0] = 11, 40, 0
    ended = ask(rows, COLUMNS, asking(formula="x"))
    assert ended.vetoed
    assert set(ended.owners) == {"east"}
    assert "weigh more than one of 3 in the next step" in ended.owners["east"].message
    assert len(ended.opened) > 3, "no single row did in the first step"


# -- two questions ----------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"grid": 4}, {"grid": 6, "ties": "breslow"}])
def test_another_grid_or_other_ties_are_not_asked_beside(other: Any, tmp_path: Path) -> None:
    """The scores of both would differ by the risk sets of a few."""
    one = asking("one", grid=6)
    with pytest.raises(InputError, match="divide 'months' in ways that cross") as caught:
        study_of(rows_of(), COLUMNS, one, asking("other", "x", **other))
    assert "the same grid and the same ties" in caught.value.hint
    study_of(rows_of(), COLUMNS, one, asking("other", "x", grid=6))
    rows = rows_of()
    with Ledger.open(tmp_path / "ledger") as ledger:
        for question in (one, asking(**other)):
            study = study_of(rows, COLUMNS, question)
            _, entries = prepare(study, 1, open_source(rows["north"]), ledger.row_key)
            found = [each.reason for each in ledger.check(entries)]
            if question is one:
                ledger.record(entries)
        assert found == ["intervals"]


def test_a_curve_may_be_asked_beside() -> None:
    curve = Question("survival", "os", (("time", "months"), ("event", "died"), ("grid", "30")))
    ended = ask(rows_of(), COLUMNS, asking(grid=7), curve)
    assert ended.refused is None
    assert [state.error for state in ended.states] == [None, None]


# -- in words ---------------------------------------------------------------------------------


def test_a_question_in_words() -> None:
    for text in (
        "cox: x + arm; time=months; event=died; grid=6; name=hr",
        "cox: months ~ x + arm; event=died; grid=6; name=hr; ties=efron",
        "cox: Surv(months, died) ~ arm + 1 + x; grid=6; name=hr; precision=24",
    ):
        question = read_question(text)
        (settled,) = study_of({"a": 1, "b": 2, "c": 3}, COLUMNS, question).questions
        assert settled.options["grid"] == "6"
        assert set(settled.options) == {"formula", "time", "event", "grid"}
    assert str(settled).startswith("cox: arm")
    assert str(settled).endswith(" + x; event died; grid 6; time months")
    study = study_of({"a": 1, "b": 2, "c": 3}, COLUMNS, asking(grid=6))
    assert study.parse(study.to_toml()).digest == study.digest


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ties": "exact"}, "ties='exact'"),
        ({"precision": "exact"}, "precision"),
        ({"grid": "0.5"}, "grid is 0.5"),
        ({"formula": "x + months"}, "stands in the formula"),
        ({"formula": "weight"}, "weight"),
        ({"event": "x"}, "an event is a flag"),
        ({"time": "arm"}, "a time is a number"),
        ({"alpha": "-1"}, "alpha"),
    ],
)
def test_what_a_study_does_not_ask(options: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        assert study_of(rows_of(), COLUMNS, asking(**options)).meeting


def test_rows_that_cannot_be_used_are_found_at_home() -> None:
    study = study_of(rows_of(), COLUMNS, asking())
    own = rows_of()["north"]
    assert look(study, own).outcome == "passes"
    for change, outcome, words in (
        ({"months": 61}, "veto", "outside the study's range, 0 to 60"),
        ({"died": 2}, "veto", "neither 0 nor 1"),
        ({"months": 0, "died": 1}, "mistake", "the event at time 0"),
        ({"months": "soon"}, "mistake", "months"),
    ):
        wrong = {name: list(cells) for name, cells in own.items()}
        for name, value in change.items():
            wrong[name][3] = value
        found = look(study, wrong)
        assert (found.outcome, words in str(found.first)) == (outcome, True)
