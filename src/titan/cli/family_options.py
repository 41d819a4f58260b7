"""Options of generalised linear models, which one command has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from typer import Option

from titan.cli.options import given
from titan.errors import InputError


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
            raise InputError(f"--{next(iter(said))} needs --family", hint="--family binomial")
        if self.precision not in (None, "exact"):
            if not str(self.precision).isdecimal():
                raise InputError(f"--precision {self.precision}", hint="24 to 40, or exact")
            said["precision"] = int(str(self.precision)[:9])
        return said
