"""titan study: gather a study, check one before taking part."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from titan.cli import checked_rows, drafting, networks, options, study_options
from titan.cli.advice import typed, typed_hint
from titan.cli.help import App
from titan.cli.output import (
    ask_before_replacing,
    give,
    html_name,
    refuse_inputs,
    show_error,
    show_lowered,
    show_pairs,
)
from titan.cli.rows_options import RowsFrom
from titan.cli.study_text import fingerprint, show_report
from titan.cli.terminal import until_reader_leaves
from titan.errors import InputError, UsageError, about

if TYPE_CHECKING:
    from titan.network import Network
    from titan.study import Card, Link, Report, Study

app = App(help="Write a study, or check one before taking part.")


@app.command()
@options.grouped
def new(
    card: Annotated[list[Path], Option(help="A party's card; once for every party.")],
    tau: Annotated[int, Option(help="How many curious parties to protect against.")],
    out: Annotated[Path, Option(help="The file to write.")],
    *,
    asked: study_options.Asked,
    network: Annotated[
        str, Option(help=networks.HELP_STUDY, rich_help_panel=options.NETWORK)
    ] = "design",
    title: Annotated[
        str | None,
        Option(
            help="What it is called. [default: what its questions ask]",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Take columns from these rows; it asks for ranges.",
            rich_help_panel=options.COLUMNS,
        ),
    ] = None,
    csv: options.Csv,
    conditions: study_options.Conditions,
    min_rows_total: Annotated[
        int | None,
        Option(
            help="The fewest rows in all; --min-rows for every party.",
            rich_help_panel=options.RELEASE,
        ),
    ] = None,
    pull: Annotated[
        list[str] | None,
        Option(
            help="from,to: on this link the receiver dials, not the sender.",
            rich_help_panel=options.NETWORK,
        ),
    ] = None,
    dials_only: Annotated[
        list[str] | None,
        Option(
            help="Parties that only dial out, separated by commas.",
            rich_help_panel=options.NETWORK,
        ),
    ] = None,
    sums: options.SumChoices,
    latency_ms: Annotated[
        int | None,
        Option(
            help="Of all links, one way; for recovery auto and predictions. [default: 20]",
            rich_help_panel=options.NETWORK,
        ),
    ] = None,
    bandwidth_mbit: Annotated[
        int | None,
        Option(
            help="Of all links, in Mbit/s; likewise. [default: 100]",
            rich_help_panel=options.NETWORK,
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Put cards, links, columns and questions into one file, for all to check and join.

    \b
    Example:
      titan study new --card north.card --card east.card --card south.card \\
        --ask "regression: y ~ age + sex; name=main" --ask "describe: age, sex" \\
        --range age=0:120 --step age=1 --range y=0:300 --step y=0.1 \\
        --levels sex=f,m --tau 1 --title "Three hospitals" --out study.toml
    """
    from titan.study import Card
    from titan.study.gathering import gather
    from titan.study.reachability import only_dialling

    read = [*card, *([like] if like else []), Path(network)]
    refuse_inputs(out, [file for file in read if file.is_file()])
    questions = asked.questions()
    if not questions:
        raise UsageError(
            "no question is asked", hint='--formula "y ~ a + b", or --ask with a question'
        )
    rows = csv.of(like or Path())
    like = like and rows
    if like is None:
        names = list(said := asked.columns())
    else:
        names, said = drafting.columns_like(like, asked, questions)
    cards = _cards([Card.load(path) for path in card], dials_only or [])
    only = only_dialling(cards)
    net = networks.for_study(network, [card.name for card in cards], tau, only)
    with asked.quoted():
        study = gather(
            cards,
            _links(net, pull or [], only),
            questions,
            said,
            names,
            tau=tau,
            title=title,
            **options.given(min_rows_total=min_rows_total),
            **conditions.given(),
            **sums.given(latency_ms=latency_ms, bandwidth_mbit=bandwidth_mbit),
        )
    _refuse_typed(report := _report(study))
    _refuse_problems(report)  # nobody could join it
    if like is not None:
        drafting.warn_of_rare_levels(like, asked, study.columns, study.min_cell)
    study.save(out, force=ask_before_replacing([out], force))
    answer = {"study": str(out), "digest": study.digest, "parties": list(study.network.parties)}
    rows = [("study", str(out)), ("title", study.title), *fingerprint(study.digest)]
    give(answer, lambda: show_pairs(rows), json=json)


