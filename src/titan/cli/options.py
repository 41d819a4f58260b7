"""Options that several commands share: those of the private sums, and those of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import networks
from titan.engines import ENGINES
from titan.errors import InputError
from titan.listing import one_of
from titan.protocol.recovery import recovery_names

if TYPE_CHECKING:
    from titan.joint.kinds import Question
    from titan.moments import Model
    from titan.network import Network
    from titan.protocol import Cost
    from titan.release import Column

NetworkName = Annotated[str | None, typer.Option(help=f"{networks.HELP} [default: cycle]")]
Tau = Annotated[
    int | None, typer.Option(help="Refuse unless this many curious parties learn nothing.")
]
RECOVERIES = f"{one_of(recovery_names())}."
Recovery = Annotated[str | None, typer.Option(help=f"{RECOVERIES} [default: auto]")]
K = Annotated[int | None, typer.Option("-k", "--k", help="List length of topk.")]
Rounds = Annotated[int | None, typer.Option(help="An upper bound on the network's diameter.")]
Bits = Annotated[
    int | None,
    typer.Option(help="Sums are taken modulo 2^bits; one that finds scales, 2^512. [default: 128]"),
]
Masks = Annotated[
    str | None, typer.Option(help="sent, or seeded: 32 bytes for each. [default: sent]")
]
Engine = Annotated[str | None, typer.Option(help=f"{one_of(ENGINES)}. [default: local]")]
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
Force = Annotated[bool, typer.Option("--force", help="Write over an existing file.")]
Save = Annotated[Path | None, typer.Option(help="Write the JSON to this file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Ask = Annotated[
    list[str] | None,
    typer.Option(
        metavar="QUESTION",
        help="kind: what; key=value: such as 'regression: y ~ age + sex; cov_type=HC0; name=main', "
        "'ridge: y ~ age; alpha=0.1,1', 'describe: age, sex', average, solve; repeatable.",
    ),
]
Range = Annotated[
    list[str] | None,
    typer.Option("--range", help="age=0:120: values that may be; once per column."),
]
Step = Annotated[
    list[str] | None, typer.Option(help="age=1: its values are put on this grid; once per column.")
]
Levels = Annotated[
    list[str] | None, typer.Option(help="sex=f,m: what a category may be; once per column.")
]
Flag = Annotated[list[str] | None, typer.Option(help="died: a column of 0 and 1; repeatable.")]
Unit = Annotated[list[str] | None, typer.Option(help="age=years, for people; once per column.")]


def given(**choices: Any) -> dict[str, Any]:
    """The choices that were made; the others are the library's to make."""
    return {name: value for name, value in choices.items() if value is not None}


def columns_named(text: str | None) -> list[str] | None:
    """Names between commas."""
    return None if text is None else [name.strip() for name in text.split(",")]


def no_model(further: str = "") -> InputError:
    return InputError(
        "no model is given", hint='--formula "y ~ a + b", or --response y --columns a,b' + further
    )


def model(
    formula: str | None,
    response: str | None,
    columns: str | None,
    no_intercept: bool,
    weights: str | None,
) -> Model | None:
    """The model that was asked for; None where none was."""
    from titan.moments import Model

    found = formula_of(formula, response, columns, no_intercept)
    return None if found is None else Model(found, weights=weights)


def formula_of(
    formula: str | None, response: str | None, columns: str | None, no_intercept: bool
) -> str | None:
    """The formula, or that of the columns that were named."""
    from titan.moments import Model

    named = columns_named(columns)
    if formula is not None and no_intercept:
        raise InputError("--no-intercept cannot go with a formula", hint='write "y ~ x - 1"')
    if formula is not None and response is None and named is None:
        return formula
    if formula is None and response is not None and named is not None:
        return Model.from_columns(response, named, intercept=not no_intercept).formula
    if formula is None and response is None and named is None and not no_intercept:
        return None
    raise InputError(
        "the model is not clear",
        hint='give --formula "y ~ a + b" alone, or --response y and --columns a,b',
    )


def questions(
    ask: list[str] | None, formula: str | None, weights: str | None, release: str | None
) -> list[Question]:
    """One regression by --formula, with what belongs to it, and whatever --ask says."""
    from titan.joint.kinds import Question
    from titan.study.asking import read_question

    beside = given(weights=weights, release=release)
    if formula is None and beside:
        option = next(iter(beside))
        raise InputError(
            f"--{option} goes with --formula",
            hint=f"or say it in the question: --ask 'regression: y ~ a; {option}={beside[option]}'",
        )
    short = [] if formula is None else [{"formula": formula} | beside]
    regressions = [Question("regression", "", tuple(options.items())) for options in short]
    return [*regressions, *map(read_question, ask or [])]


def columns_said(
    range_: list[str] | None,
    step: list[str] | None,
    levels: list[str] | None,
    flag: list[str] | None,
    unit: list[str] | None,
) -> dict[str, Column]:
    """What the options say of columns."""
    from titan.study.asking import read_columns

    return read_columns(
        ranges=range_ or [],
        steps=step or [],
        levels=levels or [],
        flags=flag or [],
        units=unit or [],
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
