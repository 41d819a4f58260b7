"""A question asked of whole tables: one file of one party alone, or one for each of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

from titan.cli import inputs, networks, options
from titan.cli.output import show_wrapped, waiting
from titan.errors import UsageError

if TYPE_CHECKING:
    from titan.network import Network

Answer = TypeVar("Answer")
Files = Annotated[
    list[Path],
    Argument(metavar="FILE...", help="One CSV or Parquet file per party; one needs no network."),
]
Time = Annotated[str | None, Option(help="The column of times, from 0 on.")]
Event = Annotated[
    str | None, Option(help="The column of 1 (it happened then) and 0 (not by then).")
]
Party = Annotated[
    str | None,
    Option(help="Divide one file among parties by this column.", rich_help_panel=options.FILES),
]


def ask(
    method: Callable[..., Answer],
    files: Sequence[Path],
    party: str | None,
    network: str | None,
    choices: Mapping[str, Any],
    *,
    allow_small: bool,
    csv: options.Csv,
) -> tuple[Network | None, Answer]:
    """`method` takes the rows, a network where there is one, and the choices of its sums."""
    if party is not None and len(files) != 1:
        raise UsageError(
            f"--party divides one file, and {len(files)} were given",
            hint="without --party every file is a party's",
        )
    with waiting() as wait:
        rows: Any = {
            name: inputs.open_rows(csv.of(file), decimal=True, watch=wait.rows)
            for name, file in inputs.by_party(files).items()
        }
        if len(files) == 1 and party is None:
            options.refuse_without_network(
                network=network, allow_small=allow_small or None, **choices
            )
            return None, method(next(iter(rows.values())))
        rows = rows if party is None else inputs.divided(rows.popitem()[1], party)
        net = networks.among(network or "cycle", list(rows))
        sums = {**choices, "progress": wait.rounds, "allow_small": allow_small}
        return net, method(rows, net, **sums)


def say_learned(out: Any, net: Network | None, tau: int | None, learned: str) -> None:
    """Under an answer: that nothing was sent, or what every party learned and what it cost."""
    if net is None:
        print(f"\nOne party alone: {out.nobs} rows, nothing sent to anybody.")
        return
    print()
    show_wrapped("", f"Every party learned: {learned}; {options.privacy(net, tau)}.")
    print(options.cost_line(out.cost))
