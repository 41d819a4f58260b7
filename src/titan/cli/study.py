"""titan study: gather a study, check one before taking part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from titan.cli import checked_rows, drafting, networks, options
from titan.cli.advice import typed, typed_hint
from titan.cli.agreeing import rules
from titan.cli.output import (
    cell,
    give,
    refuse_inputs,
    show_error,
    show_lowered,
    show_pairs,
    show_wrapped,
)
from titan.cli.rows_options import RowsFrom
from titan.errors import InputError
from titan.listing import in_groups

if TYPE_CHECKING:
    from titan.joint.explanations import Item
    from titan.network import Network
    from titan.study import Card, Link, Report, Study

app = typer.Typer(help="Gather a study, check one before taking part.", no_args_is_help=True)


@app.command()
@options.grouped
def new(
    card: Annotated[list[Path], Option(help="A party's card; once for every party.")],
    tau: Annotated[int, Option(help="How many curious parties must learn nothing.")],
    out: Annotated[Path, Option(help="The file to write.")],
    *,
    asked: options.Asked,
    network: Annotated[str, Option(help=networks.HELP_STUDY)] = "design",
    title: Annotated[str | None, Option(help="[default: what its questions ask]")] = None,
    like: Annotated[
        Path | None,
        Option(metavar="FILE", help="Own rows that say what columns are; ranges are asked for."),
    ] = None,
    csv: options.Csv,
    conditions: options.Conditions,
    min_rows_total: Annotated[
        int | None, Option(help="The fewest rows in all; --min-rows for every party.")
    ] = None,
    pull: Annotated[
        list[str] | None, Option(help="from,to: on this link the receiver dials, not the sender.")
    ] = None,
    dials_only: Annotated[
        list[str] | None, Option(help="Parties that only dial out, with commas; else their cards.")
    ] = None,
    sums: options.Sums,
    latency_ms: Annotated[
        int | None,
        Option(help="Of all links, one way; for recovery auto and predictions. [default: 20]"),
    ] = None,
    bandwidth_mbit: Annotated[
        int | None, Option(help="Of all links, in Mbit/s; likewise. [default: 100]")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace the file.")] = False,
    json: options.Json = False,
) -> None:
    """Gather cards, links, columns and questions into one file, which all then check and join.

    \b
    Example:
      titan study new --card north.card --card east.card --card south.card \\
        --ask "regression: y ~ age + sex; name=main" --ask "describe: age, sex" \\
        --range age=0:120 --step age=1 --range y=0:300 --step y=0.1 --levels sex=f,m \\
        --tau 1 --title "Care in three hospitals" --out study.toml
    """
    from titan.release import Dictionary
    from titan.study import Card, Study
    from titan.study.asking import as_times, with_columns
    from titan.study.preflight import unread_columns
    from titan.study.reachability import only_dialling
    from titan.study.title import title_of

    questions = asked.questions()
    if not questions:
        raise InputError(
            "no question is asked", hint='--formula "y ~ a + b", or --ask with a question'
        )
    like = like and csv.of(like)
    if like is None:
        names = list(said := asked.columns())
    else:
        names, said = drafting.columns_like(like, asked, questions)
    columns = Dictionary.of(as_times(said, questions))
    cards = _cards([Card.load(path) for path in card], dials_only or [])
    only = only_dialling(cards)
    net = networks.for_study(network, [card.name for card in cards], tau, only)
    study = Study(
        title=title or "a study",
        tau=tau,
        parties=cards,
        links=_links(net, pull or [], only),
        columns=columns,
        questions=tuple(with_columns(question, names, columns) for question in questions),
        **options.given(min_rows_total=min_rows_total),
        **conditions.given(),
        **sums.given(latency_ms=latency_ms, bandwidth_mbit=bandwidth_mbit),
    )
    if title is None:
        study = replace(study, title=title_of(study.questions, study.columns))
    for name in unread_columns(study):  # what was typed about it is misspelt
        raise InputError(f"{name!r} is not a column that a question reads")
    _refuse_problems(_report(study))  # nobody could join it
    if like is not None:
        drafting.warn_of_rare_levels(like, asked, study.columns, study.min_cell)
    study.save(out, force=force)
    answer = {"study": str(out), "digest": study.digest, "parties": list(study.network.parties)}
    rows = [("study", str(out)), ("title", study.title), *_fingerprint(study.digest)]
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
    """Is it sound and private, what will it cost, and what will everybody learn?

    With --data (or --sql) and --as: would these rows be refused, and why? Nothing is sent or
    written. Exit status 1 where a condition fails or the file cannot be used, 3 where its party
    would veto.

    \b
    Example:
      titan study check study.toml
      titan study check study.toml --data north.csv --as north
    """
    from titan.party.own_rows import look
    from titan.study import Study
    from titan.study.preflight import shares

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
        study.card(as_)  # refuses who is not a party
        own = look(study, where.of_party(study, data, csv)) if report.ok else None
        answer["own_rows"] = own and {"party": as_, **checked_rows.as_dict(own)}

    def as_text() -> None:
        show_lowered(report.facts["lowered"])
        if own is not None:  # what was asked for, before what is the same for all
            checked_rows.show_counts(own)
            checked_rows.show_outcome(own, str(as_))
        _print(report, told)

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
    from titan.study.preflight import shares

    refuse_inputs(out, [file])
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"--out {out} does not end in .html, and the sheet is a page of HTML",
            hint="--out sheet.html; a browser prints it, also as PDF",
        )
    study = Study.load(file)
    report = _report(study)
    _refuse_problems(report)  # nobody could join it
    text = sheet(study, report, shares(study), datetime.now(UTC))
    files.write(out, text.encode(), mode=0o644, force=force)
    answer = {"sheet": str(out), "digest": study.digest, "lowered": report.facts["lowered"]}
    rows = [("sheet", str(out)), *_fingerprint(study.digest)]
    give(answer, lambda: show_pairs(rows), json=json)


def _report(study: Study) -> Report:
    from datetime import UTC, datetime

    from titan.study import preflight

    return preflight.check(study, datetime.now(UTC))


def _advised(told: dict[str, Any]) -> dict[str, Any]:
    words = {"problem": typed, "hint": typed_hint}
    problems = [{key: words[key](text) for key, text in each.items()} for each in told["problems"]]
    return told | {"problems": problems}


def _refuse_problems(report: Report) -> None:
    for problem in report.problems:
        show_error(problem)
    if not report.ok:
        raise typer.Exit(1)


# -- reading options --------------------------------------------------------------------------


def _cards(cards: Sequence[Card], dials_only: Sequence[str]) -> tuple[Card, ...]:
    only = {name for text in dials_only for name in options.names_in(text)}
    for name in sorted(only - {card.name for card in cards}):
        raise InputError(f"--dials-only {name}: there is no card of this party")
    return tuple(replace(c, dials_only=True) if c.name in only else c for c in cards)


def _links(network: Network, pull: list[str], only: Collection[str]) -> tuple[Link, ...]:
    from titan.study.reachability import dialled

    asked = {text: tuple(options.names_in(text)) for text in pull}
    for text, pair in asked.items():
        if pair not in network.edges:
            raise InputError(f"--pull {text}: there is no such link", hint="write it as from,to")
    pulled = set(asked.values())
    return tuple(dialled(edge, pulled, only) for edge in network.edges)


# -- printing ---------------------------------------------------------------------------------


def _fingerprint(digest: str) -> list[tuple[str, str]]:
    """As `titan keys` shows a party's."""
    return [("fingerprint", digest), ("to read out", in_groups(digest))]


