"""The second experiment as tables and bars."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

from titan_lab.experiments.large import PAPER, Result, Run
from titan_lab.experiments.report import COLOURS, Report, Table, as_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECOVERIES = ("topk", "flood", "tree")
HEADER = (
    "network", "recovery", "rounds", "sent per node", "of them masks", "MB sent per node",
    "held per node", "CPU seconds", "MB of memory", "by",
)  # fmt: skip
COUNTED = ("network", "rounds of recovery", "envelopes", "sent per node and entry", "CPU seconds")

_PAGE = """\
# The paper's second experiment

{facts}
## The same sum by other recoveries, and on a designed network

{networks}

{runs}
Rounds include that of the obfuscation. Numbers sent are those of the node that sends most, in units
of one entry, ids among them, d = {d} with the carried 1; "held" is the memory of the recovery per
node in the same unit. CPU seconds and MB of memory are those of this process doing the work of all
nodes, allocation tracing included. Flood and tree were run by real agents, every envelope counted.
Top-k was computed as arrays, every node's list in every round, and its cost is the plan's; beside
that real agents ran it on one entry:

{counted}
titan.solve takes two sums and needs no bound a = {bound}; its numbers are of 512 bits in the first
sum ({first} entries) and of 128 in the second, as those of all other lines. Its time includes
forming the moments and solving; that of the others is the sum's alone.
"""


def report(result: Result) -> Report:
    from titan_lab.experiments.large import BOUND

    page = _PAGE.format(
        facts=as_markdown(("", "paper", "here"), facts(result)),
        networks=describe(result),
        runs=as_markdown(HEADER, lines(result)),
        counted=as_markdown(COUNTED, counted(result)),
        d=f"{result.d:,}",
        bound=BOUND,
        first=2 * result.size.n + 2,
    )
    return Report(
        "large",
        page,
        {"large": _table(result)},
        {"large": lambda: draw(result)},
        seed=result.seed,
    )


def facts(result: Result) -> list[tuple[str, str, str]]:
    """What the paper says beside what was counted."""
    size, cycle = result.size, result.networks["cycle"]
    topk, error = result.run("cycle", "topk"), result.errors
    runs = -(-size.m // size.k)
    formula = (2 * size.k * size.m * runs + 1) * result.d
    paper = size == PAPER
    return [
        (
            "nodes, equations, unknowns",
            "100, 10000, 100" if paper else "",
            f"{size.m}, {size.m * size.rows_each}, {size.n}",
        ),
        (
            "diameter, weak connectivity",
            "99, 2" if paper else "",
            f"{cycle.diameter}, {cycle.weak_connectivity}",
        ),
        (
            "rounds of recovery",
            "1000" if paper else f"T⌈m/k⌉ = {size.m * runs}",
            f"{result.counted[0].recovery_rounds}",
        ),
        ("numbers sent per node", f"(2kT⌈m/k⌉ + 1)d = {formula:,}", f"{topk.sent:,}"),
        (
            "numbers held per node",
            f"(2k + m)d = {(2 * size.k + size.m) * result.d:,}",
            f"{topk.held:,}",
        ),
        ("error against the exact answer", "", f"{error.exact:.1e}"),
        ("the same, as float64", "", f"{error.float64:.1e}"),
        ("difference from numpy.linalg.lstsq", "", f"{error.lstsq:.1e}"),
        ("error of numpy.linalg.lstsq", "", f"{error.lstsq_exact:.1e}"),
        ("error of titan.solve, as float64", "", f"{result.solve_errors.float64:.1e}"),
    ]


def describe(result: Result) -> str:
    """The networks in words."""
    found = [
        f"{name}: {len(network.senders)} links, diameter {network.diameter}, "
        f"weak connectivity {network.weak_connectivity}"
        for name, network in result.networks.items()
    ]
    return f"Both tolerate one adversary. {'; '.join(found).capitalize()}."


def lines(result: Result) -> list[tuple[str, ...]]:
    return [
        (
            run.network,
            run.recovery,
            f"{run.rounds:,}",
            f"{run.sent:,}",
            f"{run.masks:,}",
            f"{run.bytes_sent / 1e6:,.2f}",
            f"{run.held:,}",
            f"{run.cpu_seconds:.2f}",
            f"{run.peak_bytes / 1e6:,.0f}",
            run.engine,
        )
        for run in result.runs
    ]


def counted(result: Result) -> list[tuple[str, ...]]:
    return [
        (
            c.network,
            f"{c.recovery_rounds:,}",
            f"{c.envelopes:,}",
            f"{c.sent:,}",
            f"{c.cpu_seconds:.2f}",
        )
        for c in result.counted
    ]


def _table(result: Result) -> Table:
    columns = tuple(field.name for field in fields(Run))
    return Table(columns, tuple(astuple(run) for run in result.runs))


# -- the picture ------------------------------------------------------------------------------


def draw(result: Result) -> Figure:
    """Numbers sent and rounds, each recovery on both networks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5))
    sent, rounds = figure.subplots(1, 2, sharey=True)
    _bars(sent, result, "sent", "numbers sent per node")
    _bars(rounds, result, "rounds", "rounds")
    sent.set_yticks(range(len(RECOVERIES)), RECOVERIES, fontsize=17)
    sent.invert_yaxis()
    handles, labels = sent.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _bars(axis: Any, result: Result, what: str, title: str) -> None:
    names = list(result.networks)
    for at, name in enumerate(names):
        values = [getattr(result.run(name, recovery), what) for recovery in RECOVERIES]
        places = [place + 0.4 * at - 0.2 for place in range(len(RECOVERIES))]
        label = f"{name}: diameter {result.networks[name].diameter}"
        bars = axis.barh(places, values, height=0.36, color=COLOURS[at], label=label)
        axis.bar_label(bars, [f"{value:,}" for value in values], padding=4, fontsize=14)
    axis.set_xscale("log")
    axis.set_xlim(1, max(getattr(run, what) for run in result.runs) * 60)  # room for the labels
    axis.set_title(title)
    axis.grid(False, axis="y")
    axis.tick_params(axis="y", length=0)
