"""A party's sums at one step of Cox's model: two sweeps over its rows, kept or read again."""

# Rule 1: nothing here leaves its owner's machine.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from titan.generalised import exact_hazards, hazards
from titan.generalised.elementary import Floats
from titan.generalised.exact_hazards import ExactPerTime, ExactRisks, Frame, added
from titan.generalised.hazards import PerTime, Risks, row_shares
from titan.generalised.rows import At, Totals
from titan.joint.cox_rows import CoxPart, RawTimes, Stratum, raw_times
from titan.joint.glm_rows import Above
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
        found = self._per_time(beta, proven=at.proven)
        layout = self.stratum.problem.layout
        if found.risks.farthest > hazards.FARTHEST:
            return hazards.totals(layout, at, found, np.zeros((1, len(beta), len(beta))))
        if self.part.kept is None:
            products = self._read(_Products(self, beta, found, at))
        else:
            each = [rows.products(beta, found, proven=at.proven, short=at.short)
                    for _, rows in self.stratum.blocks(self.part)]  # fmt: skip
            products = np.concatenate(each)
        return hazards.totals(layout, at, found, products)

    def _per_time(self, beta: Floats, *, proven: bool) -> PerTime:
        timeline = self.stratum.timeline
        if self.part.kept is None:
            risks = self._read(_RisksOf(self, beta, proven))
        else:
            blocks = self.stratum.blocks(self.part)
            each = [rows.risks(beta, len(timeline), proven=proven) for _, rows in blocks]
            risks = reduce(add, each)
        return PerTime.of(timeline, risks)

    def standing_out(self, beta: Floats, root: Floats, most: float) -> Above:
        """How many own rows have a larger share in the Hessian, and where the first are."""
        if not len(self.stratum.timeline):
            return 0, ()
        found = self._per_time(beta, proven=False)
        look = _Shares(self, beta, found, root, most)
        if self.part.kept is None:
            return self._read(look)
        each = [look.above(*block) for block in self.stratum.blocks(self.part)]
        return reduce(look.merge, each)

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

    def raw(self, block: Block) -> RawTimes:
        return raw_times(self.batch(block), self.own.stratum.grid)


@dataclass(frozen=True)
class _RisksOf(_OfBlocks[Risks]):
    beta: Floats = field(repr=False)
    proven: bool

    def block(self, block: Block) -> Risks:
        stratum = self.own.stratum
        rows = stratum.rows(self.raw(block))
        return rows.risks(self.beta, len(stratum.timeline), proven=self.proven)


@dataclass(frozen=True)
class _Products(_OfBlocks[Floats]):
    beta: Floats = field(repr=False)
    found: PerTime = field(repr=False)
    at: At

    def block(self, block: Block) -> Floats:
        rows = self.own.stratum.rows(self.raw(block))
        return rows.products(self.beta, self.found, proven=self.at.proven, short=self.at.short)

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.concatenate([one, other])


@dataclass(frozen=True)
class _Shares(_OfBlocks[Above]):
    beta: Floats = field(repr=False)
    found: PerTime = field(repr=False)
    root: Floats = field(repr=False)
    most: float

    def block(self, block: Block) -> Above:
        raw = self.raw(block)
        return self.above(raw, self.own.stratum.rows(raw))

    def above(self, raw: RawTimes, rows: hazards.TimedRows) -> Above:
        shares = row_shares(rows, self.found, self.beta, self.root)
        at = np.flatnonzero(~(shares <= self.most))
        return len(at), tuple(raw.place(int(row)) for row in at[:5])

    def merge(self, one: Above, other: Above) -> Above:
        return one[0] + other[0], (*one[1], *other[1])[:5]


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
