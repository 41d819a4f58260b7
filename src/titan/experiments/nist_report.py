"""The NIST results as text: a CSV of all figures, and tables for the documentation."""

from __future__ import annotations

import math
from collections.abc import Callable

from titan.experiments.nist import DEFAULT, FAVOURABLE, SETS, Result, Score
from titan.experiments.report import Report, Table, as_markdown

Figure = Callable[[Score], float | None]

FIGURES: dict[str, Figure] = {
    "Coefficients (the worst of each set)": lambda score: score.coefficients,
    "Standard deviations of the coefficients (the worst of each set)": (
        lambda score: score.deviations
    ),
    "R²": lambda score: score.rsquared,
}

_INTRODUCTION = """\
# NIST's linear regressions: correct digits

NIST certifies 15 digits of every coefficient, standard deviation and R² of these eleven
regressions, some of them made to be hard. A figure is the number of correct digits, −log₁₀ of the
relative error (of the absolute error where zero is certified), cut to one decimal; within one unit
of the last certified digit all 15 are right.

**TITAN** reads the decimal text, split over three parties row by row, and pools it by the full
protocol on a directed cycle, τ = 1, all settings at their defaults. What is compared are the
doubles that it returns. **The others** get all rows together, as float64.

*Default* is what a user types. *Most favourable* is, for every single figure and with hindsight,
the best of: the columns as they are; divided by their lengths; centred and divided; and for
polynomials powers of (x − mean)/spread instead of powers of x. The fitted coefficients and their
covariance are then turned back, in float64. numpy's lstsq gives no standard deviations: by default
they are made of inv(XᵀX), in the most favourable setting also of the QR decomposition, there with
rcond = 0 too. scikit-learn gives none, shown as –. Its R² and numpy's are 1 − SSR/SST as NIST
defines it for each set.
"""


def cut(digits: float | None) -> str:
    """One decimal, never rounded up; all of the certified digits as a whole number."""
    if digits is None:
        return "–"
    return "15" if digits == 15 else f"{math.floor(digits * 10) / 10:.1f}"


def report(result: Result) -> Report:
    """All figures as one table, and a page of three tables."""
    return Report("nist", _page(result), {"nist": _figures(result)}, versions=result.versions)


def _figures(result: Result) -> Table:
    """One line for each set, program and setting; `treatment` is that of the coefficients."""
    rows: list[tuple[str, ...]] = []
    for s in result.scores:
        figures = cut(s.coefficients), "" if s.deviations is None else cut(s.deviations)
        rows.append((s.dataset, s.program, s.setting, s.treatment, *figures, cut(s.rsquared)))
    columns = "dataset", "program", "setting", "treatment"
    return Table((*columns, "coefficients", "deviations", "r_squared"), tuple(rows))


def _page(result: Result) -> str:
    """Three tables, and what was left out."""
    parts = [_INTRODUCTION]
    for title, figure in FIGURES.items():
        parts.append(f"## {title}\n\n{_table(result, figure)}")
    parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in _notes(result)) + "\n")
    return "\n".join(parts)


def cells(result: Result, dataset: str, figure: Figure) -> list[str]:
    """TITAN's figure, then "default / most favourable" of every other program."""
    row = [cut(figure(result.score(dataset, "TITAN")))]
    for program in result.programs[1:]:
        both = [cut(figure(result.score(dataset, program, way))) for way in (DEFAULT, FAVOURABLE)]
        row.append("–" if both == ["–", "–"] else " / ".join(both))
    return row


def _table(result: Result, figure: Figure) -> str:
    """The others as "default / most favourable"."""
    rows = [[name, *cells(result, name, figure)] for name in SETS]
    return as_markdown(["set", *result.programs], rows)


def _notes(result: Result) -> list[str]:
    notes = ["The others' figures are *default / most favourable*."]
    if result.exact_fits:
        notes.append(
            f"{' and '.join(result.exact_fits)} are exact fits: zero is certified for every "
            "standard deviation. TITAN finds that the residuals are zero within its proven bound "
            "and answers 0 and R² = 1."
        )
    if result.skipped:
        notes.append(f"Not installed, so left out: {', '.join(result.skipped)}.")
    notes.append(
        "The others' last digits depend on the machine's linear algebra library; TITAN's do not."
    )
    return notes
