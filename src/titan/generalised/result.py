"""A fitted logistic or Poisson regression, under statsmodels' names."""

# Rule 1: what needs rows is not here: residuals, influence, fitted values.
# Rule 2: every number is the middle of a proven ball, or plain where it is not defined (NaN).

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan import canonical
from titan.canonical import exact_text, read_double
from titan.generalised import predicting, states
from titan.generalised.elementary import Floats
from titan.generalised.estimated import Estimated, statistic
from titan.generalised.families import FAMILIES, LINKS, FamilyName, family_named
from titan.generalised.goodness import Goodness
from titan.generalised.steps import Opened
from titan.leastsquares.as_json import with_errors
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Quantity
from titan.results.result import Recorded

_STATE = (
    "names", "response", "formula", "weights", "offset", "rows", "iterations", "alpha", "constant",
    "step", "dropped",
)  # fmt: skip
_STATISTICS = ("llf", "llnull", "deviance", "null_deviance", "pearson_chi2", "aic", "bic")
_COUNTS = ("nobs", "df_model", "df_resid", "iterations", "family", "link", "alpha")


@dataclass(frozen=True, eq=False)
class GLM(Estimated, kind="glm"):
    """A generalised linear model with its canonical link, and what is proven of it."""

    names: tuple[str, ...]
    response: str
    opened: Opened = field(repr=False)
    """The step that gave the proof."""
    rows: int
    iterations: int
    formula: str = ""
    weights: str | None = None
    offset: str | None = None
    alpha: Fraction = Fraction(0)
    """Of the penalty alpha/2 · ‖β‖², the intercept unpenalised."""
    constant: tuple[str, ...] = ()
    """The columns that add up to the constant."""
    cost: Any = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table were left out as incomplete; not part of any sum."""
    record: Recorded | None = field(default=None, repr=False)

    # -- counts -------------------------------------------------------------------------------

    @property
    def family(self) -> FamilyName:
        return family_named(self.opened.problem.family)

    @property
    def link(self) -> str:
        return LINKS[self.family]

    @property
    def nobs(self) -> int:
        return self.rows

    @property
    def df_model(self) -> int:
        """As statsmodels has it: without one of the coefficients, constant or not."""
        return len(self.names) - 1

    @property
    def df_resid(self) -> int:
        return self.rows - len(self.names)

    scale = 1.0

    # -- the fit as a whole -------------------------------------------------------------------

    @cached_property
    def goodness(self) -> Goodness:
        return Goodness(self.opened, self.certificate, self.rows)

    @cached_property
    def statistics(self) -> dict[str, Quantity]:
        """Likelihood, deviance and the rest as enclosures, by statsmodels' names."""
        found, p = self.goodness, len(self.names)
        llf, deviance = found.llf, found.deviance
        log_rows = Ball(Fraction(math.log(self.rows)), Fraction(1, 1 << 40))
        return {
            "llf": llf,
            "llnull": found.llnull,
            "deviance": deviance,
            "null_deviance": found.null_deviance,
            "pearson_chi2": found.pearson_chi2,
            "aic": _of(llf, lambda v: 2 * p - 2 * v),
            "bic": _of(llf, lambda v, n: p * n - 2 * v, log_rows),
            "bic_deviance": _of(deviance, lambda d, n: d - self.df_resid * n, log_rows),
        }

    llf, llnull, deviance, null_deviance, pearson_chi2, aic, bic = map(statistic, _STATISTICS)

    @property
    def not_told(self) -> dict[str, str]:
        """Which statistics (NaN) were not told, and why: they would tell of single rows."""
        return dict(self.goodness.not_told)

    @property
    def bic_llf(self) -> float:
        """`bic`, which is made of the likelihood; statsmodels has both names for it."""
        return self.bic

    @property
    def bic_deviance(self) -> float:
        return float(self.statistics["bic_deviance"])

    def pseudo_rsquared(self, kind: str = "cs") -> float:
        """Cox and Snell's, or McFadden's ("mcf")."""
        return float(self.goodness.pseudo_rsquared(kind))

    # -- use ----------------------------------------------------------------------------------

    def predict(self, rows: Any) -> Floats:
        """Probabilities, or expected counts, of raw rows: a table with the data's own columns.

        A row with a gap gives NaN. A Series is one column.
        """
        return predicting.predict(self, rows)

    def summary(self, alpha: float = 0.05) -> str:
        """The table that statsmodels prints, with the digits that are proven."""
        from titan.generalised.summary import summary

        return summary(self, alpha)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is infinite or not defined is None."""
        numbers = {key: self.statistics[key] for key in _STATISTICS}
        numbers |= {"pseudo_rsquared": self.goodness.pseudo_rsquared("cs"), "scale": self.scale}
        whole = {
            **self.coefficients_as_json(),
            **with_errors(numbers),
            **{key: getattr(self, key) for key in _COUNTS},
            "alpha": float(self.alpha),
            "precision": self.opened.problem.bits,
            "response": self.response,
            "dropped": sum(self.dropped.values()),
            "not_told": self.not_told,
        }
        return dict(canonical.finite(whole))

    def to_state(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "response": self.response,
            "formula": self.formula,
            "weights": self.weights,
            "offset": self.offset,
            "rows": self.rows,
            "iterations": self.iterations,
            "alpha": exact_text(self.alpha),
            "constant": list(self.constant),
            "step": states.to_state(self.opened),
            "dropped": dict(self.dropped),
        }

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> GLM:
        found = canonical.keys(state, _STATE)
        named, opened = canonical.names(found["names"]), states.from_state(found["step"])
        if len(named) != opened.problem.columns:
            raise ValueError("it does not have as many names as coefficients")
        if opened.problem.family not in FAMILIES:
            raise ValueError("its step is not of a generalised linear model")
        optional = {k: found[k] and canonical.text(found[k]) for k in ("weights", "offset")}
        dropped = {n: canonical.whole(k) for n, k in canonical.mapping(found["dropped"]).items()}
        constant = canonical.names(found["constant"]) if found["constant"] else ()
        fit = cls(
            named,
            canonical.text(found["response"]),
            opened,
            canonical.whole(found["rows"]),
            canonical.whole(found["iterations"]),
            canonical.text(found["formula"], 1 << 16) if found["formula"] else "",
            optional["weights"],
            optional["offset"],
            read_double(found["alpha"]),
            constant,
            cost,
            dropped,
        )
        fit.certificate  # noqa: B018 - a step that proves nothing is refused
        return fit

    def __repr__(self) -> str:
        return f"GLM({self.family}: {self.response} ~ {' + '.join(self.names)}, nobs={self.nobs})"


def _of(statistic: Quantity, formula: Callable[..., Any], *others: Ball) -> Quantity:
    return compute(formula, statistic, *others) if isinstance(statistic, Ball) else statistic
