"""Cox's proportional hazards, fitted: under the names of statsmodels' PHReg."""

# Rule 1: what needs rows or risk sets is not here: baseline hazards, residuals, concordance.
# Rule 2: every number is the middle of a proven ball, or plain where it is not defined (NaN).

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from titan import canonical
from titan.canonical import exact_text, read_double
from titan.errors import InputError
from titan.generalised import predicting, states
from titan.generalised.elementary import Floats
from titan.generalised.estimated import Estimated, statistic
from titan.generalised.goodness import told_at_estimate
from titan.generalised.risk_sets import Ties, ties_named
from titan.generalised.steps import Opened
from titan.leastsquares.as_json import enclosures, with_errors
from titan.leastsquares.balls import Ball, nearest
from titan.leastsquares.inference import compute
from titan.leastsquares.named import Limits, Named, NamedTable, Quantity
from titan.leastsquares.tails import chi2_tail
from titan.results.result import Recorded

_STATE = (
    "names", "time", "event", "step", "rows", "events", "iterations", "formula", "grid", "ties",
    "least_at_risk", "alpha", "dropped",
)  # fmt: skip
_STATISTICS = ("llf", "llnull", "llr", "llr_pvalue", "aic")
_MOST_LOG = 1420  # 2048 log 2, rounded up
_COUNTS = ("nobs", "events", "strata", "iterations", "time", "event", "ties", "least_at_risk")


