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
        ordered by what they tell: rows; then the regressors' AᵀA; then what has the response in it.

In between, every party checks what has been opened (`titan.privacy.limits`): where there are too
few rows, the rest does not leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from titan.errors import NumberError
from titan.joint.computation import Sum
from titan.leastsquares import PooledMoments, column_scales
from titan.release.sizes import Size
from titan.ring import Residues, Ring

Release = Literal["solution", "inference"]
WIDE = Ring(512)
WIDE_FRACTION = 256
MOST_ROWS = 1 << 40
"""Of all parties together, where sizes follow from a dictionary."""


class SecretMoments(Protocol):
    """One party's exact moments of [A b], the response last."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> int: ...

    @property
    def zero_columns(self) -> npt.NDArray[np.bool_]: ...

    def fixed_point(
        self,
        ring: Ring,
        fraction_bits: int,
        pairs: npt.ArrayLike,
        scales: Sequence[int],
        *,
        fives: Sequence[int] | None = None,
        fraction_fives: int = 0,
        within: int | None = None,
    ) -> Residues: ...


@dataclass(frozen=True)
class Opened:
    """What the sums so far have opened, as far as they have."""

    rows: int | None = None
    diagonal: Sequence[Fraction] = ()
    rhs: Sequence[Fraction] = ()
    bb: Fraction | None = None
    gram: Sequence[int] = ()
    """With scales given: the lower triangle of AᵀA, row after row, in units of the columns'."""
    pooled: PooledMoments | None = None


class Equations(Protocol):
    """The sums that pool one model: what each party puts in, and what comes out."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def release(self) -> Release: ...

    @property
    def sums(self) -> tuple[Sum, ...]: ...

    def secret(self, n: int, opened: Opened, part: SecretMoments, owner: str) -> Residues: ...

    def learn(self, n: int, opened: Opened, total: Residues) -> Opened: ...


@dataclass(frozen=True)
class Found:
    """Scales found by one sum more; equal at all parties but for the moments handed in."""

    names: tuple[str, ...]  # of the columns of A, then of b
    parties: int
    bits: int
    release: Release

    @property
    def columns(self) -> int:
        return len(self.names) - 1

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        n, inference = self.columns, self.release == "inference"
        squares = ", bᵀb" if inference else ""
        first = Sum(
            "diagonal, Aᵀb, rows",
            2 * n + 1 + inference,
            WIDE,
            Fraction(1, 1 << WIDE_FRACTION),
            f"the number of rows, the diagonal of AᵀA, Aᵀb{squares}",
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
        _refuse_vanished(owner, part, encoded[:, :n])
        return np.append(encoded, WIDE.from_ints([part.rows << WIDE_FRACTION]), axis=1)

    def _second(self, part: SecretMoments, opened: Opened) -> Residues:
        """The upper triangle, row by row, scaled so that every pooled entry is in [-1, 1]."""
        pairs = np.stack(np.triu_indices(self.columns, 1), axis=1)
        scales = [*column_scales(opened.diagonal), 0]  # the response has no part in this sum
        return part.fixed_point(self.sums[1].ring, self.bits - 2, pairs, scales)

    def learn(self, n: int, opened: Opened, total: Residues) -> Opened:
        if n == 0:
            opened = self._read_first(total)
            return opened if self.columns > 1 else self._pooled(opened, [])
        return self._pooled(opened, self.sums[1].ring.to_signed(total))

    def _read_first(self, total: Residues) -> Opened:
        n = self.columns
        *pooled, rows = (Fraction(c, 1 << WIDE_FRACTION) for c in WIDE.to_signed(total))
        bb = pooled[2 * n] if self.release == "inference" else None
        return Opened(int(rows), pooled[:n], pooled[n : 2 * n], bb)

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


def _refuse_vanished(owner: str, part: SecretMoments, diagonal: Residues) -> None:
    """A column that is not zero must not look like zero in the wide ring."""
    vanished = ~part.zero_columns[:-1] & ~diagonal.any(axis=0)
    if vanished.any():
        name = part.names[int(np.argmax(vanished))]
        raise NumberError(
            f"column {name!r} of {owner!r} is too small for the {WIDE.bits}-bit ring",
            hint="rescale the column, for example by a power of ten",
        )


@dataclass(frozen=True)
class Given:
    """Sizes given by a dictionary: exact integers, and the response comes last."""

    names: tuple[str, ...]  # of the columns of A, then of b
    sizes: tuple[Size, ...]
    release: Release
    weights: Size | None = None

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
        return (
            Sum("rows", 1, Ring(MOST_ROWS.bit_length() + 1), Fraction(1), "the number of rows"),
            self._sum("regressors", n * (n + 1) // 2, widest * widest, "AᵀA"),
            self._sum("response", n + inference, with_response * response, f"Aᵀb{squares}"),
        )

    def _sum(self, name: str, entries: int, most_of_a_row: int, opens: str) -> Sum:
        """In a ring that holds the largest of its moments, in units of its columns."""
        most = most_of_a_row * (self.weights or _NO_WEIGHTS).most * MOST_ROWS
        return Sum(name, entries, Ring(most.bit_length() + 1), Fraction(1), opens)

    @cached_property
    def _regressors(self) -> npt.NDArray[np.int64]:
        return np.stack(np.tril_indices(self.columns), axis=1)

    @cached_property
    def _response(self) -> npt.NDArray[np.int64]:
        n = self.columns
        return np.array([(j, n) for j in range(n + (self.release == "inference"))], np.int64)

    def secret(self, n: int, opened: Opened, part: SecretMoments, owner: str) -> Residues:
        ring = self.sums[n].ring
        if n == 0:
            return ring.from_ints([part.rows])
        return self._in_units(part, ring, self._regressors if n == 1 else self._response)

    def _in_units(self, part: SecretMoments, ring: Ring, pairs: npt.NDArray[np.int64]) -> Residues:
        weights = self.weights or _NO_WEIGHTS
        return part.fixed_point(
            ring,
            -weights.two,
            pairs,
            [size.two for size in self.sizes],
            fives=[size.five for size in self.sizes],
            fraction_fives=-weights.five,
        )

    def learn(self, n: int, opened: Opened, total: Residues) -> Opened:
        numbers = self.sums[n].ring.to_signed(total)
        if n == 0:
            return Opened(numbers[0])
        if n == 1:
            squares = [numbers[j * (j + 3) // 2] for j in range(self.columns)]  # on the diagonal
            unit = (self.weights or _NO_WEIGHTS).unit
            diagonal = [
                x * size.unit**2 * unit for x, size in zip(squares, self.sizes, strict=False)
            ]
            return replace(opened, gram=numbers, diagonal=diagonal)
        return self._pooled(opened, numbers)

    def _pooled(self, opened: Opened, response: Sequence[int]) -> Opened:
        """Nothing was rounded. A unit p/q of the weights is split between the columns."""
        n, unit = self.columns, (self.weights or _NO_WEIGHTS).unit
        p, q = unit.numerator, unit.denominator
        gram = np.empty((n, n), object)
        j, k = np.tril_indices(n)
        gram[j, k] = gram[k, j] = [x * p * q for x in opened.gram]
        pooled = PooledMoments.of_integers(
            self.names[:-1],
            gram,
            [x * p for x in response[:n]],
            [size.unit / q for size in self.sizes[:-1]],
            rows=opened.rows or 0,
            bb=response[n] * unit if self.release == "inference" else None,
            response=self.names[-1],
            response_unit=self.sizes[-1].unit,
        )
        return replace(opened, pooled=pooled)


_NO_WEIGHTS = Size(0, 0, Fraction(0), Fraction(1))
