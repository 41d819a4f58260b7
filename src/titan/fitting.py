"""Least squares over all parties' rows together: `solve` for matrices, `fit` for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from titan.averaging import by_party
from titan.engines.broadcasting import broadcast
from titan.errors import DataError, InputError, NetworkError, NotPrivateError, PlanError
from titan.leastsquares import (
    PooledMoments,
    Regression,
    Ridge,
    Solution,
    fit_pooled,
    ridge_pooled,
    solve_pooled,
)
from titan.leastsquares.robust import CovType, Robust, agreed_solution, meat_scales, symmetric
from titan.matrices import moments_of
from titan.moments import Collected, Model, Moments, Source, collect, open_source
from titan.moments.residuals import scores, summed_score
from titan.moments.rows import Missing
from titan.network import Network
from titan.pooling import Release, SecretMoments, Sums, pool, pool_scaled
from titan.privacy.limits import DEFAULT, Limits, limits_for
from titan.privacy.view import Record
from titan.protocol import Cost, Envelope
from titan.ring import Ring

Parts = Sequence[Any] | Mapping[str, Any]


def solve(
    parts: Parts,
    network: Network,
    *,
    names: Sequence[str] | None = None,
    release: Release = "solution",
    solver: str | None = None,
    allow_small: bool = False,
    **choices: Any,
) -> Solution:
    """The least squares solution of all parties' equations A_i x = b_i together.

    `parts` holds one pair (A_i, b_i) per party, in order of `network.parties` or as a mapping:
    arrays of floats or integers, or of Fractions and Decimals, all taken as the exact numbers they
    are. Every party learns the pooled AᵀA, Aᵀb and the number of rows, and with
    release="inference" bᵀb; nobody learns another's rows.

    Since sums over few rows give those rows away, a party with fewer than 10 rows is refused before
    anything is sent, and fewer than 10 for every party or 3 for every column of A, in all, once the
    row count is known, before the rest is sent. `allow_small` allows them all the same.

    `solver` names one party that solves and tells the others. `choices` are those of the private
    sums: bits, tau, recovery, k, rounds, masks, engine, progress, record (see `titan.average`).
    """
    limits = limits_for(allow_small)
    sums = Sums.choose(_checked(network), choices)
    secrets = [
        moments_of(party, part, names)
        for party, part in zip(network.parties, by_party(parts, network), strict=True)
    ]
    return solve_moments(secrets, sums, release=release, solver=solver, limits=limits)


def solve_moments(
    secrets: Sequence[SecretMoments],
    sums: Sums,
    *,
    release: Release = "solution",
    solver: str | None = None,
    limits: Limits = DEFAULT,
) -> Solution:
    """The same from the parties' moments, in order of the network's parties."""
    origin = None if solver is None else sums.network.index(solver)
    pooled, cost = pool(secrets, sums, release, limits=limits)
    solution = solve_pooled(pooled)
    further, told = _tell(sums.network, origin, solution.x, solution.error_bound)
    return replace(solution, cost=_added(cost, further), record=_record(sums, told))


def _tell(
    network: Network, origin: int | None, *answer: npt.ArrayLike
) -> tuple[Cost | None, list[Envelope]]:
    """The party that solved, if only one did, tells all others its answer."""
    told: list[Envelope] = []
    if origin is None:
        return None, told
    message = np.concatenate([np.asarray(x, "<f8") for x in answer]).tobytes()
    return broadcast(network, origin, message, told), told


def _added(cost: Cost, further: Cost | None) -> Cost:
    return cost if further is None else cost + further


def fit(
    data: Any,
    network: Network | None = None,
    *,
    formula: str | None = None,
    response: str | None = None,
    columns: Sequence[str] | None = None,
    intercept: bool = True,
    weights: str | None = None,
    missing: Missing = "refuse",
    decimal: bool = False,
    release: Release = "inference",
    cov_type: CovType = "nonrobust",
    solver: str | None = None,
    allow_small: bool = False,
    **choices: Any,
) -> Regression:
    """Linear regression on all parties' rows together.

    `data` holds one table per party (a path, a pandas, Polars or Arrow table, or a mapping of
    columns), in order of `network.parties` or as a mapping; without a network it is one table.
    The model is a `formula`, or a `response` with the `columns` that explain it. A float counts as
    the exact binary number it is; with `decimal` as the shortest decimal that stands for it, as it
    would in a CSV. Every party learns the pooled AᵀA, Aᵀb, bᵀb and the number of rows. With a
    network too few rows are refused as by `solve`, and so is a level of a category that only one or
    two rows have in all, unless `allow_small`.

    `cov_type` asks for other standard errors, by one further private sum, of which every party
    learns the total as well, with e = b − Ax the residuals (w e with weights):

    "HC0"      Σ e² a aᵀ over all rows: right where the errors' variances differ
    "cluster"  Σ s sᵀ over the parties, s = A_pᵀ e_p: right where errors inside a party depend on
               each other. These few vectors add up to zero, so that parties who are all but two
               together can tell the other two vectors, though not whose is which.

    If the fit is exact there is no such sum. Digits of these errors are not claimed as proven.

    `solver` names one party that solves and tells the others; robust errors need everyone to.
    """
    model = model_of(formula, response, columns, intercept, weights)
    limits = _limits(allow_small, network)
    _check_choices(release, cov_type, network, choices)
    origin = _origin(solver, network, cov_type)
    read = _Read.of(data, network, model, missing, decimal)
    sums = None if network is None else Sums.choose(network, choices)
    pooled, cost = read.pooled(sums, limits)
    fitted = fit_pooled(pooled, constant=model.constant, weighted=model.weights is not None)
    fitted = replace(fitted, cov_type=cov_type, cost=cost, dropped=read.dropped)
    if origin is not None and network is not None:
        answer = fitted.params, fitted.error_bound, fitted.bse
        further, told = _tell(network, origin, *map(np.asarray, answer))
        return replace(fitted, cost=_added(fitted.cost, further), record=_record(sums, told))
    if cov_type == "nonrobust" or fitted.exact_fit:
        return replace(fitted, record=_record(sums))
    x = agreed_solution(fitted.certificate, fitted.residual_sum)
    robust = _with_robust_errors(fitted, x, read.meats(cov_type, x), sums)
    return replace(robust, record=_record(sums))


def ridge(
    data: Any,
    network: Network | None = None,
    *,
    alpha: float,
    formula: str | None = None,
    response: str | None = None,
    columns: Sequence[str] | None = None,
    intercept: bool = True,
    weights: str | None = None,
    missing: Missing = "refuse",
    decimal: bool = False,
    allow_small: bool = False,
    **choices: Any,
) -> Ridge:
    """The minimiser of ‖b − Ax‖² + alpha‖x‖² over all parties' rows, the intercept unpenalised.

    As `fit` in all else. It needs neither full rank nor as many rows as coefficients; with a
    network, `allow_small` must then be said. Every party learns the pooled AᵀA, Aᵀb and the number
    of rows.
    """
    model = model_of(formula, response, columns, intercept, weights)
    limits = _limits(allow_small, network)
    if network is None:
        _refuse_choices(choices)
    read = _Read.of(data, network, model, missing, decimal)
    sums = None if network is None else Sums.choose(network, choices)
    pooled, cost = read.pooled(sums, limits, "solution", penalised=True)
    return replace(ridge_pooled(pooled, alpha, model.constant_column), cost=cost)


@dataclass(frozen=True)
class _Read:
    """Every party's table, and its moments as far as the model needs them."""

    sources: Mapping[str, Source]
    model: Model
    missing: Missing
    collected: Sequence[Collected]

    @classmethod
    def of(
        cls, data: Any, network: Network | None, model: Model, missing: Missing, decimal: bool
    ) -> _Read:
        sources = _sources(data, network, decimal)
        collected = [collect(source, model, missing=missing) for source in sources.values()]
        return cls(sources, model, missing, collected)

    @property
    def dropped(self) -> dict[str, int]:
        counts = zip(self.sources, self.collected, strict=True)
        return {name: each.dropped for name, each in counts if each.dropped}

    def pooled(
        self,
        sums: Sums | None,
        limits: Limits,
        release: Release = "inference",
        *,
        penalised: bool = False,
    ) -> tuple[PooledMoments, Cost | None]:
        if sums is None:
            return exact(self.collected[0].moments), None
        for party, each in zip(self.sources, self.collected, strict=True):
            limits.check_own(each.moments.rows, party, weightless=each.weightless)
        secrets = [each.moments for each in self.collected]
        return pool(
            secrets,
            sums,
            release,
            penalised=penalised,
            limits=limits,
            level_counts=self.model.level_counts,
        )

    def meats(self, cov_type: CovType, x: Sequence[Fraction]) -> list[Moments]:
        """What each party adds to the further sum of robust errors."""
        if cov_type == "cluster":
            return [summed_score(each.moments, x) for each in self.collected]
        meats = []
        for source, each in zip(self.sources.values(), self.collected, strict=True):
            meats.append(scores(source, self.model, x, missing=self.missing))
            if meats[-1].rows != each.moments.rows:
                raise DataError(
                    f"{source.label} had {each.moments.rows} rows, and {meats[-1].rows} when "
                    "read again",
                    hint="leave the data alone until the fit is done",
                )
        return meats


