"""The one interface of all methods.

A method is a whole-network iteration. `init` sets every party's state, `step` performs the next
round (or, where a round makes no sense by itself, the next block of rounds), `estimates` is each
party's present idea of x*, `cost` what has been spent so far, `about.requires` what must hold.
"""

# Rule 1: a number sent counts once for each neighbour it is sent to, as in the paper.
# Rule 2: memory is what a party must keep from one round to the next, in numbers, beside its own
#         equations (or its projector, or its moments).
# Rule 3: randomness comes from the generator handed in, so that a seed gives the same run again.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from titan.errors import PlanError
from titan_lab.compare.case import Case, is_undirected
from titan_lab.compare.problem import Floats

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Requires:
    """What must hold, in the machine's words (checked) and in people's (told)."""

    undirected: bool = False
    consistent: bool = False
    contraction: bool = False
    """A square system, one equation per party, with ‖I − D⁻¹A‖∞ < 1."""
    package: str | None = None
    unknowns: int | None = None
    """At most so many: m times n."""
    knows: str = ""
    """What the parties must know beside their own equations and neighbours."""

    def in_words(self) -> str:
        """For people."""
        unknowns = self.unknowns and f"m·n at most {self.unknowns}"
        needs = {
            "an undirected network": self.undirected,
            "a system with a solution": self.consistent,
            "a dominant diagonal, one equation per party": self.contraction,
            f"the package {self.package}": self.package,
            f"{unknowns}": unknowns,
            f"to know {self.knows}": self.knows,
        }
        return ", ".join(words for words, true in needs.items() if true) or "nothing more"

    def refusal(self, case: Case) -> str | None:
        """Why the method cannot do this case; None if it can."""
        problem, network = case.problem, case.network
        if not network.strongly_connected:
            return "needs a strongly connected network"
        if self.undirected and not is_undirected(network):
            return "needs an undirected network, and some link goes one way only"
        if self.consistent and not problem.consistent:
            return "needs a system that has a solution, and A x = b has none"
        if self.contraction and not (problem.contraction or 1.0) < 1:
            return "needs a square system, one equation per party, with ‖I − D⁻¹A‖∞ < 1"
        if self.unknowns is not None and case.m * case.n > self.unknowns:
            found = case.m * case.n
            return f"computes in long rationals: m·n = {found} here, at most {self.unknowns}"
        if self.package is not None and not installed(self.package):
            return f"needs the package {self.package}, which is not installed"
        return None


def installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # None in sys.modules: it is said not to be there
        return False


@dataclass(frozen=True)
class About:
    """What a method is, for the table."""

    name: str
    title: str
    reference: str
    requires: Requires
    finite: bool
    """Whether it ends, with the exact answer; before the end it has none."""
    private: str
    """What a curious party learns."""
    accuracy: str = "linear"
    """How the error falls: exact, linear, sublinear, or a plateau."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "requires": dict(vars(self.requires))}


class Tally:
    """What has been spent: rounds, and per party numbers sent, numbers held and flops."""

    def __init__(self, case: Case) -> None:
        self.rounds = 0
        self.sent = np.zeros(case.m, np.int64)
        self.held = np.zeros(case.m, np.int64)
        self.flops: Floats | None = np.zeros(case.m)
        self.bits = 64
        """Of the largest number sent."""
        self._out = case.network.out_degree.astype(np.int64)

    def hold(self, numbers: int | npt.NDArray[np.int64]) -> None:
        """So much memory is needed at once."""
        self.held = np.maximum(self.held, numbers)

    def broadcast(self, numbers: int, who: Mask | None = None) -> None:
        """Everybody (or those named) sends so many numbers to each out-neighbour."""
        self.sent += self._out * numbers if who is None else self._out * numbers * who

    def work(self, flops: float | Floats) -> None:
        if self.flops is not None:
            self.flops += flops


class Method(ABC):
    """A method at work on one case."""

    about: ClassVar[About]
    choices: ClassVar[Mapping[str, Any]] = {}
    """What may be chosen beside the step size, with defaults."""

    def __init__(
        self,
        case: Case,
        *,
        step_size: float | None = None,
        seed: int = 0,
        **choices: Any,
    ) -> None:
        for name in choices:
            if name not in self.choices:
                known = ", ".join(self.choices) or "none"
                raise PlanError(f"{self.about.name} has no choice {name!r}", hint=f"it has {known}")
        reason = self.about.requires.refusal(case)
        if reason is not None:
            raise PlanError(f"{self.about.name} {reason}")
        self.case = case
        self.rng = np.random.default_rng(seed)
        self.step_size = self.default_step(case) if step_size is None else step_size
        self.choice = {**self.choices, **choices}
        self.cost = Tally(case)
        self.init()

    @classmethod
    def default_step(cls, case: Case) -> float | None:
        """A step size from the problem's constants; None where the method has none."""
        return None

    @property
    def rounds_needed(self) -> int | None:
        """For a finite method, how many rounds it takes in all."""
        return None

    finished: bool = False
    """True where further steps would change nothing."""

    note: str = ""
    """What the table should say besides, such as the level of privacy."""

    @abstractmethod
    def init(self) -> None:
        """Every party's state before the first round."""

    @abstractmethod
    def step(self) -> None:
        """The next round, or block of rounds, counted."""

    @property
    @abstractmethod
    def estimates(self) -> Floats:
        """Each party's estimate of x*, shape (m, n)."""

    def surely_beyond(self, tolerance: float) -> bool:
        """Whether some party's error is proven above the tolerance without computing estimates.

        Only a short cut for methods whose estimates are costly.
        """
        return False

    @property
    def alpha(self) -> float:
        """The step size of a method that has one."""
        if self.step_size is None:
            raise PlanError(f"{self.about.name} has no step size")
        return self.step_size
