"""Any set of methods on any problem and network, run alike.

A run ends when the worst party's error is at most the tolerance ("reached"), when a further round
would exceed the budget ("budget"), when the method has nothing left to do ("finished": its error
stays), or when it diverges. What a method cannot do is a record too: "refused", with the reason.

Step sizes: every method that has one gets the same search, `COARSE` times its default, then `FINE`
times the best of those, each trial of at most `TRIAL_ROUNDS` rounds; the fewest rounds to the
tolerance win, or else the least error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from titan.errors import InputError, PlanError
from titan.network import Network
from titan_lab.compare.case import Case, both_ways, is_undirected
from titan_lab.compare.method import Method
from titan_lab.compare.methods import METHODS
from titan_lab.compare.problem import Problem
from titan_lab.compare.records import Point, Record, Results

COARSE = tuple(2.0 ** (halves / 2) for halves in sorted(range(-8, 9), key=abs))
FINE = tuple(2.0 ** (eighths / 8) for eighths in (-3, -2, -1, 1, 2, 3))
TRIAL_ROUNDS = 2000
_DIVERGED = 1e9  # times the size of x*
_THINNING = 1.02  # a trace keeps a point when the rounds have grown by this

Progress = Callable[[str, int, int], None]
"""Called with (method, round reached, budget) as a run goes on."""


def run(
    problem: Problem,
    network: Network,
    methods: Iterable[str] | None = None,
    *,
    tolerance: float = 1e-10,
    budget: int = 20_000,
    tune: bool = True,
    make_undirected: bool = True,
    seed: int = 0,
    choices: Mapping[str, Mapping[str, Any]] | None = None,
    step_sizes: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run methods, all unless named, and return one record each.

    budget           most rounds for each
    tune             search for the step size; False takes each method's default
    make_undirected  give a method that needs it the network with every link both ways; False
                     refuses it instead
    seed             of the methods' own randomness (the problem has its own seed)
    choices          method → its further choices, such as {"robust-ratio": {"loss": 0.5}}
    step_sizes       method → a step size to be used as it is
    """
    _check(tolerance, budget)
    chosen = [named(name) for name in methods] if methods is not None else list(METHODS)
    known = {method.about.name for method in METHODS}
    for name in {**(choices or {}), **(step_sizes or {})}:
        if name not in known:
            raise _unknown(name)
    records = []
    for method in chosen:
        name = method.about.name
        own = dict((choices or {}).get(name, {}))
        bench = Bench(method, Case(problem, network), tolerance, budget, seed, own, progress)
        records.append(bench.record(make_undirected, tune, (step_sizes or {}).get(name)))
    return Results(tuple(records))


def named(name: str) -> type[Method]:
    """The method of that name."""
    for method in METHODS:
        if method.about.name == name:
            return method
    raise _unknown(name)


def _unknown(name: str) -> InputError:
    listed = ", ".join(method.about.name for method in METHODS)
    said = f'there is no method "{name}"'
    return InputError(said, hint=f"there are {listed}", choice="methods")


def _check(tolerance: float, budget: int) -> None:
    if not 0 <= tolerance < math.inf:
        hint = "0 or more, such as 1e-10"
        raise PlanError(f"tolerance={tolerance}", hint=hint, choice="tolerance")
    if budget < 1:
        raise PlanError(f"budget={budget}", hint="one round or more", choice="budget")


