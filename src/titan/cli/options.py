"""Options that several commands share, alone or in groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from typer import Option

from titan.cli import networks
from titan.engines import ENGINES
from titan.engines.mpi.ranks import first_rank_speaks
from titan.errors import InputError
from titan.listing import one_of
from titan.protocol.recovery import recovery_names
from titan.release.policy import DEFAULT, DEFAULT_PRECISION, POLICIES, PRECISIONS, Cells

if TYPE_CHECKING:
    from titan.joint.kinds import Question
    from titan.moments import Model
    from titan.network import Network
    from titan.protocol import Cost
    from titan.release import Column

RECOVERIES = f"{one_of(recovery_names())}."
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
    ),
]
Solver = Annotated[
    str | None, Option(help="One party that solves and tells the others. [default: all do]")
]
AllowSmall = Annotated[
    bool,
    Option(
        "--allow-small",
        help="Release the answer however few rows it is of: without, at least 10 for every party "
        "and 3 for every parameter.",
    ),
]
Formula = Annotated[str | None, Option(help='The model, as "y ~ a + b + C(site, levels=[1, 2])".')]
Response = Annotated[str | None, Option(help="Instead of a formula: the column explained.")]
Columns = Annotated[
    str | None, Option(help="Instead of a formula: the columns that explain, with commas.")
]
NoIntercept = Annotated[bool, Option("--no-intercept", help="Beside --columns.")]
Weights = Annotated[str | None, Option(help="A column of analytic weights.")]
Missing = Annotated[str, Option(help="refuse or drop rows with missing values.")]
Decimal = Annotated[
    bool, Option("--decimal", help="Read binary numbers in Parquet as their shortest decimals.")
]
PassphraseFile = Annotated[
    Path | None,
    Option(metavar="FILE", help="The key's passphrase: its first line; else asked for if needed."),
]
Force = Annotated[bool, Option("--force", help="Write over an existing file.")]
Save = Annotated[Path | None, Option(help="Write the JSON to this file.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


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

    apart = [one for name in own for one in groups.get(name, {name: own[name]}).values()]
    shown = Signature([one.replace(kind=Parameter.KEYWORD_ONLY) for one in apart])
    put_together.__signature__ = shown  # type: ignore[attr-defined]
    return put_together


@dataclass(frozen=True)
class Sums:
    """How private sums are made."""

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
            raise InputError(f"--csv {self.csv} is unknown", hint="--csv europe")
        return RowsFile.all_of(data, replace(CsvFormat.of(self.csv), **said))


@dataclass(frozen=True)
class Modelled:
    """A model: a formula, or the columns that it is made of."""

    formula: Formula = None
    response: Response = None
    columns: Columns = None
    no_intercept: NoIntercept = False
    weights: Weights = None

    def model(self, *, pooled: bool = False) -> Model | None:
        """None where none was asked for; `pooled`: columns may be centred."""
        from titan.moments import Model

        text = formula_of(self.formula, self.response, self.columns, self.no_intercept)
        make = Model.pooled if pooled else Model
        return None if text is None else make(text, weights=self.weights)


@dataclass(frozen=True)
class Asked:
    """What a study asks, and of which columns."""

    ask: Annotated[
        list[str] | None,
        Option(
            metavar="QUESTION",
            help="kind: what; key=value: such as 'regression: y ~ age + sex; cov_type=HC0; "
            "name=main', 'glm: died ~ age; family=binomial', 'ridge: y ~ age; alpha=0.1,1', "
            "'describe: age, sex', 'survival: months, died; by=arm; grid=6', "
            "'cox: age + sex; time=months; event=died', average, solve; repeatable.",
        ),
    ] = None
    formula: Annotated[
        str | None, Option(help='Short for one regression, such as "y ~ a + b".')
    ] = None
    weights: Annotated[str | None, Option(help="With --formula: a column of analytic weights.")] = (
        None
    )
    release: Annotated[
        str | None, Option(help="With --formula: solution or inference. [default: inference]")
    ] = None
    range: Annotated[
        list[str] | None, Option(help="age=0:120: values that may be; once per column.")
    ] = None
    step: Annotated[
        list[str] | None, Option(help="age=1: its values are put on this grid; once per column.")
    ] = None
    levels: Annotated[
        list[str] | None, Option(help="sex=f,m: what a category may be; once per column.")
    ] = None
    flag: Annotated[list[str] | None, Option(help="died: a column of 0 and 1; repeatable.")] = None
    unit: Annotated[list[str] | None, Option(help="age=years, for people; once per column.")] = None

    def questions(self) -> list[Question]:
        """One regression by --formula, with what belongs to it, and whatever --ask says."""
        from titan.joint.kinds import Question
        from titan.study.asking import read_question

        beside = given(weights=self.weights, release=self.release)
        if self.formula is None and beside:
            option = next(iter(beside))
            said = f"{option}={beside[option]}"
            raise InputError(
                f"--{option} goes with --formula",
                hint=f"or say it in the question: --ask 'regression: y ~ a; {said}'",
            )
        asked = [read_question(text) for text in self.ask or []]
        if self.formula is None:
            return asked
        return [Question("regression", "", (("formula", self.formula), *beside.items())), *asked]

    def columns(self) -> dict[str, Column]:
        """What the options say of columns."""
        from titan.study.asking import read_columns

        return read_columns(
            ranges=self.range or [],
            steps=self.step or [],
            levels=self.levels or [],
            flags=self.flag or [],
            units=self.unit or [],
        )


@dataclass(frozen=True)
class Conditions:
    """On what rows a study is made, and who solves."""

    missing: Annotated[
        str | None, Option(help="refuse or drop rows with missing values. [default: refuse]")
    ] = None
    min_rows: Annotated[
        int | None, Option(help=f"The fewest rows of a party. [default: {DEFAULT.rows_per_party}]")
    ] = None
    rows_per_parameter: Annotated[
        int | None,
        Option(help=f"The fewest rows per parameter. [default: {DEFAULT.rows_per_parameter}]"),
    ] = None
    policy: Annotated[
        str | None, Option(help=f"What may be released: {one_of(POLICIES)}. [default: titan]")
    ] = None
    min_cell: Annotated[
        int | None,
        Option(
            help="The fewest rows in a cell that occurs; 1 divided by this is the largest leverage "
            f"of a row. [default: {DEFAULT.rows_per_cell}, or as --policy says]"
        ),
    ] = None
    min_cell_parties: Annotated[
        int | None,
        Option(help="The fewest parties with rows in a cell that is summed over. [default: τ + 2]"),
    ] = None
    min_residual_df: Annotated[
        int | None,
        Option(
            help="The fewest residual degrees of freedom. "
            f"[default: {DEFAULT.residual_df}, or as --policy says]"
        ),
    ] = None
    cells: Annotated[
        str | None,
        Option(help="pooled, or local: a party's own small counts are not even added up. "
               "[default: pooled]"),
    ] = None  # fmt: skip
    precision: Annotated[
        str | None,
        Option(
            metavar="BITS|exact",
            help="Bits to which columns that a formula makes are rounded. "
            f"[default: {DEFAULT_PRECISION}]",
        ),
    ] = None
    solver: Solver = None

    def given(self) -> dict[str, Any]:
        """By the names that a study has for them."""
        said: dict[str, Any] = {**vars(self), "min_rows": None}
        for option, allowed in (("policy", tuple(POLICIES)), ("cells", get_args(Cells))):
            if said[option] not in (None, *allowed):
                raise InputError(
                    f"--{option} {said[option]}: there is no such choice",
                    hint=one_of(f"--{option} {name}" for name in allowed),
                )
        if self.precision not in (None, "exact"):
            said["precision"] = _bits(str(self.precision))
        return given(min_rows_party=self.min_rows, **said)


def _bits(text: str) -> int:
    least, most = PRECISIONS
    if not text.isdecimal() or not least <= int(text[:9]) <= most:
        raise InputError(
            f"--precision {text} is not a number of bits from {least} to {most}",
            hint=f"--precision {DEFAULT_PRECISION}, or --precision exact",
        )
    return int(text)


# -- models -----------------------------------------------------------------------------------


def formula_of(
    formula: str | None, response: str | None, columns: str | None, no_intercept: bool
) -> str | None:
    """The formula, or that of the columns that were named; None where nothing was."""
    from titan.moments import Model

    if formula is not None and no_intercept:
        raise InputError("--no-intercept cannot go with a formula", hint='write "y ~ x - 1"')
    if response is None and columns is None and not no_intercept:
        return formula
    if formula is None and response is not None and columns is not None:
        chosen = Model.from_columns(response, names_in(columns), intercept=not no_intercept)
        return chosen.formula
    raise InputError(
        "the model is not clear",
        hint='give --formula "y ~ a + b" alone, or --response y and --columns a,b',
    )


def no_model(further: str = "") -> InputError:
    return InputError(
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
        raise InputError(
            f"{named} has no meaning for one party alone", hint="give one file per party"
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
        f"Cost: {len(cost.bytes_sent)} parties, {cost.rounds} rounds, {cost.messages} messages, "
        f"at most {cost.bytes_sent.largest} bytes sent by a party."
    )