def _record(sums: Sums | None, told: Sequence[Envelope] = ()) -> Record | None:
    """What was kept of the run, if it was to be."""
    if sums is None or not sums.record:
        return None
    return Record(sums.network, tuple(sums.kept), tuple(told))


def exact(moments: Moments) -> PooledMoments:
    """The moments of one party alone: nothing is pooled, nothing rounded."""
    n = len(moments.names) - 1
    matrix = np.array(moments.matrix().tolist(), object)
    integers = np.vectorize(int, otypes=[object])(matrix)
    units = [Fraction(2) ** two * Fraction(5) ** five for two, five in moments.units]
    return PooledMoments.of_integers(
        moments.names[:n],
        integers[:n, :n],
        integers[:n, n],
        units[:n],
        rows=moments.rows,
        bb=integers[n, n],
        response=moments.names[n],
        response_unit=units[n],
    )


def _with_robust_errors(
    fitted: Regression, x: Sequence[Fraction], meats: Sequence[Moments], sums: Sums | None
) -> Regression:
    """One further sum; the inverse stands on both sides of it, so it has twice the bits."""
    ring = Ring(512 if sums is None else 2 * sums.bits)
    n = len(fitted.names)
    pairs = np.stack(np.tril_indices(n), axis=1)
    scales = meat_scales(fitted.certificate, fitted.residual_sum, x)
    cost = fitted.cost
    if sums is None:
        lower = ring.to_signed(meats[0].fixed_point(ring, ring.bits - 2, pairs, scales))
    else:
        lower, further = pool_scaled("robust errors", meats, sums, ring, pairs, scales)
        cost = cost + further
    clusters = len(meats) if fitted.cov_type == "cluster" else None
    meat = symmetric(n, lower)
    robust = Robust(fitted.certificate, scales, meat, ring.bits - 2, clusters)
    return replace(fitted, robust=robust, cost=cost)


