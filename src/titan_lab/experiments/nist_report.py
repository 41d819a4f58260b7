"""The NIST results as text: a CSV of all figures, and tables for the documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from titan_lab.experiments.nist import DEFAULT, FAVOURABLE, SETS, Result, Score
from titan_lab.experiments.report import COLOURS, MARKERS, Report, Table, as_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Digits = Callable[[Score], float | None]

FIGURES: dict[str, Digits] = {
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
protocol on a directed cycle, τ = 1, all settings at their defaults but one: `allow_small=True`,
since some sets have fewer rows than TITAN lets parties release (Longley: 16 for 7 parameters). What
is compared are the doubles that it returns. **The others** get all rows together, as float64.

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
    tables, pictures = {"nist": _figures(result)}, {"nist": lambda: draw(result)}
    return Report("nist", _page(result), tables, pictures, versions=result.versions)


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


def cells(result: Result, dataset: str, figure: Digits) -> list[str]:
    """TITAN's figure, then "default / most favourable" of every other program."""
    row = [cut(figure(result.score(dataset, "TITAN")))]
    for program in result.programs[1:]:
        both = [cut(figure(result.score(dataset, program, way))) for way in (DEFAULT, FAVOURABLE)]
        row.append("–" if both == ["–", "–"] else " / ".join(both))
    return row


def _table(result: Result, figure: Digits) -> str:
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


# -- the picture ------------------------------------------------------------------------------


def draw(result: Result) -> Figure:
    """Correct digits of the worst coefficient and of the worst standard deviation of every set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 7))
    panels = figure.subplots(1, 2, sharey=True)
    for panel, (title, digits) in zip(panels, FIGURES.items(), strict=False):
        for at, program in enumerate(result.programs):
            _points(panel, result, program, at, digits)
        panel.set_title(title.split(" of ")[0].split(" (")[0])
        panel.set_xlabel("correct digits, the worst of each set")
        panel.set_xticks(range(0, 16, 3))
        panel.set_xlim(-0.7, 15.7)
        panel.grid(False, axis="y")
        for place in range(0, len(SETS), 2):
            panel.axhspan(place - 0.5, place + 0.5, color="#F2F2F2", zorder=0)
    panels[0].set_yticks(range(len(SETS)), SETS)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle("filled: as a user types it; hollow: most favourable", fontsize=14)
    return figure


def _points(panel: Any, result: Result, program: str, at: int, digits: Digits) -> None:
    """A program a little above or below the line of each set, so that all can be seen."""
    shift = 0.16 * (at - (len(result.programs) - 1) / 2)
    for setting, fill in ((FAVOURABLE, "none"), (DEFAULT, "full")):
        if program == "TITAN" and setting == FAVOURABLE:
            continue  # it has one setting
        found = [digits(result.score(name, program, setting)) for name in SETS]
        places = [(value, place + shift) for place, value in enumerate(found) if value is not None]
        label = program if setting == DEFAULT else None
        panel.plot(
            [x for x, _ in places], [y for _, y in places], MARKERS[at], color=COLOURS[at],
            fillstyle=fill, label=label,
        )  # fmt: skip
