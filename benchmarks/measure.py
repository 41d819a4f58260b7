"""How things are measured: the two sides of a ratio in turns, the best of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Row:
    """One line of a report."""

    what: str
    measured: str
    target: str
    met: bool | None  # None where there is no target


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def side_by_side(
    ours: Callable[[], object], yardstick: Callable[[], object], repeats: int = 3
) -> tuple[float, float]:
    """The best time of each, taken in turns so that both meet the same weather."""
    times = [(seconds(ours), seconds(yardstick)) for _ in range(repeats)]
    return min(t for t, _ in times), min(t for _, t in times)


def ratio(what: str, ours: float, yardstick: float, at_most: float | None = None) -> Row:
    measured = f"{ours / yardstick:.2f}x ({ours:.3g} s against {yardstick:.3g} s)"
    if at_most is None:
        return Row(what, measured, "", None)
    return Row(what, measured, f"at most {at_most:g}x", ours / yardstick <= at_most)


def line(row: Row) -> str:
    """As a line of a Markdown table."""
    verdict = {True: "yes", False: "NO", None: ""}
    return f"| {row.what} | {row.measured} | {row.target} | {verdict[row.met]} |"


def table(rows: list[Row]) -> str:
    return "\n".join(["| what | measured | target | met |", "|---|---|---|---|", *map(line, rows)])
