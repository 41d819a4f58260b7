"""titan compare: TITAN beside the methods of the literature, on one problem and network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan import files
from titan.cli import networks, options
from titan.cli.output import ask_before_replacing, check_writable, show_rows
from titan.errors import UsageError
from titan_lab.cli.output import progress_bar, show_json

if TYPE_CHECKING:
    from titan.network import Network
    from titan_lab.compare import Record, Results
    from titan_lab.compare.runner import Progress

_HEADER = ("method", "", "rounds", "sent", "held", "bits", "error", "seconds", "step")


def command(
    methods: Annotated[
        str | None, typer.Option(help="Names with commas; --list shows them. [default: all]")
    ] = None,
    problem: Annotated[
        str, typer.Option(help="small, large, average, dominant, ieee14-areas, …; see --list.")
    ] = "small",
    network: Annotated[str, typer.Option(help=networks.HELP)] = "cycle",
    tolerance: Annotated[
        float,
        typer.Option(
            help="Stop where the worst party's relative error is this.",
            rich_help_panel=options.MORE,
        ),
    ] = 1e-10,
    budget: Annotated[
        int, typer.Option(help="Most rounds for each method.", rich_help_panel=options.MORE)
    ] = 20_000,
    seed: Annotated[
        int,
        typer.Option(
            help="Of the problem and of the methods' chances.",
            min=0,
            rich_help_panel=options.MORE,
        ),
    ] = 1,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune/--no-tune",
            help="Search for the best step sizes.",
            rich_help_panel=options.MORE,
        ),
    ] = True,
    directed: Annotated[
        bool,
        typer.Option(
            "--directed",
            help="Refuse methods that need every link both ways; do not add links.",
            rich_help_panel=options.MORE,
        ),
    ] = False,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write the table here as well.", rich_help_panel=options.OUTPUT),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Name all methods and problems, and leave.")
    ] = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Run methods of the literature and TITAN alike, and count what they cost.

    A number counts once for each neighbour it is sent to. Methods that need an undirected network
    get every link both ways; step sizes are searched for on the same grid for every method.

    \b
    Example:
      titan compare --methods titan-tree,extra,push-diging --problem small
    """
    if list_:
        _show_list(json)
        return
    from titan_lab import compare

    if csv is not None:
        check_writable(csv)
        ask_before_replacing([csv], force)
    chosen = None if methods is None else _names(methods)
    task = compare.problem(problem, seed)
    net = networks.among(network, list(task.parties))
    with _progress(len(compare.METHODS) if chosen is None else len(chosen)) as progress:
        results = compare.run(
            task,
            _in_order(net, task.parties),
            chosen,
            tolerance=tolerance,
            budget=budget,
            tune=tune,
            make_undirected=not directed,
            seed=seed,
            progress=progress,
        )
    if csv is not None:
        files.write(csv, results.to_csv().encode(), force=True)
    if json:
        show_json({"records": results.rows(), "network": network})
    else:
        _print(results)


def _names(text: str) -> list[str]:
    from titan_lab.compare import named

    chosen = [name.strip() for name in text.split(",") if name.strip()]
    if not chosen:
        hint = "titan compare --list shows them"
        raise UsageError("no method is named", hint=hint, choice="methods")
    for name in chosen:
        named(name)  # refuses an unknown one before anything runs
    return chosen


def _in_order(net: Network, parties: tuple[str, ...]) -> Network:
    """A file names parties in its own order; the problem's counts."""
    from titan.network import Network

    return net if net.parties == parties else Network(net.edges, parties)


@contextmanager
def _progress(methods: int) -> Iterator[Progress | None]:
    """A bar over the methods; nobody knows how many rounds each will take."""
    with progress_bar("methods") as bar:
        if bar is None:
            yield None
            return
        seen: list[str] = []

        def watch(name: str, rounds: int, budget: int) -> None:
            if name not in seen:
                seen.append(name)
            bar(len(seen) - 1, methods)

        yield watch


# -- the list -----------------------------------------------------------------------------------


def _show_list(json: bool) -> None:
    from titan_lab.compare import METHODS, problem_names
    from titan_lab.compare.method import installed

    methods = [method.about for method in METHODS]
    if json:
        listed: list[dict[str, Any]] = []
        for about in methods:
            package = about.requires.package
            listed.append({**about.as_dict(), "installed": package is None or installed(package)})
        show_json({"methods": listed, "problems": problem_names()})
        return
    for about in methods:
        print(f"{about.name}: {about.title}")
        print(f"  {about.reference}")
        print(f"  needs {about.requires.in_words()}; {about.accuracy}")
        print(f"  a curious party learns: {about.private}")
    print(f"\nProblems: {', '.join(problem_names())}")


def _print(results: Results) -> None:
    ran = [record for record in results.records if record.status != "refused"]
    if ran:
        show_rows([_HEADER, *map(_row, ran)])
        print("sent, held: numbers of the busiest party; bits: of the largest number sent")
    if any(record.made_undirected for record in results.records):
        print("*: on the network with every link both ways")
    for record in results.records:
        if record.reason:
            print(f"{record.method}: {record.status}: {record.reason}")
        elif record.note:
            print(f"{record.method}: {record.note}")


def _row(record: Record) -> tuple[str, ...]:
    counts = (record.rounds, record.sent_most, record.held_most, record.bits)
    return (
        record.method + ("*" if record.made_undirected else ""),
        record.status,
        *map(str, counts),
        *map(_short, (record.error, record.seconds, record.step_size)),
    )


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.2g}"
