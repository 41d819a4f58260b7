"""Invariant: where regressors depend on each other, nothing with the response in it is opened.

All parties see that in AᵀA. The question fails by itself; others of the study go on.
"""

from __future__ import annotations

from tests.release.hostile import KNOWN, ask, asked_of, stated, tables
from titan.errors import RankError

DEPENDENT = ask("regression", formula="y ~ age + I(2 * age)")


def test_it_is_found_before_outcomes_leave() -> None:
    seen = asked_of(stated(KNOWN, DEPENDENT), tables())
    (state,) = seen.answers
    assert isinstance(state.error, RankError)
    assert "'age', 'I(2 * age)' are exactly dependent" in str(state.error)
    assert len(seen.totals) == 2
    assert state.known.opened.pooled is None


def test_another_question_is_answered_and_of_this_one_zeros_are_added_up() -> None:
    study = stated(KNOWN, DEPENDENT, ask("regression", formula="y ~ pressure"))
    seen = asked_of(study, tables())
    failed, answered = seen.answers
    assert isinstance(failed.error, RankError)
    assert failed.known.opened.pooled is None
    assert answered.error is None
    assert len(seen.totals) == 3
    entries = study.meeting.computation(study.questions[0].name).sums[2].entries
    assert not seen.totals[2][:, :entries].any()


def test_a_ridge_needs_no_rank() -> None:
    study = stated(KNOWN, ask("ridge", formula="y ~ age + I(2 * age)", alphas=("1",)))
    (state,) = asked_of(study, tables()).answers
    assert state.error is None
