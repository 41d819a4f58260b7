"""From pooled moments to a certified solution.

Two ways of solving, one certificate (`bounds.py`). Small systems, and those too ill-conditioned
for float64, are solved in high precision; the others in float64 with exact residuals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from titan import canonical
from titan.errors import DataError, RankError
from titan.leastsquares.approximation import Approximation
from titan.leastsquares.balls import Ball, at_most
from titan.leastsquares.bounds import Contraction, Floats, Perturbation, contract, raised, settled
from titan.leastsquares.dependence import MANY, rank_error, small_response, suspects
from titan.leastsquares.fast import solve_fast
from titan.leastsquares.named import Named
from titan.leastsquares.pooled import PooledMoments
from titan.leastsquares.precise import HIGH_PRECISION, solve_precisely
from titan.listing import aligned, ruled
from titan.results.result import Recorded, Result

_USELESS = 2.0**-20
"""Where nothing was rounded, a bound beyond this part of the solution is due to float64's range, so
the columns are too close to dependent. (The bound of rounded moments is theirs, and reported.)"""

_TINY = 2.0**-350
"""Coefficients of scaled columns below this are next to what float64's range can bound."""

FAST_FROM = 32
"""Columns from which float64 with exact residuals is the faster way (measured)."""


@dataclass(frozen=True, eq=False)
class Solution(Result, kind="solution"):
    """The least squares solution with a proven bound for every coefficient."""

    names: tuple[str, ...]
    x: Floats = field(init=False)
    """The nearest doubles to the middles of the enclosures."""
    error_bound: Floats = field(init=False)
    """|x − truth| is at most this, the rounding to float64 included."""
    enclosures: tuple[Ball, ...] = field(repr=False)
    """The truth lies in these; they hold more digits than a double does."""
    condition: float
    """An estimate (1-norm) of the condition of the scaled AᵀA; that of A is about its root."""
    rows: int
    method: str
    """How it was solved: `float64 with exact residuals` or `high precision`."""
    cost: Any = None
    """What the sums cost, where there were any."""
    record: Recorded | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", np.array([float(ball) for ball in self.enclosures]))
        bounds = np.array([ball.error for ball in self.enclosures])
        object.__setattr__(self, "error_bound", bounds)

    @cached_property
    def params(self) -> Named:
        """`x` by name."""
        return Named(self.names, self.enclosures)

    @property
    def nobs(self) -> int:
        return self.rows

    @property
    def digits(self) -> tuple[int, ...]:
        """Proven significant digits of every enclosure."""
        return tuple(ball.digits for ball in self.enclosures)

    def summary(self) -> str:
        """Every coefficient with how far it may be off."""
        cells = [("", "x", "proven within", "digits")]
        numbers = zip(self.x.tolist(), self.error_bound.tolist(), self.digits, strict=True)
        for name, (x, bound, digits) in zip(self.names, numbers, strict=True):
            within = at_most(Fraction(bound)) if math.isfinite(bound) else "?"
            cells.append((name, repr(x), within, str(digits)))
        rows = f"{self.rows} rows, condition of the scaled AᵀA about {self.condition:.2g}"
        return "\n".join([*ruled(aligned(cells)), rows])

    def to_dict(self) -> dict[str, Any]:
        return {
            "params": dict(self.params),
            "nobs": self.nobs,
            "x": dict(self.params),
            "error_bound": dict(zip(self.names, self.error_bound.tolist(), strict=True)),
            "digits": dict(zip(self.names, self.digits, strict=True)),
            "condition": self.condition,
            "rows": self.rows,
            "method": self.method,
        }

    def to_state(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "enclosures": [ball.to_state() for ball in self.enclosures],
            "condition": canonical.float_text(self.condition),
            "rows": self.rows,
            "method": self.method,
        }

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Solution:
        found = canonical.keys(state, ("names", "enclosures", "condition", "rows", "method"))
        names = canonical.names(found["names"])
        return cls(
            names,
            tuple(map(Ball.from_state, canonical.listed(found["enclosures"], len(names)))),
            canonical.read_float(found["condition"]),
            canonical.whole(found["rows"]),
            canonical.text(found["method"]),
            cost,
        )


