"""Questions as a study asks them, all parties in one process: how it ends, and what was opened.

Nothing is lowered: the policy is the default, unless a test says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.study.parties import identity
from tests.study.studies import regression
from titan import Network
from titan.errors import ReleaseError, VetoError
from titan.joint import together
from titan.joint.kinds import Question
from titan.joint.meeting import Known, Meeting, Refused, State
from titan.leastsquares import Regression
from titan.moments import Source, open_source
from titan.protocol import Cost
from titan.release import Dictionary
from titan.ring import Residues
from titan.study import Link, Study


@dataclass(frozen=True)
class Ended:
    """How a meeting ended: with answers, or with why not."""

    study: Study
    opened: tuple[str, ...]
    """The sums whose totals all saw. That of a veto is noise, and is not among them."""
    owners: Mapping[str, ReleaseError]
    """The reasons of those who refused, which they alone know."""
    refused: ReleaseError | None = None
    """What all were told."""
    states: tuple[State, ...] = ()
    cost: Cost | None = None

    @property
    def vetoed(self) -> bool:
        return isinstance(self.refused, VetoError)

    def fit(self, name: str = "q1") -> Regression:
        names = [question.name for question in self.study.questions]
        state = self.states[names.index(name)]
        if state.error is not None:
            raise state.error
        assert isinstance(state.answer, Regression)
        return state.answer


@dataclass(frozen=True)
class Watched(Meeting):
    """Notes what was opened, and who refused why."""

    opened: list[str] = field(default_factory=list)
    owners: dict[str, ReleaseError] = field(default_factory=dict)

    def secret(self, n: int, known: Known, parts: Any) -> Residues:
        name, own = parts
        try:
            return super().secret(n, known, own)
        except ReleaseError as refusal:
            self.owners[name] = refusal
            raise

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        try:
            found = super().learn(n, known, total)
        except VetoError:
            raise
        except ReleaseError:
            self.opened.append(self.sums[n].name)
            raise
        self.opened.append(self.sums[n].name)
        return found


def study_of(
    parties: Mapping[str, Any], columns: Dictionary, *asked: str | Question, **changes: Any
) -> Study:
    network = changes.pop("network", None) or Network.complete(list(parties))
    return Study(
        title="asked",
        parties=tuple(identity(name).card for name in parties),
        links=tuple(Link(a, b) for a, b in network.edges),
        columns=columns,
        questions=tuple(q if isinstance(q, Question) else regression(q) for q in asked),
        **{"tau": 1, **changes},
    )


def ask(
    parties: Mapping[str, Any], columns: Dictionary, *asked: str | Question, **changes: Any
) -> Ended:
    """Questions, or formulas of regressions, to all these parties."""
    study = study_of(parties, columns, *asked, **changes)
    return asked_of(study, study.meeting, parties)


def asked_of(study: Study, asked: Meeting, parties: Mapping[str, Any]) -> Ended:
    """A meeting of all these parties, perhaps another than that of the study."""
    meeting = Watched(asked.computations, asked.budget)
    parts = [(name, _prepared(meeting, rows)) for name, rows in parties.items()]
    refused: ReleaseError | None = None
    states: tuple[State, ...] = ()
    cost: Cost | None = None
    try:
        found = together(meeting, parts, study.settings)
        states, cost = found.answer, found.cost
    except ReleaseError as refusal:
        refused = refusal
    return Ended(study, tuple(meeting.opened), meeting.owners, refused, states, cost)


def _prepared(meeting: Meeting, rows: Any) -> Any:
    """As `titan join` does: who cannot use its rows can still refuse."""
    try:
        return meeting.prepare(rows if isinstance(rows, Source) else open_source(rows))
    except ReleaseError as refusal:
        return Refused(refusal)
