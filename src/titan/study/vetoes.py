"""How many vetoes stood against a question on the same rows, and when it is not asked any more.

A veto tells one bit of the rows: whoever states ranges, steps and formulas could find a value with
enough of them. So they are counted by what is read of the rows, not by how a question is put. In
every party's ledger, a question is not asked again on the same rows after

    3 vetoes of questions that read the same columns: another order, another outcome, other ranges,
      steps, functions or weights among them change nothing; and
    9 vetoes of questions that read any one of its columns, of mostly the same rows: so a column
      more, a column fewer, or gaps that leave out other rows help to six more, and no further.

Whoever mends a question in earnest has three tries for each set of columns, and nine in all.
Merging levels in the files makes other rows, and is counted anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from titan.errors import ReleaseError
from titan.listing import one_of

SAME_COLUMNS = 3
ONE_COLUMN = 9


@dataclass(frozen=True)
class Vetoes:
    """Those before a run that stand against its questions, as this party's ledger has them."""

    questions: Mapping[str, int] = field(default_factory=dict)
    """By name: of questions that read the same columns of the same rows."""
    columns: Mapping[str, int] = field(default_factory=dict)
    """Of questions that read this column of mostly the same rows."""

    def check(self, words: Mapping[str, str], hint: str = "") -> None:
        """Refuse what was vetoed too often; `words` are those of the questions, by name."""
        for name, count in self.questions.items():
            if count >= SAME_COLUMNS:
                raise ReleaseError(
                    f"{words[name]}, or another question on its columns, was stopped by a veto "
                    f"{count} times on these rows, and is not asked again",
                    hint=hint
                    or "ask something of other columns, or use other rows: each veto "
                    "tells a little",
                    rule="vetoes",
                    question=name,
                )
        too_often = sorted(name for name, count in self.columns.items() if count >= ONE_COLUMN)
        if too_often:
            raise ReleaseError(
                f"questions that read {one_of(map(repr, too_often))} were stopped by a veto "
                f"{ONE_COLUMN} times on these rows, and none is asked again",
                hint=hint
                or f"leave out {', '.join(too_often)}, or use other rows: each veto tells a little",
                rule="vetoes",
                cell=", ".join(too_often),
            )

    @property
    def most(self) -> int:
        """The one that has just come counted."""
        return max(self.questions.values(), default=0) + 1

    @property
    def ended(self) -> bool:
        """Whether some question of this run is not asked again on these rows."""
        return self.most >= SAME_COLUMNS or max(self.columns.values(), default=0) + 1 >= ONE_COLUMN

    def __str__(self) -> str:
        """The one that has just come, in words."""
        by_count: dict[int, list[str]] = {}
        for name, count in self.questions.items():
            by_count.setdefault(count + 1, []).append(name)
        each = [
            f"{count} of {SAME_COLUMNS}" + (f" for {', '.join(names)}" if len(by_count) > 1 else "")
            for count, names in sorted(by_count.items(), reverse=True)
        ]
        said = f"veto {' and '.join(each)} on these rows"
        column = max(self.columns, key=lambda name: self.columns[name], default="")
        if column and self.columns[column] + 1 > self.most:
            said += f", and {self.columns[column] + 1} of {ONE_COLUMN} for questions on {column}"
        return said


def of_refusals(
    before: Sequence[tuple[tuple[str, int], Collection[str]]], asked: Mapping[str, Sequence[str]]
) -> Vetoes:
    """Where rows could not be read: from the columns of every question of earlier runs, each with
    its study and run, and those of today's questions by name."""
    columns = sorted({column for own in asked.values() for column in own})
    return Vetoes(
        {name: sum(each == own for _, each in before) for name, own in asked.items()},
        {name: len({run for run, each in before if name in each}) for name in columns},
    )
