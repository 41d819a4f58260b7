"""Rows projected onto columns that were made orthonormal: each row's leverage, and that of a few.

The combination in which row i has its largest share h_i gives row j the share h_ij² / h_i. So rows
that stand alone together are found from those of them that have an equal part.
"""

# Rule 1: what is found is told to the owner of the rows alone.
# Rule 2: a doubt that float64 leaves is settled exactly, or refused.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from titan.errors import ReleaseError
from titan.leastsquares.whitening import Whitening
from titan.listing import listing
from titan.moments.floats import floats
from titan.moments.reading import Part, Reading, Result
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block
from titan.release.joint_rows import JointRows
from titan.release.orthonormal import Approximate

Floats = npt.NDArray[np.float64]

_TOLERANCE = 2.0**-20
"""A cell of exactly k rows is allowed, whatever the rounding."""
_OF_MANY_COLUMNS = 2.0**-10
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Projection:
    """Some columns of A, and what makes them orthonormal."""

    at: tuple[int, ...]
    whitening: Whitening | Approximate
    limit: Fraction

    def above(self, batch: Batch) -> npt.NDArray[np.intp]:
        """The rows whose leverage is above the limit."""
        found, doubt = self.leverages(batch)
        if isinstance(self.whitening, Approximate):
            return np.flatnonzero(~(found + doubt <= float(self.limit) * (1 + _OF_MANY_COLUMNS)))
        most = float(self.limit) * (1 + _TOLERANCE)
        rows = np.flatnonzero(~(found + doubt <= most))
        sure = [r for r in rows if found[r] - doubt[r] > most or self._exactly(batch, r) > most]
        return np.array(sure, np.intp)

    def leverages(self, batch: Batch) -> tuple[Floats, Floats]:
        """That of every row, by float64, and how far from it the truth may be."""
        image, doubt, weights = self._images(batch)
        return weights * (image**2).sum(axis=0), weights * doubt.sum(axis=0)

    def _images(self, batch: Batch) -> tuple[Floats, Floats, Floats]:
        w = self.matrix
        scaled = zip(self.at, self.whitening.scales, strict=True)
        a = np.stack([floats(batch.columns[j], s) for j, s in scaled])
        weights = np.ones(batch.rows) if batch.weights is None else floats(batch.weights, 0)
        image = w @ a
        slack = (np.abs(w) @ np.abs(a)) * ((len(a) + 8) * 2.0**-52)
        return image, slack * (2 * np.abs(image) + slack), weights

    @cached_property
    def matrix(self) -> Floats:
        if isinstance(self.whitening, Approximate):
            return self.whitening.floats
        return (self.whitening.matrix / (1 << self.whitening.digits)).astype(np.float64)

    def images(self, batch: Batch) -> Floats:
        """W a of every row, times the root of its weight; its squared length is the leverage."""
        image, doubt, weights = self._images(batch)
        doubtful = np.flatnonzero(~(doubt.sum(axis=0) <= _TOLERANCE))
        for row in () if isinstance(self.whitening, Approximate) else doubtful:
            image[:, row] = [float(value) for value in self._image(batch, row)]
        return np.asarray(np.sqrt(weights) * image)

    def _exactly(self, batch: Batch, row: np.intp) -> Fraction:
        length = sum((value**2 for value in self._image(batch, row)), Fraction(0))
        weights = batch.weights
        return length if weights is None else length * weights.take(np.array([row])).fractions()[0]

    def _image(self, batch: Batch, row: np.intp) -> list[Fraction]:
        at = np.array([row])
        scaled = zip(self.at, self.whitening.scales, strict=True)
        vector = [batch.columns[j].take(at).fractions()[0] / Fraction(2) ** s for j, s in scaled]
        assert isinstance(self.whitening, Whitening)  # noqa: S101 - an exact one is asked
        return self.whitening.image(vector)


@dataclass(frozen=True)
class Found:
    """How many rows are above the limit, and where the first of them are."""

    count: int = 0
    places: tuple[str, ...] = field(default=(), repr=False)

    def __add__(self, other: Found) -> Found:
        places = (*self.places, *other.places)[:_NAMED]
        return Found(self.count + other.count, places)

    def refuse(self, what: str, hint: str) -> None:
        if self.count:
            where = listing(self.places, count=self.count)
            raise ReleaseError(f"{what}: {where}", hint=hint, rule="leverage")