_COUNTED = (
    "(bytes inside the sums are those of their encoded envelopes; around them go nonces, the "
    "agreement and the end, heads and signatures, which titan audit counts separately)"
)


def _print(report: Report, shares: Sequence[Mapping[str, Any]]) -> None:
    facts, sent, received = report.facts, report.facts["bytes_sent"], report.facts["bytes_received"]
    print(facts["title"])
    show_pairs([(name, cell(value)) for name, value in _overview(facts).items()])
    for party in facts["parties"]:
        place = "only dials out" if party["dials_only"] else party["address"]
        print(f"{party['name']}, {place}, good until {party['valid_until'][:10]}")
        linked = {key: ", ".join(party[key]) or "nobody" for key in _LINKED}
        fingerprint = in_groups(party["fingerprint"])
        show_pairs([("fingerprint", fingerprint), *_in_words(linked).items()])
        if sent is not None:
            there, here = sent[party["name"]], received[party["name"]]
            print(f"  sends {there} and receives {here} bytes inside the sums")
    if sent is not None:
        show_wrapped("  ", _COUNTED)
    _print_learned(report)
    for share in shares:
        show_wrapped("  ", _share(share))
    safe = facts["strongly_connected"] and facts["tolerates_tau"]
    show_wrapped("but " if safe else "warning: ", report.hidden)
    for warning in report.warnings:
        show_wrapped("note: ", warning)


