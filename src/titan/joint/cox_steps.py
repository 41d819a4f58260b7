"""A party's sums at one step of Cox's model: two sweeps over its rows, kept or read again."""

# Rule 1: nothing here leaves its owner's machine.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from titan.generalised import exact_hazards, hazards
from titan.generalised.elementary import Floats
from titan.generalised.exact_hazards import ExactPerTime, ExactRisks, Frame, added
from titan.generalised.hazards import PerTime, Risks, TimedRows
from titan.generalised.rows import At, Totals
from titan.joint.cox_rows import CoxPart, RawTimes, Stratum, raw_times
from titan.moments.reading import Part, Reading, read
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block


@dataclass(frozen=True)
class OwnSteps:
    """The steps of one party: how its rows are read, and what they are in a problem."""

    rows: ModelRows
    stratum: Stratum
    part: CoxPart = field(repr=False)

    # -- by float64 -----------------------------------------------------------------------------

    def totals(self, at: At) -> Totals:
        beta = np.array([float(b) for b in at.beta])
        found = self.per_time(beta, proven=at.proven)
        layout, n = self.stratum.problem.layout, len(beta)
        far = found.risks.farthest > hazards.FARTHEST
        products = np.zeros((1, n, n)) if far else self.products(beta, found, at)
        return hazards.totals(layout, at, found, products)

    def per_time(self, beta: Floats, *, proven: bool = False) -> PerTime:
        """The first sweep."""
        times = len(self.stratum.timeline)
        risks: Risks = self.over_rows(lambda _, rows: rows.risks(beta, times, proven=proven), add)
        return PerTime.of(self.stratum.timeline, risks)

    def products(self, beta: Floats, found: PerTime, at: At) -> Floats:
        """The second one."""

        def of(_: RawTimes, rows: TimedRows) -> Floats:
            return rows.products(beta, found, proven=at.proven, short=at.short)

        return self.over_rows(of, lambda one, other: np.concatenate([one, other]))

    def over_rows(
        self, make: Callable[[RawTimes, TimedRows], Part], merge: Callable[[Part, Part], Part]
    ) -> Part:
        """What is made of all blocks of rows, kept or read again, put together."""
        if self.part.kept is None:
            read: Part = self._read(_OverBlocks(self, make, merge))
            return read
        made = [make(*block) for block in self.stratum.blocks(self.part)]
        whole: Part = reduce(merge, made)
        return whole

    def _read(self, reading: Reading[Any, Part]) -> Part:
        assert self.part.source is not None  # noqa: S101 - rows come from somewhere
        return read(self.part.source, reading)

    # -- in balls -------------------------------------------------------------------------------

    def exact_totals(self, at: At) -> Totals:
        """With as many digits as anybody can want."""
        frame, timeline = self.stratum.frame(at), self.stratum.timeline
        layout = self.stratum.problem.layout
        beyond = Totals((0,) * layout.entries, (0.0,) * layout.entries, overflow=True)
        risks = self._read(_ExactRisksOf(self, frame))
        if risks is None:
            return beyond
        found = ExactPerTime(timeline, risks)
        products = self._read(_ExactProducts(self, frame, found))
        return exact_hazards.totals(layout, frame, found, products)


@dataclass(frozen=True)
class _OfBlocks(Reading[Part, Part]):
    """What is read of the rows for one sweep."""

    own: OwnSteps

    @property
    def columns(self) -> Sequence[str]:
        return self.own.rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.own.rows.size

    def batch(self, block: Block) -> Batch:
        batch, _ = self.own.rows.batch(block)
        assert batch is not None  # noqa: S101 - gaps refused these rows before
        return batch


@dataclass(frozen=True)
class _OverBlocks(_OfBlocks[Part]):
    """By float64."""

    make: Callable[[RawTimes, TimedRows], Part]
    put_together: Callable[[Part, Part], Part]

    def block(self, block: Block) -> Part:
        raw = raw_times(self.batch(block), self.own.stratum.grid)
        return self.make(raw, self.own.stratum.rows(raw))

    def merge(self, one: Part, other: Part) -> Part:
        return self.put_together(one, other)


@dataclass(frozen=True)
class _ExactRisksOf(_OfBlocks[ExactRisks | None]):
    frame: Frame

    def block(self, block: Block) -> ExactRisks | None:
        stratum = self.own.stratum
        return stratum.exactly(self.batch(block)).risks(self.frame, len(stratum.timeline))

    def merge(self, one: ExactRisks | None, other: ExactRisks | None) -> ExactRisks | None:
        return None if one is None or other is None else one + other


@dataclass(frozen=True)
class _ExactProducts(_OfBlocks[Any]):
    frame: Frame
    found: ExactPerTime = field(repr=False)

    def block(self, block: Block) -> Any:
        return self.own.stratum.exactly(self.batch(block)).products(self.frame, self.found)

    def merge(self, one: Any, other: Any) -> Any:
        return added(one, other)
