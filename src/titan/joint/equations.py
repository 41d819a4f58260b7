"""From every party's secret moments to the pooled normal equations.

The paper bounds every entry by a number `a` that somebody would have to guess. There are two ways
to do without:

Found   In two sums. The first, in a wide ring: the diagonal D of AᵀA, Aᵀb and the row count; bᵀb
        only where inference is to be released. All of these belong to the release anyway. The
        second: the entries of AᵀA off the diagonal. By Cauchy–Schwarz |Σ G_jk| ≤ √(D_j D_k), so
        with column j divided by 2^s_j ≥ √D_j every pooled entry lies in [-1, 1], and 2^(bits-2) is
        the fixed-point one. That bounds the sum, not any party's part of it; modular sums do not
        mind. The diagonal is not sent twice: that would reveal the sum of the parties' rounding
        errors.

Given   By a study's dictionary every column is a whole number of units, of a known size. So every
        moment is an integer whose size is known before, nothing is rounded, and the sums can be
        ordered by what they tell: counts of rows; then the regressors' AᵀA; then what has the
        response in it.

In between, every party checks what has been opened (`titan.release.policy`): where there are too
few rows, the rest does not leave.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np

from titan.errors import NumberError
from titan.joint.computation import Sum
from titan.leastsquares import Ball, PooledMoments, column_scales
from titan.leastsquares.pooled import symmetric
from titan.moments import Moments
from titan.moments import log_weights as log_weights_of
from titan.moments.rational import RationalMoments
from titan.release.cells import ROWS_ALONE, CellCounts
from titan.release.sent_counts import SentCounts
from titan.release.sizes import INDICATOR, Size
from titan.ring import Residues, Ring

Release = Literal["solution", "inference"]
WIDE = Ring(512)
WIDE_FRACTION = 256
MOST_ROWS = 1 << 40
"""Of all parties together, where sizes follow from a dictionary."""


SecretMoments = Moments | RationalMoments
"""One party's exact moments of [A b], the response last."""


@dataclass(frozen=True)
class Opened:
    """What the sums so far have opened, as far as they have."""

    rows: int | None = None
    counts: Sequence[int] = ()
    """With scales given: the rows, and those of every cell that is counted."""
    diagonal: Sequence[Fraction] = ()
    rhs: Sequence[Fraction] = ()
    bb: Fraction | None = None
    gram: Sequence[int] = ()
    """With scales given: the lower triangle of AᵀA, row after row, in units of the columns'."""
    pooled: PooledMoments | None = None
    log_weights: Ball | None = None
    """Σ log w over all rows, where rows have weights."""


class _WithLogs:
    """Σ log w as the last entry of one of the sums, where it is wanted."""

    log_weights: bool
    parties: int
    log_sum: ClassVar[int]
    log_bits: ClassVar[int]
    """Of its fraction: the public step to which every party rounds its part."""

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        raise NotImplementedError

    def log_secret(self, n: int, secret: Residues, log_weights: int | None) -> Residues:
        """The part that a party enters, which none of its moments tells."""
        if not self.log_weights or n != self.log_sum:
            return secret
        assert log_weights is not None  # noqa: S101 - where one is zero, it is not wanted
        shifted = Fraction(log_weights, 1 << log_weights_of.FRACTION) * (1 << self.log_bits)
        return np.append(secret, self.sums[n].ring.from_ints([round(shifted)]), axis=1)

    def own_logs(self, log_weights: int | None) -> Ball | None:
        """Of one party alone, of which no sum is made."""
        if not self.log_weights or log_weights is None:
            return None
        return Ball(Fraction(log_weights, 1 << log_weights_of.FRACTION), log_weights_of.ERROR)

    def _split(self, n: int, numbers: Sequence[int]) -> tuple[Sequence[int], Ball | None]:
        """The other numbers, and Σ log w."""
        if not self.log_weights or n != self.log_sum:
            return numbers, None
        *others, total = numbers
        error = self.parties * (Fraction(1, 2 << self.log_bits) + log_weights_of.ERROR)
        return others, Ball(Fraction(total, 1 << self.log_bits), error)

    @property
    def _logs(self) -> str:
        return f", Σ log w to {self.log_bits} bits" if self.log_weights else ""


