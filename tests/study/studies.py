"""Studies for tests."""

from __future__ import annotations

from typing import Any

from tests.study.parties import identity
from titan import Network
from titan.study import Link, Range, Study

NAMES = ("north", "east", "south", "west")


def study(names: tuple[str, ...] = NAMES, network: Network | None = None, **changes: Any) -> Study:
    """Four parties on a cycle, unless told otherwise."""
    net = Network.cycle(list(names)) if network is None else network
    content: dict[str, Any] = {
        "title": "A trial of care",
        "formula": 'y ~ age + C(sex, levels=["f", "m"])',
        "tau": 1,
        "parties": tuple(identity(name).card for name in names),
        "links": tuple(Link(a, b) for a, b in net.edges),
        "ranges": (Range.read("age", "0", "120"),),
    }
    return Study(**{**content, **changes})