@dataclass(frozen=True, eq=False)
class Cox(Estimated, kind="cox"):
    """Log hazard ratios of a model in which every party has a baseline hazard of its own."""

    names: tuple[str, ...]
    time: str
    event: str
    opened: Opened = field(repr=False)
    """The step that gave the proof."""
    rows: int
    events: int
    """Rows with the event."""
    iterations: int
    formula: str = ""
    grid: Fraction = Fraction(1)
    """Times were rounded up to the next multiple of it."""
    ties: Ties = "efron"
    least_at_risk: int = 0
    """Events count where so many rows of the same party were at risk."""
    alpha: Fraction = Fraction(0)
    """Of the penalty alpha/2 · ‖β‖²."""
    cost: Any = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table were left out as incomplete; not part of any sum."""
    record: Recorded | None = field(default=None, repr=False)

    @property
    def nobs(self) -> int:
        return self.rows

    @property
    def strata(self) -> int:
        """How many parties there are."""
        return self.opened.problem.parties

    @property
    def df_model(self) -> int:
        return len(self.names)

    # -- hazard ratios --------------------------------------------------------------------------

    @cached_property
    def hazard_ratios(self) -> Named:
        """exp of the coefficients."""
        return self._named([_exp(ball) for ball in self.params.enclosures])

    def hazard_conf_int(self, alpha: float = 0.05) -> NamedTable:
        """Name → (lower, upper) of the hazard ratio, at level 1 − alpha."""
        limits = zip(self.names, self.hazard_intervals(alpha), strict=True)
        rows = {name: Limits(float(low), float(high)) for name, (low, high) in limits}
        return NamedTable(rows, Limits._fields)

    def hazard_intervals(self, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        """These limits as enclosures."""
        return [(_exp(low), _exp(high)) for low, high in self.intervals(alpha)]

    # -- the fit as a whole ---------------------------------------------------------------------

    @cached_property
    def statistics(self) -> dict[str, Quantity]:
        """The partial likelihood and what is made of it, as enclosures."""
        llf = told_at_estimate(self.opened, self.certificate, "likelihood")
        null = Ball(self.opened.statistics["null_likelihood"], self.opened.statistics_error)
        ratio = compute(lambda f, n: 2 * (f - n), llf, null)
        p = len(self.names)
        return {
            "llf": llf,
            "llnull": null,
            "llr": ratio,
            "llr_pvalue": chi2_tail(ratio, p) if not self.alpha else float("nan"),
            "aic": compute(lambda f: 2 * p - 2 * f, llf),
        }

    llf, llnull, llr, llr_pvalue, aic = map(statistic, _STATISTICS)

    # -- use ------------------------------------------------------------------------------------

    def predict(self, rows: Any, pred_type: str = "lhr") -> Floats:
        """Of raw rows the log hazard ratio aᵀβ, or with "hr" the ratio: to a row of zeros."""
        if pred_type not in ("lhr", "hr"):
            raise InputError(f"pred_type={pred_type!r}", hint="lhr, or hr: no baseline is opened")
        return predicting.hazards(self, rows, ratio=pred_type == "hr")

    def summary(self, alpha: float = 0.05) -> str:
        """The table that statsmodels prints, with the digits that are proven."""
        from titan.generalised.cox_summary import summary

        return summary(self, alpha)

    def as_html(self, alpha: float = 0.05) -> str:
        """The summary as a fragment of HTML."""
        from titan.generalised.cox_summary import as_html

        return as_html(self, alpha)

    def _repr_html_(self) -> str:
        return self.as_html()

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is infinite or not defined is None."""
        limits = dict(zip(self.names, self.hazard_intervals(), strict=True))
        whole = {
            **self.coefficients_as_json(),
            **with_errors({"hazard_ratios": enclosures(self.hazard_ratios)}),
            **with_errors({"hazard_conf_int": limits}),
            **with_errors(self.statistics),
            **{key: getattr(self, key) for key in _COUNTS},
            "alpha": float(self.alpha),
            "grid": nearest(self.grid),
            "precision": self.opened.problem.bits,
            "dropped": sum(self.dropped.values()),
        }
        return dict(canonical.finite(whole))

    def to_state(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "time": self.time,
            "event": self.event,
            "step": states.to_state(self.opened),
            "rows": self.rows,
            "events": self.events,
            "iterations": self.iterations,
            "formula": self.formula,
            "grid": exact_text(self.grid),
            "ties": self.ties,
            "least_at_risk": self.least_at_risk,
            "alpha": exact_text(self.alpha),
            "dropped": dict(self.dropped),
        }

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Cox:
        found = canonical.keys(state, _STATE)
        named, opened = canonical.names(found["names"]), states.from_state(found["step"])
        if len(named) != opened.problem.columns or opened.problem.family != "cox":
            raise ValueError("its step is not of these coefficients")
        try:
            ties = ties_named(found["ties"])
        except InputError as error:
            raise ValueError(error.message) from None
        rows, events, steps = (canonical.whole(found[k]) for k in ("rows", "events", "iterations"))
        dropped = {n: canonical.whole(k) for n, k in canonical.mapping(found["dropped"]).items()}
        fit = cls(
            named,
            canonical.name(found["time"]),
            canonical.name(found["event"]),
            opened,
            rows,
            events,
            steps,
            canonical.text(found["formula"], 1 << 16),
            read_double(found["grid"]),
            ties,
            canonical.whole(found["least_at_risk"]),
            read_double(found["alpha"]),
            cost,
            dropped,
        )
        fit.certificate  # noqa: B018 - a step that proves nothing is refused
        return fit

    def __repr__(self) -> str:
        of = f"{self.time} to {self.event} ~ {' + '.join(self.names)}"
        return f"Cox({of}, nobs={self.nobs}, events={self.events})"


def _exp(quantity: Quantity) -> Quantity:
    """Infinite or next to zero beyond 2^±2048: as a fraction it would have very many digits."""
    if not isinstance(quantity, Ball):
        return quantity
    if quantity.lower > _MOST_LOG:
        return math.inf
    if quantity.upper < -_MOST_LOG:
        return Ball(Fraction(0), Fraction(1, 1 << 2048))
    if quantity.upper > 2 * _MOST_LOG:  # and nothing is known
        return math.nan
    return compute(lambda x: x.exp(), quantity)
