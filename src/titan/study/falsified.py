"""Why a falsified run has no answer, as the parties' transcripts tell it: the stories compared.

Honest parties need not tell the same (decision 0013). A party that found another out names that
one. A party that was told that one ended the run because of another names both, since nobody else
can know which of them is right. A liar may tell each party something else, or be found out in
different sums.
"""

# Rule 1: what honest parties may tell differently is no difference; but each party's words are
#         shown as its own, and it is not said that all agree.
# Rule 2: no honest party blames an honest one, or itself, for what it says it found out.

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations

from titan.listing import listing
from titan.release.policy import counted
from titan.study.transcript import Transcript

_WAS_TOLD = re.compile(
    r"sum [1-9][0-9]* (could not be checked: (?P<early>.+) before everybody had told what it knew"
    r"|was falsified, and (?P<late>.+) before all had shown what they sent)"
)
"""The words of whoever did not find it out, but was told of an end: those of `Stop.error`, exactly.
Nobody can accuse another party in these words."""


def unlike(one: Transcript, other: Transcript) -> dict[str, tuple[str, str]]:
    """What two honest parties cannot both tell: what it is about, and what each of them tells."""
    found = {}
    if _names_differ(one, other):
        found["who is named"] = _names(one), _names(other)
    stopped_apart = one.stopped and other.stopped and abs(len(one.sums) - len(other.sums)) > 1
    if stopped_apart and not (_was_told(one) or _was_told(other)):
        # Who was told may be further: others may have gone back to a sum that was opened again.
        found["the number of sums"] = str(len(one.sums)), str(len(other.sums))
    return found


def _names_differ(*both: Transcript) -> bool:
    one, other = (set(t.stopped.named) if t.stopped else set[str]() for t in both)
    if not one or not other or one == other:
        return False
    return not one & other or any(_denied(*pair) for pair in permutations(both))


def _denied(blaming: Transcript, blamed: Transcript) -> bool:
    """One blames the other, who blames somebody else; or it blames itself beside others."""
    if _was_told(blaming):
        return False
    its, theirs = (t.stopped.named if t.stopped else () for t in (blaming, blamed))
    return (blamed.party in its and blamed.party not in theirs) or (
        blaming.party in its and len(its) > 1
    )


def _was_told(t: Transcript) -> bool:
    """Whether it says so in those words, and names whom they name."""
    found = _WAS_TOLD.fullmatch(t.stopped.why) if t.stopped else None
    return found is not None and (found["early"] or found["late"]) in _ends(t)


def _ends(t: Transcript) -> set[str]:
    """What a party that names these can have been told of the end, in the words of `Stop.words`."""
    named = t.stopped.named if t.stopped else ()
    if len(named) > 1:
        return {f"{named[0]} ended the run because of {listing(named[1:])}"}
    by_a_total = {f"{name} ended the run because of a total" for name in named or t.nonces}
    return by_a_total | {f"{name} ended the run" for name in named}


def _names(t: Transcript) -> str:
    return ", ".join(sorted(t.stopped.named)) if t.stopped else ""


# -- in words ---------------------------------------------------------------------------------


def agreed(told: Sequence[Transcript]) -> str:
    """How far all agree, where there is no difference."""
    if len({(_names(t), len(t.sums), t.stopped is None) for t in told}) > 1:
        return (
            "the transcripts agree on the run, but not on why it has no answer: each party says "
            "what it found or was told, and honest parties may differ in that"
        )
    if _one_version(told):
        return f"all {len(told)} transcripts agree"
    return (
        f"all {len(told)} transcripts agree on the run and on who is named, and each party says in "
        "its own words why"
    )


def _one_version(told: Sequence[Transcript]) -> bool:
    """Whether all tell the same: why there is no answer, who is named, and in which sum it was."""
    return len({(t.stopped, len(t.sums)) for t in told}) <= 1


def versions(told: Sequence[Transcript]) -> list[str]:
    """What each party tells, with its name before every line; empty where all tell the same."""
    lines = []
    for t in () if _one_version(told) else told:
        if t.stopped is not None:
            named = listing(t.stopped.named) or "nobody"
            lines += [
                f"{t.party} says: no answer: {t.stopped.why}",
                f"{t.party} names: {named}; it tells of {counted(len(t.sums), 'sum')}",
            ]
    return lines
