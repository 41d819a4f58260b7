"""How things are measured: the two sides of a ratio in turns, the best of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from time import perf_counter, process_time
from typing import ClassVar, Protocol


class Line(Protocol):
    """One line of a table with these columns; `skipped` says why nothing was measured, or is ""."""

    columns: ClassVar[tuple[str, ...]]

    @property
    def cells(self) -> tuple[str, ...]: ...

    @property
    def skipped(self) -> str: ...


@dataclass(frozen=True)
class Row:
    """One measurement, and the target it was to meet."""

    columns: ClassVar[tuple[str, ...]] = ("what", "measured", "target", "met")
    what: str
    measured: str
    target: str
    met: bool | None  # None where there is no target, or no measurement
    skipped: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = {True: "yes", False: "NO", None: ""}
        measured = f"skipped: {self.skipped}" if self.skipped else self.measured
        return self.what, measured, self.target, verdict[self.met]


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def side_by_side(
    ours: Callable[[], object],
    yardstick: Callable[[], object],
    repeats: int = 3,
    clock: Callable[[Callable[[], object]], float] = seconds,
) -> tuple[float, float]:
    """The best time of each, taken in turns so that both meet the same weather."""
    times = [(clock(ours), clock(yardstick)) for _ in range(repeats)]
    return min(t for t, _ in times), min(t for _, t in times)


def processor_seconds(work: Callable[[], object]) -> float:
    """Of all threads of this process: what a busy machine does not change."""
    start = process_time()
    work()
    return process_time() - start


def ratio(what: str, ours: float, yardstick: float, at_most: float | None = None) -> Row:
    measured = f"{ours / yardstick:.2f}x ({ours:.3g} s against {yardstick:.3g} s)"
    if at_most is None:
        return Row(what, measured, "", None)
    return Row(what, measured, f"at most {at_most:g}x", ours / yardstick <= at_most)


def line(row: Line) -> str:
    """As a line of a Markdown table."""
    return f"| {' | '.join(row.cells)} |"


def tables(rows: Sequence[Line]) -> str:
    """As Markdown: one table for each run of rows with the same columns."""
    return "\n\n".join(
        "\n".join([f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *map(line, group)])
        for columns, group in groupby(rows, key=lambda row: row.columns)
    )
