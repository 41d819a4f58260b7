"""The run in a report: its checks, what it cost, its fingerprints, and how to verify them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from shlex import quote
from typing import Any

from titan.errors import VetoError
from titan.listing import in_groups, listing
from titan.markup import Html, items, tag
from titan.release.evidence import Check
from titan.report.gathered import Gathered, PartyRun
from titan.report.numbers import number
from titan.report.tables import grid, pairs
from titan.study.verified import Facts

_RULES = {
    "range": "values that the dictionary allows",
    "rows_per_party": "rows from each party, at least",
    "rows_total": "rows in all, at least",
    "rows_per_parameter": "rows for so many parameters, at least",
    "residual_df": "residual degrees of freedom, at least",
    "cells": "rows in the smallest cell that occurs, at least",
    "cell_parties": "parties with rows in each cell that is summed over, at least",
    "rows_apart": "parties with rows that one question uses and another leaves out, at least",
    "digits_rows": "rows whose value lies off a coarser grid, at least",
    "digits": "parties that have such rows, at least",
    "cells_of_others": "rows that others have in each cell and off each grid, at least",
    "digits_of_others": "steps of a grid that one party's values alone lie on, at most",
    "own_leverage": "own rows that stand alone together in the columns, at least",
    "leverage": "leverage of a row, at most",
    "at_risk": "rows of its party at risk when an event counts, at least",
    "bits": "share of a table that columns made by formulas may reveal, at most",
}
_OWN = "private"
_PASSED = {True: "passed", False: "REFUSED", None: "not reached"}
_VETOED = (
    "A party refused because of its rows, and nobody else learned which one or why. Checks that "
    "were not passed are therefore left out here, wherever this report was made."
)
_KEPT = "Kept by {party} in evidence.json, which is its own record and is not signed."
_ALIKE = " The records of {others} say the same."
_APART = " The records of {others} say something different."


# -- checks -----------------------------------------------------------------------------------


def checks(it: Gathered) -> Iterator[Html]:
    kept = [run.evidence for run in it.runs if run.evidence is not None]
    if not kept:
        return
    vetoed = any(isinstance(error, VetoError) for error in it.results.errors.values())
    found = _shown(kept[0].checks, vetoed)
    rows: list[Sequence[str]] = []
    for question, group in groupby(found, lambda check: check.question):
        rows.append((tag("b", "all questions" if question is None else question), "", "", ""))
        rows += [_check(check) for check in group]
    caption = "Every check, in order. Private: each party knows this only for its own rows"
    yield grid(caption, ("", "limit", "found", "outcome"), rows, kind="checks")
    if vetoed:
        yield tag("p", _VETOED)
    said = _KEPT.format(party=kept[0].party)
    same = [each.party for each in kept[1:] if _shown(each.checks, vetoed) == found]
    apart = [each.party for each in kept[1:] if each.party not in same]
    said += _ALIKE.format(others=listing(same)) if same else ""
    said += _APART.format(others=listing(apart)) if apart else ""
    yield tag("p", said, kind="quiet")


def _shown(found: Sequence[Check], vetoed: bool) -> list[Check]:
    """Where a party refused, what it alone knows is not for everybody who reads a report."""
    return [check for check in found if not vetoed or check.passed]


def _check(check: Check) -> tuple[str, ...]:
    found = _OWN if check.found is None and check.passed is not None else number(check.found)
    limit = "" if check.limit is None else number(check.limit, digits=4)
    rule = _RULES.get(check.rule, check.rule.replace("_", " "))
    return tag("span", rule, kind="inner"), limit, found, _PASSED[check.passed]


# -- cost -------------------------------------------------------------------------------------


def cost(it: Gathered) -> Iterator[Html]:
    told = it.results.cost or _of_answers(it)
    if told:
        yield pairs(
            "All sums together",
            [
                ("rounds", number(told["rounds"])),
                ("messages", number(told["messages"])),
                ("bytes sent in sums, all parties", number(sum(told["bytes_sent"].values()))),
                ("bytes sent in sums, the most by one", number(max(told["bytes_sent"].values()))),
            ],
        )
    if it.signed:
        heads = ("as signed by", "messages sent", "bytes", "received", "bytes")
        rows = ([f.transcript.party, *_totals(f)] for f in it.signed)
        yield grid("Including nonces, agreement, headers and signatures", heads, rows)
    begun = min((run.begun for run in it.runs if run.begun), default=None)
    ended = max((run.ended for run in it.runs if run.ended), default=None)
    if begun and ended:
        took = f"{(ended - begun).total_seconds():,.0f} seconds, including the wait for others"
        yield tag("p", f"From {begun:%Y-%m-%d %H:%M} to {ended:%Y-%m-%d %H:%M} UTC: {took}.")


def _of_answers(it: Gathered) -> Mapping[str, Any] | None:
    """Of a file that holds one answer and its cost."""
    costs = [getattr(entry.outcome, "cost", None) for entry in it.results.entries]
    return costs[0].as_dict() if len(costs) == 1 and costs[0] is not None else None


def _totals(facts: Facts) -> Iterator[Html]:
    for way in ("sent", "received"):
        for what in ("messages", "bytes"):
            yield number(facts.transcript.totals[f"{what}_{way}"])


# -- fingerprints -----------------------------------------------------------------------------


def fingerprints(it: Gathered) -> Iterator[Html]:
    rows: list[tuple[str, str]] = []
    if it.results.study is not None:
        rows.append(("study", _code(it.results.study)))
        rows.append(("run", str(it.results.run)))
    if it.signed:
        said = it.signed[0].transcript
        rows.append(("result.json, SHA-256", _code(said.result_sha256)))
        if said.pooled is not None:
            rows.append(("the pooled sums, SHA-256", _code(said.pooled)))
        rows.append(("software", listing(dict.fromkeys(f.transcript.software for f in it.signed))))
    if rows:
        yield pairs("", rows, kind="codes")
    if it.signed:
        yield grid(
            "Transcripts: what each party signed about the run",
            ("signed by", "with the certificate", ""),
            ((f.transcript.party, _code(f.fingerprint), _whose(it, f)) for f in it.signed),
            kind="codes",
        )
    if it.crossed is not None:
        yield tag("p", _crossed(it))


def _crossed(it: Gathered) -> str:
    found = it.crossed
    assert found is not None  # noqa: S101
    if found.differences:
        return f"They differ: {found.differences[0]}. Do not rely on them."
    return f"{found.agreed[0].upper()}{found.agreed[1:]}."


def _whose(it: Gathered, facts: Facts) -> str:
    if it.study is None:
        return "the signature is right; the study's file would say whose it is"
    right = it.study.card(facts.transcript.party).fingerprint == facts.fingerprint
    return "right, and matches the study's card" if right else "DOES NOT MATCH THE STUDY'S CARD"


def _code(digest: str) -> Html:
    return tag("code", in_groups(digest))


# -- how to verify ----------------------------------------------------------------------------


def verification(it: Gathered) -> Iterator[Html]:
    if not it.signed:
        return
    run = quote(_first(it.runs).folder)
    yield tag("p", "With TITAN, the study's file and the folder of a run (any party's):")
    commands = (
        (f"titan verify {run} --study study.toml",
         "checks the form, the figures and the signature of the transcript, and whose certificate "
         "it is; given several parties' transcripts, it compares them"),
        ("titan study check study.toml",
         "shows the study's fingerprint, which must be the one above, and what it opens"),
        (f"titan show {run} --json",
         "prints the numbers of the tables above, and checks that result.json is the signed one"),
        (f"titan audit {run}", "lists every message that left that party's machine"),
    )  # fmt: skip
    yield items(tag("span", tag("code", command), f" {said}.") for command, said in commands)
    yield tag(
        "p",
        "Without TITAN: the SHA-256 of result.json is above; a transcript is one line of JSON, "
        "signed with ECDSA over P-256 (docs/report.md says which bytes are signed).",
    )


def _first(runs: Sequence[PartyRun]) -> PartyRun:
    return next(run for run in runs if run.facts is not None)
