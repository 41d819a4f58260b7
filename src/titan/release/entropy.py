"""The bits of sums of functions, where rows lie anywhere on a grid and are independent.

So many correlated whole numbers have at most the entropy of a normal vector with their variance:
half of log₂ det(2πe (rows · Cov F + 1)).
"""

# Rule 1: the same everywhere: determinants are exact, and logarithms have so many bits that a float
#         is the nearest one, where a machine's own may be another.

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from titan.release.opened import Values

if TYPE_CHECKING:
    from flint import arb, fmpz_mat

_BLOCK = 40  # entries whose dependence is looked at together
_PRECISION = 256


@dataclass(frozen=True)
class Determinant:
    """det(1 + t C), with C the matrix Cov F, or E F Fᵀ, as far as some points have a part in it.

    Of very many entries it is at most the product of the determinants of blocks on the diagonal
    (Fischer).
    """

    blocks: tuple[fmpz_mat, ...]
    """Of unit · C."""
    unit: int

    @classmethod
    def of(cls, functions: Sequence[Values], at: Sequence[int], *, centred: bool) -> Determinant:
        """Rows are known, so that where they are counted a constant tells nothing."""
        from flint import fmpz_mat

        rows, unit = [[f[k] for k in at] for f in functions], max(map(len, functions), default=1)
        if centred:
            rows, unit = list(map(_centred, rows)), unit * len(at) ** 2
        blocks = [fmpz_mat(rows[k : k + _BLOCK]) for k in range(0, len(rows), _BLOCK)]
        return cls(tuple(F * F.transpose() for F in blocks), unit)

    def log2(self, t: Fraction) -> arb:
        p, q = t.numerator, t.denominator * self.unit
        found = as_arb(0)
        for C in self.blocks:
            whole = C * p
            for k in range(C.nrows()):
                whole[k, k] += q
            found += log2(as_arb(int(whole.det()))) - C.nrows() * log2(as_arb(q))
        return found


def _centred(values: Sequence[int]) -> list[int]:
    """Less their mean, times their number."""
    count, total = len(values), sum(values)
    return [count * x - total for x in values]


# -- logarithms ---------------------------------------------------------------------------------


def precise(more: int = 0) -> AbstractContextManager[None]:
    import flint

    context: AbstractContextManager[None] = flint.ctx.workprec(_PRECISION + more)
    return context


def as_arb(number: Fraction | int) -> arb:
    from flint import arb

    exact = Fraction(number)
    return arb(exact.numerator) / exact.denominator


def noise() -> arb:
    """2πe: half its logarithm is the entropy of a normal number of variance 1."""
    from flint import arb

    return 2 * arb.pi() * arb(1).exp()


def log2(number: arb) -> arb:
    return number.log() / as_arb(2).log()
