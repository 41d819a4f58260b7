"""The comparison's problems: the paper's two, and state estimation of the IEEE 14-bus network.

Where a method needs a system with a solution it gets the same matrices with b_i = A_i x*, so that
the answer is the same; where it needs a dominant diagonal, a random dominant system of the paper's
size (none can be had from the meters of a grid).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from titan.errors import InputError
from titan.network import Network
from titan_lab import datasets
from titan_lab.compare import Method, Problem, problem
from titan_lab.compare.problems import dominant

SEEDS = tuple(range(101, 111))
"""Not those on which any method's further choices were made."""


@dataclass(frozen=True)
class Setting:
    """A problem, its network, and how far the methods may go."""

    name: str
    title: str
    network: Callable[[tuple[str, ...]], Network]
    links: str
    """The network in words."""
    seeds: tuple[int, ...]
    budget: int
    """Most rounds of methods that approach the answer; those that end may end."""
    weight: int
    """How long a run takes beside the others, for the progress bar."""
    most_ciphertexts: int = 5_000

    def problem(self, seed: int) -> Problem:
        return problem(self.name, seed)

    def version_for(self, method: type[Method], seed: int) -> tuple[Problem, str]:
        """The problem as the method needs it, and what was done to it: "", consistent, dominant."""
        given = self.problem(seed)
        if method.about.requires.contraction and given.m == given.n:
            return dominant(f"{self.name}-dominant", seed, given.m), "dominant"
        if method.about.requires.consistent:
            b = tuple(A @ given.solution for A in given.A)
            return replace(given, name=f"{self.name}-consistent", b=b), "consistent"
        return given, ""


def _lines(parties: tuple[str, ...]) -> Network:
    """Buses talk along the grid's lines, and 8 with 9 besides: else 7 alone could unmask 8."""
    with datasets.power("ieee14", "branches").open(encoding="utf-8", newline="") as lines:
        pairs = {(row["from"], row["to"]) for row in csv.DictReader(lines)} | {("8", "9")}
    return Network(sorted(pairs | {(b, a) for a, b in pairs}), parties)


SETTINGS = (
    Setting(
        "small", "The paper's first problem: m = 5, p = 15, n = 5",
        Network.cycle, "directed cycle", SEEDS, 20_000, 1,
    ),
    Setting(
        "large", "The paper's second problem: m = 100, p = 10,000, n = 100",
        Network.cycle, "directed cycle", SEEDS[:1], 2_000, 40,
    ),
    Setting(
        "ieee14-areas", "IEEE 14-bus state estimation, one party per area: m = 3, p = 54, n = 13",
        Network.cycle, "directed cycle", SEEDS[:1], 20_000, 3,
    ),
    Setting(
        "ieee14-buses", "IEEE 14-bus state estimation, one party per bus: m = 14, p = 54, n = 13",
        _lines, "the grid's 20 lines and one more, both ways", SEEDS[:1], 20_000, 5,
    ),
)  # fmt: skip


def settings(
    names: Iterable[str] | None = None, budget: int | None = None, seeds: int | None = None
) -> list[Setting]:
    """Those named, or all; with another budget, or fewer seeds, if given."""
    known = {setting.name: setting for setting in SETTINGS}
    there = f"there are {', '.join(known)}"
    chosen = list(known) if names is None else list(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise InputError(f'there is no problem "{name}"', hint=there, choice="problems")
    if not chosen:
        raise InputError("no problem is named", hint=there, choice="problems")
    if budget is not None and budget < 1:
        said = f"a budget of {budget} rounds"
        raise InputError(said, hint="one round or more", choice="budget")
    if seeds is not None and not 1 <= seeds <= len(SEEDS):
        raise InputError(f"{seeds} seeds", hint=f"1 to {len(SEEDS)}", choice="seeds")
    return [
        replace(
            setting, budget=budget or setting.budget, seeds=setting.seeds[: seeds or len(SEEDS)]
        )
        for setting in known.values()
        if setting.name in chosen
    ]
