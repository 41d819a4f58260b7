"""From every party's secret moments to the pooled ones, in two private sums.

The paper bounds every entry by a number `a` that somebody would have to guess. Instead:

1. The first sum, in a wide ring: the diagonal D of AᵀA, Aᵀb and the row count; bᵀb only where
   inference is to be released. All of these belong to the release anyway.
2. The second sum: the entries of AᵀA off the diagonal. By Cauchy–Schwarz |Σ G_jk| ≤ √(D_j D_k), so
   with column j divided by 2^s_j ≥ √D_j every pooled entry lies in [-1, 1], and 2^(bits-2) is the
   fixed-point one. That bounds the sum, not any party's part of it; modular sums do not mind.

The diagonal is not sent twice: that would reveal the sum of the parties' rounding errors.

Before the first sum every party looks at its own row count, and between the two at that of all:
where there are fewer than the limits ask for (`titan.privacy.limits`), the rest does not leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from titan.averaging import EngineName, engine_named
from titan.engines.local import Outcome, Progress
from titan.errors import DataError, NumberError, PlanError
from titan.leastsquares import PooledMoments, column_scales
from titan.network import Network
from titan.privacy.limits import DEFAULT, Limits
from titan.privacy.view import RecordedSum, Sum, check_recordable
from titan.protocol import Cost, MaskMode, Plan, RecoveryName
from titan.ring import Residues, Ring
from titan.ring.whole import whole_number

Release = Literal["solution", "inference"]
LevelCounts = Callable[[Sequence[Fraction], int], Mapping[str, int]]
"""A model's counts of its levels, from the pooled diagonal of AᵀA and the number of rows."""
WIDE = Ring(512)
WIDE_FRACTION = 256
FIRST, SECOND = "diagonal, Aᵀb, rows", "off the diagonal"
"""What the two sums are called in a view."""


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
        within: int | None = None,
    ) -> Residues: ...


@dataclass(frozen=True)
class Sums:
    """How the private sums are to be made."""

    network: Network
    bits: int = 128
    tau: int | None = None
    recovery: RecoveryName = "auto"
    k: int | None = None
    rounds: int | None = None
    masks: MaskMode = "sent"
    engine: EngineName = "local"
    progress: Progress | None = field(default=None, repr=False)
    record: bool = False
    kept: list[RecordedSum] = field(default_factory=list, init=False, repr=False, compare=False)
    """The sums made so far, where they are recorded: secret, unlike all the rest."""

    def __post_init__(self) -> None:
        if whole_number("bits", self.bits) < 8:
            raise PlanError(f"{self.bits} bits are too few for moments", hint="128 is the default")

    @classmethod
    def choose(cls, network: Network, choices: Mapping[str, Any]) -> Sums:
        """As the caller of `solve` or `fit` chose."""
        known = {option.name for option in fields(cls)} - {"network"}
        for name in choices:
            if name not in known:
                raise PlanError(f"there is no option {name!r}", hint=f"{', '.join(sorted(known))}")
        return cls(network, **choices)

    def plan(self, ring: Ring, entries: int) -> Plan:
        """One private sum of `entries` numbers per party."""
        return Plan.make(
            self.network,
            ring,
            entries,
            recovery=self.recovery,
            k=self.k,
            rounds=self.rounds,
            masks=self.masks,
            tau=self.tau,
        )

    def run(self, name: str, ring: Ring, secrets: list[Residues], fraction: int) -> Outcome:
        """One private sum of one vector per party, each (limbs, d), in units of 2^-fraction."""
        engine: Callable[..., Outcome] = engine_named(self.engine)
        plan = self.plan(ring, secrets[0].shape[1])
        stacked = np.stack(secrets, axis=1)
        if not self.record:
            return engine(plan, stacked, progress=self.progress)
        check_recordable(plan, self.engine)
        outcome = engine(plan, stacked, progress=self.progress, record=True)
        self.kept.append(RecordedSum(Sum(name, plan, fraction), stacked, outcome.envelopes))
        return outcome


