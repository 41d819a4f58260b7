"""Least squares over all parties' rows together: `solve` for matrices, `fit` for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack, get_args

import numpy as np
import numpy.typing as npt

from titan.engines.broadcasting import broadcast
from titan.errors import DataError, NotPrivateError, PlanError, about
from titan.inputs import by_party, model_of, network_for, sources
from titan.joint import Computed, SumOptions, SumSettings
from titan.joint.enough_bits import together_in_one_place
from titan.joint.equations import Found, Opened, Release, SecretMoments
from titan.joint.pooled_model import Known, RowsPart
from titan.joint.regression import Regression
from titan.joint.ridge import RidgeRegression
from titan.joint.settings import refuse_without_network
from titan.joint.system import LinearSystem
from titan.leastsquares import Regression as Fit
from titan.leastsquares import Ridge, Solution
from titan.leastsquares.penalised import check_alpha
from titan.leastsquares.pooled import exact
from titan.leastsquares.robust import CovType, clusters_hidden
from titan.listing import check_choice, listing
from titan.matrices import moments_of, refuse_leverage
from titan.moments import Model, Moments, Source, open_source
from titan.moments.grain import grains_of
from titan.moments.rows import Missing
from titan.moments.workers import GivenExecutor
from titan.network import Network
from titan.release.draft import draft
from titan.release.made import MadeColumns, Rounding
from titan.release.model_cells import cells_of
from titan.release.policy import DEFAULT, NONE, PRECISIONS, Policy, policy_for
from titan.ring.whole import whole_number

Result = TypeVar("Result", Fit, Ridge, Solution)
_LEAST_BITS = 8


def solve(
    parts: Sequence[Any] | Mapping[str, Any],
    network: Network | str,
    *,
    names: Sequence[str] | None = None,
    release: Release = "solution",
    solver: str | None = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Solution:
    """The least squares solution of all parties' equations A_i x = b_i together.

    `parts` holds one pair (A_i, b_i) per party, in order of `network.parties` or as a mapping:
    arrays of floats or integers, or of Fractions and Decimals, all taken as the exact numbers they
    are. Every party learns the pooled AᵀA, Aᵀb and the number of rows, and with
    release="inference" bᵀb; nobody learns another's rows.

    Since sums over few rows give those rows away, a party with fewer than 10 rows is refused before
    anything is sent, and so are fewer than 10 for every party or 3 for every column of A, in all,
    and a row whose leverage is above 1/3. `allow_small` allows them all the same.

    `solver` names one party that solves and tells the others. `options` are those of the private
    sums: bits, tau, recovery, k, rounds, masks, engine, progress, record (see `titan.average`).
    """
    policy = policy_for(allow_small)
    net = network_for(network, parts)
    settings = _settings(net, options)
    pairs = dict(zip(net.parties, by_party(parts, net), strict=True))
    secrets = [moments_of(party, part, names) for party, part in pairs.items()]
    for party, own in zip(net.parties, secrets, strict=True):
        policy.check_own(own.rows, party)
    policy.check_pooled(sum(own.rows for own in secrets), len(secrets[0].names) - 1, len(net))
    if len({own.names for own in secrets}) == 1:
        refuse_leverage(pairs, policy)
    return solve_moments(secrets, settings, release=release, solver=solver, policy=policy)


def solve_moments(
    secrets: Sequence[SecretMoments],
    settings: SumSettings,
    *,
    release: Release = "solution",
    solver: str | None = None,
    policy: Policy = DEFAULT,
) -> Solution:
    """The same from the parties' moments, in order of the network's parties."""
    with about("solver"):
        origin = None if solver is None else settings.network.index(solver)
    equations = _equations(secrets, settings, release)
    parts = _moment_parts(secrets, settings.network.parties)
    system = LinearSystem(equations, len(secrets), policy).in_one_place(parts)
    found = together_in_one_place(system, parts, settings)
    return _told(found, origin, found.answer.x, found.answer.error_bound)


def fit(
    data: Any,
    network: Network | str | None = None,
    *,
    formula: str | None = None,
    response: str | None = None,
    columns: Sequence[str] | None = None,
    intercept: bool = True,
    weights: str | None = None,
    missing: Missing = "refuse",
    decimal: bool = False,
    csv: Any = None,
    executor: GivenExecutor | None = None,
    release: Release = "inference",
    cov_type: CovType = "nonrobust",
    precision: int | None = None,
    solver: str | None = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Fit:
    """Linear regression on all parties' rows together.

    `data` holds one table per party (a path, a pandas, Polars, Arrow or Dask table, a mapping of
    columns, or anything else that `titan.open_source` takes), in order of `network.parties` or as a
    mapping; without a network it is one table. Rows are read by all cores, or by the workers of
    `executor`: a concurrent.futures.Executor, a Dask client, or the address of a Dask scheduler.
    The model is a `formula`, or a `response` with the `columns` that explain it. A float counts as
    the exact binary number it is; with `decimal` as the shortest decimal that stands for it, as it
    would in a CSV. `csv` says how CSV files are written, if not with commas and points in UTF-8:
    "europe" for semicolons, decimal commas and cp1252, or {"delimiter": ";", "decimal_comma": True,
    "encoding": "cp1252"}. Every party learns the pooled AᵀA, Aᵀb, bᵀb and the number of rows. With
    a network too few rows are refused as by `solve`, and so is a level of a category that only one
    or two rows have in all, unless `allow_small`.

    `cov_type` asks for other standard errors, by one further private sum, of which every party
    learns the total as well, in units in which AᵀA is the identity and rounded to `bits` bits, with
    e = b − Ax the residuals (w e with weights):

    "HC0"      Σ e² a aᵀ over all rows: right where the errors' variances differ
    "HC1"      the same, times rows over residual degrees of freedom
    "HC2"      Σ e²/(1−h) a aᵀ, h = aᵀ(AᵀA)⁻¹a being the leverage of a row
    "HC3"      Σ e²/(1−h)² a aᵀ; as HC2 it is refused where a row's leverage is next to 1
    "cluster"  Σ s sᵀ over the parties, s = A_pᵀ e_p: right where errors inside a party depend on
               each other. The fewer parties there are, the better others can tell these vectors
               apart: with `tau` at least tau + 2 more than coefficients are asked for.

    If the fit is exact there is no such sum.

    Columns that the formula makes (log, powers, products of numbers) are exact; with `precision`
    they keep so many bits of the range that follows from the rows, as they do in a study.

    `solver` names one party that solves and tells the others; robust errors need everyone to.
    `options` are those of the private sums, as of `solve`.
    """
    model = model_of(formula, response, columns, intercept, weights, pooled=True)
    policy = policy_for(allow_small)
    if release != "inference":
        raise PlanError(
            f"release={release!r} gives no standard errors",
            hint='release="inference", or titan.solve for the solution alone',
            choice="release",
        )
    check_choice("cov_type", cov_type, get_args(CovType), PlanError)
    if network is None:
        refuse_without_network(solver=solver, allow_small=allow_small or None, **options)
        table = open_source(data, decimal=decimal, csv=csv, executor=executor)
        rounding = _rounding(model, [table], precision)
        return _alone(table, model, missing, cov_type, rounding)
    net = network_for(network, data)
    settings = _settings(net, options)
    _check_robust(cov_type, solver, settings, model, allow_small)
    with about("solver"):
        origin = None if solver is None else net.index(solver)
    tables = sources(data, net, decimal, csv, executor)
    regression = Regression(
        Found(model.names, len(net), settings.bits, release, cells_of(model, {})),
        len(net),
        policy,
        model,
        missing,
        tau=settings.tau or 0,
        rounding=_rounding(model, tables, precision),
        cov_type=cov_type,
        meat_bits=settings.bits,
    )
    parts = _parts(regression, tables, net)
    found = together_in_one_place(regression.in_one_place(parts), parts, settings)
    out = found.answer
    told = _told(found, origin, out.params, out.error_bound, out.bse)
    return replace(told, dropped={part.owner: part.dropped for part in parts if part.dropped})


def fit_moments(
    secrets: Sequence[Moments],
    settings: SumSettings,
    *,
    policy: Policy = DEFAULT,
    model: Model | None = None,
) -> Fit:
    """The regression from the parties' moments, in order of the network's parties."""
    equations = _equations(secrets, settings, "inference")
    parts = _moment_parts(secrets, settings.network.parties)
    found = together_in_one_place(_of_moments(equations, parts, policy, model), parts, settings)
    return replace(found.answer, cost=found.cost, record=found.record)


def fit_own_moments(moments: Moments, model: Model | None = None) -> Fit:
    """The regression from one party's moments: nothing is pooled."""
    own = Found(moments.names, 1, 128, "inference")  # of which no sum is made
    regression = _of_moments(own, _moment_parts([moments], [""]), NONE, model)
    pooled = exact(moments)
    regression.refuse_noise(pooled)
    answer = regression.answer(Known(Opened(pooled=pooled)))
    assert answer is not None  # noqa: S101 - errors of its own kind would need rows
    return answer


