"""What is printed of Cox's model: coefficients, hazard ratios, the likelihood; as text and HTML."""

# Rule 1: names come from other parties: `markup` escapes them.

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from titan.decimals import decimal_text
from titan.leastsquares.named import Quantity
from titan.leastsquares.summary import Pairs, coefficient_cells, framed, labels, significant
from titan.listing import aligned
from titan.markup import items, table, tag

if TYPE_CHECKING:
    from titan.generalised.cox_result import Cox

_TITLE = "Cox Proportional Hazards, Stratified by Party"


def summary(fit: Cox, alpha: float) -> str:
    """Header, coefficients, hazard ratios, notes."""
    text = framed(fit, alpha, _TITLE, *_header(fit), _notes(fit), "z")
    above, _, below = text.partition("\nNotes:")
    width = len(above.rpartition("\n")[2])
    ratios = aligned([_ratio_heading(alpha), *_ratios(fit, alpha)])
    return "\n".join([above, *ratios, "=" * width, f"Notes:{below}"])


def as_html(fit: Cox, alpha: float) -> str:
    """A fragment: header, coefficients, hazard ratios, notes. It loads nothing and runs nothing."""
    pairs = [(*one, *other) for one, other in zip(*_header(fit), strict=True)]
    coefficients = [(name, *cells) for name, cells in coefficient_cells(fit, alpha)]
    return str(
        tag(
            "div",
            tag("h3", _TITLE),
            table((), pairs),
            table(("", *labels("z", alpha)), coefficients),
            table(_ratio_heading(alpha), _ratios(fit, alpha)),
            items(_notes(fit), "ol"),
            kind="titan-cox",
        )
    )


def _header(fit: Cox) -> tuple[Pairs, Pairs]:
    stats = fit.statistics
    left = [
        ("Time:", fit.time),
        ("Event:", fit.event),
        ("Ties:", fit.ties.capitalize()),
        ("No. Observations:", str(fit.nobs)),
        ("No. Events:", str(fit.events)),
        ("Strata (parties):", str(fit.strata)),
    ]
    right = [
        ("Log-Likelihood:", significant(stats["llf"], 5)),
        ("LL-Null:", significant(stats["llnull"], 5)),
        ("LR statistic:", significant(stats["llr"], 4)),
        ("LR p-value:", significant(stats["llr_pvalue"], 3)),
        ("AIC (partial):", significant(stats["aic"], 5)),
        ("No. Iterations:", str(fit.iterations)),
    ]
    return left, right


def _ratio_heading(alpha: float) -> tuple[str, ...]:
    return "Hazard ratios", "exp(coef)", f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"


def _ratios(fit: Cox, alpha: float) -> list[tuple[str, ...]]:
    ratios = zip(fit.names, fit.hazard_ratios.enclosures, fit.hazard_intervals(alpha), strict=True)
    return [(name, significant(x, 4), *map(_shown, ends)) for name, x, ends in ratios]


def _shown(limit: Quantity) -> str:
    return "-" if math.isnan(float(limit)) else significant(limit, 4)


def _notes(fit: Cox) -> list[str]:
    bits, parties = fit.opened.problem.bits, fit.strata
    notes = [
        "It is proven that the estimate exists, is the only one, and that coefficients are right "
        f"to at least {fit.digits} significant digits.",
        f"Sums were rounded to {bits} bits of their range"
        + (f" by each of {parties} parties." if parties > 1 else "."),
        f"Times were rounded up to multiples of {decimal_text(fit.grid)}. Every party has a "
        "baseline hazard of its own, which is not opened.",
    ]
    if fit.least_at_risk > 1:
        notes.append(
            f"Events that came when fewer than {fit.least_at_risk} rows of their party were at "
            "risk are not in the likelihood."
        )
    if fit.alpha:
        penalty = f"The estimate is penalised by {float(fit.alpha):g}/2 times the sum of squares"
        notes.append(f"{penalty}; standard errors of such estimates are not defined.")
    if fit.dropped:
        notes.append(f"{sum(fit.dropped.values())} rows were left out as incomplete.")
    return notes
