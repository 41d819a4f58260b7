"""titan network: look at a network, check it, design one."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from titan.cli import networks, options
from titan.cli.help import App
from titan.cli.output import ask_before_replacing, cell, give, show_error, show_pairs
from titan.errors import NetworkError, NotPrivateError, TitanError, UsageError, about

if TYPE_CHECKING:
    from titan.network import Network

app = App(help="Look at a network, check it, design one.")

_TOLD_BY_THE_ERROR = {"reason", "coalition"}
NetworkArgument = Annotated[str, Argument(metavar="NETWORK", help=networks.HELP_SIZED)]


@app.command()
def show(network: NetworkArgument, json: options.Json = False) -> None:
    """List the parties and whom each can send to.

    \b
    Example:
      titan network show cycle:5
    """
    net = networks.sized(network)

    def as_text() -> None:
        print(f"{len(net)} parties, {len(net.edges)} links")
        for i, party in enumerate(net.parties):
            receivers = ", ".join(_name(net.parties[j]) for j in net.out_neighbours(i))
            print(f"  {_name(party)} -> {receivers or '(nobody)'}")

    edges = [list(edge) for edge in net.edges]
    give({"parties": list(net.parties), "edges": edges}, as_text, json=json)


@app.command()
def check(
    network: NetworkArgument,
    tau: Annotated[
        int | None, Option(help="Fail unless this many curious parties learn nothing.")
    ] = None,
    entries: Annotated[int, Option(min=1, help="Length of the vector to be averaged.")] = 1,
    bits: Annotated[int, Option(help="Sums are taken modulo 2^bits.")] = 128,
    recovery: Annotated[str, Option(help=options.RECOVERIES)] = "auto",
    json: options.Json = False,
) -> None:
    """Is it strongly connected, how far across, how many curious parties does it tolerate?

    Exit status 1 where a condition fails.

    \b
    Example:
      titan network check links.csv --tau 2 --entries 5151
    """
    net = networks.sized(network)
    found = _properties(net)
    failure = _failure(net, tau)
    if found["strongly_connected"]:
        found |= _predictions(net, entries, bits, recovery)
    found |= {"tau": tau, "ok": failure is None, "reason": failure.message if failure else None}
    found["coalition"] = sorted(failure.cut) if isinstance(failure, NotPrivateError) else None
    told = {name: value for name, value in found.items() if name not in _TOLD_BY_THE_ERROR}
    give(found, lambda: _show(told), json=json)
    if failure is not None:
        show_error(failure)
        raise typer.Exit(1)


@app.command()
def design(
    parties: Annotated[
        str, Argument(metavar="PARTIES", help="How many, or their names with commas.")
    ],
    tau: Annotated[int, Option(help="How many curious parties to protect against.")],
    dials_only: Annotated[
        list[str] | None,
        Option(help="Parties that nobody can dial, with commas; no two will be neighbours."),
    ] = None,
    out: Annotated[Path | None, Option(help="Write the links to this CSV file.")] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Find few links with a short way from everyone to everyone, private against tau parties.

    \b
    Example:
      titan network design north,east,south,west --tau 1 --out links.csv
      titan network design north,east,south,west --tau 1 --dials-only north,east
    """
    from titan.network import Network
    from titan.network.names import Names

    if out is not None:
        ask_before_replacing([out], force)
    apart = [name for text in dials_only or [] for name in options.names_in(text)]
    among = _parties(parties)
    with about("parties"):
        Names.of(among)
    net = Network.design(among, tau, dials_only=apart)
    if out is not None:
        net.to_csv(out)
        print(f"{len(net.edges)} links written to {out}", file=sys.stderr)
    answer = _properties(net) | {"edges": [list(edge) for edge in net.edges]}

    def as_text() -> None:
        if out is None:
            csv.writer(sys.stdout, lineterminator="\n").writerows([("from", "to"), *net.edges])
        else:
            _show(_properties(net))

    give(answer, as_text, json=json)


def _parties(text: str) -> int | list[str]:
    """A number of parties, or their names with commas."""
    if text.isascii() and text.isdecimal():
        return int(text)
    names = options.names_in(text)
    if len(names) == 1:
        raise UsageError(
            f"{text!r} is neither a whole number nor names with commas",
            hint="for example 10, or north,east,south",
        )
    return names


def _properties(net: Network) -> dict[str, Any]:
    kappa = net.weak_connectivity
    return {
        "parties": len(net),
        "links": len(net.edges),
        "strongly_connected": net.strongly_connected,
        "diameter": net.diameter if net.strongly_connected else None,
        "weak_connectivity": kappa,
        "max_tau": kappa - 1 if kappa else None,
    }


def _predictions(net: Network, entries: int, bits: int, recovery: str) -> dict[str, Any]:
    from titan.protocol import Plan
    from titan.ring import Ring

    plan = Plan.make(net, Ring(bits), entries, recovery=recovery)  # type: ignore[arg-type]
    return {
        "recovery": plan.scheme.name,
        "rounds": plan.cost.rounds,
        "messages": plan.cost.messages,
        "most_bytes_sent": plan.cost.bytes_sent.largest,
        "total_bytes_sent": plan.cost.bytes_sent.total,
    }


def _show(properties: dict[str, Any]) -> None:
    show_pairs([(name.replace("_", " "), cell(value)) for name, value in properties.items()])


def _failure(net: Network, tau: int | None) -> TitanError | None:
    try:
        net.check_strongly_connected()
        if tau is not None:
            net.check_tolerates(tau)
    except NetworkError as error:
        return error
    return None


def _name(party: str) -> str:
    """A name as it is, or in quotes where it could be mistaken for several."""
    return repr(party) if "," in party or " " in party else party