def _of_moments(
    equations: Found, parts: Sequence[RowsPart], policy: Policy, model: Model | None
) -> Regression:
    """The moments say which columns give the constant, and whether rows had weights."""
    first = parts[0].moments
    assert isinstance(first, Moments)  # noqa: S101 - of rows, not of fractions
    regression = Regression(
        equations,
        len(parts),
        policy,
        model,
        constant=dict.fromkeys(first.constant, 1) or None,
        weighted=first.weights is not None,
    )
    return regression.in_one_place(parts)


def ridge(
    data: Any,
    network: Network | str | None = None,
    *,
    alpha: float,
    formula: str | None = None,
    response: str | None = None,
    columns: Sequence[str] | None = None,
    intercept: bool = True,
    weights: str | None = None,
    missing: Missing = "refuse",
    decimal: bool = False,
    csv: Any = None,
    executor: GivenExecutor | None = None,
    precision: int | None = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Ridge:
    """The minimiser of ‖b − Ax‖² + alpha‖x‖² over all parties' rows, the intercept unpenalised.

    As `fit` in all else. It needs neither full rank nor as many rows as coefficients; with a
    network, `allow_small` must then be said. Every party learns the pooled AᵀA, Aᵀb and the number
    of rows.
    """
    check_alpha(alpha)
    model = model_of(formula, response, columns, intercept, weights, pooled=True)
    policy = policy_for(allow_small)
    if network is None:
        refuse_without_network(allow_small=allow_small or None, **options)
        table = open_source(data, decimal=decimal, csv=csv, executor=executor)
        own = Found(model.names, 1, 128, "solution")  # of which no sum is made
        rounding = _rounding(model, [table], precision)
        alone = RidgeRegression(own, 1, NONE, model, missing, rounding=rounding, alphas=(alpha,))
        part = alone.prepare(table)
        answer = alone.in_one_place([part]).answer(Known(Opened(pooled=exact(part.moments))))
        assert answer is not None  # noqa: S101 - it needs no sum
        return answer[0]
    net = network_for(network, data)
    settings = _settings(net, options)
    equations = Found(model.names, len(net), settings.bits, "solution", cells_of(model, {}))
    tables = sources(data, net, decimal, csv, executor)
    rounding = _rounding(model, tables, precision)
    penalised = RidgeRegression(
        equations, len(net), policy, model, missing,
        tau=settings.tau or 0, rounding=rounding, alphas=(alpha,),
    )  # fmt: skip
    parts = _parts(penalised, tables, net)
    found = together_in_one_place(penalised.in_one_place(parts), parts, settings)
    return replace(found.answer[0], cost=found.cost, record=found.record)


# -- one party alone --------------------------------------------------------------------------


def _alone(
    source: Source, model: Model, missing: Missing, cov_type: CovType, rounding: Rounding | None
) -> Fit:
    """Nothing is pooled; the one sum of robust errors is the own secret."""
    if cov_type == "cluster":
        raise PlanError("clustered errors need at least 2 parties", hint="give a network")
    own = Found(model.names, 1, 128, "inference")  # of which no sum is made
    regression = Regression(
        own, 1, NONE, model, missing, rounding=rounding, cov_type=cov_type, meat_bits=256
    )
    part = regression.prepare(source)
    regression = regression.in_one_place([part])
    own_logs = regression.equations.own_logs(part.log_weights)
    known = regression.fitted(Known(Opened(pooled=exact(part.moments), log_weights=own_logs)))
    answer = regression.answer(known)
    if answer is None:
        n = len(regression.sums) - 1
        answer = regression.answer(regression.learn(n, known, regression.secret(n, known, part)))
    assert answer is not None  # noqa: S101 - there is no further sum
    return replace(answer, dropped={source.label: part.dropped} if part.dropped else {})


# -- all parties ------------------------------------------------------------------------------


def _rounding(model: Model, tables: Sequence[Source], precision: int | None) -> Rounding | None:
    """To so many bits of the range that follows from all rows, which lie in one place."""
    if precision is None:
        return None
    least, most = PRECISIONS
    if not least <= whole_number("precision", precision) <= most:
        hint = f"from {least} to {most} bits, or None"
        raise PlanError(f"precision={precision}", hint=hint, choice="precision")
    return MadeColumns.of(model, draft(tables, model.number_columns), precision).rounding


def _parts(
    computation: Regression | RidgeRegression, tables: Sequence[Source], network: Network
) -> list[RowsPart]:
    """Every party's part, from one table each."""
    found = map(computation.prepare, tables)
    parts = [replace(part, owner=party) for party, part in zip(network.parties, found, strict=True)]
    computation.checks.in_one_place(parts)
    return parts


def _moment_parts(secrets: Sequence[SecretMoments], parties: Sequence[str]) -> list[RowsPart]:
    """Moments tell what their columns are multiples of, unless these were weighted."""
    return [
        RowsPart(party, part, grains=grains_of(part))
        for party, part in zip(parties, secrets, strict=True)
    ]


def _equations(secrets: Sequence[SecretMoments], settings: SumSettings, release: Release) -> Found:
    names, parties = secrets[0].names, settings.network.parties
    for party, part in zip(parties, secrets, strict=True):
        if part.names != names:
            raise DataError(
                f"{party!r} has the columns {listing(map(repr, part.names))}, "
                f"{parties[0]!r} has {listing(map(repr, names))}",
                hint="all parties need the same columns in the same order",
            )
    if len(names) < 2:
        raise DataError("there is no column to solve for", hint="name at least one column")
    check_choice("release", release, get_args(Release), PlanError)
    return Found(names, len(secrets), settings.bits, release)


def _told(found: Computed[Result], origin: int | None, *numbers: npt.ArrayLike) -> Result:
    """The answer with its cost and record. If only one party solved, it told all others."""
    cost, record = found.cost, found.record
    if origin is not None:
        envelopes: list[Any] = []
        message = np.concatenate([np.asarray(x, "<f8") for x in numbers]).tobytes()
        cost = cost + broadcast(found.plans[0].network, origin, message, envelopes)
        if record is not None:
            record = replace(record, told=tuple(envelopes))
    return replace(found.answer, cost=cost, record=record)


# -- choices ----------------------------------------------------------------------------------


def _settings(network: Network, options: SumOptions) -> SumSettings:
    settings = SumSettings.of(network, options)
    if settings.bits < _LEAST_BITS:
        said = f"{settings.bits} bits are too few for moments"
        raise PlanError(said, hint="128 is the default", choice="bits")
    return settings


def _check_robust(
    cov_type: CovType, solver: str | None, settings: SumSettings, model: Model, allow_small: bool
) -> None:
    parties, tau, n = len(settings.network), settings.tau, len(model.design)
    asked = cov_type == "cluster" and tau is not None and not allow_small
    if asked and not clusters_hidden(parties, tau or 0, n):
        raise NotPrivateError(
            f"with {parties} parties, {tau} of them could work out the others' parts of the "
            f"clustered errors of {n} coefficients",
            cut=(),
            hint=f'cov_type="HC0", at least {n + (tau or 0) + 2} parties, or no tau',
        )
    if solver is not None and cov_type != "nonrobust":
        raise PlanError(
            f"cov_type={cov_type!r} needs the solution at every party, not at {solver!r} alone",
            hint="leave solver out",
            choice="solver",
        )
