"""What a comparison returns: one record per method, and the error round by round."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, fields
from io import StringIO
from typing import Any, NamedTuple

from titan.errors import InputError


class Point(NamedTuple):
    """After so many rounds, and numbers sent by the busiest party, the worst party's error."""

    rounds: int
    sent: int
    error: float


@dataclass(frozen=True)
class Record:
    """One method on one problem and network; counts are of the busiest party unless total."""

    method: str
    status: str
    """reached, budget, finished (short of the tolerance), diverged or refused."""
    problem: str
    problem_seed: int | None
    parties: int
    links: int
    seed: int
    tolerance: float
    rounds: int
    sent_most: int
    """Numbers sent, one per neighbour each is sent to."""
    sent_total: int
    held_most: int
    bits: int
    """Of the largest number sent."""
    flops_most: float | None
    error: float | None = None
    seconds: float | None = None
    """Of computing, all parties together: what a busy machine does besides does not count."""
    step_size: float | None = None
    trials: int = 0
    """How many step sizes were tried before this run."""
    made_undirected: bool = False
    """Whether it ran on the network with every link both ways."""
    reason: str = ""
    note: str = ""
    """What the method has to say besides."""
    trace: tuple[Point, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """All but the trace."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "trace"}


@dataclass(frozen=True)
class Results:
    """Records in the order asked for."""

    records: tuple[Record, ...]

    def __getitem__(self, method: str) -> Record:
        for record in self.records:
            if record.method == method:
                return record
        raise InputError(f'"{method}" was not run')

    def rows(self) -> list[dict[str, Any]]:
        """One mapping per method."""
        return [record.as_dict() for record in self.records]

    def trace_rows(self) -> list[dict[str, Any]]:
        """One mapping per method and point of its trace: tidy, for plots."""
        return [
            {"method": record.method, **point._asdict()}
            for record in self.records
            for point in record.trace
        ]

    def to_csv(self) -> str:
        """The rows as CSV text; empty where there is nothing to say."""
        names = [f.name for f in fields(Record) if f.name != "trace"]
        text = StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return text.getvalue()

    def to_frame(self, *, trace: bool = False) -> Any:
        """The rows, or the trace's, as a pandas frame."""
        try:
            import pandas as pd
        except ImportError:
            raise InputError(
                "pandas is not installed", hint="rows() and to_csv() need nothing"
            ) from None
        return pd.DataFrame(self.trace_rows() if trace else self.rows())
