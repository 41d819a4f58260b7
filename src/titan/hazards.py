"""Cox's proportional hazards over all parties' rows together: `titan.cox`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, Unpack

from titan.errors import InputError
from titan.generalised.cox_result import Cox
from titan.generalised.risk_sets import Ties, ties_named
from titan.generalised.steps import MIDDLE
from titan.generalising import penalty_of
from titan.inputs import network_for, sources
from titan.joint import SumOptions, SumSettings, together
from titan.joint.cox import ProportionalHazards
from titan.joint.cox_asked import grid_asked, model_asked, spoken
from titan.joint.cox_rows import CoxPart
from titan.joint.describe import checked_dictionary
from titan.joint.equations import Found
from titan.joint.glm_question import bits_of
from titan.joint.settings import refuse_without_network
from titan.joint.survival import as_asked
from titan.joint.together import alone
from titan.moments import Source, open_source
from titan.moments.expressions import quoted
from titan.moments.rows import Missing
from titan.network import Network
from titan.release import Column, Dictionary, Flag
from titan.release.draft import draft
from titan.release.model_cells import cells_of
from titan.release.policy import NONE, Policy, policy_for


def cox(
    data: Any,
    network: Network | str | None = None,
    *,
    formula: str | None = None,
    time: str | None = None,
    event: str | None = None,
    columns: Sequence[str] | None = None,
    grid: Any = None,
    ties: Ties = "efron",
    alpha: float | None = None,
    precision: int | str = MIDDLE,
    dictionary: Mapping[str, Column] | None = None,
    missing: Missing = "refuse",
    csv: Any = None,
    allow_small: bool = False,
    **options: Unpack[SumOptions],
) -> Cox:
    """Cox's proportional hazards on all parties' rows, with a proof; every party has a baseline
    hazard of its own.

    `data` and `csv` are as for `titan.fit`: one table per party, or one table where there is no
    network. A float stands for the decimal that was written.

    formula      "age + sex" with `time` and `event`; or "months ~ age + sex" with `event`, or
                 "Surv(months, died) ~ age + sex". Or `columns`: those that explain, as they are
    time         a column of times from 0 on, event a column of 1 (it happened then) and 0 (it had
                 not when the row ends)
    grid         times are rounded up to the next multiple of it; without one they stay as they are
    ties         "efron", or "breslow": for events at the same time
    alpha        adds the ridge penalty alpha/2 · ‖β‖²
    precision    bits to which the last step's sums are rounded: 24, up to 40, or "exact"
    dictionary   what columns are: {"months": titan.release.Time.read(0, 120, 1)}
    allow_small  with a network, cells of 1 or 2 rows or of rows of one party, and rows that stand
                 out, are refused unless this is True, and events do not count that come when fewer
                 than 3 rows of their party are at risk

    Newton's method in private sums, at most 25 of them. Every party learns the number of rows and
    of events, AᵀA and, for each step, the score and the Hessian of the partial likelihood. Who is
    at risk when stays at each party. It is proven that the estimate exists, is the only one, and
    how near it is: `error_bound`. Where that cannot be shown (a monotone likelihood) there is no
    answer. `options` are those of the private sums (see `titan.average`).
    """
    asked = _asked(formula, time, event, columns, grid)
    choices = {"ties": ties_named(ties), "bits": bits_of(precision), "alpha": penalty_of(alpha)}
    policy = policy_for(allow_small)
    if network is None:
        refuse_without_network(allow_small=allow_small or None, **options)
        own = open_source(data, decimal=True, csv=csv)
        computation = _computation(asked, [own], dictionary, missing, NONE, choices)
        part = computation.prepare(own)
        answer = alone(_ranged(computation, [part]), part)
        return replace(answer, dropped={own.label: part.dropped} if part.dropped else {})
    net = network_for(network, data)
    settings = SumSettings.of(net, options)
    tables = sources(data, net, decimal=True, csv=csv)
    computation = _computation(
        asked, tables, dictionary, missing, policy, choices, settings.bits, settings.tau or 0
    )
    found = [computation.prepare(table) for table in tables]
    parts = [replace(part, owner=party) for party, part in zip(net.parties, found, strict=True)]
    computation.checks.in_one_place(parts)
    out = together(_ranged(computation, parts), parts, settings)
    dropped = {part.owner: part.dropped for part in parts if part.dropped}
    return replace(out.answer, cost=out.cost, record=out.record, dropped=dropped)


def _asked(
    formula: object, time: object, event: object, columns: Sequence[str] | None, grid: Any
) -> dict[str, Any]:
    if (formula is None) == (columns is None):
        raise InputError("one of formula and columns is needed", hint='formula="age + sex"')
    if columns is not None:
        formula = " + ".join(map(quoted, columns))
    said = {"formula": formula, "time": time, "event": event, "grid": grid}
    found = spoken({key: value for key, value in said.items() if value is not None})
    for name in ("formula", "time", "event"):
        if not isinstance(found.get(name), str):
            what = "a text" if name == "formula" else "the name of a column"
            hint = 'formula="age + sex", time="months", event="died"'
            raise InputError(f"{name}={found.get(name)!r} is not {what}", hint=hint)
    return found


def _computation(
    asked: Mapping[str, Any],
    tables: Sequence[Source],
    given: Mapping[str, Column] | None,
    missing: Missing,
    policy: Policy,
    choices: Mapping[str, Any],
    ring: int = 128,
    tau: int = 0,
) -> ProportionalHazards:
    if given is None:
        names = str(asked["time"]), str(asked["event"])
        known = Dictionary.of(as_asked(draft(tables, tuple(dict.fromkeys(names))), *names))
    else:
        known = checked_dictionary(given)
    times, model = grid_asked(asked, known), model_asked(asked, known.model)
    cells = cells_of(model, {times.event: Flag()})
    return ProportionalHazards(
        Found(model.names, len(tables), ring, "solution", cells),
        len(tables), policy, model, missing, known.place, tau=tau, times=times, **choices,
    )  # fmt: skip


def _ranged(computation: ProportionalHazards, parts: Sequence[Any]) -> ProportionalHazards:
    """With the ranges of the rows and the number of events, which are known in one place."""
    own = [part for part in parts if isinstance(part, CoxPart)]
    ranges = reduce(or_, [part.ranges for part in own if part.ranges])
    events = sum(part.events for part in own)
    return replace(computation, ranges=ranges, events=events)