def plans(sums: Sums, coefficients: int, release: Release) -> list[Plan]:
    """The plans of the sums by which `pool` pools a model with so many coefficients.

    The first has the diagonal of AᵀA, Aᵀb and the row count, with inference also bᵀb; the second
    the rest of AᵀA, and is not there for a single coefficient.
    """
    _check_choices(sums, release)
    found = [sums.plan(WIDE, 2 * coefficients + 1 + (release == "inference"))]
    if coefficients > 1:
        found.append(sums.plan(Ring(sums.bits), coefficients * (coefficients - 1) // 2))
    return found


@dataclass(frozen=True)
class NormalEquations:
    """The two sums that pool one model: what each party puts in, and what comes out.

    Equal at all parties but for the moments that are handed in.
    """

    names: tuple[str, ...]  # of the columns of A, then of b
    parties: int
    bits: int
    release: Release

    @property
    def columns(self) -> int:
        return len(self.names) - 1

    def first_secret(self, party: str, part: SecretMoments) -> Residues:
        """The diagonal, Aᵀb, with inference bᵀb, and the row count, in units of 2^-256."""
        n = self.columns
        pairs = [(j, j) for j in range(n)] + [(j, n) for j in range(n)]
        if self.release == "inference":
            pairs.append((n, n))
        within = ((WIDE.modulus >> 1) - 1) // self.parties
        encoded = part.fixed_point(WIDE, WIDE_FRACTION, pairs, [0] * (n + 1), within=within)
        _refuse_vanished(party, part, encoded[:, :n])
        rows = WIDE.from_ints([part.rows << WIDE_FRACTION])
        return np.append(encoded, rows, axis=1)

    def read_first(self, total: Residues) -> First:
        n = self.columns
        *pooled, rows = (Fraction(c, 1 << WIDE_FRACTION) for c in WIDE.to_signed(total))
        bb = pooled[2 * n] if self.release == "inference" else None
        return First(pooled[:n], pooled[n : 2 * n], int(rows), bb)

    @property
    def ring(self) -> Ring:
        """The second sum's; its fixed-point one is 2^(bits-2)."""
        return Ring(self.bits)

    def second_secret(self, part: SecretMoments, first: First) -> Residues:
        """The upper triangle, row by row, scaled so that every pooled entry is in [-1, 1]."""
        pairs = np.stack(np.triu_indices(self.columns, 1), axis=1)
        scales = [*column_scales(first.diagonal), 0]  # the response has no part in this sum
        return part.fixed_point(self.ring, self.bits - 2, pairs, scales)

    def pooled(self, first: First, second: Residues | None) -> PooledMoments:
        """The normal equations; `second` is None for a single column."""
        return PooledMoments.of_sums(
            self.names[:-1],
            rows=first.rows,
            diagonal=first.diagonal,
            rhs=first.rhs,
            bb=first.bb,
            off_diagonal=[] if second is None else self.ring.to_signed(second),
            parties=self.parties,
            bits=self.bits,
            response=self.names[-1],
            fraction_bits=WIDE_FRACTION,
        )


@dataclass(frozen=True)
class First:
    """What the first sum opens."""

    diagonal: list[Fraction]
    rhs: list[Fraction]
    rows: int
    bb: Fraction | None


def pool(
    parts: Sequence[SecretMoments],
    sums: Sums,
    release: Release,
    *,
    penalised: bool = False,
    limits: Limits = DEFAULT,
    level_counts: LevelCounts | None = None,
) -> tuple[PooledMoments, Cost]:
    """The pooled normal equations, with proven bounds on their rounding, and what that cost.

    Fewer rows than the limits ask for are refused: a party's own before the first sum, those of all
    between the sums, with those at each level of a category if the model counts them. So are fewer
    rows than coefficients, unless a penalty makes up for them.
    """
    _check_choices(sums, release)
    names, network = _common_names(parts, sums.network), sums.network
    equations = NormalEquations(names, len(parts), sums.bits, release)
    held = list(zip(network.parties, parts, strict=True))
    for party, part in held:
        limits.check_own(part.rows, party)
    secrets = [equations.first_secret(party, part) for party, part in held]
    outcome = sums.run(FIRST, WIDE, secrets, WIDE_FRACTION)
    first, cost = equations.read_first(outcome.total), outcome.cost
    limits.check_pooled(first.rows, equations.columns, len(parts))
    if level_counts is not None:
        limits.check_levels(level_counts(first.diagonal, first.rows))
    if not penalised:
        enough_rows(first.rows, equations.columns)
    if equations.columns == 1:
        return equations.pooled(first, None), cost
    secrets = [equations.second_secret(part, first) for part in parts]
    outcome = sums.run(SECOND, equations.ring, secrets, sums.bits - 2)
    return equations.pooled(first, outcome.total), cost + outcome.cost


def pool_scaled(
    name: str,
    parts: Sequence[SecretMoments],
    sums: Sums,
    ring: Ring,
    pairs: npt.ArrayLike,
    scales: Sequence[int],
) -> tuple[list[int], Cost]:
    """Some entries of the pooled matrix, in units of 2^-(bits-2) of the ring.

    The scales must bring every pooled entry into [-1, 1]; nobody's part need be in there.
    """
    secrets = [part.fixed_point(ring, ring.bits - 2, pairs, scales) for part in parts]
    outcome = sums.run(name, ring, secrets, ring.bits - 2)
    return ring.to_signed(outcome.total), outcome.cost


# -- refusals ---------------------------------------------------------------------------------


def _check_choices(sums: Sums, release: Release) -> None:
    if release not in get_args(Release):
        raise PlanError(
            f"release={release!r} is unknown", hint=f"one of {', '.join(get_args(Release))}"
        )


def _common_names(parts: Sequence[SecretMoments], network: Network) -> tuple[str, ...]:
    names = parts[0].names
    for party, part in zip(network.parties, parts, strict=True):
        if part.names != names:
            raise DataError(
                f"{party!r} has the columns {_listed(part.names)}, "
                f"{network.parties[0]!r} has {_listed(names)}",
                hint="all parties need the same columns in the same order",
            )
    if len(names) < 2:
        raise DataError("there is no column to solve for", hint="name at least one column")
    return names


def _refuse_vanished(party: str, part: SecretMoments, diagonal: Residues) -> None:
    """A column that is not zero must not look like zero in the wide ring."""
    vanished = ~part.zero_columns[:-1] & ~diagonal.any(axis=0)
    if vanished.any():
        name = part.names[int(np.argmax(vanished))]
        raise NumberError(
            f"column {name!r} of {party!r} is too small for the {WIDE.bits}-bit ring",
            hint="rescale the column, for example by a power of ten",
        )


def enough_rows(rows: int, coefficients: int) -> None:
    """Refuse what has no one solution; between the sums, as the limits."""
    if rows < coefficients:
        raise DataError(
            f"{rows} rows in all for {coefficients} coefficients",
            hint="name fewer columns, or use more rows",
        )


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
