"""What taking part in a study tells everybody: exactly, question by question, and in words.

The private sums of its questions are the whole of what is opened: as long as no more than τ parties
put what they saw together, what a party sees depends on the others' rows through these sums alone.
"""

from __future__ import annotations

from dataclasses import replace

from titan.joint.explanations import Item, explained
from titan.study.manifest import Study

_SEE = "see the problems, and do not take part"


def learned(study: Study) -> tuple[Item, ...]:
    """What every party of the study will know at its end, besides what it knew."""
    of_questions = [
        replace(item, question=name)
        for name, computation in study.meeting.computations
        for item in explained(computation).items
    ]
    others = _others(len(study.parties) - 1)
    own = f"by subtracting its own part: the same sums over the other {others} together"
    return (*of_questions, Item("others", 0, own))


def _others(count: int) -> str:
    return "party" if count == 1 else f"{count} parties"


def hidden(study: Study) -> str:
    """What stays hidden, from whom, and on which condition: no promise where one fails."""
    m, tau = len(study.parties), study.tau
    if not study.network.strongly_connected:
        return f"nothing is promised to be hidden: not every party can reach every other; {_SEE}"
    if not study.network.tolerates(tau):
        whom = "1 curious party" if tau == 1 else f"{tau} curious parties together"
        return f"this network does not hide the others' rows from {whom}; {_SEE}"
    if m == 2:
        return "nothing of a party's sums is hidden from the other: two parties can but subtract"
    if tau == 0:
        return "no party is promised that one curious party learns nothing but the above"
    whom = "a curious party learns" if tau == 1 else f"any {tau} curious parties together learn"
    return (
        f"{whom} nothing else of the others' rows, provided that all follow the protocol; "
        f"{tau + 1} or more who put what they saw together may learn more"
    )
