"""Options of generalised linear models, which one command has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from typer import Option

from titan.cli.options import given
from titan.errors import UsageError


@dataclass(frozen=True)
class Generalised:
    """Logistic or Poisson regression instead of a linear one."""

    PANEL: ClassVar[str] = "Logistic and Poisson regression"
    family: Annotated[
        str | None, Option(help="binomial (logistic) or poisson. [default: a linear regression]")
    ] = None
    offset: Annotated[
        str | None, Option(help="With --family: a column, or log(column), without a coefficient.")
    ] = None
    exposure: Annotated[
        str | None, Option(help="With --family: short for --offset 'log(COLUMN)'.")
    ] = None
    alpha: Annotated[
        float | None, Option(help="With --family: penalise by half of this times the squares.")
    ] = None
    precision: Annotated[
        str | None,
        Option(metavar="BITS|exact", help="With --family: of the last step's sums. [default: 24]"),
    ] = None

    def given(self) -> dict[str, Any]:
        """What was asked for; nothing for a linear regression."""
        said = given(**vars(self))
        if self.family is None and said:
            raise UsageError(f"--{next(iter(said))} needs --family", hint="--family binomial")
        return said | precision_given(self.precision)


def precision_given(precision: str | None) -> dict[str, int | str]:
    """As the library takes it; nothing where it was not said."""
    if precision is None or precision == "exact":
        return given(precision=precision)
    if not precision.isdecimal():
        raise UsageError(f"--precision {precision}", hint="24 to 40, or exact")
    return {"precision": int(precision[:9])}
