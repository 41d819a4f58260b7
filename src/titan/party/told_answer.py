"""What the party that solves for all told, compared with what follows from one's own totals.

Every party has the pooled totals, so nobody need believe an answer. To prove that every number of
it is right takes as much as to find it, so each party solves as well, and what it shows and keeps
is its own answer. A told one that is another is refused, with the name of whoever told it.

Two honest machines differ, if at all, in the last digits of floats: those of distributions and
logarithms, and with many columns those of the coefficients, never by more than is proven of them.
"""

# Rule 1: nothing that was told is shown or kept; it is another party's word.
# Rule 2: as every message, an answer has one form: what is taken is written as results are.
# Rule 3: what is much longer than one's own answer is not parsed: it would take gigabytes.
# Rule 4: whole numbers, texts, and coefficients of few columns are equal, or the answer is another.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from titan import canonical
from titan.errors import PeerError
from titan.leastsquares.certified import FAST_FROM
from titan.party.run import MOST_ANSWER, OTHERS_MAY_HAVE_ANSWER
from titan.results import Results, encode
from titan.results.result_file import sealed

_NEAR = 2.0**-40
_LONGER = "is much longer than what follows from the pooled sums"
_CHEAP = 1 << 20  # bytes: parsed, whatever they are
_MOST_TIMES = 8  # a float of 3 characters can be one of 24 elsewhere
_COEFFICIENTS = {"params", "x"}
_ESTIMATES = {"condition", "error_bound", "digits"}  # of how good a solution is: few bits of each


def check_told(data: bytes, own: Results, solver: str, run: int) -> None:
    """PeerError, naming the one who solves, unless it told the answer that was found here."""
    known = encode(own)
    if data == known:
        return
    why = _LONGER if _much_longer(data, known) else None
    why = why or _difference(data, canonical.parsed(known, len(known)))
    if why is not None:
        raise PeerError(
            f"the answer that {solver} told {why}",
            named=[solver],
            hint=f"ask {solver} why; {OTHERS_MAY_HAVE_ANSWER.format(next=run + 1)}",
        )


def _much_longer(data: bytes, known: bytes) -> bool:
    """Longer than that of any honest machine. To parse it would take many times its bytes."""
    if len(data) <= _CHEAP:
        return False
    if len(data) > _MOST_TIMES * len(known):
        return True
    return any(data.count(each) > 2 * known.count(each) for each in (b"[", b"{"))


def _difference(data: bytes, known: Mapping[str, Any]) -> str | None:
    try:
        told = canonical.parsed(data, MOST_ANSWER)
        found = [canonical.mapping(entry) for entry in canonical.listed(told.get("results"))]
        if sealed(told) != data or told.keys() != known.keys():
            return "is not written as an answer is"
    except (ValueError, RecursionError):
        return "cannot be read"
    for key in ("format", "study", "run", "parties", "cost"):
        if told[key] != known[key]:
            return f"is that of another {key}"
    own = known["results"]
    if [entry.get("name") for entry in found] != [entry["name"] for entry in own]:
        return "is that of other questions"
    for entry, expected in zip(found, own, strict=True):
        if not _same_entry(entry, expected):
            return f"to {expected['name']} does not follow from the pooled sums"
    return None


def _same_entry(told: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    numbers, expected = told.get("result"), own.get("result")
    if not isinstance(numbers, dict) or not isinstance(expected, dict) or told.keys() != own.keys():
        return told == own
    many = len(expected.get("params") or ()) >= FAST_FROM
    exact = {"kind", "cost"} | (set() if many else {"state"})
    if numbers == expected:
        exact |= set() if many else {"summary"}
    if any(told[key] != own[key] for key in exact) or numbers.keys() != expected.keys():
        return False
    return all(
        canonical.near(numbers[key], expected[key], _tolerance(key, many=many)) for key in expected
    )


def _tolerance(key: str, *, many: bool) -> float:
    if key in _ESTIMATES or key.endswith("_error"):
        return 0.5 if many else 0.0
    return _NEAR if many or key not in _COEFFICIENTS else 0.0