@dataclass(frozen=True)
class OfRows(Reading[Part, Result]):
    """What is read of the rows of one model, or of several."""

    rows: ModelRows | JointRows

    @property
    def columns(self) -> Sequence[str]:
        rows = self.rows
        return rows.columns_needed if isinstance(rows, JointRows) else rows.model.columns_needed

    @property
    def size(self) -> int:
        return self.rows.size

    def batch(self, block: Block) -> Batch | None:
        rows = self.rows
        found = rows.batch(block) if isinstance(rows, JointRows) else rows.batch(block)[0]
        return found if found is not None and found.rows else None

    def of_look(self, look: Any) -> Result:
        """What it makes of a `titan.release.kept_rows.Look` instead."""
        raise NotImplementedError


@dataclass(frozen=True)
class Leverage(OfRows[Found, Found]):
    """The rows whose leverage in one of these is above the limit."""

    projections: tuple[Projection, ...]

    def block(self, rows: Block) -> Found:
        batch = self.batch(rows)
        return Found() if batch is None else self.of_batch(batch)

    def of_look(self, look: Any) -> Found:
        """Limits are far above what is not kept."""
        return self.of_batch(look.high_leverage)

    def of_batch(self, batch: Batch) -> Found:
        above = np.unique(np.concatenate([each.above(batch) for each in self.projections]))
        places = tuple(batch.readings.place(int(row)) for row in above[:_NAMED])
        return Found(len(above), places)


@dataclass(frozen=True)
class Images(OfRows[Floats, Floats]):
    """Those of rows whose leverage is at least an equal part of the limit, one in a line."""

    projection: Projection
    few: int

    def block(self, rows: Block) -> Floats:
        batch = self.batch(rows)
        return np.empty((0, len(self.projection.matrix))) if batch is None else self.of_batch(batch)

    def of_look(self, look: Any) -> Floats:
        return self.of_batch(look.high_leverage)

    def of_batch(self, batch: Batch) -> Floats:
        image = self.projection.images(batch)
        least = float(self.projection.limit) / self.few
        return np.ascontiguousarray(image[:, (image**2).sum(axis=0) > least].T)

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.concatenate([one, other])


_Top = tuple[tuple[float, str], ...]
"""The largest shares in one combination, and whose they are."""


@dataclass(frozen=True)
class Shares(OfRows[tuple[_Top, ...], Found]):
    """So many rows that are all but alone in some combination of the columns.

    The combination in which row i has its largest share h_i gives row j the share h_ij² / h_i. Of
    rows that stand alone together, one has at least an equal part of the limit.
    """

    projection: Projection
    images: Floats = field(repr=False)
    few: int

    def block(self, rows: Block) -> tuple[_Top, ...]:
        batch = self.batch(rows)
        if batch is None or not len(self.images):
            return ((),) * len(self.images)
        return self.of_batch(batch)

    def of_look(self, look: Any) -> Found:
        """A row that is not kept may have any share below the least that is."""
        kept = self.of_batch(look.high_leverage)
        if not look.every:
            others = ((float(look.least), "a row of less leverage"),) * self.few
            kept = self.merge(kept, (others,) * len(self.images))
        return self.finish(kept, "")

    def of_batch(self, batch: Batch) -> tuple[_Top, ...]:
        shares = (self.images @ self.projection.images(batch)) ** 2
        shares /= (self.images**2).sum(axis=1)[:, None]
        few = min(self.few, batch.rows)
        tops = np.argpartition(-shares, few - 1, axis=1)[:, :few]
        place = batch.readings.place
        return tuple(
            tuple((float(each[r]), place(int(r))) for r in top)
            for each, top in zip(shares, tops, strict=True)
        )

    def merge(self, one: tuple[_Top, ...], other: tuple[_Top, ...]) -> tuple[_Top, ...]:
        pairs = zip(one, other, strict=True)
        return tuple(tuple(sorted(a + b, reverse=True)[: self.few]) for a, b in pairs)

    def finish(self, whole: tuple[_Top, ...], label: str) -> Found:
        worst = sorted(max(whole, key=lambda each: sum(share for share, _ in each)), reverse=True)
        limit = float(self.projection.limit) * (1 + _TOLERANCE)
        if sum(share for share, _ in worst) <= limit:
            return Found()
        return Found(len(worst), tuple(place for _, place in worst[:_NAMED]))
