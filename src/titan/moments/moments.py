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

from titan.errors import DataError
from titan.moments import headings, limbs, triangle
from titan.ring import Residues, Ring

if TYPE_CHECKING:
    from flint import fmpz_mat

Unit = tuple[int, int]
"""(two, five) stands for 2^two · 5^five."""


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
        _check_same(self.names, other.names)
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
        at = triangle.place(*self._positions(j, k))
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

    def _positions(self, j: int, k: int) -> tuple[triangle.Positions, triangle.Positions]:
        n = len(self.names)
        if not (-n <= j < n and -n <= k < n):
            raise IndexError(f"moment ({j}, {k}) of {n} columns")
        return np.array([j % n]), np.array([k % n])

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
        """Chosen moments as residues: see `titan.moments.fixed_point`."""
        from titan.moments.fixed_point import fixed_point

        return fixed_point(
            self,
            ring,
            fraction_bits,
            pairs,
            scales,
            fives=fives,
            fraction_fives=fraction_fives,
            within=within,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write a moments file, readable by its owner only: see `titan.moments.moments_file`."""
        from titan.moments.moments_file import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Moments:
        """Read a moments file; FileError where it is not exactly one."""
        from titan.moments.moments_file import load

        return load(path)


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not different strings."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"a column is called {name!r}, which is not a string")
        if name in seen:
            raise DataError(f'two columns are called "{name}"', hint="rename one of them")
        seen.add(name)


def _check_same(ours: tuple[str, ...], theirs: tuple[str, ...]) -> None:
    if ours != theirs:
        raise DataError(
            f"moments of columns {_quoted(ours)} cannot be added to those of {_quoted(theirs)}",
            hint="the same columns in the same order are needed; select() can reorder them",
        )


def _finer(a: Unit, b: Unit) -> Unit:
    return min(a[0], b[0]), min(a[1], b[1])


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
