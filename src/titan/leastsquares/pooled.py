"""The pooled normal equations as integers, and how far they may be from the truth.

The truth is (AᵀA, Aᵀb, bᵀb) of the exact rows of all parties together. Column j is divided by
2^s_j ≥ √(AᵀA)_jj, so that by Cauchy–Schwarz every entry of the scaled matrix G lies in [−1, 1].
What the parties have recovered is G̃ and g̃, with

    |G_jk − G̃_jk| ≤ e (j ≠ k),   |G_jj − G̃_jj| ≤ d_j,   |g_j − g̃_j| ≤ r_j,

e, d, r proven, and zero where nothing was rounded (one party, exact moments).
"""

# Rule 1: pooled moments are released, but a party's own are not, and both come in this form:
#         so nothing here prints a number.
# Rule 2: errors are exact fractions; they only ever grow.

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from titan import canonical
from titan.canonical import exact_text, read_exact
from titan.errors import InputError
from titan.moments import Moments

Integers = npt.NDArray[Any]
"""An object array of Python integers."""

Exact = int | Fraction

_GUARD_BITS = 16
"""Bits kept of the diagonal beyond those of the second sum, so that its rounding does not count."""

_EXACT = ("gram_error", "bb_error")
_EXACT_PER_COLUMN = ("rhs", "diagonal_error", "rhs_error")
_PER_COLUMN = ("scales", *_EXACT_PER_COLUMN)


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """G̃ = gram / denominator and g̃ = rhs in scaled units, with proven distances from the truth."""

    names: tuple[str, ...]
    response: str
    rows: int
    scales: tuple[int, ...]
    gram: Integers = field(repr=False)
    denominator: int = field(repr=False)
    rhs: tuple[Fraction, ...] = field(repr=False)
    bb: Fraction | None = field(default=None, repr=False)
    gram_error: Fraction = Fraction(0)
    diagonal_error: tuple[Fraction, ...] = ()
    rhs_error: tuple[Fraction, ...] = ()
    bb_error: Fraction = Fraction(0)
    bits: int | None = None
    """Bits of the ring of the second sum; None where nothing was rounded."""

    def __post_init__(self) -> None:
        n = len(self.names)
        for error in ("diagonal_error", "rhs_error"):
            object.__setattr__(self, error, getattr(self, error) or (Fraction(0),) * n)
        if n == 0:
            raise InputError("there is no column to solve for", hint="name at least one column")
        if len(set(self.names)) != n:
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"two columns are called {twice!r}", hint="rename one of them")
        for what in _PER_COLUMN:
            if (length := len(getattr(self, what))) != n:
                raise InputError(f"{what} has {length} entries for {n} columns")
        if self.gram.shape != (n, n) or self.gram.dtype != object:
            raise InputError(
                f"gram has shape {self.gram.shape} and type {self.gram.dtype} for {n} columns",
                hint="an object array of Python integers, n by n",
            )
        errors = (self.gram_error, self.bb_error, *self.diagonal_error, *self.rhs_error)
        if self.denominator < 1 or min(errors) < 0:
            raise InputError("a denominator is positive, and an error bound is not negative")

    @property
    def exact(self) -> bool:
        """Whether AᵀA and Aᵀb are the truth itself."""
        return not (self.gram_error or any(self.diagonal_error) or any(self.rhs_error))

    def index(self, name: str) -> int:
        """The position of a column."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(
                f"there is no column {name!r}", hint=f"there are {', '.join(self.names)}"
            ) from None

    def subset(self, names: Sequence[str]) -> PooledMoments:
        """The moments of some of the columns, in the order given."""
        at = [self.index(name) for name in names]
        kept: Any = {what: tuple(getattr(self, what)[j] for j in at) for what in _PER_COLUMN}
        return replace(self, names=tuple(names), gram=self.gram[np.ix_(at, at)], **kept)

    def agrees(self, other: PooledMoments) -> bool:
        """Whether both can be of the same rows and columns: every two enclosures meet."""
        units = [Fraction(2) ** s for s in self.scales]
        ratios = [u / Fraction(2) ** s for u, s in zip(units, other.scales, strict=True)]
        n = range(len(units))
        sides = (
            _meet(x * r, y, e * r + f)
            for x, e, y, f, r in zip(
                self.rhs, self.rhs_error, other.rhs, other.rhs_error, ratios, strict=True
            )
        )
        entries = (
            _meet(
                Fraction(int(self.gram[j, k]), self.denominator) * ratios[j] * ratios[k],
                Fraction(int(other.gram[j, k]), other.denominator),
                self.entry_error(j, k) * ratios[j] * ratios[k] + other.entry_error(j, k),
            )
            for j in n
            for k in range(j + 1)
        )
        squares = self.bb or Fraction(0), other.bb or Fraction(0)
        same = _meet(*squares, self.bb_error + other.bb_error)
        return same and all(sides) and all(entries)

    def entry_error(self, j: int, k: int) -> Fraction:
        """How far an entry of G may be off."""
        return self.diagonal_error[j] if j == k else self.gram_error

    def penalised(self, penalties: Sequence[Exact]) -> PooledMoments:
        """AᵀA + diag(penalties), the penalties in the unit of the unscaled columns."""
        pairs = zip(penalties, self.scales, strict=True)
        scaled = [Fraction(p) / Fraction(4) ** s for p, s in pairs]
        denominator = math.lcm(self.denominator, *(p.denominator for p in scaled))
        gram = self.gram * (denominator // self.denominator)
        for j, penalty in enumerate(scaled):
            gram[j, j] += int(penalty * denominator)
        return replace(self, gram=gram, denominator=denominator)

    # -- saving -------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Everything, exactly; the gram matrix by its lower triangle."""
        return {
            "names": list(self.names),
            "response": self.response,
            "rows": self.rows,
            "scales": list(self.scales),
            "gram": canonical.triangle_text(self.gram.tolist()),
            "denominator": exact_text(self.denominator),
            "bb": None if self.bb is None else exact_text(self.bb),
            "bits": self.bits,
            **{key: exact_text(getattr(self, key)) for key in _EXACT},
            **{key: list(map(exact_text, getattr(self, key))) for key in _EXACT_PER_COLUMN},
        }

    @classmethod
    def from_state(cls, state: object) -> PooledMoments:
        found = canonical.keys(state, (option.name for option in fields(cls)))
        names, bb, bits = canonical.names(found["names"]), found["bb"], found["bits"]
        n = len(names)
        exact: Any = {key: read_exact(found[key]) for key in _EXACT}
        for key in _EXACT_PER_COLUMN:
            exact[key] = tuple(map(read_exact, canonical.listed(found[key], n)))
        return cls(
            names=names,
            response=canonical.name(found["response"]),
            rows=canonical.whole(found["rows"]),
            scales=canonical.exponents(found["scales"], n),
            gram=symmetric(n, canonical.read_triangle(found["gram"], n)),
            denominator=canonical.read_integer(found["denominator"]),
            bb=None if bb is None else read_exact(bb),
            bits=None if bits is None else canonical.whole(bits),
            **exact,
        )

    # -- constructors -------------------------------------------------------------------------

    @classmethod
    def of_integers(
        cls,
        names: Sequence[str],
        gram: Integers,
        rhs: Sequence[int] | Integers,
        units: Sequence[Fraction],
        *,
        rows: int,
        bb: Exact | None = None,
        response: str = "y",
        response_unit: Fraction = Fraction(1),
    ) -> PooledMoments:
        """Exact moments of columns that are integers times a unit each, as one party has them.

        (AᵀA)_jk = gram_jk · unit_j · unit_k; nothing is rounded.
        """
        squares = zip(np.diagonal(gram), units, strict=True)
        scales = column_scales(int(v) * unit**2 for v, unit in squares)
        scaled = [unit / Fraction(2) ** s for unit, s in zip(units, scales, strict=True)]
        common = math.lcm(*(unit.denominator for unit in scaled))
        factors = integers([int(unit * common) for unit in scaled])
        return cls(
            names=tuple(names),
            response=response,
            rows=rows,
            scales=scales,
            gram=gram * factors[:, None] * factors,
            denominator=common**2,
            rhs=tuple(int(g) * u * response_unit for g, u in zip(rhs, scaled, strict=True)),
            bb=None if bb is None else bb * response_unit**2,
        )

    @classmethod
    def of_sums(
        cls,
        names: Sequence[str],
        *,
        rows: int,
        diagonal: Sequence[Exact],
        rhs: Sequence[Exact],
        off_diagonal: Sequence[int] | Integers,
        parties: int,
        bits: int,
        bb: Exact | None = None,
        response: str = "y",
        fraction_bits: int = 256,
    ) -> PooledMoments:
        """From the two sums of the protocol.

        The first sum gives `diagonal`, `rhs` and `bb`, unscaled, each party's part rounded to
        nearest at 2^-fraction_bits; the second gives the integers `off_diagonal`, the upper
        triangle row by row, each party's part scaled by `column_scales(diagonal)` and rounded to
        nearest at 2^-(bits-2). A party's rounding is half a unit at most.
        """
        n = len(names)
        wide = Fraction(parties, 1 << (fraction_bits + 1))
        scales = column_scales(diagonal)
        shift = max(bits - 2, 0) + _GUARD_BITS
        pooled = np.zeros((n, n), object)
        upper = np.triu_indices(n, 1)
        pooled[upper] = integers(list(off_diagonal)) << _GUARD_BITS
        pooled = pooled + pooled.T
        for j, (entry, scale) in enumerate(zip(diagonal, scales, strict=True)):
            pooled[j, j] = round(Fraction(entry) / Fraction(4) ** scale * (1 << shift))
        cut = Fraction(1, 1 << (shift + 1))
        return cls(
            names=tuple(names),
            response=response,
            rows=rows,
            scales=scales,
            gram=pooled,
            denominator=1 << shift,
            rhs=tuple(Fraction(g) / Fraction(2) ** s for g, s in zip(rhs, scales, strict=True)),
            bb=None if bb is None else Fraction(bb),
            gram_error=Fraction(parties, 2) / Fraction(2) ** (bits - 2),
            diagonal_error=tuple(wide / Fraction(4) ** s + cut for s in scales),
            rhs_error=tuple(wide / Fraction(2) ** s for s in scales),
            bb_error=Fraction(0) if bb is None else wide,
            bits=bits,
        )


