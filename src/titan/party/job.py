"""A study's sums and its answer, as one party makes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from titan.errors import MessageError, RankError, TitanError
from titan.leastsquares import Regression, Solution, fit_pooled, solve_pooled
from titan.moments import Moments
from titan.pooling import First, NormalEquations, enough_rows, plans
from titan.protocol import Plan
from titan.ring import Residues
from titan.study import Study


@dataclass(frozen=True)
class Answer:
    """What is shown at the end, equal at all parties: for programs and for people."""

    result: dict[str, Any] = field(repr=False)
    summary: str = field(repr=False)

    @classmethod
    def failed(cls, error: TitanError) -> Answer:
        """The sums have no answer, and all parties see the same reason."""
        return cls({"error": error.message, "hint": error.hint}, "")

    @property
    def error(self) -> TitanError | None:
        """Why there is none."""
        if "error" not in self.result:
            return None
        return RankError(self.result["error"], hint=self.result["hint"])

    def encode(self) -> bytes:
        """One form, as the party that solves for all tells it."""
        whole = {"result": self.result, "summary": self.summary}
        return json.dumps(whole, sort_keys=True, allow_nan=False).encode("ascii")

    @classmethod
    def decode(cls, data: bytes) -> Answer:
        try:
            whole = json.loads(data)
            answer = cls(whole["result"], whole["summary"])
            if not isinstance(answer.result, dict) or answer.encode() != data or not answer._prints:
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise MessageError("the answer that was told cannot be read") from None
        return answer

    @property
    def _prints(self) -> bool:
        """Whether it is text that can be shown on somebody else's terminal."""
        lines = self.summary.split("\n")
        if "error" in self.result:
            lines += [self.result["error"], self.result["hint"]]
        lines.append(json.dumps(self.result, ensure_ascii=False))
        return all(line.isprintable() for line in lines)


class StudyJob:
    """The two sums of a study's model over one party's moments."""

    def __init__(self, study: Study, party: str, moments: Moments) -> None:
        self._study = study
        self._party = party
        self._moments = moments

    @cached_property
    def plans(self) -> Sequence[Plan]:
        return self.plans_of(self._study)

    @staticmethod
    def plans_of(study: Study) -> Sequence[Plan]:
        return plans(study.sums, study.parameters, study.release)

    @cached_property
    def _equations(self) -> NormalEquations:
        study = self._study
        return NormalEquations(study.model.names, len(study.parties), study.bits, study.release)

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues:
        """Before the second sum the rows of all are counted; the own ones were before anything."""
        if number == 0:
            return self._equations.first_secret(self._party, self._moments)
        return self._equations.second_secret(self._moments, self._first(totals))

    def _first(self, totals: Sequence[Residues]) -> First:
        first, parameters = self._equations.read_first(totals[0]), self._equations.columns
        limits = self._study.limits
        limits.check_pooled(first.rows, parameters, len(self._study.parties))
        limits.check_levels(self._study.model.level_counts(first.diagonal, first.rows))
        enough_rows(first.rows, parameters)
        return first

    def answer(self, totals: Sequence[Residues]) -> Answer:
        """Solve the pooled normal equations, with proven error bounds."""
        second = totals[1] if len(totals) > 1 else None
        pooled = self._equations.pooled(self._first(totals), second)
        model = self._study.model
        if self._study.release == "solution":
            solution = solve_pooled(pooled)
            return Answer(solution.to_dict(), _table(solution))
        weighted = model.weights is not None
        fitted: Regression = fit_pooled(pooled, constant=model.constant, weighted=weighted)
        return Answer(fitted.to_dict(), str(fitted.summary()))


def _table(solution: Solution) -> str:
    width = max(map(len, solution.names))
    lines = [
        f"{name.ljust(width)}  {x!r} within {bound:.1e}"
        for name, x, bound in zip(
            solution.names, solution.x.tolist(), solution.error_bound.tolist(), strict=True
        )
    ]
    return "\n".join([*lines, f"{solution.rows} rows"])


def described(plans: Sequence[Plan]) -> str:
    """How the sums will be made, in words that two parties can compare."""
    return "; ".join(
        f"{plan.dimension} x {plan.ring.bits} bits, masks {plan.masks}, {plan.scheme.name} in "
        f"{plan.recovery_rounds} rounds, {plan.cost.messages} messages, "
        f"{plan.cost.bytes_sent.total} bytes"
        for plan in plans
    )
