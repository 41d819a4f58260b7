"""Options that several commands share: those of the private sums, and those of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import networks
from titan.errors import InputError

if TYPE_CHECKING:
    from titan.moments import Model
    from titan.network import Network
    from titan.protocol import Cost

NetworkName = Annotated[str | None, typer.Option(help=f"{networks.HELP} [default: cycle]")]
Tau = Annotated[
    int | None, typer.Option(help="Refuse unless this many curious parties learn nothing.")
]
Recovery = Annotated[str | None, typer.Option(help="auto, topk, flood or tree. [default: auto]")]
K = Annotated[int | None, typer.Option("-k", "--k", help="List length of topk.")]
Rounds = Annotated[int | None, typer.Option(help="An upper bound on the network's diameter.")]
Bits = Annotated[
    int | None, typer.Option(help="The second sum is taken modulo 2^bits. [default: 128]")
]
Masks = Annotated[str | None, typer.Option(help="sent or seeded. [default: sent]")]
Engine = Annotated[str | None, typer.Option(help="local or vectorised. [default: local]")]
Solver = Annotated[
    str | None, typer.Option(help="One party that solves and tells the others. [default: all do]")
]
AllowSmall = Annotated[
    bool,
    typer.Option(
        "--allow-small",
        help="Release the answer however few rows it is of: without, at least 10 for every party "
        "and 3 for every parameter.",
    ),
]

Formula = Annotated[
    str | None, typer.Option(help='The model, as "y ~ a + b + C(site, levels=[1, 2])".')
]
Response = Annotated[str | None, typer.Option(help="Instead of a formula: the column explained.")]
Columns = Annotated[
    str | None, typer.Option(help="Instead of a formula: the columns that explain, with commas.")
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Beside --columns.")]
Weights = Annotated[str | None, typer.Option(help="A column of analytic weights.")]
Missing = Annotated[str, typer.Option(help="refuse or drop rows with missing values.")]
Decimal = Annotated[
    bool,
    typer.Option("--decimal", help="Read binary numbers in Parquet as their shortest decimals."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def given(**choices: Any) -> dict[str, Any]:
    """The choices that were made; the others are the library's to make."""
    return {name: value for name, value in choices.items() if value is not None}


def columns_named(text: str | None) -> list[str] | None:
    """Names between commas."""
    return None if text is None else [name.strip() for name in text.split(",")]


def no_model() -> InputError:
    return InputError(
        "no model is given", hint='--formula "y ~ a + b", or --response y --columns a,b'
    )


def model(
    formula: str | None,
    response: str | None,
    columns: list[str] | None,
    intercept: bool,
    weights: str | None,
) -> Model | None:
    """The model that was asked for; None where none was."""
    from titan.moments import Model

    if formula is not None and not intercept:
        raise InputError("--no-intercept beside a formula", hint='write "y ~ x - 1"')
    if formula is not None and response is None and columns is None:
        return Model(formula, weights=weights)
    if formula is None and response is not None and columns is not None:
        return Model.from_columns(response, columns, intercept=intercept, weights=weights)
    if formula is None and response is None and columns is None and intercept:
        return None
    raise InputError(
        "the model is not clear",
        hint='give --formula "y ~ a + b" alone, or --response y and --columns a,b',
    )


def refuse_without_network(choices: dict[str, Any]) -> None:
    """One party alone makes no sums: nothing that was asked of them may be passed over."""
    if choices:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in choices)
        raise InputError(
            f"{named} has no meaning for one party alone",
            hint="give one file per party",
        )


def privacy(network: Network, tau: int | None) -> str:
    """What the parties learned beyond what was pooled, in words."""
    if tau is not None and tau > 1:
        return f"nothing else, not even any {tau} of them together"
    if network.tolerates(1):
        return "nothing else"
    if len(network) == 2:
        return "of two parties,\neach can subtract its own from these and has the other's"
    return "this network\nlets one party learn more: --tau 1 says which"


def cost_line(cost: Cost) -> str:
    return (
        f"{len(cost.bytes_sent)} parties, {cost.rounds} rounds, {cost.messages} messages, "
        f"at most {cost.bytes_sent.largest} bytes sent by a party"
    )
