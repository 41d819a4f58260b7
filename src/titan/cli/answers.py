"""How commands show the results of a run: each question's summary, or its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from titan.cli.output import show_error

if TYPE_CHECKING:
    from titan.results import Results


def show(results: Results) -> None:
    """Every answer as the library prints it, under the question's name where there are several."""
    several = len(results) > 1
    for entry in results.entries:
        if entry.name in results.errors:
            continue
        if several:
            print(f"-- {entry.name} " + "-" * max(0, 75 - len(entry.name)))
        print(entry.summary, flush=True)
        if several:
            print()


def refuse_failures(results: Results) -> None:
    """Say which questions have no answer; the last one's error is the command's.

    What ended the whole run is the error of all its questions, and said once.
    """
    errors = list(results.errors.items())
    alike = len({str(error) for _, error in errors}) == 1 and len(errors) == len(results)
    if alike:
        raise errors[0][1]
    named = [type(error)(f"{name}: {error.message}", hint=error.hint) for name, error in errors]
    for error in named[:-1]:
        show_error(error)
    if named:
        raise named[-1]
