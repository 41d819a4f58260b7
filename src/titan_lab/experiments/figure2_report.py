"""Figure 2 as a grid of heat maps, its numbers as a table, and what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from titan_lab.experiments.figure2 import ADVERSARY, BOUND, ROUNDS, K, Result, T
from titan_lab.experiments.report import Report, Table, as_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GAP = 0.5  # between A_iᵀA_i and A_iᵀb_i, in cells

_PAGE = """\
# The paper's first experiment

{facts}
The picture: above, every node's private A_iᵀA_i and, to its right, A_iᵀb_i; below, the same
entries as node {adversary} received them, masked. Residues are shown in the units of the moments,
from 0 to {span:g}, where the ring closes. The problem follows from the seed; masks are the
operating system's, so what was received is new in every run.

## How titan.solve differs

The sum above is the paper's own: all n² + n entries at once, with a = {bound} known to everybody.
`titan.solve` guesses no bound. It takes two sums: the diagonal of AᵀA, Aᵀb and the row count in a
wide ring first, then the entries above the diagonal, scaled by it. So few rows per party it
refuses, unless told `allow_small=True`, as here. With the same T and k:

{solve}"""


def report(result: Result) -> Report:
    page = _PAGE.format(
        facts=as_markdown(("", "paper", "counted here"), facts(result)),
        adversary=ADVERSARY,
        span=result.span,
        bound=BOUND,
        solve=as_markdown(("", "the paper's one sum", "titan.solve"), both_ways(result)),
    )
    return Report(
        "figure2",
        page,
        {"figure2": _table(result)},
        {"figure2": lambda: draw(result)},
        seed=result.problem.seed,
    )


def facts(result: Result) -> list[tuple[str, str, str]]:
    """What the paper says beside what was counted."""
    cost, network, d = result.cost, result.network, result.plan.entries
    m = result.problem.m
    return [
        ("nodes, equations, unknowns", "5, 15, 5", _size(result)),
        (
            "diameter, weak connectivity",
            "4, 2",
            f"{network.diameter}, {network.weak_connectivity}",
        ),
        ("rounds", f"{ROUNDS}", f"{cost.rounds} (1 obfuscation, {cost.recovery_rounds} recovery)"),
        (
            "numbers sent per node",
            f"(2kT⌈m/k⌉ + 1)d = {(2 * K * T * -(-m // K) + 1) * d}",
            str(cost.numbers_sent.largest),
        ),
        ("numbers held per node", f"(2k + m)d = {(2 * K + m) * d}", str(cost.numbers_held.largest)),
        ("error of the solution", "exact", f"{result.errors.exact:.1e}"),
        ("the same, as float64", "", f"{result.errors.float64:.1e}"),
        ("numpy.linalg.lstsq, for comparison", "", f"{result.errors.lstsq_exact:.1e}"),
    ]


def both_ways(result: Result) -> list[tuple[str, str, str]]:
    """One sum with a guessed bound, two without."""
    one, two = result.cost, result.two_sums
    return [
        ("rounds", f"{one.rounds}", f"{two.rounds}"),
        ("numbers sent per node", f"{one.numbers_sent.largest}", f"{two.numbers_sent.largest}"),
        ("bytes sent per node", f"{one.bytes_sent.largest}", f"{two.bytes_sent.largest}"),
        (
            "error of the solution",
            f"{result.errors.exact:.1e}",
            f"{result.two_sums_errors.exact:.1e}",
        ),
        ("to be known beforehand", f"a = {BOUND}", "nothing"),
    ]


def _size(result: Result) -> str:
    problem = result.problem
    return f"{problem.m}, {int(problem.rows.sum())}, {problem.n}"


def _table(result: Result) -> Table:
    """One row for each entry of every node."""
    n = result.problem.n
    rows = [
        (party, "AtA" if k < n else "Atb", j + 1, k + 1 if k < n else 1, private, received)
        for party, own, seen in zip(
            result.problem.parties, result.private.tolist(), result.received.tolist(), strict=True
        )
        for j, (row, masked) in enumerate(zip(own, seen, strict=True))
        for k, (private, received) in enumerate(zip(row, masked, strict=True))
    ]
    return Table(("node", "matrix", "row", "column", "private", "received"), tuple(rows))


# -- the picture ------------------------------------------------------------------------------


def draw(result: Result) -> Figure:
    """Private inputs above, what the adversary received below, one column for each node."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5.4))
    axes = figure.subplots(2, result.problem.m)
    styles: list[tuple[Any, dict[str, Any], str, str]] = [
        (result.private, {"cmap": "PuOr", "vmin": -BOUND, "vmax": BOUND}, "private", "value"),
        (
            result.received,
            {"cmap": "cividis", "vmin": 0, "vmax": result.span},
            f"received\nby node {ADVERSARY}",
            f"value modulo {result.span:g}",
        ),
    ]
    for line, (values, style, label, unit) in zip(axes, styles, strict=True):
        for axis, block in zip(line, values, strict=True):
            mesh = _heat_map(axis, block, style)
        line[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize=18, labelpad=14)
        low, high = style["vmin"], style["vmax"]
        bar = figure.colorbar(mesh, ax=line, pad=0.015, aspect=12, shrink=0.8)
        bar.set_ticks([low, (low + high) / 2, high])
        bar.set_label(unit)
    for axis, party in zip(axes[0], result.problem.parties, strict=True):
        adversary = "\n(adversary)" if party == ADVERSARY else ""
        axis.set_title(f"node {party}{adversary}", fontsize=18)
    return figure


def _heat_map(axis: Any, block: Any, style: dict[str, Any]) -> Any:
    """A matrix and, after a gap, a vector; row 1 on top."""
    n = len(block)
    rows = np.arange(n + 1)
    lines = {"edgecolors": "#BBBBBB", "linewidth": 0.6}
    axis.pcolormesh(np.arange(n + 1), rows, block[:, :n], **style, **lines)
    mesh = axis.pcolormesh(np.array([n, n + 1]) + _GAP, rows, block[:, n:], **style, **lines)
    axis.set_xlim(0, n + 1 + _GAP)
    axis.set_ylim(n, 0)
    axis.set_aspect("equal")
    axis.set_xticks([n / 2, n + 0.5 + _GAP], ["$A_i^TA_i$", "$A_i^Tb_i$"])
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.grid(False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return mesh
