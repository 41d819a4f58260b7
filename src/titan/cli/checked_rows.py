"""What was found in a party's own rows, in `titan study check --data` and before `join` asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titan.cli.advice import typed, typed_hint
from titan.cli.output import show_alarm, show_error, show_wrapped
from titan.errors import InputError, UsageError

if TYPE_CHECKING:
    from titan.party.own_rows import OwnRows, RowsOf
    from titan.study import Study

_MOST_SHOWN = 12
_VETO = (
    "YOUR ROWS WOULD END THE RUN FOR ALL: this party would veto. Everybody would learn that "
    "somebody refuses, not who nor why, and it counts: after three vetoes on the same rows a "
    "question is not asked again."
)
_MEND = "Answer no, correct the file, and give the same command again: nothing has been sent yet."


def files_given(study: Study, data: list[str]) -> Path | dict[str, Path]:
    """One file for all questions, or one for each."""
    names = {question.name for question in study.questions}
    if len(data) == 1 and data[0].partition("=")[0] not in names:
        return Path(data[0])
    pairs = [text.partition("=") for text in data]
    given = [name for name, _, file in pairs if file]
    if sorted(given) != sorted(names) or len(given) < len(pairs):
        raise UsageError(
            f"--data {' --data '.join(data)} does not give one file for each question",
            hint="one --data FILE for all, or --data NAME=FILE once for every question",
        )
    return {name: Path(file) for name, _, file in pairs}


def named(data: list[str] | None) -> list[Path]:
    """Every path that these words may name, so that nothing is written over it."""
    parts = (part for text in data or () for part in (text, text.partition("=")[2]))
    return [Path(part) for part in parts if part]


def as_dict(own: OwnRows) -> dict[str, Any]:
    """For JSON, in the words of the command line."""
    words = {"problem": typed, "hint": typed_hint}
    found = own.as_dict()
    for key in ("vetoes", "mistakes"):
        found[key] = [
            {k: words[k](text) if k in words else text for k, text in each.items()}
            for each in found[key]
        ]
    return found


def show_counts(own: OwnRows) -> None:
    """How many rows were read, and what was done to them."""
    by_count: dict[tuple[int, str], list[str]] = {}
    for each in own.rows:
        by_count.setdefault((each.rows, _gaps(each)), []).append(each.question)
    for (rows, gaps), questions in by_count.items():
        of = f" for {', '.join(questions)}" if len(by_count) > 1 else ""
        show_wrapped("your rows: ", f"{rows} read{of}{gaps}")
    for name, count in sorted(own.rounded.items()):
        values = "value" if count == 1 else "values"
        show_wrapped("your rows: ", f"{count} {values} of {name} rounded to the study's steps")
    for note in own.notes:
        show_wrapped("note: ", note)


def _gaps(rows: RowsOf) -> str:
    if not rows.dropped:
        return ""
    if rows.refused:  # then nothing is dropped
        return f", of which {rows.dropped} {'has' if rows.dropped == 1 else 'have'} gaps"
    return f", of which {rows.dropped} dropped for gaps"


def show_outcome(own: OwnRows, party: str) -> None:
    """What would happen if these rows were brought to the study."""
    said = {
        "passes": "nothing in these rows alone would be refused; cells, digits and leverage among "
        "all parties' rows are looked at in the run",
        "veto": f"{party} would veto, which ends the run for all: everybody learns that somebody "
        "refuses, not who nor why, and after three vetoes a question is not asked again",
        "mistake": f"titan join would stop here at {party}, and nothing would be sent",
    }
    show_wrapped("your rows: ", said[own.outcome])


def show_own_rows(own: OwnRows) -> None:
    """Before somebody is asked: the counts, and in red what would go wrong."""
    show_counts(own)
    if not own.errors:
        return
    veto = own.outcome == "veto"
    show_alarm(_VETO if veto else "YOUR FILE CANNOT BE USED AS IT IS; nothing has been sent:")
    for line in _lines(own):
        show_alarm(f"  - {line}")
    if veto:
        show_alarm(_MEND)


def _lines(own: OwnRows) -> Iterator[str]:
    for error in own.errors[:_MOST_SHOWN]:
        hint = typed_hint(error.hint)
        yield typed(error.message) + (f" ({hint})" if hint else "")
    if len(own.errors) > _MOST_SHOWN:
        yield f"and {len(own.errors) - _MOST_SHOWN} more"


def show_findings(own: OwnRows) -> None:
    """Each as an error of its own."""
    for error in own.errors[:_MOST_SHOWN]:
        show_error(error)
    if len(own.errors) > _MOST_SHOWN:
        show_error(InputError(f"and {len(own.errors) - _MOST_SHOWN} more (--json lists all)"))


def refuse_mistakes(own: OwnRows) -> None:
    """Raise what stops `join` at home."""
    if own.first is not None and own.outcome == "mistake":
        raise own.first
