"""How private sums are made: the choices that change their cost, and never their total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict

from titan.engines import EngineName, Progress, engine_named
from titan.errors import NetworkError, PlanError
from titan.joint.computation import Sum
from titan.network import Network
from titan.network.refusals import checked_tau
from titan.protocol import Lines, MaskMode, Plan, RecoveryName, RelayMode
from titan.ring.whole import whole_number


class SumOptions(TypedDict, total=False):
    """What may be said of the sums: see `titan.average`."""

    bits: int
    tau: int | None
    recovery: RecoveryName
    k: int | None
    rounds: int | None
    masks: MaskMode
    relays: RelayMode
    engine: EngineName
    progress: Progress | None
    record: bool


@dataclass(frozen=True)
class SumSettings:
    """The network, and every choice made."""

    network: Network
    bits: int = 128
    tau: int | None = None
    recovery: RecoveryName = "auto"
    k: int | None = None
    rounds: int | None = None
    masks: MaskMode = "sent"
    relays: RelayMode = "trusted"
    engine: EngineName = "local"
    progress: Progress | None = field(default=None, repr=False)
    record: bool = False
    at_most: int | None = None
    """A bound on the number of parties, where it is they who are counted."""
    lines: Lines | None = field(default=None, repr=False)
    """What is known of the links, where it is."""

    def __post_init__(self) -> None:
        if not isinstance(self.network, Network):
            raise NetworkError(
                f"{type(self.network).__name__} is not a network",
                hint='for example titan.Network.cycle(5), or its name: "cycle"',
            )
        whole_number("bits", self.bits)
        if self.tau is not None:
            checked_tau(self.tau)
        for name in ("recovery", "masks", "relays"):  # which words there are, the plan knows
            if not isinstance(given := getattr(self, name), str):
                hint = f'a word, as {name}="…"'
                raise PlanError(f"{name}={given!r} is unknown", hint=hint, choice=name)
        if self.progress is not None and not callable(self.progress):
            raise PlanError(f"progress={self.progress!r} cannot be called", hint="give a function")
        engine_named(self.engine)

    @classmethod
    def of(cls, network: Network, options: Mapping[str, Any]) -> SumSettings:
        """As a caller chose; a word that is none of the options is refused."""
        known = {option.name for option in fields(cls)} - {"network", "at_most", "lines"}
        for name in options:
            if name not in known:
                raise PlanError(f"there is no option {name!r}", hint=f"{', '.join(sorted(known))}")
        return cls(network, **options)

    def plan(self, sum_: Sum) -> Plan:
        """One private sum, with everything settled."""
        return Plan.make(
            self.network,
            sum_.ring,
            sum_.entries,
            recovery=self.recovery,
            k=self.k,
            rounds=self.rounds,
            masks=self.masks,
            relays=self.relays,
            tau=self.tau,
            at_most=self.at_most,
            lines=self.lines,
        )


def refuse_without_network(**options: Any) -> None:
    """One table alone makes no sums: nothing that was asked of them may be passed over."""
    asked = [name for name, value in options.items() if value is not None]
    if asked:
        hint = "one table needs no sums"
        raise PlanError(f"{asked[0]} without a network", hint=hint, choice=asked[0])