def exact(moments: object) -> PooledMoments:
    """The moments of one party alone: nothing is pooled, nothing rounded."""
    if not isinstance(moments, Moments):
        raise TypeError("moments of rows were expected")
    n = len(moments.names) - 1
    matrix = integers([[int(x) for x in row] for row in moments.matrix().tolist()])
    units = [Fraction(2) ** two * Fraction(5) ** five for two, five in moments.units]
    return PooledMoments.of_integers(
        moments.names[:n],
        matrix[:n, :n],
        matrix[:n, n],
        units[:n],
        rows=moments.rows,
        bb=matrix[n, n],
        response=moments.names[n],
        response_unit=units[n],
    )


def column_scales(diagonal: Iterable[Exact]) -> tuple[int, ...]:
    """For each column the least s with 4^s ≥ (AᵀA)_jj; 0 for a column of zeros."""
    return tuple(_scale(Fraction(entry)) for entry in diagonal)


def _scale(square: Fraction) -> int:
    if square <= 0:
        return 0
    s = (square.numerator.bit_length() - square.denominator.bit_length() - 1) // 2
    while Fraction(4) ** s < square:
        s += 1
    return s


def _meet(one: Fraction, other: Fraction, within: Fraction) -> bool:
    return abs(one - other) <= within


def integers(numbers: Sequence[Any]) -> Integers:
    """Python integers, in nested lists or not, as an object array."""
    array = np.empty(np.shape(numbers), object)
    array[...] = numbers
    return array


def over_common(numbers: Sequence[Fraction]) -> tuple[Integers, int]:
    """The same as whole numbers over one denominator."""
    common = math.lcm(*(number.denominator for number in numbers))
    return integers([n.numerator * (common // n.denominator) for n in numbers]), common


def bit_length(numbers: Integers) -> int:
    """Bits of the largest magnitude."""
    return int(max(numbers.max(), -numbers.min())).bit_length()


def symmetric(n: int, lower: Sequence[int]) -> Integers:
    """The matrix of which this is the lower triangle, row after row."""
    matrix = integers([[0] * n] * n)
    j, k = np.tril_indices(n)
    matrix[j, k] = matrix[k, j] = lower
    return matrix


def as_vector(constant: Mapping[str, Exact] | None, names: Sequence[str]) -> list[Fraction] | None:
    """The coefficients c with A c = 1 in the order of `names`; None where `names` lacks one."""
    if constant is None or any(c and name not in names for name, c in constant.items()):
        return None
    return [Fraction(constant.get(name, 0)) for name in names]
