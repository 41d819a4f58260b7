"""What a run must end in, from the same rows in one process: an answer, or a refusal."""

# Rule 1: no session, no journal and no link. The answer comes from the local engine.
# Rule 2: a file for several questions is opened once, as by a party: they are looked at as one.
# Rule 3: who refuses, and why, is found in plain sums, party by party, with no mask and no engine.

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import titan
from titan.canonical import finite
from titan.errors import ReleaseError, VetoError
from titan.joint.computation import Fold
from titan.joint.meeting import VETO, Refused
from titan.joint.together import together
from titan.moments import Source, open_source
from titan.protocol.masking import SystemMasks
from titan.results import Results
from titan.study import Study

FORMULA = "y ~ a + b"
TOLD = f"{VETO}: veto 1 of 3 on these rows"
"""What those are told whose own rows are not the reason, in the first run of a study."""


@dataclass(frozen=True)
class Expected:
    """Either an answer, or what every party must be told instead."""

    answer: Mapping[str, Any] = field(default_factory=dict)
    refusals: Mapping[str, str] = field(default_factory=dict)
    """Party → the words of its error, where a rule of release forbids an answer."""

    @classmethod
    def of(cls, study: Study, folder: Path) -> Expected:
        parts = [_part(study, folder, card.name) for card in study.parties]
        try:
            states = together(study.meeting, parts, study.settings).answer
        except ReleaseError:
            return cls(refusals=_refusals(study, parts))
        assert all(state.error is None for state in states), [state.error for state in states]
        return cls(_as_saved(study, folder, [state.answer for state in states]))


def given(questions: Sequence[str], folder: Path, name: str) -> dict[str, Path]:
    """Question → the rows that a party has for it: one row for an average."""
    return {
        question: folder / f"{name}{'.row' if question == 'average' else ''}.csv"
        for question in questions
    }


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """What of an answer is not as it must be."""
    if "questions" not in expected:
        return [key for key, value in expected.items() if found.get(key) != value]
    there = found.get("questions", {})
    return [
        f"{name}: {key}"
        for name, answer in expected["questions"].items()
        for key in differences(answer, there.get(name, {}))
    ]


def _part(study: Study, folder: Path, name: str) -> Any:
    paths = given([question.name for question in study.questions], folder, name)
    opened: dict[Path, Source] = {path: open_source(str(path)) for path in set(paths.values())}
    try:
        return study.meeting.prepare({question: opened[path] for question, path in paths.items()})
    except ReleaseError as refusal:
        return Refused(refusal)


def _refusals(study: Study, parts: Sequence[Any]) -> dict[str, str]:
    """What every party is told: why, if its own rows are the reason or if all see it in a total."""
    names, folds = [card.name for card in study.parties], [Fold(study.meeting) for _ in parts]
    noise = SystemMasks().words
    while not folds[0].over:
        sum_ = study.meeting.sums[folds[0].number]
        try:
            own = [fold.secret(part, noise) for fold, part in zip(folds, parts, strict=True)]
            total = sum_.ring.sum(own, sum_.entries)
            for fold in folds:
                fold.learn(total)
        except VetoError:
            reasons = [fold.refusal for fold in folds]
            assert any(reasons)
            told = [TOLD if each is None else each.message for each in reasons]
            return dict(zip(names, told, strict=True))
        except ReleaseError as refusal:
            return dict.fromkeys(names, refusal.message)
    raise AssertionError("a rule refuses with masks, and none without")


def _as_saved(study: Study, folder: Path, answers: Sequence[Any]) -> dict[str, Any]:
    names = [question.name for question in study.questions]
    results = Results(dict(zip(names, answers, strict=True)))
    found: dict[str, Any] = json.loads(json.dumps(finite(results.to_dict())))
    for each in (found, *found.get("questions", {}).values()):
        each.pop("cost", None)
        each.pop("dropped", None)  # each party knows its own
    if names == ["regression"]:  # as `titan.fit` has it, whose sums are others
        tables = {card.name: folder / f"{card.name}.csv" for card in study.parties}
        fitted = titan.fit(tables, study.network, formula=FORMULA, tau=study.tau)
        plain = json.loads(json.dumps(fitted.to_dict()))
        differ = {key for key in found if plain[key] != found[key]}
        bounds = {key for key in differ if key == "error_bound" or key.endswith("_error")}
        assert differ == bounds, differ - bounds
    return found
