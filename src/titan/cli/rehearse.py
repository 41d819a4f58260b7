"""titan rehearse: all parties of a study on this machine, each a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from titan.cli import networks, options, study_options
from titan.cli.output import (
    check_save,
    give,
    refuse_failures,
    show_results,
    show_rows,
    show_wrapped,
)
from titan.errors import FileError, UsageError
from titan.listing import listing

if TYPE_CHECKING:
    from titan.joint.kinds import Question
    from titan.party.rehearsal import Rehearsal
    from titan.release import Column
    from titan.results import Results
    from titan.study import Study

_TITLE = "a rehearsal"


@options.grouped
def command(
    file: Annotated[
        Path, Argument(metavar="FILE", help="A study with --data, or rows with --party.")
    ],
    *,
    data: Annotated[
        Path | None,
        Option(metavar="DIR", help="Every party's rows: <party>.csv or <party>.parquet."),
    ] = None,
    party: Annotated[
        str | None, Option(help="Divide one file of rows among parties by this column.")
    ] = None,
    asked: study_options.Asked,
    response: options.Response = None,
    columns: options.Columns = None,
    no_intercept: options.NoIntercept = False,
    network: Annotated[
        str | None,
        Option(help=f"{networks.HELP_STUDY} [default: cycle]", rich_help_panel=options.NETWORK),
    ] = None,
    tau: Annotated[
        int | None, Option(help="How many curious parties to protect against. [default: 1]")
    ] = None,
    sums: options.SumChoices,
    conditions: study_options.Conditions,
    allow_small: Annotated[
        bool,
        Option(
            "--allow-small", help="Any number of rows will do.", rich_help_panel=options.RELEASE
        ),
    ] = False,
    keys: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="The parties' keys, <party>.key; new ones without.",
            rich_help_panel=options.PLACES,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Keep study, keys, runs and transcripts in a new folder.",
            rich_help_panel=options.PLACES,
        ),
    ] = None,
    keep_journal: Annotated[
        bool,
        Option(
            "--keep-journal",
            help="With --out: leave the masks in the journals, for titan.view.",
            rich_help_panel=options.MORE,
        ),
    ] = False,
    csv: options.Csv,
    wait: Annotated[
        float | None,
        Option(
            min=0.1,
            help="Seconds to wait for a party. [default: 60, and 3 per party]",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    save: options.Save = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Run all parties of a study as processes on this machine, with TLS between them.

    Each party runs titan join on its own rows, at an address of this machine, with keys that are
    thrown away unless some are given. All must end with the same answer.

    With --keep-journal and --out kept, titan.view("kept", ["north"]) in Python returns what these
    parties saw: every message sent to or by them, and their own inputs.

    \b
    Example:
      titan rehearse study.toml --data rows
      titan rehearse heart.csv --party hospital --formula "thalach ~ age" --tau 1
      titan rehearse heart.csv --party hospital --ask "describe: age, sex" --ask \\
        "regression: thalach ~ age; cov_type=HC0; name=main" --out kept --json
    """
    check_save(save, [file] if data is None else [file, data], force)
    if keep_journal and out is None:
        raise UsageError("--keep-journal without --out keeps nothing", hint="--out DIR")
    formula = options.formula_of(asked.formula, response, columns, no_intercept)
    asked = replace(asked, formula=formula)
    chosen = options.given(network=network, tau=tau, **vars(sums), **vars(conditions))
    _check_kind(file, data, party, options.given(**chosen, **vars(asked)))
    content = sums.given(tau=tau, **conditions.given())
    questions, said = asked.questions(), asked.columns()
    from titan.joining import load
    from titan.party.rehearsal import rehearse, workplace

    if out is not None and out.is_dir() and any(out.iterdir()):
        raise FileError(f"{out} is not empty", hint="name a new folder")
    with workplace(out) as place, _live_line() as progress:
        if data is not None:
            study, rows = _given(file, data)
            rows = csv.of(rows)
        else:
            whole = csv.of(file)
            content |= _content(whole, str(party), questions, said)
            with asked.quoted():
                study, rows = _made(whole, str(party), network or "cycle", keys, place, content)
        found = rehearse(
            study, rows, keys=keys, folder=place, wait=wait, keep_journal=keep_journal,
            allow_small=allow_small, progress=progress,
        )  # fmt: skip
        results = load(place)
    answer = found.as_dict() | ({} if out is None else {"folder": str(out)})
    give(answer, lambda: _print(found, results, out), json=json, save=save)
    refuse_failures(results)


