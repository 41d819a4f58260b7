"""Invariant: nothing is said of an event where few rows leave, or rows of few parties.

An interval in which 1 to k - 1 rows of a group leave is a small cell like any other; the error
names a coarser grid, which works when it is followed. And the attacks: one exit singled out by two
grids, by two groupings, by two studies, by those who leave after the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import titan
from tests.joint.trial import COLUMNS, asked_again, asking, by_party, trial
from tests.release.asking import ask, study_of
from titan.errors import InputError, ReleaseError
from titan.joint.kinds import Question
from titan.joint.survived import Survival
from titan.moments import open_source
from titan.party.own_rows import look
from titan.party.preparing import prepare
from titan.release.policy import DEFAULT
from titan.study.ledger import Ledger

TRIAL = trial()
PARTIES_ROWS = by_party(TRIAL)


# -- small cells ------------------------------------------------------------------------------


def test_small_intervals_are_refused_and_a_named_grid_works_when_followed() -> None:
    """Each party's own rows decide too (a veto): here they are enough wherever rows in all are."""
    ended = ask(PARTIES_ROWS, COLUMNS, asking(by=["arm"], grid=2))
    assert ended.refused is not None
    assert ended.opened == ("counts",), "no event was opened"
    assert "in all, and what occurs needs at least 3" in ended.refused.message
    proposals = asked_again(ended.refused.hint)
    assert len(proposals) == 2
    for proposal in proposals:
        again = ask(PARTIES_ROWS, COLUMNS, asking(by=["arm"], **({"grid": "2"} | proposal)))
        assert again.refused is None, proposal
        (state,) = again.states
        assert isinstance(state.answer, Survival)
        for curve in state.answer.values():
            gone = [d + c for d, c in zip(curve.events, curve.censored, strict=True)]
            assert min(filter(None, gone)) >= DEFAULT.rows_per_cell
            assert min(curve.at_risk) >= DEFAULT.rows_per_cell, "it ends before fewer are at risk"


def test_few_who_stay_after_the_end_are_a_small_cell_too() -> None:
    """Of them it is known that nothing happened to them until then."""
    rows = {party: {k: list(v) for k, v in own.items()} for party, own in PARTIES_ROWS.items()}
    for own in rows.values():
        own["months"] = [min(m, 36) for m in own["months"]]
    at = rows["north"]["arm"].index("a")
    rows["north"]["months"][at] = 50
    ended = ask(rows, COLUMNS, asking(by=["arm"], grid=12, until=48))
    assert ended.refused is not None
    assert ended.refused.cell == "months over 48"


def test_an_interval_of_two_parties_is_refused() -> None:
    rows = {party: {k: list(v) for k, v in own.items()} for party, own in PARTIES_ROWS.items()}
    for own in rows.values():
        own["months"] = [min(m, 30) for m in own["months"]]
    for party in ("north", "east"):
        rows[party]["months"][:20] = [60] * 20
    ended = ask(rows, COLUMNS, asking(grid=30))
    assert ended.refused is not None
    assert ended.refused.rule == "cell_parties"
    assert "months over 30 to 60 holds in the rows of 2 parties only" in ended.refused.message
    assert ended.opened == ("counts",)
    assert asked_again(ended.refused.hint) == [{"grid": "60"}]
    assert ask(rows, COLUMNS, asking(grid=60)).refused is None


def test_a_party_whose_others_are_few_there_vetoes_and_is_told_a_grid_for_its_rows() -> None:
    rows = {party: {k: list(v) for k, v in own.items()} for party, own in PARTIES_ROWS.items()}
    for party, own in rows.items():
        late = {"north": 20, "east": 1, "south": 1, "west": 0}[party]
        own["months"] = [60] * late + [min(m, 30) for m in own["months"][late:]]
    ended = ask(rows, COLUMNS, asking(grid=15))
    assert ended.vetoed
    assert set(ended.owners) == {"north"}, "others see 21 rows or more"
    refusal = ended.owners["north"]
    assert refusal.cell == "months over 45 to 60"
    assert "2 rows of the other parties" in refusal.message
    assert {"grid": "30"} not in asked_again(refusal.hint)
    assert {"grid": "60"} in asked_again(refusal.hint)
    assert "grid=" not in str(ended.refused), "nobody else learns what would do for these rows"
    assert ended.opened == ("counts",)


def test_all_events_in_one_party_are_refused_unless_small_cells_are_allowed() -> None:
    rows = {party: {k: list(v) for k, v in own.items()} for party, own in PARTIES_ROWS.items()}
    for party in ("east", "south", "west"):
        rows[party]["died"] = [0] * len(rows[party]["died"])
    ended = ask(rows, COLUMNS, asking(grid=30))
    assert ended.refused is not None
    assert "died = 1 holds in the rows of 1 party only" in ended.refused.message
    assert "grid=" not in ended.refused.hint, "no grid would help"
    options: Any = {"time": "months", "event": "died", "grid": 30, "dictionary": COLUMNS}
    with pytest.raises(ReleaseError, match="died = 1"):
        titan.survival(rows, "cycle", **options)
    found = titan.survival(rows, "cycle", **options, allow_small=True)
    assert sum(found["all"].events) == sum(rows["north"]["died"])


