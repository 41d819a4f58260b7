"""titan reproduce: results of the documentation, made again on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import options
from titan.cli.output import progress_bar, show_json, show_rows, write_text
from titan.errors import FileError, TitanError

if TYPE_CHECKING:
    from titan.experiments.nist import Result

app = typer.Typer(help="Make results of the documentation again.", no_args_is_help=True)


@app.callback()
def _several() -> None:
    """Make results of the documentation again."""


@app.command()
def nist(
    out: Annotated[
        Path | None, typer.Option(help="A directory for nist.csv and nist.md; made if absent.")
    ] = None,
    json: options.Json = False,
) -> None:
    """How many certified digits of NIST's eleven regressions TITAN and others get.

    numpy is always there; statsmodels and scikit-learn take part if they are installed. Exit
    status 1 if TITAN misses a digit.

    \b
    Example:
      titan reproduce nist --out results
    """
    from titan.experiments import nist as experiment
    from titan.experiments.nist_report import as_csv, as_markdown

    if out is not None:
        _make_directory(out)
    with progress_bar("data sets") as progress:
        result = experiment.run(progress)
    files = {} if out is None else {"nist.csv": as_csv(result), "nist.md": as_markdown(result)}
    for name, text in files.items():
        write_text(Path(out or ".") / name, text)
    written = [str(Path(out or ".") / name) for name in files]
    if json:
        show_json(_as_dict(result, written))
    else:
        _print(result, written)
    if result.short:
        raise TitanError(f"TITAN misses certified digits of {', '.join(result.short)}")


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileError(f"{path} cannot be made: {reason}") from None


def _as_dict(result: Result, written: list[str]) -> dict[str, Any]:
    return {
        "scores": [vars(score) for score in result.scores],
        "every_certified_digit": not result.short,
        "exact_fits": list(result.exact_fits),
        "skipped": list(result.skipped),
        "versions": result.versions,
        "files": written,
    }


def _print(result: Result, written: list[str]) -> None:
    from titan.experiments.nist import SETS
    from titan.experiments.nist_report import FIGURES, cells

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
    if written:
        print(f"Written: {', '.join(written)}")
