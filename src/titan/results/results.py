"""The answers to the questions of one meeting: in order, and by name."""

# Rule: a question that failed does not take the others along; asking for it raises why it failed.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, SupportsIndex

from titan.errors import InputError, NotThereError, TitanError
from titan.listing import printable
from titan.results.result import Result

Outcome = Result | TitanError
"""An answer, or why there is none."""


@dataclass(frozen=True, eq=False)
class QuestionOutcome:
    """One question's outcome, with what was shown of it where that is known."""

    name: str
    outcome: Outcome
    printed: str | None = None
    """For people, as it was printed; None: `summary()` says."""
    shown: Mapping[str, Any] | None = None
    """For programs, as it was shown; None: `to_dict()` says."""

    @property
    def summary(self) -> str:
        """What people are shown."""
        if self.printed is not None or isinstance(self.outcome, TitanError):
            return self.printed or ""
        return printable(self.outcome.summary(), keep="\n")

    def to_dict(self) -> dict[str, Any]:
        """What programs are shown."""
        if isinstance(self.outcome, TitanError):
            return {"error": self.outcome.message, "hint": self.outcome.hint}
        return self.outcome.to_dict() if self.shown is None else dict(self.shown)

    def __repr__(self) -> str:
        failed = isinstance(self.outcome, TitanError)
        return f"{self.name} ({'failed' if failed else getattr(self.outcome, 'kind', '')})"


class Results:
    """Answers by position or by name; `titan.load` and `titan.join` give them.

    results = Results({"main": fit, "small": ridge})
    results[0], results["small"], len(results), [answer.nobs for answer in results]
    """

    def __init__(
        self,
        outcomes: Mapping[str, Outcome] | Iterable[Outcome | QuestionOutcome],
        *,
        study: str | None = None,
        run: int | None = None,
        parties: Iterable[str] | None = None,
        cost: Mapping[str, Any] | None = None,
    ) -> None:
        """Of a mapping, or of outcomes in order, which are then called q1, q2, …

        A real run has a study (its digest), a number, parties, and what the whole meeting cost.
        """
        self.study = study
        self.run = run
        self.parties = None if parties is None else tuple(parties)
        self.cost = cost
        self.entries = tuple(_entries(outcomes))
        self._at = {entry.name: i for i, entry in enumerate(self.entries)}
        if len(self._at) < len(self.entries):
            raise InputError("two questions have the same name", hint="name them differently")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._at)

    def keys(self) -> tuple[str, ...]:
        """The names, so that `dict(results)` works."""
        return self.names

    @property
    def errors(self) -> dict[str, TitanError]:
        """Why the questions failed that did, by name."""
        return {e.name: e.outcome for e in self.entries if isinstance(e.outcome, TitanError)}

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self._at

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._at)

    def __getitem__(self, key: str | SupportsIndex | slice) -> Any:
        if isinstance(key, slice):
            return [self[name] for name in self.names[key]]
        outcome = self.entry(key).outcome
        if isinstance(outcome, TitanError):
            raise outcome
        return outcome

    def entry(self, key: str | SupportsIndex) -> QuestionOutcome:
        """The question with its outcome, failed or not."""
        try:
            return self.entries[self._at[key] if isinstance(key, str) else key]
        except (KeyError, IndexError, TypeError):
            known = ", ".join(self.names[:8]) + (", …" if len(self) > 8 else "")
            raise NotThereError(
                f"there is no result {key!r}", hint=f"there are {len(self)}: {known}"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """For JSON: a single question's numbers at the top, several under `questions` by name."""
        if len(self) == 1:
            return self.entries[0].to_dict()
        return {"questions": {entry.name: entry.to_dict() for entry in self.entries}}

    def of_run(self) -> dict[str, Any]:
        """For JSON: of which study and run this is, and what its sums cost; empty where of none."""
        if self.study is None:
            return {}
        parties = list(self.parties or ())
        return {"study": self.study, "run": self.run, "parties": parties, "cost": self.cost}

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file of mode 600, for `titan.load`; an older one at this place is replaced."""
        from titan.results.result_file import save

        save(self, path)

    def __repr__(self) -> str:
        return f"<Results: {', '.join(map(repr, self.entries))}>"


def _entries(
    outcomes: Mapping[str, Outcome] | Iterable[Outcome | QuestionOutcome],
) -> Iterator[QuestionOutcome]:
    if isinstance(outcomes, Mapping):
        outcomes = [QuestionOutcome(name, outcome) for name, outcome in outcomes.items()]
    for number, outcome in enumerate(outcomes, 1):
        entry = (
            outcome
            if isinstance(outcome, QuestionOutcome)
            else QuestionOutcome(f"q{number}", outcome)
        )
        if not isinstance(entry.outcome, Result | TitanError):
            raise InputError(
                f"{type(entry.outcome).__name__} is not a result",
                hint="give what titan.fit, solve, ridge or average returned",
            )
        yield entry