def test_a_group_with_one_event_is_refused() -> None:
    rows = {party: {k: list(v) for k, v in own.items()} for party, own in PARTIES_ROWS.items()}
    for party, own in rows.items():
        own["died"] = [
            int(d and (arm == "b" or (party == "north" and at == own["arm"].index("a"))))
            for at, (d, arm) in enumerate(zip([1] * len(own["arm"]), own["arm"], strict=True))
        ]
    ended = ask(rows, COLUMNS, asking(by=["arm"], grid=30))
    assert ended.refused is not None
    assert ended.refused.cell == "arm = a, died = 1"


def test_with_local_cells_no_small_count_is_opened_at_all() -> None:
    ended = ask(PARTIES_ROWS, COLUMNS, asking(by=["arm"], grid=2), cells="local")
    assert ended.vetoed
    assert ended.opened == ()
    assert "a party's own count is 0 or at least 3" in next(iter(ended.owners.values())).message


def test_who_lies_about_events_is_found_out() -> None:
    """More events than rows that leave: no rows have such counts."""
    study = study_of(PARTIES_ROWS, COLUMNS, asking(grid=12, until=24))
    computation: Any = study.meeting.computation("os")
    parts = [computation.prepare(open_source(rows)) for rows in PARTIES_ROWS.values()]
    totals = [sum(each) for each in zip(*(part.counts for part in parts), strict=True)]
    known = computation.learn(0, computation.begin(), _total(computation, 0, totals))
    events = [sum(each) for each in zip(*(part.events for part in parts), strict=True)]
    ring = computation.sums[1].ring
    assert computation.learn(1, known, ring.from_ints(events)).events == tuple(events)
    for wrong in ([events[0] + 1, *events[1:]], [-1, events[0] + events[1] + 1]):
        with pytest.raises(ReleaseError, match="not those of any rows"):
            computation.learn(1, known, ring.from_ints(wrong))


def _total(computation: Any, n: int, counts: list[int]) -> Any:
    return computation.sums[n].ring.from_ints(computation.sent.numbers(counts))


# -- before it is asked -----------------------------------------------------------------------


def test_a_party_looks_at_its_own_rows_before_it_joins() -> None:
    study = study_of(PARTIES_ROWS, COLUMNS, asking(by=["arm"], grid=12))
    assert look(study, PARTIES_ROWS["north"]).outcome == "passes"
    early = {k: list(v) for k, v in PARTIES_ROWS["north"].items()}
    early["months"][3], early["died"][3] = 0, 1
    found = look(study, early)
    assert found.outcome == "mistake"
    assert "the event at time 0" in str(found.first)
    late = {k: list(v) for k, v in PARTIES_ROWS["north"].items()}
    late["months"][3] = 61
    assert look(study, late).outcome == "veto"
    flags = {k: list(v) for k, v in PARTIES_ROWS["north"].items()}
    flags["died"][3] = 2
    found = look(study, flags)
    assert found.outcome == "veto"
    assert "neither 0 nor 1" in str(found.first)


# -- attacks: two questions -------------------------------------------------------------------


CROSSING = [
    ({"grid": 6}, {"grid": 4}),
    ({"grid": 12, "by": ["arm"]}, {"grid": 12, "by": ["sex"]}),
    ({"grid": 12, "by": ["arm"]}, {"grid": 6}),
    ({"grid": 6, "until": 30}, {"grid": 12}),
    ({"grid": 6, "until": 30}, {"grid": 12, "until": 36}),
]
FITTING = [
    ({"grid": 6}, {"grid": 12}),
    ({"grid": 6, "by": ["arm"]}, {"grid": 12}),
    ({"grid": 6, "by": ["arm", "sex"]}, {"grid": 6, "by": ["sex"], "until": 30}),
    ({"grid": 6, "until": 24, "by": ["arm"]}, {"grid": 6, "until": 36}),
    ({"grid": 6, "until": 36}, {"grid": 12}),
]


@pytest.mark.parametrize(("one", "other"), CROSSING)
def test_two_questions_that_cross_are_not_a_study(one: Any, other: Any) -> None:
    """Who has left by 4 and by 6 months tells who left in between, which nobody has looked at."""
    with pytest.raises(InputError, match="divide 'months' in ways that cross"):
        study_of(PARTIES_ROWS, COLUMNS, asking("one", **one), asking("other", **other))


