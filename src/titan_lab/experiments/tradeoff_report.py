"""The trade-off as a table and as three curves: points counted, lines the paper's formulas."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

from titan_lab.experiments.report import COLOURS, MARKERS, Report, Table, as_markdown
from titan_lab.experiments.tradeoff import Count, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = ("network", "T", "k", "rounds", "held per node", "sent per node", "out-neighbours", "")

_PAGE = """\
# What k costs

Top-k among m = {m} nodes, d = {d} entries (the carried 1 among them), k from 1 to m, by real
agents. Rounds are those of the recovery; numbers sent and held are those of the node with the most.
The paper's formulas are T⌈m/k⌉, (2k + m)d and |N_out|(2kT⌈m/k⌉ + 1)d; "=" says that all three hold
at every node. {verdict}

{table}"""


def report(result: Result) -> Report:
    page = _PAGE.format(
        m=result.m, d=result.d, verdict=verdict(result), table=as_markdown(HEADER, lines(result))
    )
    return Report(
        "tradeoff",
        page,
        {"tradeoff": _table(result)},
        {"tradeoff": lambda: draw(result)},
        seed=result.seed,
    )


def verdict(result: Result) -> str:
    if not result.unequal:
        return f"All counts equal the formulas, at every node, in all {len(result.counts)} runs."
    return f"Counts differ from the formulas in {len(result.unequal)} of {len(result.counts)} runs."


def lines(result: Result) -> list[tuple[str, ...]]:
    """A run in each; where something differs, what the paper predicts is in brackets."""
    return [
        (
            count.network,
            str(count.T),
            str(count.k),
            _beside(count.rounds, count.rounds_predicted),
            _beside(count.held, count.held_predicted),
            _beside(count.sent, count.sent_predicted),
            str(count.out_degree),
            "=" if count.equal else "≠",
        )
        for count in result.counts
    ]


def _beside(counted: int, predicted: int) -> str:
    return f"{counted:,}" if counted == predicted else f"{counted:,} ({predicted:,})"


def _table(result: Result) -> Table:
    columns = tuple(field.name for field in fields(Count))
    return Table(columns, tuple(astuple(count) for count in result.counts))


# -- the picture ------------------------------------------------------------------------------


def draw(result: Result) -> Figure:
    """Rounds, memory and messages over k."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4.8))
    panels = figure.subplots(1, 3)
    _panel(panels[0], result, "rounds", "rounds of recovery")
    panels[0].set_yscale("log")
    _panel(panels[1], result, "held", "numbers held per node")
    _panel(panels[2], result, "sent", "numbers sent per node")
    for panel in panels[1:]:
        panel.set_ylim(bottom=0)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _panel(axis: Any, result: Result, what: str, title: str) -> None:
    """Points: counted. Line: the formula. Where both networks agree, one point is in the other."""
    for at, network in enumerate(result.networks):
        counts = result.of(network)
        ks = [count.k for count in counts]
        T, colour = counts[0].T, COLOURS[at]
        predicted = [getattr(count, f"{what}_predicted") for count in counts]
        counted = [getattr(count, what) for count in counts]
        label = f"{network}, T = {T}"
        axis.plot(ks, predicted, "-", color=colour, marker="", label=f"{label}: formula")
        axis.plot(
            ks, counted, MARKERS[at], color=colour, label=f"{label}: counted",
            markersize=11 - 5 * at, fillstyle="full" if at else "none", markeredgewidth=1.8,
        )  # fmt: skip
    axis.set_title(title)
    axis.set_xlabel("k")
    axis.set_xticks([1, *range(5, result.m + 1, 5)])
