"""A fitted logistic or Poisson regression, under statsmodels' names."""

# Rule 1: what needs rows is not here: residuals, influence, fitted values.
# Rule 2: every number is the middle of a proven ball, or plain where it is not defined (NaN).

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from titan import canonical
from titan.canonical import exact_text, read_exact
from titan.errors import InputError
from titan.generalised import goodness, predicting, states
from titan.generalised.certificate import Certificate
from titan.generalised.elementary import Floats
from titan.generalised.families import LINKS, FamilyName
from titan.generalised.goodness import Goodness
from titan.generalised.steps import Opened
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Limits, Named, NamedTable, Quantity, error_of
from titan.results.result import Recorded, Result
from titan.ring.whole import real_number

_STATE = (
    "names", "response", "formula", "weights", "offset", "rows", "iterations", "alpha", "constant",
    "step", "dropped",
)  # fmt: skip
_COEFFICIENTS = ("params", "bse", "error_bound", "tvalues", "pvalues")
_STATISTICS = ("llf", "llnull", "deviance", "null_deviance", "pearson_chi2", "aic", "bic")
_COUNTS = ("nobs", "df_model", "df_resid", "scale", "iterations", "family", "link", "alpha")


def _statistic(name: str) -> float:
    """A property; its type is what readers of the attribute get."""
    return property(lambda fit: float(fit.statistics[name]))  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class GLM(Result, kind="glm"):
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
        return self.opened.problem.family

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

    # -- coefficients -------------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate:
        found = self.opened.certificate
        if found is None:
            raise ValueError("its last step proves nothing")
        return found

    @cached_property
    def params(self) -> Named:
        return self._named(self._enclosures)

    @cached_property
    def _enclosures(self) -> list[Ball]:
        c = self.certificate
        there = [b + x for b, x in zip(self.opened.beta, c.step, strict=True)]
        found = []
        for j in range(len(self.names)):
            of = self.opened.problem.combination(j)
            mid = sum((a * b for a, b in zip(of, there, strict=True)), Fraction(0))
            found.append(Ball(mid, c.bound(of)))
        return found

    @property
    def error_bound(self) -> Named:
        """How far each of `params` may be from the maximum likelihood estimate."""
        return self._named([error_of(ball) for ball in self._enclosures])

    @property
    def digits(self) -> int:
        """Significant digits that are proven of every coefficient."""
        return min(ball.digits for ball in self._enclosures)

    @cached_property
    def bse(self) -> Named:
        """Not defined with a penalty: the estimate is biased, and nothing says how much."""
        if self.alpha:
            return self._named([math.nan] * len(self.names))
        problem, n = self.opened.problem, range(len(self.names))
        return self._named(
            [inference.root(self.certificate.variance(problem.combination(j))) for j in n]
        )

    @cached_property
    def tvalues(self) -> Named:
        """z: coefficients over standard errors."""
        pairs = zip(self._enclosures, self.bse.enclosures, strict=True)
        return self._named([inference.ratio(ball, se) for ball, se in pairs])

    @cached_property
    def pvalues(self) -> Named:
        return self._named([goodness.two_sided(z) for z in self.tvalues.enclosures])

    def conf_int(self, alpha: float = 0.05) -> NamedTable:
        """Name → (lower, upper) at level 1 − alpha."""
        limits = zip(self.names, self.intervals(alpha), strict=True)
        rows = {name: Limits(float(low), float(high)) for name, (low, high) in limits}
        return NamedTable(rows, Limits._fields)

    def intervals(self, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        """The confidence limits as enclosures."""
        if not sys.float_info.epsilon < real_number("alpha", alpha) < 1:
            raise InputError(f"alpha is {alpha!r}", hint="between 0 and 1, as 0.05")
        z, limits = goodness.quantile(alpha), list[tuple[Quantity, Quantity]]()
        for ball, se in zip(self._enclosures, self.bse.enclosures, strict=True):
            if not isinstance(se, Ball):
                limits.append((math.nan, math.nan))
                continue
            low = compute(lambda b, s, q: b - s * q, ball, se, z)
            limits.append((low, compute(lambda b, s, q: b + s * q, ball, se, z)))
        return limits

    def cov_params(self) -> NamedTable:
        """The covariance matrix of the coefficients, by name and in the order of `names`."""
        if self.alpha:
            covariance = np.full((len(self.names),) * 2, math.nan)
        else:
            R = self.certificate.inverse
            inverse = np.array([[x / (1 << R.places) for x in row] for row in R.numbers], float)
            of = [self.opened.problem.combination(j) for j in range(len(self.names))]
            combinations = np.array([[float(x) for x in row] for row in of])
            covariance = combinations @ inverse @ combinations.T
        rows = {n: self._named(row) for n, row in zip(self.names, covariance.tolist(), strict=True)}
        return NamedTable(rows, self.names)

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
            "aic": compute(lambda v: 2 * p - 2 * v, llf),
            "bic": compute(lambda v, n: p * n - 2 * v, llf, log_rows),
            "bic_deviance": compute(lambda d, n: d - self.df_resid * n, deviance, log_rows),
        }

    llf, llnull, deviance, null_deviance, pearson_chi2, aic, bic = map(_statistic, _STATISTICS)

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
        whole = {
            **{key: getattr(self, key) for key in (*_COEFFICIENTS, *_STATISTICS, *_COUNTS)},
            "alpha": float(self.alpha),
            "pseudo_rsquared": self.pseudo_rsquared(),
            "conf_int": self.conf_int(),
            "precision": self.opened.problem.bits,
            "response": self.response,
            "dropped": sum(self.dropped.values()),
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
            read_exact(found["alpha"]),
            constant,
            cost,
            dropped,
        )
        fit.certificate  # noqa: B018 - a step that proves nothing is refused
        return fit

    def __repr__(self) -> str:
        return f"GLM({self.family}: {self.response} ~ {' + '.join(self.names)}, nobs={self.nobs})"

    def _named(self, quantities: Sequence[Quantity]) -> Named:
        return Named(self.names, quantities)