def model_of(
    formula: str | None,
    response: str | None,
    columns: Sequence[str] | None,
    intercept: bool,
    weights: str | None,
) -> Model:
    if formula is not None and response is None and columns is None:
        if not intercept:
            raise InputError("intercept=False beside a formula", hint='write "y ~ x - 1"')
        return Model(formula, weights=weights)
    if formula is None and response is not None and columns is not None:
        return Model.from_columns(response, columns, intercept=intercept, weights=weights)
    raise InputError(
        "the model is not clear",
        hint='give formula="y ~ a + b", or response="y" and columns=["a", "b"]',
    )


def _check_choices(
    release: Release, cov_type: CovType, network: Network | None, choices: Mapping[str, Any]
) -> None:
    if release != "inference":
        raise PlanError(
            f"release={release!r} gives no standard errors",
            hint='release="inference", or titan.solve for the solution alone',
        )
    if cov_type not in get_args(CovType):
        raise PlanError(
            f"cov_type={cov_type!r} is unknown", hint=f"one of {', '.join(get_args(CovType))}"
        )
    if network is None and cov_type == "cluster":
        raise PlanError("clustered errors need at least 2 parties", hint="give a network")
    if network is None:
        _refuse_choices(choices)
    elif cov_type == "cluster":
        _check_clusters(len(_checked(network)), choices.get("tau"))


def _origin(solver: str | None, network: Network | None, cov_type: CovType) -> int | None:
    """The number of the party that solves for all; None where everyone does."""
    if solver is None:
        return None
    if network is None:
        _refuse_choices({"solver": solver})
    if cov_type != "nonrobust":
        raise PlanError(
            f"cov_type={cov_type!r} needs the solution at every party, not at {solver!r} alone",
            hint="leave solver out",
        )
    return _checked(network).index(solver)


def _limits(allow_small: bool, network: Network | None) -> Limits:
    """One party alone shows nothing to anybody, so it has nothing to allow either."""
    limits = limits_for(allow_small)
    if allow_small and network is None:
        _refuse_choices({"allow_small": allow_small})
    return limits


def _refuse_choices(choices: Mapping[str, Any]) -> None:
    if choices:
        raise PlanError(f"{next(iter(choices))} without a network", hint="one table needs no sums")


def _check_clusters(parties: int, tau: int | None) -> None:
    """The parties' vectors s add up to zero, so all but two of them can tell the other two's."""
    if tau is not None and parties - tau <= 2:
        raise NotPrivateError(
            f"with {parties} parties, {tau} of them could work out the others' parts of the "
            "clustered errors",
            cut=(),
            hint='cov_type="HC0", more parties, or no tau',
        )


def _checked(network: Any) -> Network:
    if not isinstance(network, Network):
        raise NetworkError(
            f"{type(network).__name__} is no network", hint="for example titan.Network.cycle(5)"
        )
    return network


# -- inputs -----------------------------------------------------------------------------------


def _sources(data: Any, network: Network | None, decimal: bool) -> dict[str, Source]:
    """Every party's table by its name; one table without a network by its own."""
    if network is None:
        source = open_source(data, decimal=decimal)
        return {source.label: source}
    return {
        party: open_source(part, decimal=decimal, label=f"the table of {party!r}")
        for party, part in zip(network.parties, by_party(data, network), strict=True)
    }
