"""Everybody's digests of the pooled sums, compared: why there is no answer where they differ.

If sums are checked, honest parties have the same totals, so a party names those that differ from
it. If all others agree with each other, it names nobody: its own memory may be wrong. If sums are
not checked, it names nobody either: somebody can sign two vectors, and then honest parties have
different totals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from titan.errors import RecoveryError, TitanError
from titan.listing import listing
from titan.party.run import OTHERS_MAY_HAVE_ANSWER


def disagreement(
    digests: Mapping[str, bytes], me: str, run: int, *, checked: bool
) -> RecoveryError | None:
    """None if all digests, by party, are equal to that of `me`."""
    others = {name: each for name, each in digests.items() if each != digests[me]}
    if not others:
        return None
    alone = 2 < len(digests) == len(others) + 1 and len(set(others.values())) == 1
    named = sorted(others) if checked and not alone else []
    words = f"the pooled sums differ from those of {', '.join(sorted(others))}"
    return RecoveryError(words, named=named, hint=_hint(named, run))


def contradiction(what: str, run: int) -> Callable[[str], TitanError]:
    """For a party that told two different things once there could be an answer."""
    return lambda name: RecoveryError(f"{name} {what}", named=[name], hint=_hint([name], run))


def _hint(named: Sequence[str], run: int) -> str:
    hint = OTHERS_MAY_HAVE_ANSWER.format(next=run + 1)
    return f"ask {listing(named)} why; {hint}" if named else hint