# -- inputs -----------------------------------------------------------------------------------


def _check_kind(
    file: Path, data: Path | None, party: str | None, choices: Mapping[str, Any]
) -> None:
    """A study with its folder of rows, or one file of rows with the column that divides it."""
    if data is not None and party is not None:
        raise UsageError(
            "both --data and --party are given",
            hint="--data DIR for a study, --party COLUMN for one file of rows",
        )
    if data is None and party is None:
        of_study = "--data DIR, with one file of rows per party"
        of_rows = "--party COLUMN, which names the party of each row"
        hint = of_study if file.suffix == ".toml" else of_rows
        raise UsageError(f"{file.name} alone is not enough", hint=hint)
    if data is not None and choices:
        option = next(iter(choices)).strip("_").replace("_", "-")
        raise UsageError(
            f"--{option} cannot go with a study, which says that itself",
            hint="leave it out, or make another study",
        )
    if party is not None and "formula" not in choices and "ask" not in choices:
        raise options.no_model("; or --ask with a question")


def _given(file: Path, data: Path) -> tuple[Study, dict[str, Path]]:
    from titan.party.loopback import files_in
    from titan.study import Study

    study = Study.load(file)
    rows, others = files_in(data, study.network.parties)
    if others:
        named = listing(other.name for other in others)
        print(f"titan: note: not read, because no party has this name: {named}", file=sys.stderr)
    return study, rows


def _content(
    file: Path, column: str, questions: Sequence[Question], said: Mapping[str, Column]
) -> dict[str, Any]:
    """The questions, and what every column is: as it was said, or as the rows have it."""
    from titan.moments import open_source
    from titan.release import Dictionary
    from titan.study.asking import as_times, drafted, with_columns

    source = open_source(file)
    names = [name for name in source.column_names if name != column]
    found = {**drafted(source, questions, said, but=column), **said}
    columns = Dictionary.of(as_times(found, questions))
    return {
        "columns": columns,
        "questions": tuple(with_columns(question, names, columns) for question in questions),
    }


def _made(
    file: Path, column: str, network: str, keys: Path | None, place: Path, content: dict[str, Any]
) -> tuple[Study, dict[str, Path]]:
    """A study of the parties that the file's column names."""
    from datetime import UTC, datetime

    from titan.party.loopback import divide, study_among

    content = {"title": _TITLE, "tau": 1, **content}
    rows = divide(file, column, place / "data")
    net = networks.for_study(network, list(rows), content["tau"])
    study = study_among(net, place / "keys", keys=keys, now=datetime.now(UTC), **content)
    return study, rows


# -- output -----------------------------------------------------------------------------------


@contextmanager
def _live_line() -> Iterator[Callable[[str, str], None] | None]:
    """One line for all parties on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("starting") as line:
        yield lambda party, said: line.update(escape(f"{party}: {said}"))


def _print(found: Rehearsal, results: Results, out: Path | None) -> None:
    from datetime import UTC, datetime

    from titan.study import check

    show_results(results)
    study, cost = found.study, found.answer["cost"]
    print("\nEvery party learned:")
    for item in check(study, datetime.now(UTC)).learned:
        show_wrapped("  - ", item.said)
    print(f"and {options.privacy(study.network, study.tau)}.")
    print(f"Cost: {cost['rounds']} rounds, {cost['messages']} messages, "
          f"at most {max(cost['bytes_sent'].values())} bytes sent by a party.")  # fmt: skip
    print(f"\nAll {len(found.times)} parties ended with the same answer; seconds from the start:")
    steps = ("connected", "pooled", "answered")
    rows = [(party, *(f"{times[s]:.2f}" for s in steps)) for party, times in found.times.items()]
    show_rows([("", *steps), *rows])
    if out is not None:
        print(f"Kept in {out}: study.toml, keys, and every party's run and transcript.")