@pytest.mark.parametrize(("one", "other"), FITTING)
def test_two_questions_of_which_one_only_divides_further_are(one: Any, other: Any) -> None:
    study_of(PARTIES_ROWS, COLUMNS, asking("one", **one), asking("other", **other))


def test_a_histogram_of_the_same_times_is_not_asked_beside() -> None:
    bins = Question("describe", "table", (("columns", ("months",)), ("bins", ("months=0:60:6",))))
    with pytest.raises(InputError, match="a histogram of 'months'"):
        study_of(PARTIES_ROWS, COLUMNS, asking(grid=6), bins)


def test_what_two_grids_would_have_told() -> None:
    """The attack itself, were it not refused: one patient leaves between 30 and 36 months."""
    rows = {party: {k: list(v) for k, v in own.items()} for party, own in PARTIES_ROWS.items()}
    for own in rows.values():
        own["months"] = [m if m <= 30 else 42 for m in own["months"]]
    rows["north"]["months"][0], rows["north"]["died"][0] = 36, 1
    left, died = {}, {}
    for grid in (30, 36):
        (state,) = ask(rows, COLUMNS, asking(grid=grid)).states
        curve = state.answer["all"]
        left[grid], died[grid] = curve.exits[0], curve.events[0]
    assert left[36] - left[30] == 1, "each answer is allowed by itself"
    assert died[36] - died[30] == 1, "and their difference is that patient's death"
    with pytest.raises(InputError, match="cross"):
        study_of(rows, COLUMNS, asking("a", grid=30), asking("b", grid=36))


def test_rows_that_a_regression_uses_and_a_curve_leaves_out_are_counted_by_party() -> None:
    """For their gaps; the difference of the two answers is over these rows."""
    asked = (asking(grid=12), "months ~ arm")
    apart = study_of(PARTIES_ROWS, COLUMNS, *asked, missing="drop").meeting.apart
    assert apart is not None
    assert apart.pairs == ((0, 1), (1, 0)), "each reads a column that the other does not"
    assert study_of(PARTIES_ROWS, COLUMNS, *asked).meeting.apart is None


# -- attacks: two studies ---------------------------------------------------------------------


@contextmanager
def recorded(path: Path, *earlier: Question, rows: Any = None) -> Iterator[Any]:
    """North's ledger, after a study of its own for each of these questions."""
    with Ledger.open(path) as ledger:

        def ask_north(question: Question, rows: Any = PARTIES_ROWS["north"]) -> list[Any]:
            study = study_of(PARTIES_ROWS, COLUMNS, question)
            _, entries = prepare(study, 1, open_source(rows), ledger.row_key)
            found: list[Any] = ledger.check(entries)
            if not found:
                ledger.record(entries)
            return found

        for question in earlier:
            assert not ask_north(question)
        yield ask_north


@pytest.mark.parametrize(("one", "other"), CROSSING)
def test_a_ledger_refuses_what_crosses_an_earlier_study(
    tmp_path: Path, one: Any, other: Any
) -> None:
    with recorded(tmp_path / "ledger", asking(**one)) as ask_north:
        (found,) = ask_north(asking(**other))
        assert found.reason == "intervals"
        assert "cross those of study 'asked'" in str(found)


@pytest.mark.parametrize(("one", "other"), FITTING)
def test_a_ledger_takes_what_only_divides_further(tmp_path: Path, one: Any, other: Any) -> None:
    """So a study that was refused for a small cell is asked again on the grid that was named."""
    with recorded(tmp_path / "ledger", asking(**one)) as ask_north:
        assert ask_north(asking(**other)) == []


def test_a_ledger_refuses_the_same_question_with_one_patient_fewer(tmp_path: Path) -> None:
    fewer = {name: cells[1:] for name, cells in PARTIES_ROWS["north"].items()}
    with recorded(tmp_path / "ledger", asking(grid=12, by=["arm"])) as ask_north:
        (found,) = ask_north(asking(grid=12, by=["arm"]), fewer)
        assert found.reason == "rows"


def test_a_ledger_knows_times_under_another_name(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger") as ledger:
        study = study_of(PARTIES_ROWS, COLUMNS, asking(grid=6))
        source = open_source(PARTIES_ROWS["north"])
        ledger.record(prepare(study, 1, source, ledger.row_key)[1])
        columns = titan.release.Dictionary.of(
            {"t": COLUMNS["months"], "died": COLUMNS["died"], "months": COLUMNS["sex"]}
        )
        question = replace(asking(), asked=(("time", "t"), ("event", "died"), ("grid", "4")))
        again = study_of(PARTIES_ROWS, columns, question)
        own = PARTIES_ROWS["north"]
        renamed = open_source({"t": own["months"], "died": own["died"]})
        found = ledger.check(prepare(again, 1, renamed, ledger.row_key)[1])
        assert [each.reason for each in found] == ["intervals"]