@app.command()
@options.grouped
def check(
    file: Annotated[Path, Argument(metavar="STUDY", help="The study's file.")],
    *,
    data: Annotated[
        list[str] | None,
        Option(
            metavar="FILE",
            help="Look at these rows too, as join would, with --as; or NAME=FILE once for every "
            "question.",
        ),
    ] = None,
    as_: Annotated[
        str | None, Option("--as", envvar="TITAN_STUDY_CHECK_AS", help="Whose rows they are.")
    ] = None,
    where: RowsFrom,
    csv: options.Csv,
    json: options.Json = False,
) -> None:
    """Is it sound and private, what will it cost, and what will everyone learn?

    With --data (or --sql) and --as: would these rows be refused, and why? Nothing is sent or
    written. The exit status is 1 if a condition fails or the file cannot be used, and 3 if its
    party would veto.

    \b
    Example:
      titan study check study.toml
      titan study check study.toml --data north.csv --as north
    """
    from titan.party.own_rows import look
    from titan.study import Study
    from titan.study.shares import shares

    given = bool(data) or where.sql is not None
    if given != (as_ is not None):
        raise typer.BadParameter("--data and --as go together: --data north.csv --as north")
    if given:
        where.check(data, "--data")
    study = Study.load(file)
    report, told = _report(study), shares(study)
    answer = _advised(report.as_dict()) | {"shares": told}
    own = None
    if as_ is not None:
        with about("as_"):
            study.card(as_)  # refuses who is not a party
        own = look(study, where.of_party(study, data, csv)) if report.ok else None
        answer["own_rows"] = own and {"party": as_, **checked_rows.as_dict(own)}

    def as_text() -> None:
        show_lowered(report.facts["lowered"])
        if own is not None:  # what was asked for, before what is the same for all
            checked_rows.show_counts(own)
            checked_rows.show_outcome(own, str(as_))
        show_report(report, told)

    with until_reader_leaves():
        give(answer, as_text, json=json)
    _refuse_problems(report)
    if own is not None:
        checked_rows.show_findings(own)
        if own.exit_status:
            raise typer.Exit(own.exit_status)


@app.command()
def sheet(
    file: Annotated[Path, Argument(metavar="STUDY", help="The study's file.")],
    out: Annotated[Path, Option(help="The page to write, such as sheet.html.")],
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """One page to print and to sign: who takes part, what is asked, opened and kept hidden.

    \b
    Example:
      titan study sheet study.toml --out sheet.html
    """
    from datetime import UTC, datetime

    from titan import files
    from titan.report.sheet import sheet
    from titan.study import Study
    from titan.study.shares import shares

    refuse_inputs(out, [file])
    html_name(out, "the sheet")
    study = Study.load(file)
    report = _report(study)
    _refuse_problems(report)  # nobody could join it
    text = sheet(study, report, shares(study), datetime.now(UTC))
    files.write(out, text.encode(), mode=0o644, force=ask_before_replacing([out], force))
    answer = {"sheet": str(out), "digest": study.digest, "lowered": report.facts["lowered"]}
    rows = [("sheet", str(out)), *fingerprint(study.digest)]
    give(answer, lambda: show_pairs(rows), json=json)


def _report(study: Study) -> Report:
    from datetime import UTC, datetime

    from titan.study import preflight

    return preflight.check(study, datetime.now(UTC))


def _advised(told: dict[str, Any]) -> dict[str, Any]:
    words = {"problem": typed, "hint": typed_hint}
    problems = [{key: words[key](text) for key, text in each.items()} for each in told["problems"]]
    return told | {"problems": problems}


def _refuse_typed(report: Report) -> None:
    """What does not fit the network may be a word that was typed: a k, a number of rounds."""
    for problem in report.problems:
        if isinstance(problem, InputError) and problem.choice:
            raise problem


def _refuse_problems(report: Report) -> None:
    for problem in report.problems:
        show_error(problem)
    if not report.ok:
        raise typer.Exit(1)


# -- reading options --------------------------------------------------------------------------


def _cards(cards: Sequence[Card], dials_only: Sequence[str]) -> tuple[Card, ...]:
    if len(cards) < 2:
        raise UsageError("--card is given once", hint="at least two parties are needed")
    only = {name for text in dials_only for name in options.names_in(text)}
    for name in sorted(only - {card.name for card in cards}):
        raise UsageError(f"--dials-only {name}: there is no card of this party")
    return tuple(replace(c, dials_only=True) if c.name in only else c for c in cards)


def _links(network: Network, pull: list[str], only: Collection[str]) -> tuple[Link, ...]:
    from titan.study.reachability import dialled

    asked = {text: tuple(options.names_in(text)) for text in pull}
    for text, pair in asked.items():
        if pair not in network.edges:
            raise UsageError(f"--pull {text}: there is no such link", hint="write it as from,to")
    pulled = set(asked.values())
    return tuple(dialled(edge, pulled, only) for edge in network.edges)