def _print_learned(report: Report) -> None:
    """Question by question: its sums, and what they tell."""
    for question in report.facts["questions"]:
        show_wrapped("", f"{question['name']}, {question['in_words']}")
        for at, each in enumerate(question["sums"], 1):
            size = f"{each['entries']} × {each['bits']} bits"
            show_wrapped("  ", f"sum {at} opens, in {size}: {each['opens']}")
        show_wrapped("  ", _opened(question["opened"]))
        print("  so that every party will learn:")
        _print_items([item for item in report.learned if item.question == question["name"]])
    print("and every party will learn:")
    _print_items([item for item in report.learned if item.question is None])


def _opened(opened: Mapping[str, Any]) -> str:
    from titan.study.preflight import MORE_THAN_ROWS

    held = opened["rows_bits"]
    of = "" if held is None else f", where the rows themselves have {held}"
    more = f"; {MORE_THAN_ROWS}" if held is not None and opened["bits"] > held else ""
    return (
        f"in all {opened['numbers']} numbers of {opened['bits']} bits{of} (at {opened['rows']} "
        f"rows, the fewest there may be{more})"
    )


def _share(share: Mapping[str, Any]) -> str:
    where = " in each cell" if share["cells"] > 1 else ""
    least = share["least_rows"]
    needed = f"needs {least} rows{where}" if least else "never passes"
    return (
        f"of {share['of']}: {share['numbers']} numbers of columns that formulas make tell "
        f"{share['bits']} bits at {share['rows']} rows{where}, where {share['limit']} are the "
        f"most; {needed}"
    )


def _print_items(items: Sequence[Item]) -> None:
    for item in items:
        show_wrapped("  - ", item.said)


_SHOWN = (
    "links", "strongly_connected", "diameter", "weak_connectivity", "tau",
    "tolerates_tau", "parameters", "rows_needed_party", "rows_needed_total", "rounds", "messages",
)  # fmt: skip
_LINKED = ("sends_to", "receives_from", "dials", "is_dialled_by")


def _in_words(facts: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", " "): value for key, value in facts.items()}


def _overview(facts: Any) -> dict[str, Any]:
    from titan.release.dictionary import in_words

    of_cell = facts["rows_needed_level"]  # where cells are counted
    return {
        "parties": len(facts["parties"]),
        **dict(_fingerprint(facts["digest"])),
        **_in_words({key: facts[key] for key in _SHOWN}),
        **({} if of_cell is None else {"rows needed of a cell that occurs": of_cell}),
        **dict(rules(facts)),
        "predicted time": _predicted(facts),
        "recovery of each sum": ", ".join(s["recovery"] for s in facts["sums"]) or None,
        "bits of each sum": ", ".join(str(s["bits"]) for s in facts["sums"]) or None,
        "masks": _MASKS[facts["masks"]],
        "missing values": _MISSING[facts["missing"]],
        "columns": "; ".join(starmap(in_words, facts["columns"].items())) or _NOT_DESCRIBED,
    }


def _predicted(facts: Any) -> str | None:
    if facts["predicted_seconds"] is None:
        return None
    apart = f" ({facts['lines_apart']} links: as they say)" if facts["lines_apart"] else ""
    return (
        f"{facts['predicted_seconds']:.3g} s from all connected to the answer, at "
        f"{facts['latency_ms']} ms one way and {facts['bandwidth_mbit']} Mbit/s{apart}, without "
        "computing"
    )


_NOT_DESCRIBED = "not described: any number may stand in a column"
_MASKS = {
    "sent": "sent: as many bytes as what they hide, and a key",
    "seeded": "seeded: keys travel, from which both sides compute the masks",
}
_MISSING = {
    "refuse": "refuse: a party whose rows have gaps cannot take part",
    "drop": "drop: rows with gaps are left out",
}
