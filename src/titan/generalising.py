"""Logistic and Poisson regression over all parties' rows together: `titan.glm`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any, Unpack

from titan.errors import InputError
from titan.generalised.families import FamilyName, family_named
from titan.generalised.result import GLM
from titan.generalised.steps import MIDDLE
from titan.inputs import model_of, network_for, sources
from titan.joint import SumOptions, SumSettings, together
from titan.joint.equations import Found
from titan.joint.glm import GeneralisedLinear
from titan.joint.glm_question import bits_of, offset_of
from titan.joint.glm_rows import GLMPart
from titan.joint.settings import refuse_without_network
from titan.joint.together import alone
from titan.moments import Model, Source, open_source
from titan.moments.expressions import Name
from titan.moments.rows import Missing
from titan.moments.workers import GivenExecutor
from titan.network import Network
from titan.release import Flag
from titan.release.model_cells import cells_of
from titan.release.policy import NONE, Policy, policy_for
from titan.ring.whole import real_number


def glm(
    data: Any,
    network: Network | str | None = None,
    *,
    formula: str | None = None,
    family: FamilyName = "binomial",
    response: str | None = None,
    columns: Sequence[str] | None = None,
    intercept: bool = True,
    offset: str | None = None,
    exposure: str | None = None,
    weights: str | None = None,
    alpha: float | None = None,
    precision: int | str = MIDDLE,
    missing: Missing = "refuse",
    decimal: bool = False,
    csv: Any = None,
    executor: GivenExecutor | None = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> GLM:
    """Logistic (family="binomial") or Poisson regression on all parties' rows, with a proof.

    `data`, the model, `missing`, `decimal`, `csv`, `executor`, `allow_small` and `options` are
    as of `titan.fit`. The outcome is 0 or 1, or a count. `offset` is a column, or an expression of
    columns such as "log(days)", that is added to the linear predictor; exposure="days" is short
    for that one.
    `weights` are analytic (statsmodels' var_weights, R's weights). `alpha` adds the ridge penalty
    alpha/2 · ‖β‖², the intercept unpenalised (scikit-learn's C = 1/alpha).

    Newton's method in private sums, at most 25 of them. Every party learns the number of rows,
    AᵀA and, for each step, the score and the Hessian at the estimate so far, each party's part
    rounded to 16 bits of the range, near the end to `precision`: 24 bits, up to 40, or "exact". It
    is proven that the estimate exists, is the only one, and how near it is: `error_bound`. Where
    that cannot be shown (separated data) there is no answer.
    """
    family = family_named(family)
    model = _with_offset(model_of(formula, response, columns, intercept, weights), offset, exposure)
    bits, penalty = bits_of(precision), penalty_of(alpha)
    policy = policy_for(allow_small)
    if network is None:
        refuse_without_network(allow_small=allow_small or None, **options)
        table = open_source(data, decimal=decimal, csv=csv, executor=executor)
        return _alone(table, _computation(model, family, bits, penalty, missing, NONE))
    net = network_for(network, data)
    settings = SumSettings.of(net, options)
    computation = _computation(
        model, family, bits, penalty, missing, policy, len(net), settings.bits, settings.tau or 0
    )
    tables = sources(data, net, decimal, csv, executor=executor)
    found = [computation.prepare(table) for table in tables]
    parts = [replace(part, owner=party) for party, part in zip(net.parties, found, strict=True)]
    computation.checks.in_one_place(parts)
    out = together(_ranged(computation, parts), parts, settings)
    dropped = {part.owner: part.dropped for part in parts if part.dropped}
    return replace(out.answer, cost=out.cost, record=out.record, dropped=dropped)


def _alone(source: Source, computation: GeneralisedLinear) -> GLM:
    """Nothing is sent: its totals are its own sums."""
    part = computation.prepare(source)
    answer = alone(_ranged(computation, [part]), part)
    return replace(answer, dropped={source.label: part.dropped} if part.dropped else {})


def _computation(
    model: Model,
    family: FamilyName,
    bits: int,
    alpha: Fraction,
    missing: Missing,
    policy: Policy,
    parties: int = 1,
    ring: int = 128,
    tau: int = 0,
) -> GeneralisedLinear:
    cells = cells_of(model, _outcome(model, family), events=family == "poisson")
    return GeneralisedLinear(
        Found(model.names, parties, ring, "solution", cells),
        parties, policy, model, missing, tau=tau, family=family, bits=bits, alpha=alpha,
    )  # fmt: skip


def _outcome(model: Model, family: FamilyName) -> dict[str, Flag]:
    """What is known without a dictionary: a binary outcome is a flag, so its rows are counted."""
    found = model.response.expression
    return {found.name: Flag()} if family == "binomial" and isinstance(found, Name) else {}


def _ranged(computation: GeneralisedLinear, parts: Sequence[Any]) -> GeneralisedLinear:
    """With the ranges of the rows, which lie in one place."""
    found = [part.ranges for part in parts if isinstance(part, GLMPart) and part.ranges]
    return replace(computation, ranges=reduce(or_, found))


# -- choices ----------------------------------------------------------------------------------


def _with_offset(model: Model, offset: str | None, exposure: str | None) -> Model:
    added = offset_of(offset, exposure)
    return model if added is None else Model(model.formula, weights=model.weights, offset=added)


def penalty_of(alpha: object) -> Fraction:
    if alpha is None:
        return Fraction(0)
    found = real_number("alpha", alpha)
    if not 0 <= found < 2.0**300:
        raise InputError(f"alpha={alpha!r}", hint="0 or more", choice="alpha")
    return Fraction(found)