@dataclass(frozen=True)
class Found(_WithLogs):
    """Scales found by one sum more; equal at all parties but for the moments handed in."""

    names: tuple[str, ...]  # of the columns of A, then of b
    parties: int
    bits: int
    release: Release
    cells: CellCounts = ROWS_ALONE
    """Counted where all rows lie in one place, before any sum."""
    log_weights: bool = False
    """Whether Σ log w is pooled too: rows have weights, and none is zero."""
    log_sum = 0
    log_bits = WIDE_FRACTION

    @property
    def columns(self) -> int:
        return len(self.names) - 1

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        n, inference = self.columns, self.release == "inference"
        squares = ", bᵀb" if inference else ""
        first = Sum(
            "diagonal, Aᵀb, rows",
            2 * n + 1 + inference + self.log_weights,
            WIDE,
            Fraction(1, 1 << WIDE_FRACTION),
            f"the number of rows, the diagonal of AᵀA, Aᵀb{squares}{self._logs}",
        )
        second = Sum(
            "off the diagonal",
            n * (n - 1) // 2,
            Ring(self.bits),
            Fraction(1, 1 << max(self.bits - 2, 0)),
            "AᵀA off its diagonal",
        )
        return (first, second) if n > 1 else (first,)

    def secret(self, n: int, opened: Opened, part: SecretMoments, owner: str) -> Residues:
        return self._first(part, owner) if n == 0 else self._second(part, opened)

    def _first(self, part: SecretMoments, owner: str) -> Residues:
        n = self.columns
        pairs = [(j, j) for j in range(n)] + [(j, n) for j in range(n)]
        if self.release == "inference":
            pairs.append((n, n))
        within = ((WIDE.modulus >> 1) - 1) // self.parties
        encoded = part.fixed_point(WIDE, WIDE_FRACTION, pairs, [0] * (n + 1), within=within)
        vanished = ~part.zero_columns[:-1] & ~encoded[:, :n].any(axis=0)
        if vanished.any():  # a column that is not zero must not look like zero
            raise NumberError(
                f"column {part.names[int(np.argmax(vanished))]!r} of {owner!r} is too small for "
                f"the {WIDE.bits}-bit ring",
                hint="rescale the column, for example by a power of ten",
            )
        return np.append(encoded, WIDE.from_ints([part.rows << WIDE_FRACTION]), axis=1)

    def _second(self, part: SecretMoments, opened: Opened) -> Residues:
        """The upper triangle, row by row, scaled so that every pooled entry is in [-1, 1]."""
        pairs = np.stack(np.triu_indices(self.columns, 1), axis=1)
        scales = [*column_scales(opened.diagonal), 0]  # the response has no part in this sum
        return part.fixed_point(self.sums[1].ring, self.bits - 2, pairs, scales)

    def learn(self, n: int, opened: Opened, total: Residues) -> Opened:
        if n == 1:
            return self._pooled(opened, self.sums[1].ring.to_signed(total))
        k = self.columns
        numbers, logs = self._split(n, WIDE.to_signed(total))
        *pooled, rows = (Fraction(c, 1 << WIDE_FRACTION) for c in numbers)
        bb = pooled[2 * k] if self.release == "inference" else None
        opened = Opened(int(rows), (), pooled[:k], pooled[k : 2 * k], bb, log_weights=logs)
        return opened if k > 1 else self._pooled(opened, [])

    def _pooled(self, opened: Opened, off_diagonal: Sequence[int]) -> Opened:
        pooled = PooledMoments.of_sums(
            self.names[:-1],
            rows=opened.rows or 0,
            diagonal=opened.diagonal,
            rhs=opened.rhs,
            bb=opened.bb,
            off_diagonal=off_diagonal,
            parties=self.parties,
            bits=self.bits,
            response=self.names[-1],
            fraction_bits=WIDE_FRACTION,
        )
        return replace(opened, pooled=pooled)


