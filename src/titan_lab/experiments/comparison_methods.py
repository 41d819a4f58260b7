"""The rows of the comparison: every method of `titan_lab.compare`, and two more beside them.

The two are the paper's own single sum, beside the two sums of `titan.solve`, and differentially
private optimisation without its noise, which shows how much of the error is not the noise's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titan.engines import local, vectorised
from titan.errors import InputError
from titan.protocol import Plan
from titan.ring import Ring
from titan_lab.compare import METHODS, Method, named
from titan_lab.compare.methods.dp_optimisation import PrivateOptimisation
from titan_lab.compare.methods.titan_sums import TitanTopK
from titan_lab.compare.summands import summands
from titan_lab.experiments.single_sum import SingleSum

_REAL_AGENTS_UP_TO = 20
_BITS = 128


class PaperSum(TitanTopK):
    """Algorithm 3 as it stands: one sum by Top-k with T = m, and a bound `a` that must be guessed.

    Here it is guessed with hindsight: the next power of two above every entry.
    """

    about = replace(
        TitanTopK.about,
        name="titan-paper",
        title="TITAN, the paper's single sum",
        requires=replace(
            TitanTopK.about.requires, knows="the number of parties, a bound a on every entry"
        ),
    )

    def plans(self) -> list[Plan]:
        """One, with the paper's T = m."""
        network, m = self.case.network, self.case.m
        entries, k = summands(self.case).shape[1], min(self.choice["k"], m)
        return [Plan.make(network, Ring(_BITS), entries, recovery="topk", k=k, rounds=m)]

    def step(self) -> None:
        """The obfuscation, ⌈m/k⌉ runs of T rounds, and everyone solves."""
        largest = float(np.abs(summands(self.case)).max())
        sums = SingleSum.of(self.case.problem, 2 ** (int(np.floor(np.log2(largest))) + 1))
        engine = local if self.case.m <= _REAL_AGENTS_UP_TO else vectorised
        outcome = engine.run(self.plans()[0], sums.secrets)
        self._take(outcome.cost)
        self.cost.bits = _BITS
        self.x = np.tile(sums.solution(outcome.total).x, (self.case.m, 1))
        self.finished = True


class NoNoise(PrivateOptimisation):
    """ε = ∞: what is left is the plateau of steps that sum to something finite."""

    about = replace(
        PrivateOptimisation.about,
        name="dp-no-noise",
        title="The same without noise (not private)",
        private="its neighbours' iterates, and their gradients from them",
        accuracy="a plateau",
    )
    choices = {**PrivateOptimisation.choices, "epsilon": np.inf}  # noqa: RUF012 - as in Method


FAMILIES: dict[str, tuple[str, ...]] = {
    "TITAN": ("titan-paper", "titan-topk", "titan-flood", "titan-tree"),
    "Averages": (
        "average-consensus", "ratio-consensus", "robust-ratio", "faim", "private-average",
        "private-gossip",
    ),
    "Consistent systems": (
        "projection-consensus", "async-projection", "constrained-consensus",
        "private-projection", "fixed-point",
    ),
    "Least squares": (
        "extra", "diging", "push-diging", "sonata", "consensus-innovations", "finite-time",
    ),
    "Noise or encryption": ("dp-optimisation", "dp-no-noise", "function-sharing", "paillier"),
}  # fmt: skip
"""What is drawn together."""

_SHORT = {
    "titan-paper": "TITAN, paper", "titan-topk": "TITAN, Top-k", "titan-flood": "TITAN, flood",
    "titan-tree": "TITAN, tree", "average-consensus": "average", "ratio-consensus": "ratio",
    "robust-ratio": "robust ratio", "faim": "FAIM", "private-average": "private average",
    "private-gossip": "gossip", "projection-consensus": "projection",
    "async-projection": "asynchronous", "constrained-consensus": "constrained",
    "private-projection": "private proj.", "fixed-point": "DFIX", "extra": "EXTRA",
    "diging": "DIGing", "push-diging": "Push-DIGing", "sonata": "SONATA",
    "consensus-innovations": "cons. + innov.", "finite-time": "finite time",
    "dp-optimisation": "diff. private", "dp-no-noise": "no noise",
    "function-sharing": "function sharing", "paillier": "Paillier",
}  # fmt: skip
_FURTHER: tuple[type[Method], ...] = (PaperSum, NoNoise)


@dataclass(frozen=True)
class Entry:
    """One row."""

    method: type[Method]
    family: str
    short: str
    """For labels in a picture."""

    @property
    def name(self) -> str:
        return self.method.about.name

    def facts(self) -> dict[str, Any]:
        """What holds on any problem."""
        about = self.method.about
        return {
            "title": about.title,
            "family": self.family,
            "directed": not about.requires.undirected,
            "finite": about.finite,
            "accuracy": about.accuracy,
            "knows": about.requires.knows or "nothing more",
            "learns": about.private,
            "reference": about.reference,
        }


def entries(names: Iterable[str] | None = None) -> list[Entry]:
    """Those named, or all, family by family."""
    every = [_entry(name, family) for family, members in FAMILIES.items() for name in members]
    if names is None:
        return every
    by_name = {entry.name: entry for entry in every}
    there = f"there are {', '.join(by_name)}"
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in by_name:
            raise InputError(f'there is no method "{name}"', hint=there, choice="methods")
    if not chosen:
        raise InputError("no method is named", hint=there, choice="methods")
    return [entry for entry in every if entry.name in chosen]


def _entry(name: str, family: str) -> Entry:
    further = {method.about.name: method for method in _FURTHER}
    return Entry(further.get(name) or named(name), family, _SHORT[name])


def left_out() -> set[str]:
    """Methods of the bench that no family has: none."""
    return {m.about.name for m in METHODS} - {n for names in FAMILIES.values() for n in names}
