"""TITAN itself, by the engine that everybody uses: `titan.average` or `titan.solve`.

Every party masks its summand, the network recovers all masked summands (topk, the paper's; flood)
or their sum (tree), and the masks cancel: exact, in a number of rounds known before the first. A
step is the whole protocol. `solve` makes two sums, the first of which finds the scale that the
paper's bound `a` would have had to guess; both are counted.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from titan import average, solve
from titan.joint import Sum, SumSettings
from titan.joint.average import Averaging
from titan.joint.equations import Found
from titan.protocol import Cost, Plan, RecoveryName
from titan.ring import Ring
from titan_lab.compare.method import About, Method, Requires
from titan_lab.compare.problem import Floats

_REAL_AGENTS_UP_TO = 20  # parties; beyond, whole-network arrays: same bits, same counts
_BITS = 128  # what `average` and the second sum of `solve` use unless told otherwise
_PRIVATE = "the pooled sums, and no more, whatever τ parties combine while κ ≥ τ + 1"


class Titan(Method):
    """One of the three recoveries."""

    recovery: ClassVar[RecoveryName]

    def init(self) -> None:
        self.x = np.zeros((self.case.m, self.case.n))

    def step(self) -> None:
        problem, network = self.case.problem, self.case.network
        engine = "local" if self.case.m <= _REAL_AGENTS_UP_TO else "vectorised"
        sums: dict[str, Any] = {"recovery": self.recovery, "engine": engine, **self._list_length()}
        if problem.average:
            mean = average(np.stack(problem.b), network, **sums)
            self._take(mean.cost)
            self.x = np.tile(mean.value, (self.case.m, 1))
        else:
            parts = list(zip(problem.A, problem.b, strict=True))
            # a bench's rows are nobody's, and the paper's first problem has 3 for each party
            solution = solve(parts, network, allow_small=True, **sums)
            self._take(solution.cost)
            self.x = np.tile(solution.x, (self.case.m, 1))
        self.cost.bits = max(sum_.ring.bits for sum_ in self._sums())
        self.finished = True

    def _take(self, cost: Cost) -> None:
        """The engine's own count; it works in a ring, so there are no flops to speak of."""
        self.cost.rounds = cost.rounds
        self.cost.sent = cost.numbers_sent.array.copy()
        self.cost.held = cost.numbers_held.array.copy()
        self.cost.flops = None

    def _list_length(self) -> dict[str, int]:
        return {}

    def _sums(self) -> tuple[Sum, ...]:
        """As the computation itself says."""
        m, n = self.case.m, self.case.n
        if self.case.problem.average:
            ring, unit = Ring(_BITS), Fraction(1, 1 << _BITS // 2)
            return Averaging(ring, (unit,), unit / 2, (n,), self.case.network.parties).sums
        return Found((*map(str, range(n)), "b"), m, _BITS, "solution").sums

    def plans(self) -> list[Plan]:
        """Of each private sum, with its cost: known before the first round, and kept to."""
        settings = SumSettings(
            self.case.network,
            recovery=self.recovery,
            **self._list_length(),  # type: ignore[arg-type]
        )
        return [settings.plan(sum_) for sum_ in self._sums()]

    @property
    def rounds_needed(self) -> int:
        return sum(plan.cost.rounds for plan in self.plans())

    @property
    def estimates(self) -> Floats:
        return self.x


def _about(recovery: str, title: str, knows: str) -> About:
    return About(
        name=f"titan-{recovery}",
        title=title,
        reference="Gade, Liu, Vaidya, A private and finite-time algorithm for solving a "
        "distributed system of linear equations, 2020",
        requires=Requires(knows=knows),
        finite=True,
        private=_PRIVATE,
        accuracy="exact",
    )


class TitanTopK(Titan):
    about = _about("topk", "TITAN, Top-k", "bounds on the number of parties and on the diameter")
    choices: ClassVar[dict[str, Any]] = {"k": 10}
    recovery = "topk"

    def _list_length(self) -> dict[str, int]:
        """The paper's k: 5 of 5 parties, 10 of 100."""
        return {"k": min(self.choice["k"], self.case.m)}


class TitanFlood(Titan):
    about = _about("flood", "TITAN, flood", "who the parties are, a bound on the diameter")
    recovery = "flood"


class TitanTree(Titan):
    about = _about("tree", "TITAN, tree", "the network")
    recovery = "tree"
