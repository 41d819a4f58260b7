"""Options of commands that make a study: what it asks, and on what conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args

from typer import Option

from titan.cli import options
from titan.errors import InputError, UsageError, about
from titan.listing import one_of
from titan.release.policy import DEFAULT, DEFAULT_PRECISION, POLICIES, PRECISIONS, Cells

if TYPE_CHECKING:
    from titan.joint.kinds import Question
    from titan.release import Column

_QUESTION = re.compile(r"questions\[(\d+)\](?:\.\w+)?(?:: )?")


@dataclass(frozen=True)
class Asked:
    """What a study asks, and of which columns."""

    PANEL: ClassVar[str] = options.COLUMNS
    ask: Annotated[
        list[str] | None,
        Option(
            metavar="QUESTION",
            help="kind: what; key=value: such as 'regression: y ~ age + sex; cov_type=HC0; "
            "name=main', 'glm: died ~ age; family=binomial', 'ridge: y ~ age; alpha=0.1,1', "
            "'describe: age, sex', 'survival: months, died; by=arm; grid=6', "
            "'cox: age + sex; time=months; event=died', average, solve; repeatable.",
            rich_help_panel=options.FIRST,
        ),
    ] = None
    formula: Annotated[
        str | None,
        Option(
            help='Short for one regression, such as "y ~ a + b".', rich_help_panel=options.FIRST
        ),
    ] = None
    weights: Annotated[
        str | None,
        Option(help="With --formula: a column of analytic weights.", rich_help_panel=options.MODEL),
    ] = None
    release: Annotated[
        str | None,
        Option(
            help="With --formula: solution or inference. [default: inference]",
            rich_help_panel=options.MODEL,
        ),
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
        from titan.joint.equations import Release
        from titan.joint.kinds import Question
        from titan.study.asking import columns_in_formula, read_question
        from titan.study.manifest import naming

        beside = options.given(weights=self.weights, release=self.release)
        if self.formula is None and beside:
            option = next(iter(beside))
            said = f"{option}={beside[option]}"
            raise UsageError(
                f"--{option} goes with --formula",
                hint=f"or say it in the question: --ask 'regression: y ~ a; {said}'",
            )
        if self.release not in (None, *get_args(Release)):
            allowed = f"one of {', '.join(get_args(Release))}"
            raise UsageError(f"release is {self.release!r}", hint=allowed, choice="release")
        asked = [read_question(text) for text in self.ask or []]
        if self.formula is not None:
            model = (("formula", self.formula), *beside.items())
            asked.insert(0, Question("regression", "", model))
        with self.quoted(), about("questions"):
            for at, question in enumerate(asked, 1):
                with naming(f"questions[{at}]"):
                    columns_in_formula(question, {})  # which reads it
        return asked

    @contextmanager
    def quoted(self) -> Iterator[None]:
        """What is wrong with the second question is told of the words that asked it."""
        by_formula = [] if self.formula is None else [f"--formula {self.formula!r}"]
        words = [*by_formula, *(f"--ask {text!r}" for text in self.ask or ())]
        try:
            yield
        except InputError as error:
            if found := _QUESTION.match(error.message):
                said = words[int(found[1]) - 1]
                error.message = f"{said}: {error.message[found.end() :]}"
            raise

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

    PANEL: ClassVar[str] = options.RELEASE
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
    solver: options.Solver = None

    def given(self) -> dict[str, Any]:
        """By the names that a study has for them."""
        said: dict[str, Any] = {**vars(self), "min_rows": None}
        _one_of_these("policy", self.policy, tuple(POLICIES))
        _one_of_these("cells", self.cells, get_args(Cells))
        if self.precision not in (None, "exact"):
            said["precision"] = _bits(str(self.precision))
        return options.given(min_rows_party=self.min_rows, **said)


def _one_of_these(option: str, said: str | None, allowed: tuple[str, ...]) -> None:
    if said not in (None, *allowed):
        raise UsageError(
            f"--{option} {said}: there is no such choice",
            hint=one_of(f"--{option} {name}" for name in allowed),
        )


def _bits(text: str) -> int:
    least, most = PRECISIONS
    if not text.isdecimal() or not least <= int(text[:9]) <= most:
        raise UsageError(
            f"--precision {text} is not a number of bits from {least} to {most}",
            hint=f"--precision {DEFAULT_PRECISION}, or --precision exact",
        )
    return int(text)
