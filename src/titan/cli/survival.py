"""titan survival: Kaplan-Meier curves of all parties' rows together."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from titan.cli import options, tables
from titan.cli.output import (
    ask_before_replacing,
    check_save,
    check_writable,
    give,
    picture_name,
)
from titan.errors import InputError

if TYPE_CHECKING:
    from titan.joint.survived import Survival
    from titan.network import Network
    from titan.results import Results

Picture = Annotated[
    Path | None,
    Option(
        "--plot",
        metavar="PICTURE",
        help="Draw survival curves: a .png, .pdf or .svg file.",
        rich_help_panel=options.OUTPUT,
    ),
]


@options.grouped
def command(
    files: tables.Files,
    *,
    time: Annotated[str, Option(help="The column of times, from 0 on.")],
    event: Annotated[str, Option(help="The column of 1 (it happened then) and 0 (not by then).")],
    by: Annotated[str | None, Option(help="Groups: one column, or several with commas.")] = None,
    grid: Annotated[
        str | None,
        Option(
            help="How wide intervals are, in the time's unit. [default: its step]",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    until: Annotated[
        str | None, Option(help="Where the last interval ends.", rich_help_panel=options.MORE)
    ] = None,
    party: tables.Party = None,
    missing: options.Missing = "refuse",
    csv: options.Csv,
    network: options.NetworkName = None,
    tau: options.Tau = None,
    sums: options.SumChoices,
    engine: options.Engine = None,
    allow_small: Annotated[
        bool,
        Option(
            "--allow-small",
            help="Open intervals however few rows leave in them.",
            rich_help_panel=options.RELEASE,
        ),
    ] = False,
    plot: Picture = None,
    save: options.Save = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Survival curves by group, numbers at risk and the log-rank test; nobody shows a row.

    If too few rows of a group leave in an interval, it is refused, and the error names a coarser
    grid that would work (--allow-small).

    \b
    Example:
      titan survival north.csv east.csv south.csv --time months --event died \\
        --by arm --grid 6
      titan survival trial.csv --party hospital --time months --event died \\
        --grid 12 --plot os.png
    """
    from titan.joint.survival import survival

    check_save(save, files, force)
    if plot is not None:
        check_writable(plot)
        picture_name("--plot", plot)
        ask_before_replacing([plot], force)
    groups = None if by is None else options.names_in(by)
    asked: dict[str, Any] = {"time": time, "event": event, "by": groups, "grid": grid}
    asked |= {"until": until, "missing": missing}
    choices = sums.given(tau=tau, engine=engine)
    method = partial(survival, **asked)
    net, out = tables.ask(method, files, party, network, choices, allow_small=allow_small, csv=csv)
    if plot is not None:
        out.plot(plot)
    give(options.answer(out, net), lambda: _print(out, net, tau), json=json, save=save)


def _print(out: Survival, net: Network | None, tau: int | None) -> None:
    print(out.summary())
    learned = "who leaves in each interval, with the event or without, in each group"
    tables.say_learned(out, net, tau, learned)


def draw(results: Results, plot: Path, force: bool) -> None:
    """The pictures of all answers that have one: under this name, or with the question's in it."""
    check_writable(plot)
    answers = [(name, results[name]) for name in results.names if name not in results.errors]
    found = [(name, answer) for name, answer in answers if hasattr(answer, "plot")]
    if not found:
        raise InputError("no answer here has a picture", hint="survival curves have one")
    places = [
        plot if len(found) == 1 else plot.with_stem(f"{plot.stem}-{name}") for name, _ in found
    ]
    ask_before_replacing(places, force)
    for place, (_, answer) in zip(places, found, strict=True):
        answer.plot(place)