@dataclass(frozen=True)
class Given(_WithLogs):
    """Sizes given by a dictionary: exact integers, and the response comes last."""

    names: tuple[str, ...]  # of the columns of A, then of b
    sizes: tuple[Size, ...]
    release: Release
    weights: Size = INDICATOR
    """Without weights every row counts once."""
    cells: CellCounts = ROWS_ALONE
    parties: int = 1
    log_weights: bool = False
    log_sum = 2
    log_bits = 20

    @property
    def columns(self) -> int:
        return len(self.names) - 1

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        n, inference = self.columns, self.release == "inference"
        *regressors, response = (size.most for size in self.sizes)
        widest = max(regressors)
        with_response = max(widest, response) if inference else widest
        squares = ", bᵀb" if inference else ""
        ring = Ring(MOST_ROWS.bit_length() + 1)
        counted = "; ".join(filter(None, ["the number of rows", self.cells.opens]))
        return (
            Sum("counts", self.sent.entries, ring, Fraction(1), counted),
            self._sum("regressors", n * (n + 1) // 2, widest * widest, "AᵀA"),
            self._sum(
                "response",
                n + inference + self.log_weights,
                with_response * response,
                f"Aᵀb{squares}{self._logs}",
            ),
        )

    @cached_property
    def sent(self) -> SentCounts:
        """The counts as they travel in the first sum."""
        return SentCounts(self.cells, self.parties)

    def _sum(self, name: str, entries: int, most_of_a_row: int, opens: str) -> Sum:
        """In a ring that holds the largest of its moments, in units of its columns."""
        most = most_of_a_row * self.weights.most * MOST_ROWS
        if self.log_weights:
            most = max(most, self._log_range * MOST_ROWS)
        return Sum(name, entries, Ring(most.bit_length() + 1), Fraction(1), opens)

    @property
    def _log_range(self) -> int:
        """No log w is farther from 0, in units of its step, than the weights' bits allow."""
        ends = self.weights.low, self.weights.high
        farthest = max(abs(math.log(x.numerator) - math.log(x.denominator)) for x in ends)
        return (math.ceil(farthest) + 1) << self.log_bits

    def opened_bits(self, rows: int) -> int:
        """⌈log₂ of the possible values⌉ of every number, of so many rows, together."""
        *regressors, response = self.sizes
        alike = Counter(regressors)
        products = Counter({response**2: 1} if self.release == "inference" else {})
        for size, times in alike.items():
            products[size**2] += times
            products[size * size] += times * (times - 1) // 2
            products[size * response] += times
        for (one, times), (other, of_other) in combinations(alike.items(), 2):
            products[one * other] += times * of_other
        weighted = self.cells.weights is not None
        bits = [
            (size * self.weights if weighted else size).bits(rows) * times
            for size, times in products.items()
        ]
        logs = (2 * rows * self._log_range).bit_length() if self.log_weights else 0
        return self.sent.opened_bits(rows) + sum(bits) + logs

    def secret(self, n: int, opened: Opened, part: SecretMoments, owner: str) -> Residues:
        """After the counts, which are not made of moments."""
        ring, k = self.sums[n].ring, self.columns
        with_response = [(j, k) for j in range(k + (self.release == "inference"))]
        return part.fixed_point(
            ring,
            -self.weights.two,
            np.stack(np.tril_indices(k), axis=1) if n == 1 else with_response,
            [size.two for size in self.sizes],
            fives=[size.five for size in self.sizes],
            fraction_fives=-self.weights.five,
        )

    def learn(self, n: int, opened: Opened, total: Residues) -> Opened:
        numbers, logs = self._split(n, self.sums[n].ring.to_signed(total))
        if n == 0:
            return Opened(numbers[0], self.sent.counts(numbers))
        if n == 1:
            squares = [numbers[j * (j + 3) // 2] for j in range(self.columns)]  # on the diagonal
            units = [size.unit**2 * self.weights.unit for size in self.sizes]
            diagonal = [x * unit for x, unit in zip(squares, units, strict=False)]
            return replace(opened, gram=numbers, diagonal=diagonal)
        return replace(self._pooled(opened, numbers), log_weights=logs)

    def regressors(self, opened: Opened) -> PooledMoments:
        """AᵀA as it is known before anything with the response in it: Aᵀb and bᵀb are 0."""
        pooled = self._pooled(opened, [0] * (self.columns + 1)).pooled
        assert pooled is not None  # noqa: S101 - made above
        return pooled

    def _pooled(self, opened: Opened, response: Sequence[int]) -> Opened:
        """Nothing was rounded. A unit p/q of the weights is split between the columns."""
        n, unit = self.columns, self.weights.unit
        p, q = unit.numerator, unit.denominator
        pooled = PooledMoments.of_integers(
            self.names[:-1],
            symmetric(n, [x * p * q for x in opened.gram]),
            [x * p for x in response[:n]],
            [size.unit / q for size in self.sizes[:-1]],
            rows=opened.rows or 0,
            bb=response[n] * unit if self.release == "inference" else None,
            response=self.names[-1],
            response_unit=self.sizes[-1].unit,
        )
        return replace(opened, pooled=pooled)


Equations = Found | Given
"""The sums that pool one model: what each party puts in, and what comes out."""
