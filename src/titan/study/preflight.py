"""Preflight: is this study sound, what will it cost, and what will everybody learn?

Every party asks this itself, on its own machine, before anything leaves it. Nothing is taken on
trust from whoever gathered the study.
"""

# Rule 1: all problems are found, not only the first, as far as one does not hide another.
# Rule 2: no clock is read here; the caller says what time it is.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from operator import add
from typing import Any

from titan.errors import InputError, TitanError
from titan.joint.computation import Sum
from titan.joint.explanations import Explanation, Item, explained
from titan.listing import listing
from titan.protocol import Cost, Plan
from titan.study.disclosure import hidden, learned
from titan.study.identity import Card
from titan.study.manifest import Study

_SOON = timedelta(days=30)
_KAPPA_UP_TO = 300  # parties; beyond, it is only decided whether κ ≥ τ + 1

_RELAYS = "{} trusts relays to compute: one that computes wrongly can falsify the answer unnamed"
_SIGNED = (
    "with {}, masked vectors are signed by their origin: a relay that alters one is found out "
    "and named"
)
_TWO = "two parties hide nothing from each other: each subtracts its own sums from the pooled ones"
_NO_TAU = "τ = 0 protects against no party: a single curious one may learn more than the answer"


@dataclass(frozen=True)
class Report:
    """What was found: `problems` forbid taking part, `warnings` are to be known."""

    problems: tuple[TitanError, ...]
    warnings: tuple[str, ...]
    learned: tuple[Item, ...]
    hidden: str
    facts: Mapping[str, Any]
    cost: Cost | None = field(repr=False)
    """Of all sums together; None where no plan could be made."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "ok": self.ok,
            "problems": [{"problem": p.message, "hint": p.hint} for p in self.problems],
            "warnings": list(self.warnings),
            **self.facts,
            "learned": [item.as_dict() for item in self.learned],
            "hidden": self.hidden,
        }


def check(study: Study, now: datetime) -> Report:
    """Look at a study with nothing but itself and the time, which needs a time zone."""
    problems = [*_refusals(study, now), *_duplicates(study.parties)]
    plans: tuple[Plan, ...] = ()
    if _refusal(study.network.check_strongly_connected) is None:
        try:
            plans = study.plans
        except InputError as error:
            if str(error) not in map(str, problems):
                problems.append(error)
    cost = reduce(add, (plan.cost for plan in plans)) if plans else None
    return Report(
        problems=tuple(problems),
        warnings=tuple(_warnings(study, plans, now)),
        learned=learned(study),
        hidden=hidden(study),
        facts=_facts(study, plans, cost),
        cost=cost,
    )


# -- problems ---------------------------------------------------------------------------------


def _refusals(study: Study, now: datetime) -> Iterable[TitanError]:
    network = study.network
    checks: list[Callable[[], None]] = [
        network.check_strongly_connected,
        lambda: network.check_tolerates(study.tau),
    ]
    checks += [lambda card=card: card.check_valid(now) for card in study.parties]  # type: ignore[misc]
    return [error for error in map(_refusal, checks) if error is not None]


def _refusal(check: Callable[[], None]) -> TitanError | None:
    try:
        check()
    except InputError as error:
        return error
    return None


def _duplicates(cards: Iterable[Card]) -> Iterable[TitanError]:
    """Two parties at one address, or with one certificate or key, are not two parties."""
    seen: dict[tuple[str, object], str] = {}
    for card in cards:
        numbers = card.public_key.public_numbers()
        for what, value in (("address", card.address), ("key", (numbers.x, numbers.y))):
            other = seen.setdefault((what, value), card.name)
            if other != card.name:
                yield InputError(
                    f'"{other}" and "{card.name}" have the same {what}',
                    hint=f"every party needs {'an address' if what == 'address' else 'a key'} "
                    "of its own",
                )


# -- warnings ---------------------------------------------------------------------------------


def _warnings(study: Study, plans: Sequence[Plan], now: datetime) -> Iterable[str]:
    for scheme in {plan.scheme.name: plan.scheme for plan in plans}.values():
        yield (_SIGNED if scheme.signed_by_origin else _RELAYS).format(scheme.name)
    if len(study.parties) == 2:
        yield _TWO
    if study.tau == 0:
        yield _NO_TAU
    if study.solver is not None:
        yield f'"{study.solver}" solves and tells the others, who all learn the pooled sums as well'
    unread = unread_columns(study)
    if unread:
        yield f"no question reads what the dictionary describes: {listing(unread)}"
    for card in study.parties:
        if now <= card.not_after < now + _SOON:
            yield f'the certificate of "{card.name}" expires on {card.not_after:%Y-%m-%d}'


# -- facts ------------------------------------------------------------------------------------


def explanations(study: Study) -> list[Explanation]:
    """Those of the questions, in order."""
    return [explained(computation) for _, computation in study.meeting.computations]


def unread_columns(study: Study) -> list[str]:
    """Columns of the dictionary that no question reads, as far as all questions tell."""
    read = [each.columns for each in explanations(study)]
    known = {name for columns in read for name in columns or ()}
    return [] if None in read else [name for name in study.columns if name not in known]


def _facts(study: Study, plans: Sequence[Plan], cost: Cost | None) -> dict[str, Any]:
    told = explanations(study)
    parameters = max((each.parameters or 0 for each in told), default=0)
    levels = any(each.counts_levels for each in told)
    return {
        "digest": study.digest,
        "title": study.title,
        "columns": study.columns.content(),
        "questions": _question_facts(study, told),
        "parameters": parameters or None,
        "missing": study.missing,
        "solver": study.solver,
        "rows_needed_party": study.min_rows_party,
        "rows_needed_total": study.limits.rows_needed(parameters, len(study.parties)),
        "rows_needed_level": study.limits.rows_per_level if levels else None,
        **_network_facts(study),
        "masks": study.masks,
        "bits": study.bits,
        "sums": [_plan_facts(*each) for each in zip(study.meeting.sums, plans, strict=False)],
        "rounds": None if cost is None else cost.rounds,
        "messages": None if cost is None else cost.messages,
        "bytes_sent": None if cost is None else dict(cost.bytes_sent),
        "bytes_received": None if cost is None else dict(cost.bytes_received),
        "parties": _party_facts(study),
    }


def _question_facts(study: Study, told: Sequence[Explanation]) -> list[dict[str, Any]]:
    """What each asks, and what its sums open."""
    return [
        {
            **question.content(),
            "in_words": str(question),
            "parameters": each.parameters,
            "sums": [_sum_facts(sum_) for sum_ in computation.sums],
        }
        for question, each, (_, computation) in zip(
            study.questions, told, study.meeting.computations, strict=True
        )
    ]


def _sum_facts(sum_: Sum) -> dict[str, Any]:
    return {
        "name": sum_.name,
        "entries": sum_.entries,
        "bits": sum_.ring.bits,
        "opens": sum_.opens,
    }


def _plan_facts(sum_: Sum, plan: Plan) -> dict[str, Any]:
    return {
        **_sum_facts(sum_),
        "recovery": plan.scheme.name,
        "rounds": plan.cost.rounds,
        "most_bytes_sent": plan.cost.bytes_sent.largest,
    }


def _network_facts(study: Study) -> dict[str, Any]:
    network = study.network
    known = len(network) <= _KAPPA_UP_TO
    return {
        "links": len(study.links),
        "strongly_connected": network.strongly_connected,
        "diameter": network.diameter if network.strongly_connected else None,
        "weak_connectivity": network.weak_connectivity if known else None,
        "tau": study.tau,
        "tolerates_tau": network.tolerates(study.tau),
    }


def _party_facts(study: Study) -> list[dict[str, Any]]:
    """Whom each sends to and hears from, and which connections its firewall must allow."""
    found: dict[str, dict[str, Any]] = {
        card.name: {
            "name": card.name,
            "address": card.address,
            "fingerprint": card.fingerprint,
            "valid_until": card.not_after.isoformat(),
            **{key: [] for key in ("sends_to", "receives_from", "dials", "is_dialled_by")},
        }
        for card in study.parties
    }
    for link in study.links:
        found[link.sender]["sends_to"].append(link.receiver)
        found[link.receiver]["receives_from"].append(link.sender)
        found[link.dialler]["dials"].append(link.listener)
        found[link.listener]["is_dialled_by"].append(link.dialler)
    for party in found.values():  # two links between two parties may be dialled by the same one
        party["dials"] = sorted(set(party["dials"]))
        party["is_dialled_by"] = sorted(set(party["is_dialled_by"]))
    return list(found.values())
