"""Options that several commands share, alone or in groups."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

from typer import Option

from titan.cli import networks
from titan.engines import ENGINES
from titan.engines.mpi.ranks import first_rank_speaks
from titan.errors import UsageError
from titan.listing import one_of
from titan.protocol.recovery import recovery_names

if TYPE_CHECKING:
    from titan.moments import Model
    from titan.network import Network
    from titan.protocol import Cost

RECOVERIES = f"{one_of(recovery_names())}."
# Panels of --help: what has none stands first.
FIRST = "Options"
SUMS = "How sums are made"
FILES = "How files are read"
ELSEWHERE = "Rows that are not in files here"
MODEL = "The model, said in other ways"
COLUMNS = "What columns are"
RELEASE = "What may be released"
NETWORK = "The network"
PLACES = "Where things are"
MORE = "More"
OUTPUT = "Output"
NetworkName = Annotated[str | None, Option(help=f"{networks.HELP} [default: cycle]")]
Tau = Annotated[int | None, Option(help="Refuse unless this many curious parties learn nothing.")]


def _engine(name: str | None) -> str | None:
    """Where all ranks of an MPI program run the same command, one of them gives the answer."""
    if name == "mpi":
        first_rank_speaks()
    return name


Engine = Annotated[
    str | None,
    Option(
        callback=_engine,
        help=f"{one_of(ENGINES)}; mpi under mpiexec, on every rank. [default: local]",
        rich_help_panel=SUMS,
    ),
]
Solver = Annotated[
    str | None,
    Option(
        help="One party that solves and tells the others. [default: all do]", rich_help_panel=SUMS
    ),
]
AllowSmall = Annotated[
    bool,
    Option(
        "--allow-small",
        help="Release the answer however few rows it is of: without, at least 10 for every party "
        "and 3 for every parameter.",
        rich_help_panel=RELEASE,
    ),
]
Formula = Annotated[
    str | None,
    Option(help='The model, as "y ~ a + b + C(site, levels=[1, 2])".', rich_help_panel=FIRST),
]
Response = Annotated[
    str | None, Option(help="Instead of a formula: the column explained.", rich_help_panel=MODEL)
]
Columns = Annotated[
    str | None,
    Option(
        help="Instead of a formula: the columns that explain, with commas.", rich_help_panel=MODEL
    ),
]
NoIntercept = Annotated[
    bool, Option("--no-intercept", help="Beside --columns.", rich_help_panel=MODEL)
]
Weights = Annotated[str | None, Option(help="A column of analytic weights.")]
Missing = Annotated[
    str, Option(help="refuse or drop rows with missing values.", rich_help_panel=FILES)
]
Decimal = Annotated[
    bool,
    Option(
        "--decimal",
        help="Read binary numbers in Parquet as their shortest decimals.",
        rich_help_panel=FILES,
    ),
]
PassphraseFile = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="The key's passphrase: its first line; else asked for if needed.",
        rich_help_panel=PLACES,
    ),
]
Force = Annotated[
    bool, Option("--force", help="Replace files that are there.", rich_help_panel=OUTPUT)
]
Save = Annotated[Path | None, Option(help="Write the JSON to this file.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


def names_in(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",")]


def given(**choices: Any) -> dict[str, Any]:
    """The choices that were made; the others are the library's to make."""
    return {name: value for name, value in choices.items() if value is not None}


# -- groups -----------------------------------------------------------------------------------


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """For typer: a parameter that is one of the groups below is taken apart into its options."""
    own = signature(command, eval_str=True).parameters
    types: dict[str, Any] = {name: parameter.annotation for name, parameter in own.items()}
    groups = {
        name: signature(types[name], eval_str=True).parameters
        for name in own
        if is_dataclass(types[name])
    }

    @wraps(command)
    def put_together(**chosen: Any) -> None:
        for name, parts in groups.items():
            chosen[name] = types[name](**{part: chosen.pop(part) for part in parts})
        command(**chosen)

    apart = [
        _in_panel(one, getattr(types[name], "PANEL", None))
        for name in own
        for one in groups.get(name, {name: own[name]}).values()
    ]
    shown = Signature([one.replace(kind=Parameter.KEYWORD_ONLY) for one in apart])
    put_together.__signature__ = shown  # type: ignore[attr-defined]
    return put_together


def _in_panel(parameter: Parameter, panel: str | None) -> Parameter:
    """An option of a group stands in the group's panel, unless it says where itself."""
    kind, *told = get_args(parameter.annotation) if panel else (None,)
    if not told or told[0].rich_help_panel is not None:
        return parameter
    info = copy(told[0])
    info.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[kind, info])