@dataclass(frozen=True, eq=False)
class Certificate:
    """x̃, R̃ and the proof that the truth is near."""

    moments: PooledMoments
    approximation: Approximation
    contraction: Contraction
    deviation: Floats
    """Bounds of |x − x̃| in scaled units."""
    pull: Floats
    """Bounds of |g − Gx̃|, the true residual of the normal equations."""

    @cached_property
    def enclosures(self) -> tuple[Ball, ...]:
        """The coefficients in the units of the columns."""
        found, one = self.approximation, 1 << self.approximation.shift
        units = [Fraction(2) ** scale for scale in self.moments.scales]
        return tuple(
            Ball(Fraction(int(x), one) / unit, Fraction(float(rad)) / unit)
            for x, rad, unit in zip(found.numerators, self.deviation, units, strict=True)
        )

    @cached_property
    def inverse_slack(self) -> Floats:
        """Bounds of |G⁻¹ − best inverse|, in scaled units."""
        true_inverse = self.contraction.enclose(self.contraction.inverse)
        error = self.contraction.perturbation.times(true_inverse)
        encoding = raised(self.contraction.inverse @ error, len(error))
        return settled(self.approximation.best.slack(true_inverse, encoding))

    def inverse(self, j: int, k: int) -> Ball:
        """(AᵀA)⁻¹_jk in the units of the columns."""
        unit = Fraction(2) ** (self.moments.scales[j] + self.moments.scales[k])
        mid = self.approximation.best.middle(j, k)
        return Ball(mid / unit, Fraction(float(self.inverse_slack[j, k])) / unit)

    def scaled_inverse(self, factor: Ball | float) -> Floats:
        """(AᵀA)⁻¹ times a factor, as doubles; infinite only where the product is."""
        if not isinstance(factor, Ball) and not math.isfinite(factor):
            return np.full_like(self.contraction.inverse, math.nan)
        exact = factor.mid if isinstance(factor, Ball) else Fraction(factor)
        exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
        scales = np.array(self.moments.scales)
        powers = exponent - (scales[:, None] + scales[None, :])
        with np.errstate(over="ignore"):
            near = self.approximation.best.floats() * float(exact / Fraction(2) ** exponent)
            scaled: Floats = np.ldexp(near, powers)
        return scaled

    @property
    def condition(self) -> float:
        """To four digits: beyond, it would depend on the machine."""
        found = self.approximation.norm * float(self.contraction.inverse.sum(axis=0).max())
        return float(f"{found:.4g}")

    @property
    def fell_back(self) -> bool:
        """Whether so many columns were to be solved in float64, and were not."""
        many = len(self.moments.names) >= FAST_FROM
        return many and self.approximation.method == HIGH_PRECISION

    def solution(self) -> Solution:
        moments, method = self.moments, self.approximation.method
        return Solution(moments.names, self.enclosures, self.condition, moments.rows, method)


def solve_pooled(moments: PooledMoments) -> Solution:
    """The certified least squares solution.

    Raises RankError, naming columns, where full rank is not proven.
    """
    enough_rows(moments)
    return certify(moments).solution()


def enough_rows(moments: PooledMoments) -> None:
    """Refuse fewer rows than coefficients."""
    if moments.rows < len(moments.names):
        raise DataError(
            f"{moments.rows} rows in all for {len(moments.names)} coefficients",
            hint="name fewer columns, or use ridge",
        )


def certify(moments: PooledMoments, *, fast: bool | None = None) -> Certificate:
    """Solve and prove; `fast` chooses the way (None: by size, and by what succeeds)."""
    if any(diagonal <= 0 for diagonal in np.diagonal(moments.gram)):
        raise rank_error(moments)
    error = Perturbation.of(moments)
    for approximation in _approximations(moments, fast):
        if approximation is not None:
            proof, _ = contract(approximation.inverse, approximation.defect, error)
            if proof is not None:
                return _certificate(moments, approximation, proof)
    raise rank_error(moments)


def _approximations(moments: PooledMoments, fast: bool | None) -> Iterator[Approximation | None]:
    if fast or (fast is None and len(moments.names) >= FAST_FROM):
        yield solve_fast(moments)
    if not fast:
        few = suspects(moments) if len(moments.names) > MANY else ()
        if 0 < len(few) < len(moments.names):
            # What is not proven for some of the columns is not proven for all: asking the few
            # first (RankError) spares many columns a long calculation that must fail.
            certify(moments.subset(few))
        yield solve_precisely(moments)


def _certificate(
    moments: PooledMoments, approximation: Approximation, proof: Contraction
) -> Certificate:
    error = proof.perturbation
    spread = error.rhs + error.times(approximation.absolute_x())
    pull = raised(approximation.absolute_residual() + spread, 3)
    deviation = proof.enclose(raised(proof.inverse @ pull, len(pull)))
    size = approximation.absolute_x().max()
    if moments.exact and deviation.max() > size * _USELESS:
        raise small_response(moments) if size < _TINY else rank_error(moments)
    if not np.isfinite(deviation).all():
        raise RankError("the solution leaves the range of float64", hint="rescale the columns")
    return Certificate(moments, approximation, proof, settled(deviation), settled(pull))
