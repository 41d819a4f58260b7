"""A whole study in one process, as a hostile statistician or party would look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.study.studies import study as a_study
from titan.errors import ReleaseError, TitanError
from titan.joint import Fold
from titan.joint.kinds import Question
from titan.joint.meeting import embedded, extracted
from titan.moments import open_source
from titan.party.preparing import prepare
from titan.protocol.masking import SystemMasks
from titan.release import Column, Dictionary, Flag, Number
from titan.study import Study
from titan.study.ledger import Ledger

NAMES = ("north", "east", "south", "west")


def ask(kind: str, name: str = "", **options: Any) -> Question:
    return Question(kind, name, tuple(options.items()))


def stated(columns: Mapping[str, Column], *questions: Question, **changes: Any) -> Study:
    return a_study(columns=Dictionary.of(columns), questions=questions, **changes)


@dataclass
class Seen:
    """What everybody sees of a study: the totals that were opened, and why there are no more."""

    study: Study
    totals: list[Any] = field(default_factory=list)
    """Of the sums that nobody vetoed."""
    error: TitanError | None = None
    answers: Any = ()
    refusals: dict[str, ReleaseError] = field(default_factory=dict)
    """By party: why it refused, which it alone knows."""

    def products(self, name: str) -> dict[tuple[str, str], Fraction]:
        """The exact entries of AᵀA, Aᵀb and bᵀb that a question opened, by the columns' names."""
        meeting, found = self.study.meeting, dict[tuple[str, str], Fraction]()
        equations: Any = meeting.computation(name).equations  # type: ignore[attr-defined]
        names, units, n = equations.names, [s.unit for s in equations.sizes], equations.columns
        lower = [*zip(*(each.tolist() for each in np.tril_indices(n)), strict=True)]
        pairs = {1: lower, 2: [(n, j) for j in range(n + 1)]}
        for sum_, numbers in self.opened(name).items():
            for (i, j), x in zip(pairs.get(sum_, []), numbers, strict=False):
                found[names[i], names[j]] = x * units[i] * units[j] * equations.weights.unit
        return found

    def opened(self, name: str) -> dict[int, list[int]]:
        """The whole numbers that the sums of a question opened, by its sums."""
        meeting, found = self.study.meeting, {}
        for n, total in enumerate(self.totals):
            for at, number, sum_, place in meeting._places(n):
                if meeting.computations[at][0] == name:
                    own = extracted(total[:, place], sum_.ring, meeting.sums[n].ring)
                    found[number] = sum_.ring.to_signed(own)
        return found


Lies = Mapping[int, tuple[int, int]]
"""To which entry of a sum a party adds how much."""


def asked_of(
    study: Study, tables: Sequence[Any], folder: Path | None = None, lies: Lies | None = None
) -> Seen:
    """Ask the parties; each has a ledger of its own in the folder, or a new one.

    The last of them lies, where there are lies, to a study of one question.
    """
    with TemporaryDirectory() as made:
        sources = [open_source(table) for table in tables]
        return _asked(study, sources, folder or Path(made), lies or {})


def _asked(study: Study, sources: Sequence[Any], folder: Path, lies: Lies) -> Seen:
    seen, parts = Seen(study), []
    for name, source in zip(study.network.parties, sources, strict=True):
        path = folder / f"{name}.ledger"
        key = Ledger.key_for(path)
        try:
            with Ledger.open(path, key) as ledger:
                part, entries = prepare(study, 1, source, key, ledger.asked(study.digest, 1))
                ledger.record(entries)
        except ReleaseError as refusal:
            seen.refusals[name], seen.error = refusal, refusal
            return seen
        parts.append(part)
    fold: Fold[Any, Any, Any] = Fold(study.meeting)
    while not fold.over:
        secrets = []
        for name, part in zip(study.network.parties, parts, strict=True):
            before = fold.refusal
            try:
                secrets.append(fold.secret(part, SystemMasks().words))
            except TitanError as error:  # of what all have seen
                seen.error = error
                return seen
            if fold.refusal is not None and fold.refusal is not before:
                seen.refusals[name] = fold.refusal
        ring = study.meeting.sums[fold.number].ring
        total = secrets[0]
        for secret in secrets[1:]:
            total = ring.add(total, secret)
        if fold.number in lies:
            entry, more = lies[fold.number]
            small = study.meeting.computations[0][1].sums[fold.number].ring
            false = [0] * total.shape[1]
            false[entry] = more
            total = ring.add(total, embedded(small.from_ints(false), small, ring))
        try:
            fold.learn(total)
        except TitanError as error:
            seen.error = error
            return seen
        seen.totals.append(total)
    seen.answers = fold.answer()
    return seen


def number(low: int, high: int, step: str = "1") -> Number:
    return Number.read(str(low), str(high), step)


KNOWN: dict[str, Column] = {
    "age": number(0, 120),
    "pressure": number(0, 300),
    "y": number(0, 250),
    "flag": Flag(),
    "a": number(0, 2),
    "b": number(0, 2),
}
SPIKE = "exp(-60*((age-76)*(age-76)))"


def tables(rows: int = 60, parties: int = 4) -> list[dict[str, Any]]:
    """Ordinary patients, none of whom is 76, all of whom have the flag."""
    found = []
    for party in range(parties):
        rng = np.random.default_rng(party)
        ends = {"age": (40, 70), "pressure": (100, 180), "y": (60, 200), "a": (0, 3), "b": (0, 3)}
        table = {name: rng.integers(*each, rows).astype(float) for name, each in ends.items()}
        found.append(table | {"flag": np.ones(rows)})
    return found