@dataclass(frozen=True)
class SumChoices:
    """How private sums are made."""

    PANEL: ClassVar[str] = SUMS
    recovery: Annotated[str | None, Option(help=f"{RECOVERIES} [default: auto]")] = None
    k: Annotated[int | None, Option("-k", "--k", help="List length of topk.")] = None
    rounds: Annotated[int | None, Option(help="An upper bound on the network's diameter.")] = None
    bits: Annotated[
        int | None,
        Option(help="Sums are taken modulo 2^bits; one that finds scales, 2^512. [default: 128]"),
    ] = None
    masks: Annotated[
        str | None, Option(help="sent, or seeded: 32 bytes for each. [default: sent]")
    ] = None
    relays: Annotated[
        str | None,
        Option(help="trusted, or checked for altering sums. [default: checked in studies]"),
    ] = None

    def given(self, **further: Any) -> dict[str, Any]:
        return given(**further, **vars(self))


@dataclass(frozen=True)
class Csv:
    """How CSV files are written, if not with commas between cells and points in numbers."""

    PANEL: ClassVar[str] = FILES
    csv: Annotated[
        str | None,
        Option(help="europe: short for --delimiter ';' --decimal-comma --encoding cp1252."),
    ] = None
    delimiter: Annotated[
        str | None, Option(help="Between cells of a CSV: ';' or tab. [default: comma; tab of .tsv]")
    ] = None
    decimal_comma: Annotated[
        bool, Option("--decimal-comma", help="In a CSV 1,5 is one and a half.")
    ] = False
    encoding: Annotated[str | None, Option(help="Of a CSV: cp1252. [default: utf-8]")] = None

    def of(self, data: Any) -> Any:
        """A path, or several by name, with what was said."""
        from dataclasses import replace

        from titan.moments.csv_format import CsvFormat, RowsFile

        said = given(delimiter=self.delimiter, encoding=self.encoding)
        said |= {"decimal_comma": True} if self.decimal_comma else {}
        if self.csv is None and not said:
            return data
        if self.csv not in (None, "europe"):
            raise UsageError(f"--csv {self.csv} is unknown", hint="--csv europe")
        return RowsFile.all_of(data, replace(CsvFormat.of(self.csv), **said))


@dataclass(frozen=True)
class Modelled:
    """A model: a formula, or the columns that it is made of."""

    PANEL: ClassVar[str] = MODEL
    formula: Formula = None
    response: Response = None
    columns: Columns = None
    no_intercept: NoIntercept = False
    weights: Weights = None

    def model(self, *, pooled: bool = False) -> Model | None:
        """None where none was asked for; `pooled`: columns may be centred."""
        from titan.moments import Model

        text = formula_of(self.formula, self.response, self.columns, self.no_intercept)
        if self.weights is not None and (text is None or not self.weights):
            raise UsageError("--weights names a column beside --formula", hint="--weights w")
        make = Model.pooled if pooled else Model
        return None if text is None else make(text, weights=self.weights)


# -- models -----------------------------------------------------------------------------------


def formula_of(
    formula: str | None, response: str | None, columns: str | None, no_intercept: bool
) -> str | None:
    """The formula, or that of the columns that were named; None where nothing was."""
    from titan.moments import Model

    if formula is not None and no_intercept:
        raise UsageError("--no-intercept cannot go with a formula", hint='write "y ~ x - 1"')
    if response is None and columns is None and not no_intercept:
        return formula
    if formula is None and response is not None and columns is not None:
        chosen = Model.from_columns(response, names_in(columns), intercept=not no_intercept)
        return chosen.formula
    raise UsageError(
        "the model is not clear",
        hint='give --formula "y ~ a + b" alone, or --response y and --columns a,b',
    )


def no_model(further: str = "") -> UsageError:
    return UsageError(
        "no model is given", hint='--formula "y ~ a + b", or --response y --columns a,b' + further
    )


# -- answers ----------------------------------------------------------------------------------


def answer(out: Any, network: Network | None) -> dict[str, Any]:
    """A result's own fields; and who took part and what it cost, if it was not one party alone."""
    parties = None if network is None else list(network.parties)
    return {**out.to_dict(), "parties": parties, "cost": parties and out.cost.as_dict()}


def refuse_without_network(**choices: Any) -> None:
    """One party alone makes no sums: nothing that was asked of them may be passed over."""
    if asked := given(**choices):
        named = ", ".join(f"--{name.replace('_', '-')}" for name in asked)
        raise UsageError(
            f"{named} has no meaning for one party alone", hint="give one file per party"
        )


def privacy(network: Network, tau: int | None) -> str:
    """What the parties learned beyond what was pooled, in words."""
    if tau is not None and tau > 1:
        return f"nothing else, not even any {tau} of them together"
    if network.tolerates(1):
        return "nothing else"
    if len(network) == 2:
        return "of two parties, each can subtract its own from these and has the other's"
    return "this network lets one party learn more: --tau 1 says which"


def cost_line(cost: Cost) -> str:
    return (
        f"Cost: {len(cost.bytes_sent)} parties, {cost.rounds} rounds, {cost.messages} messages, "
        f"at most {cost.bytes_sent.largest} bytes sent by a party."
    )
