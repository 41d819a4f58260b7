"""A computation as one party of a session takes part in it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from titan.joint.computation import Computation, Fold
from titan.protocol import Plan

_MOST_TOLD = 2000  # characters


@dataclass(frozen=True)
class Task:
    """What one party does in one run; everything but its part is public."""

    computation: Computation[Any, Any, Any]
    plans: Sequence[Plan]
    part: Any = field(repr=False)

    def check(self) -> None:
        """Raise now whatever is wrong with the own rows: it is found in the first sum."""
        Fold(self.computation).secret(self.part)


def described(plans: Sequence[Plan]) -> str:
    """How the sums will be made, in words that two parties can compare."""
    told = "; ".join(
        f"{plan.dimension} x {plan.ring.bits} bits, masks {plan.masks}, {plan.scheme.name} in "
        f"{plan.recovery_rounds} rounds, {plan.cost.messages} messages, "
        f"{plan.cost.bytes_sent.total} bytes"
        for plan in plans
    )
    if len(told) <= _MOST_TOLD:
        return told
    digest = hashlib.sha256(told.encode()).hexdigest()
    return f"{len(plans)} sums, sha256 {digest}: {told[: _MOST_TOLD // 2]}…"
