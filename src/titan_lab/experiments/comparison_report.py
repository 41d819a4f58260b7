"""What the comparison leaves in a folder."""

from __future__ import annotations

from titan_lab.experiments.comparison import Result
from titan_lab.experiments.comparison_plot import pictures
from titan_lab.experiments.comparison_table import page, table, traces
from titan_lab.experiments.report import Report, versions


def report(result: Result) -> Report:
    """The page, the table, the traces and the pictures."""
    tables = {"comparison": table(result), "comparison-traces": traces(result)}
    seed = result.settings[0].seeds[0]
    return Report("comparison", page(result), tables, pictures(result), seed, versions("phe"))
