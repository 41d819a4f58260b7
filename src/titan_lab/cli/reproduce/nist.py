"""titan reproduce nist: NIST's regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from titan.cli import options
from titan.cli.output import show_rows
from titan.errors import TitanError
from titan_lab.cli.output import progress_bar
from titan_lab.cli.reproduce.output import Out, finish, prepare

if TYPE_CHECKING:
    from titan_lab.experiments.nist import Result


def command(out: Out = None, json: options.Json = False) -> None:
    """How many certified digits of NIST's eleven regressions TITAN and others get.

    numpy is always there; statsmodels and scikit-learn take part if they are installed. Exit
    status 1 if TITAN misses a digit.

    \b
    Example:
      titan reproduce nist --out results
    """
    from titan_lab.experiments import nist as experiment
    from titan_lab.experiments.nist_report import report

    prepare(out)
    with progress_bar("data sets") as progress:
        result = experiment.run(progress)
    finish(report(result), out, json, _as_dict(result), lambda: _print(result))
    if result.short:
        raise TitanError(f"TITAN misses certified digits of {', '.join(result.short)}")


def _as_dict(result: Result) -> dict[str, Any]:
    return {
        "scores": [vars(score) for score in result.scores],
        "every_certified_digit": not result.short,
        "exact_fits": list(result.exact_fits),
        "skipped": list(result.skipped),
    }


def _print(result: Result) -> None:
    from titan_lab.experiments.nist import SETS
    from titan_lab.experiments.nist_report import FIGURES, cells

    for title, figure in FIGURES.items():
        print(f"Correct digits: {title}")
        rows = [("", *result.programs)]
        rows += [(name, *cells(result, name, figure)) for name in SETS]
        show_rows(rows)
        print()
    print("Others: default / most favourable. Certified are 15 digits.")
    if not result.short:
        print(f"TITAN has every certified digit of all {len(SETS)} sets, from three parties.")
    if result.exact_fits:
        print(f"Exact fits, and found to be: {', '.join(result.exact_fits)}.")
    if result.skipped:
        print(f"Not installed, so left out: {', '.join(result.skipped)}.")
