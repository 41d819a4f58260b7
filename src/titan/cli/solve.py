"""titan solve: the least squares solution of all parties' equations A x = b together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from titan.cli import inputs, networks, options
from titan.cli.output import give, show_wrapped, waiting
from titan.errors import DataError
from titan.listing import listing
from titan.release.policy import policy_for

if TYPE_CHECKING:
    from titan.leastsquares import Solution
    from titan.moments import Moments, Source
    from titan.network import Network


@options.grouped
def command(
    files: Annotated[
        list[Path],
        Argument(
            metavar="FILE...", help="One CSV or Parquet file per party; one alone is solved alone."
        ),
    ],
    *,
    response: Annotated[
        str | None, Option(help="The column that is b. [default: the last]")
    ] = None,
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header",
            help="Whether a CSV begins with names. [default: if its first line has no number]",
        ),
    ] = None,
    decimal: options.Decimal = False,
    network: options.NetworkName = None,
    tau: options.Tau = None,
    sums: options.SumChoices,
    engine: options.Engine = None,
    solver: options.Solver = None,
    allow_small: options.AllowSmall = False,
    json: options.Json = False,
) -> None:
    """Solve A x = b in the least squares sense, every FILE holding some of the rows [A b].

    Numbers only, b in the last column; nothing is added (no intercept). Every party learns the
    pooled AᵀA, Aᵀb and the number of rows, and solves. Too few rows are refused (--allow-small).

    \b
    Example:
      titan solve north.csv east.csv south.csv --network cycle --tau 1
    """
    from titan.fitting import solve_moments
    from titan.joint import SumSettings
    from titan.leastsquares import solve_pooled
    from titan.leastsquares.pooled import exact

    choices = sums.given(tau=tau, engine=engine)
    paths = inputs.by_party(files)
    with waiting() as wait:
        sources = {
            party: inputs.open_matrix(path, header=header, decimal=decimal, watch=wait.rows)
            for party, path in paths.items()
        }
        if len(files) == 1:
            options.refuse_without_network(
                network=network, solver=solver, allow_small=allow_small or None, **choices
            )
            net, out = None, solve_pooled(exact(_moments(next(iter(sources.values())), response)))
        else:
            net = networks.among(network or "cycle", list(paths))
            _same_columns(sources)
            secrets = [_moments(sources[party], response) for party in net.parties]
            settings = SumSettings(net, progress=wait.rounds, **choices)
            policy = policy_for(allow_small)
            out = solve_moments(secrets, settings, solver=solver, policy=policy)
    give(options.answer(out, net), lambda: _print(out, net, tau), json=json)


def _same_columns(sources: dict[str, Source]) -> None:
    """Refuse different columns before anybody's rows are read."""
    (first, one), *others = sources.items()
    for party, other in others:
        if other.column_names != one.column_names:
            raise DataError(
                f"{party!r} has the columns {_listed(other)}, {first!r} has {_listed(one)}",
                hint="all parties need the same columns in the same order",
            )


def _listed(source: Source) -> str:
    from titan.moments.headings import may_be_shown

    names = source.column_names
    if not may_be_shown(names):
        return f"{len(names)} that look like data, not like names"
    return listing(map(repr, names))


def _moments(source: Source, response: str | None) -> Moments:
    """Of all columns in order, b last."""
    from titan.moments import Model, collect

    names = list(source.column_names)
    if response is None:
        response = names[-1]
    source.check([response])
    names.remove(response)
    if not names:
        raise DataError(
            f"{source.label} has only one column",
            hint="a line holds a row of A and then its entry of b, with commas between",
        )
    model = Model.from_columns(response, names, intercept=False)
    return collect(source, model).moments


def _print(out: Solution, net: Network | None, tau: int | None) -> None:
    print(out.summary())
    if net is not None:
        n = len(out.names)
        show_wrapped(
            "",
            f"Every party learned: pooled AᵀA ({n}×{n}), Aᵀb, {out.rows} rows; "
            f"{options.privacy(net, tau)}.",
        )
        print(options.cost_line(out.cost))
