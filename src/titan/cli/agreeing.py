"""What `titan join` shows before it asks: what is lowered, who takes part, what will be opened.

Whoever gathered the study could have lowered its minima or put other cards into it. So what is
below the default stands first; every party's fingerprint is there to be compared over the
telephone; and a party that this ledger knows with another key stands out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from titan.cli.checked_rows import refuse_mistakes, show_own_rows
from titan.cli.log import tell
from titan.cli.output import show_alarm, show_lowered, show_pairs, show_wrapped
from titan.errors import InputError
from titan.listing import in_groups
from titan.release.policy import counted

if TYPE_CHECKING:
    from titan.party.own_rows import OwnRows
    from titan.study import Identity, Report, Study
    from titan.study.known_keys import Known

_COMPARE = (
    "Call the other parties, at numbers that you know from elsewhere: the study's fingerprint must "
    "be the same at all of them, and each party's own must be the one that titan keys show prints."
)
_ANOTHER = (
    "{name} HAS ANOTHER KEY than in your last study together: {before}. Someone may have replaced "
    "its card with their own: call {name} before you go on."
)


def warn_of_another(key: Path, ledger: Path, fingerprint: str, *, ask: bool) -> None:
    """The ledger is not the one that the key was used with before, and that one is there."""
    from titan.party.notices import Notice
    from titan.study.key_use import used_with_another

    if not (said := used_with_another(key, ledger, fingerprint)):
        return
    if ask:
        show_alarm(f"{said}. If it was not moved on purpose, say no.")
    else:
        tell(Notice(f"warning: {said}", "warning", "key"))


def miss_ledger(key: Path, ledger: Path, fingerprint: str, *, ask: bool) -> None:
    """A key that was used has a ledger. Where it is gone, nothing happens without a yes."""
    from titan.study.key_use import ledger_gone

    error = ledger_gone(key, ledger, fingerprint)
    if error is None:
        return
    if not ask or not sys.stdin.isatty():
        raise error
    show_alarm(f"{error.message}. What to do: {error.hint}")
    if not typer.confirm("Begin a new ledger?"):
        raise typer.Exit(1)


def agrees(
    study: Study, report: Report, identity: Identity, known: Known, own: OwnRows | None = None
) -> bool:
    """What will leave this machine and to whom; nothing happens without a yes.

    A mistake in the own file is an error: there is nothing to ask then.
    """
    from titan.study.known_keys import new_keys

    show_lowered(report.facts["lowered"])
    _show_who(study, identity, known)
    _show_what(study, report, identity)
    if own is not None:
        show_own_rows(own)
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask on", hint="--yes takes part without asking")
    if own is not None:
        refuse_mistakes(own)
    vetoes = own is not None and bool(own.errors)
    return typer.confirm(_question(len(report.facts["lowered"]), new_keys(study, known), vetoes))


def _question(lowered: int, changed: Mapping[str, str], vetoes: bool) -> str:
    """Once more what stood first, which may have left the screen."""
    reasons = [f"{name} has another key" for name in changed]
    if lowered:
        reasons.append(f"{lowered} rule{'s are' if lowered > 1 else ' is'} below the default")
    if vetoes:
        reasons.append("your rows would end the run for all")
    return f"Take part, although {' and '.join(reasons)}?" if reasons else "Take part?"


def _show_who(study: Study, identity: Identity, known: Known) -> None:
    from titan.study.known_keys import new_keys

    changed = new_keys(study, known)
    for name, before in changed.items():
        show_alarm(_ANOTHER.format(name=name, before=in_groups(before)))
    print(study.title)
    show_pairs([("fingerprint", in_groups(study.digest))])
    for card in study.parties:
        print(f"{card.name}, {card.place}{_met(card.name, identity, known, changed)}")
        show_pairs([("fingerprint", in_groups(card.fingerprint))])
    show_wrapped("", _COMPARE)


def _met(name: str, identity: Identity, known: Known, changed: Mapping[str, str]) -> str:
    if name == identity.name:
        return " (this is you)"
    if name in changed:
        return " (ANOTHER KEY than before)"
    return " (the same key as in an earlier study)" if name in known else " (not met before)"


def _show_what(study: Study, report: Report, identity: Identity) -> None:
    me = next(p for p in report.facts["parties"] if p["name"] == identity.name)
    sent = f"{report.facts['bytes_sent'][identity.name]} bytes in the sums"
    for question in study.questions:
        show_wrapped("  ", f"{question.name}: {question}")
    show_pairs(
        [
            *rules(report.facts),
            ("sends to", ", ".join(me["sends_to"])),
            ("receives from", ", ".join(me["receives_from"])),
            ("will send", f"{sent}, plus greetings, signatures and agreement"),
        ]
    )
    print("Masked sums leave this machine, but no rows. Every party will learn:")
    for item in report.learned:
        show_wrapped("  - ", item.said)
    show_wrapped("but ", report.hidden)
    for warning in report.warnings:
        show_wrapped("note: ", warning)


def rules(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The policy and its limits."""
    release = facts["release"]
    least = f"{release['min_rows_party']} per party, {facts['rows_needed_total']} in all, "
    least += f"{release['rows_per_parameter']} per parameter, {release['min_cell']} in a cell"
    cells = f"{release['cells']}; each that is summed over has rows of at least "
    cells += counted(release["min_cell_parties"], "party", "parties")
    precision = release["precision"]
    return [
        ("policy", release["policy"]),
        ("rows at least", least),
        ("residual df at least", str(release["min_residual_df"])),
        ("cells", cells),
        ("made columns", "EXACT" if precision == "exact" else f"rounded to {precision} bits"),
    ]
