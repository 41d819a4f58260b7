"""titan reproduce comparison: TITAN and the methods of the literature on the same problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import options
from titan.cli.output import show_rows
from titan_lab.cli.output import progress_bar
from titan_lab.cli.reproduce.output import Out, finish, prepare

if TYPE_CHECKING:
    from titan_lab.experiments.comparison import Result, Row

_HEADER = ("method", "rounds to 1e-10", "numbers sent", "bytes", "work", "error")

Methods = Annotated[
    str | None, typer.Option(help="Names with commas, as titan compare --list. [default: all]")
]
Problems = Annotated[
    str | None,
    typer.Option(help="small, large, ieee14-areas, ieee14-buses; with commas. [default: all]"),
]
Budget = Annotated[
    int | None,
    typer.Option(
        help="Most rounds of methods that do not end. [default: 20,000; 2,000 on the large problem]"
    ),
]
Seeds = Annotated[int | None, typer.Option(help="How many of the small problem's ten seeds.")]


def command(
    out: Out = None,
    methods: Methods = None,
    problems: Problems = None,
    budget: Budget = None,
    seeds: Seeds = None,
    json: options.Json = False,
) -> None:
    """What TITAN and the methods of the literature cost, on the paper's problems and a power grid.

    Step sizes are searched for with the same effort for every method. The large problem takes most
    of the time: the others alone are done in a few minutes.

    \b
    Example:
      titan reproduce comparison --problems small,ieee14-areas --out results
    """
    from titan_lab.experiments import comparison
    from titan_lab.experiments.comparison_report import report
    from titan_lab.experiments.comparison_table import answer

    prepare(out)
    chosen = [None if text is None else options.names_in(text) for text in (methods, problems)]
    with progress_bar("runs") as progress:
        result = comparison.run(chosen[1], chosen[0], budget=budget, seeds=seeds, progress=progress)
    found: dict[str, Any] = {"rows": [answer(row) for row in result.rows]}
    finish(report(result), out, json, found, lambda: _print(result))


def _print(result: Result) -> None:
    for setting in result.settings:
        rows = result.of(setting)
        print(f"{setting.title}; {setting.links}")
        ran = [row for row in rows if row.record.status != "refused"]
        if ran:
            show_rows([_HEADER, *map(_cells, ran)])
        for row in rows:
            if row.record.status == "refused":
                print(f"  {row.entry.name}: refused: {row.record.reason}")
        print()
    print("numbers, bytes, flops (where work is not seconds): of the busiest node")
    print("*: every link both ways; †: a consistent version; ‡: a random dominant system")


def _cells(row: Row) -> tuple[str, ...]:
    from titan_lab.experiments.comparison_table import costs

    cells = costs(row)
    return (cells[0].replace("\\", ""), *cells[1:4], *cells[5:7])