class Bench:
    """One method on one case."""

    def __init__(
        self,
        method: type[Method],
        case: Case,
        tolerance: float,
        budget: int,
        seed: int,
        choices: dict[str, Any],
        progress: Progress | None,
    ) -> None:
        self.method, self.case = method, case
        self.tolerance, self.budget, self.seed = tolerance, budget, seed
        self.choices, self.progress = choices, progress

    def record(self, make_undirected: bool, tune: bool, step: float | None) -> Record:
        """Refused with a reason, or run with the best step size."""
        requires = self.method.about.requires
        undirected = requires.undirected and not is_undirected(self.case.network)
        if undirected and make_undirected:
            self.case = Case(self.case.problem, both_ways(self.case.network))
        reason = requires.refusal(self.case)
        if reason is not None:
            return self._record("refused", reason=reason)
        trials = 0
        default = self.method.default_step(self.case)
        if step is None and default is not None:
            step = default
            if tune and not self.method.about.finite:
                step, trials = self._tuned(default), len(COARSE) + len(FINE)
        made = make_undirected and undirected
        return self._run(step, self.budget, trials=trials, made_undirected=made)

    def _tuned(self, default: float) -> float:
        """The best step of the grid; a trial need not outlast the best one so far."""
        rounds, best, chosen = min(self.budget, TRIAL_ROUNDS), math.inf, default
        for grid in (COARSE, FINE):
            for step in [chosen * factor for factor in grid]:
                trial = self._run(step, rounds)
                error = math.inf if trial.error is None else trial.error
                if trial.status == "reached":
                    if trial.rounds < rounds or best > self.tolerance:
                        rounds, best, chosen = trial.rounds, self.tolerance, step
                elif trial.status != "diverged" and error < best:
                    best, chosen = error, step
        return chosen

    def _run(self, step: float | None, budget: int, **facts: Any) -> Record:
        start = time.process_time()
        state = self.method(self.case, step_size=step, seed=self.seed, **self.choices)
        needed = state.rounds_needed
        if needed is not None and needed > budget:
            reason = f"would take {needed} rounds"
            return self._record("budget", state, reason=reason, step_size=step, **facts)
        error = self.case.problem.error(state.estimates)
        trace = [self._point(state, error, budget)]
        while not (status := self._status(state, error, budget)):
            state.step()
            due = state.cost.rounds >= trace[-1].rounds * _THINNING
            error = self._error(state, error, budget, due)
            if due:
                trace.append(self._point(state, error, budget))
        if trace[-1].rounds < state.cost.rounds:
            trace.append(self._point(state, error, budget))
        seconds = time.process_time() - start
        return self._record(
            status, state, error=error, seconds=seconds, step_size=step, trace=tuple(trace), **facts
        )

    def _error(self, state: Method, before: float, budget: int, due: bool) -> float:
        """The worst party's error, or that of before where looking would be a waste."""
        last = state.finished or state.cost.rounds >= budget
        if self.method.about.finite and not last:
            return before  # it has no answer until the end
        if not (last or due) and state.surely_beyond(self.tolerance):
            return before
        return self.case.problem.error(state.estimates)

    def _point(self, state: Method, error: float, budget: int) -> Point:
        if self.progress is not None:
            self.progress(self.method.about.name, state.cost.rounds, budget)
        return Point(state.cost.rounds, int(state.cost.sent.max()), error)

    def _status(self, state: Method, error: float, budget: int) -> str:
        """Empty while there is something left to do."""
        if error <= self.tolerance:
            return "reached"
        if state.finished:
            return "finished"
        if state.step_size is not None and not error < _DIVERGED:
            return "diverged"
        return "budget" if state.cost.rounds >= budget else ""

    def _record(self, status: str, state: Method | None = None, **facts: Any) -> Record:
        cost = None if state is None else state.cost
        flops = None if cost is None or cost.flops is None else float(cost.flops.max())
        return Record(
            method=self.method.about.name,
            status=status,
            problem=self.case.problem.name,
            problem_seed=self.case.problem.seed,
            parties=self.case.m,
            links=len(self.case.network.senders),
            seed=self.seed,
            tolerance=self.tolerance,
            rounds=0 if cost is None else cost.rounds,
            sent_most=0 if cost is None else int(cost.sent.max()),
            sent_total=0 if cost is None else int(cost.sent.sum()),
            held_most=0 if cost is None else int(cost.held.max()),
            bits=0 if cost is None else cost.bits,
            flops_most=flops,
            note="" if state is None else state.note,
            **facts,
        )
