"""Moments: the exact Gram matrix of a party's columns, and how many rows it is of.

Column j is a vector of integers times a unit 2^two_j · 5^five_j, so that every moment is

    Σ_rows column_j · column_k = integer(j, k) · unit_j · unit_k,

without rounding anywhere. Moments of different rows add. By convention of the callers the response
b is the last column, so that [A b] holds AᵀA, Aᵀb and bᵀb together.
"""

# Rule 1: moments are secret: no repr and no error shows one.
# Rule 2: equal means equal as numbers; the units are a matter of representation.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from titan.errors import DataError, NumberError
from titan.moments import headings, limbs, triangle
from titan.ring import Residues, Ring

if TYPE_CHECKING:
    from flint import fmpz_mat

Unit = tuple[int, int]
"""(two, five) stands for 2^two · 5^five."""

_GUARD = 2  # bits kept below the last one before a division, so that its remainder decides no tie


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """The exact Gram matrix of named columns over `rows` rows.

    `gram` has shape (limbs, n(n+1)/2): the lower triangle, row after row, as `titan.moments.limbs`
    holds integers, in the fewest limbs.
    """

    names: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: int
    gram: Residues = field(repr=False)
    constant: tuple[str, ...] = ()
    """Columns that add up to 1 in every row, if the model says so."""
    weights: str | None = None
    """What the rows were weighted by: the moments are Σ w a aᵀ."""

    def __post_init__(self) -> None:
        check_names(self.names)
        if len(self.units) != len(self.names) or self.gram.shape[1:] != (
            triangle.entries(len(self.names)),
        ):
            raise DataError(
                f"{len(self.names)} names, {len(self.units)} units and {self.gram.shape[1]} "
                "moments do not belong together"
            )
        self.gram.setflags(write=False)

    @classmethod
    def zero(cls, names: Sequence[str]) -> Moments:
        """The moments of no rows; adding them changes nothing."""
        gram = np.zeros((1, triangle.entries(len(names))), np.uint64)
        return cls(tuple(names), ((0, 0),) * len(names), 0, gram)

    @classmethod
    def of_integers(
        cls, names: Sequence[str], units: Sequence[Unit], rows: int, numbers: Sequence[int]
    ) -> Moments:
        """From the integers of the lower triangle, row after row."""
        return cls(tuple(names), tuple(units), rows, limbs.from_ints(numbers))

    def __repr__(self) -> str:
        n = len(self.names)
        return f"Moments(names={self.names!r}, rows={self.rows}, shape=({n}, {n}))"

    # -- arithmetic ---------------------------------------------------------------------------

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of rows together."""
        if not isinstance(other, Moments):
            return NotImplemented
        if self.names != other.names:
            raise DataError(
                f"moments of columns {_quoted(self.names)} cannot be added to those of "
                f"{_quoted(other.names)}",
                hint="the same columns in the same order are needed; select() can reorder them",
            )
        if not self.rows or not other.rows:
            return self if self.rows else other
        if self.weights != other.weights:
            raise DataError(
                f"moments weighted by {self.weights} cannot be added to those weighted by "
                f"{other.weights}",
                hint="make them again with the same weights",
            )
        units = tuple(map(_finer, self.units, other.units))
        gram = limbs.add(self._gram_in(units), other._gram_in(units))
        constant = self.constant if self.constant == other.constant else ()
        return Moments(self.names, units, self.rows + other.rows, gram, constant, self.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        mine = (self.names, self.rows, self.constant, self.weights)
        if mine != (other.names, other.rows, other.constant, other.weights):
            return False
        units = tuple(map(_finer, self.units, other.units))
        return np.array_equal(limbs.trim(self._gram_in(units)), limbs.trim(other._gram_in(units)))

    __hash__ = None  # type: ignore[assignment]  # equal numbers may come in different units

    def _gram_in(self, units: tuple[Unit, ...]) -> Residues:
        """The integers with respect to other units, none coarser than ours."""
        if units == self.units:
            return self.gram
        finer = np.array(self.units, np.int64) - np.array(units, np.int64)
        j, k = triangle.pairs(len(self.names))
        return limbs.scale(self.gram, finer[j, 0] + finer[k, 0], finer[j, 1] + finer[k, 1])

    # -- access -------------------------------------------------------------------------------

    def integer(self, j: int, k: int) -> int:
        """The moment of columns j and k over their units."""
        n = len(self.names)
        if not (-n <= j < n and -n <= k < n):
            raise IndexError(f"moment ({j}, {k}) of {n} columns")
        at = triangle.place(np.array([j % n]), np.array([k % n]))
        return limbs.to_ints(self.gram[:, at])[0]

    def fraction(self, j: int, k: int) -> Fraction:
        """The moment of columns j and k as the number it is."""
        two = self.units[j][0] + self.units[k][0]
        five = self.units[j][1] + self.units[k][1]
        return self.integer(j, k) * Fraction(2) ** two * Fraction(5) ** five

    def matrix(self) -> fmpz_mat:
        """All integers, as a symmetric matrix of python-flint."""
        from flint import fmpz_mat  # slow to import, and not needed by every command

        n = len(self.names)
        numbers = limbs.to_ints(self.gram)
        row, column = np.divmod(np.arange(n * n), max(n, 1))
        return fmpz_mat(n, n, [numbers[at] for at in triangle.place(row, column)])

    def select(self, names: Sequence[str]) -> Moments:
        """The moments of these columns, in this order: any sub-model without the rows."""
        position = {name: at for at, name in enumerate(self.names)}
        missing = [name for name in names if name not in position]
        if missing:
            raise DataError(f"no moments of {_quoted(missing)}", hint=headings.listed(self.names))
        kept = np.array([position[name] for name in names], np.int64)
        j, k = triangle.pairs(len(names))
        gram = self.gram[:, triangle.place(kept[j], kept[k])]
        units = tuple(self.units[at] for at in kept)
        constant = self.constant if set(self.constant) <= set(names[:-1]) else ()
        return Moments(tuple(names), units, self.rows, limbs.trim(gram), constant, self.weights)

    @property
    def zero_columns(self) -> npt.NDArray[np.bool_]:
        """Which columns are zero in every row."""
        at = np.arange(len(self.names))
        diagonal = self.gram[:, triangle.place(at, at)]
        return np.asarray(np.bitwise_or.reduce(diagonal, axis=0) == 0, bool)

    # -- out ----------------------------------------------------------------------------------

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
    ) -> Residues:
        """The moments of `pairs` (positions, shape (p, 2)), rounded, once, to residues of the ring.

        The entry (j, k) becomes, modulo 2^bits, the integer nearest to

            moment_jk · 2^-(scales_j + scales_k) · 2^fraction_bits,

        and likewise with powers of five, ties to even. A modular sum comes out right whenever the
        *pooled* number fits the ring's signed range; one party's part of it may be any number. So
        no part is refused unless the caller asks with `within`, which it does where no bound on the
        pooled sum is known: m parties that each keep within (2^(bits-1) - 1) // m cannot wrap
        around. A larger one raises NumberError, naming its two columns.
        """
        n, chosen = len(self.names), np.asarray(pairs, np.int64).reshape(-1, 2)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= n):
            raise DataError(f"a pair of columns beyond the {n} there are")
        if len(scales) != n:
            raise DataError(f"{len(scales)} scales for {n} columns")
        units = np.array(self.units, np.int64).reshape(-1, 2)
        units -= np.stack([scales, [0] * n if fives is None else fives], axis=1)
        powers = units[chosen].sum(axis=1) + np.array((fraction_bits, fraction_fives))
        gram = self.gram[:, triangle.place(*chosen.T)]
        minus = limbs.negative(gram)
        rounded = _rounded(limbs.negate(gram, minus), *powers.T)
        if within is not None:
            self._check_within(rounded, within, chosen)
        signed = limbs.widen(limbs.negate(rounded, minus), ring.limbs)
        return ring.reduce(np.ascontiguousarray(signed[: ring.limbs]))

    def _check_within(self, magnitude: Residues, within: int, pairs: npt.NDArray[np.int64]) -> None:
        bound = limbs.from_ints([-within - 1])
        excess = limbs.add(magnitude, np.broadcast_to(bound, (len(bound), magnitude.shape[1])))
        too_large = np.flatnonzero(~limbs.negative(excess))
        if len(too_large):
            others = f", and {len(too_large) - 1} others are" if len(too_large) > 1 else ""
            j, k = pairs[too_large[0]]
            raise too_large_for_ring(self.names[j], self.names[k], others)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a moments file, readable by its owner only: see `titan.moments.moments_file`."""
        from titan.moments.moments_file import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Moments:
        """Read a moments file; FileError where it is not exactly one."""
        from titan.moments.moments_file import load

        return load(path)


def _rounded(x: Residues, twos: limbs.Counts, fives: limbs.Counts) -> Residues:
    """x · 2^twos · 5^fives to the nearest integer, ties to even; no x is negative.

    Half to even does not care about signs, so magnitudes are rounded and signed afterwards.
    """
    guard = np.where(fives < 0, _GUARD, 0)
    x = limbs.scale(x, np.maximum(twos, 0) + guard, np.maximum(fives, 0))
    x, inexact = limbs.divide_by_fives(x, np.maximum(-fives, 0))
    return limbs.round_shift(x, np.maximum(-twos, 0) + guard, inexact)


def too_large_for_ring(first: str, second: str, others: str = "") -> NumberError:
    return NumberError(
        f'the moment of columns "{first}" and "{second}" is too large for the ring{others}',
        hint="rescale these columns: divide them by a power of ten",
    )


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not different strings."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"a column is called {name!r}, which is not a string")
        if name in seen:
            raise DataError(f'two columns are called "{name}"', hint="rename one of them")
        seen.add(name)


def _finer(a: Unit, b: Unit) -> Unit:
    return min(a[0], b[0]), min(a[1], b[1])


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
