"""titan demo: five parties average a number each; see what one of them saw."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli.output import show_json, show_rows

if TYPE_CHECKING:
    from titan.protocol import Plan
    from titan.ring import FixedPoint, Residues

# Peak demand of five regional utilities, in MW: made up, but of a real size.
_PRIVATE = {"north": 412.7, "east": 1288.25, "south": 960.1, "west": 75.5, "centre": 2210.3}
_CURIOUS = "east"


def command(
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Five utilities learn the average of their peak demands, and nothing else.

    \b
    Example:
      titan demo
    """
    from titan.network import Network
    from titan.protocol import Plan
    from titan.ring import FixedPoint, Ring

    network = Network.cycle(list(_PRIVATE))
    plan = Plan.make(network, Ring(128), 1, recovery="flood", tau=1)
    scale = FixedPoint(plan.ring, 64, len(network))
    seen, total = _run(plan, scale)
    [average] = scale.decode(plan.ring.to_signed(total), len(network)).tolist()
    plain = float(sum(map(Fraction, _PRIVATE.values()), Fraction(0)) / len(_PRIVATE))
    if json:
        show_json(
            {
                "average": average,
                "in_the_clear": plain,
                "difference": average - plain,
                "seen_by": _CURIOUS,
                "seen": seen,
                "cost": plan.cost.as_dict(),
            }
        )
        return
    _tell(plan, seen, average, plain)


def _run(plan: Plan, scale: FixedPoint) -> tuple[dict[str, str], Residues]:
    """Run real agents; return what the curious party received, by origin, and the total."""
    import numpy as np

    from titan.engines import local
    from titan.protocol import Kind
    from titan.protocol.recovery import Flood

    network, scheme = plan.network, plan.scheme
    assert isinstance(scheme, Flood)  # noqa: S101 - planned above
    numbers = np.array([_PRIVATE[party] for party in network.parties])
    secrets = scale.encode(numbers, lambda at: f"the value of {network.parties[at]!r}")
    outcome = local.run(plan, secrets.reshape(plan.ring.limbs, len(network), 1), record=True)
    curious = network.index(_CURIOUS)
    seen = {
        network.parties[origin]: plan.ring.to_ints(plan.ring.from_bytes(vector, plan.entries))[0]
        for envelope in outcome.envelopes
        if envelope.receiver == curious and envelope.kind is Kind.MASKED
        for origin, vector in scheme.read(envelope.kind, envelope.sender, 1, envelope.payload)
    }
    return {party: f"{code:032x}" for party, code in seen.items()}, outcome.total


def _tell(plan: Plan, seen: dict[str, Any], average: float, plain: float) -> None:
    m = len(plan.network)
    print(f"Five utilities on a directed cycle ({' -> '.join(plan.network.parties)} -> ...)")
    print(f"each hold one number. What {_CURIOUS} received from the others, modulo 2^128:\n")
    rows = [("party", "its number (MW)", f"what {_CURIOUS} saw of it")]
    for party, number in _PRIVATE.items():
        rows.append((party, f"{number:.2f}", seen.get(party, "(its own)")))
    show_rows(rows)
    print("\nThe hidings cancel in the sum, so every party knows the average exactly:\n")
    show_rows(
        [
            ("private average", f"{average!r}"),
            ("in the clear", f"{plain!r}"),
            ("difference", f"{average - plain!r}"),
        ]
    )
    cost = plan.cost
    print(
        f"\n{cost.rounds} rounds, {cost.messages} messages, {cost.bytes_sent.largest} bytes sent "
        f"by each of {m} parties.\nWhat {_CURIOUS} saw would look the same for any other numbers "
        "with this average."
    )
