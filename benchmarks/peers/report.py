"""A peer's line of the report: what it measured beside what TITAN measured, or why it did not.

Every ratio is the peer's figure divided by TITAN's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from benchmarks.measure import Row


class NotMeasuredError(Exception):
    """A peer that cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Measured:
    """One side's figures: median time, bytes sent by the busiest party, largest error.

    The error is relative to the largest entry of the exact answer. `sent` is None where nothing
    counts the bytes. `detail` goes before the row's remarks.
    """

    seconds: float
    sent: int | None
    error: float
    detail: str = ""


@dataclass(frozen=True)
class PeerRow:
    """A peer beside TITAN on one task."""

    columns: ClassVar[tuple[str, ...]] = (
        "task",
        "peer",
        "time",
        "to TITAN's",
        "bytes sent by the busiest party",
        "to TITAN's",
        "error (TITAN's)",
        "remarks",
    )
    task: str
    peer: str
    theirs: Measured
    ours: Measured
    remarks: str
    skipped: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        theirs, ours = self.theirs, self.ours
        counted = theirs.sent is not None and bool(ours.sent)
        return (
            self.task,
            self.peer,
            f"{theirs.seconds:.3g} s",
            f"{_short(theirs.seconds / ours.seconds)}x",
            "not counted" if theirs.sent is None else f"{theirs.sent:,}",
            f"{_short((theirs.sent or 0) / (ours.sent or 1))}x" if counted else "",
            f"{theirs.error:.0e} ({ours.error:.0e})",
            "; ".join(filter(None, (theirs.detail, self.remarks))),
        )


@dataclass(frozen=True)
class MissingRow:
    """A peer that has no figures, and why."""

    columns: ClassVar[tuple[str, ...]] = PeerRow.columns
    peer: str
    skipped: str

    @property
    def cells(self) -> tuple[str, ...]:
        return ("", self.peer, "skipped", "", "", "", "", self.skipped)


AnyRow = Row | PeerRow | MissingRow


def need(*packages: str) -> None:
    """Say so if one of these is not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise NotMeasuredError(
            f"{' and '.join(missing)} not installed: `pip install 'titan-consensus[peers]'`"
        )


def guarded(peer: str, rows: Callable[[], Iterable[AnyRow]]) -> Iterator[AnyRow]:
    """A peer's rows; where it has to give up, a row with the reason."""
    try:
        yield from rows()
    except NotMeasuredError as missing:
        yield MissingRow(peer, str(missing))


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"
