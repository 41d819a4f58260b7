"""Every method beside TITAN on the paper's two problems and on a power grid: what each costs.

Run alike by `titan_lab.compare`: to a relative error of 1e-10 at the worst party, or to a budget of
rounds. Where a problem has several seeds, a row is the run in the middle (of ten, the sixth when
ordered by rounds, then by error), with the least and the most rounds of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from titan_lab.compare import Case, Record, both_ways
from titan_lab.compare.records import Point
from titan_lab.compare.runner import Bench
from titan_lab.experiments.comparison_cases import Setting, settings
from titan_lab.experiments.comparison_costs import (
    Bytes,
    Planned,
    bytes_sent,
    extrapolated_rounds,
    planned,
)
from titan_lab.experiments.comparison_methods import Entry, entries

TOLERANCE = 1e-10
_END = 10**9  # rounds: methods that end may end

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Row:
    """One method on one problem: the run in the middle, and what is known besides."""

    entry: Entry
    setting: Setting
    version: str
    """What had to be done to the problem: "", consistent or dominant."""
    record: Record
    bytes: Bytes
    fewest: int
    most: int
    """Rounds of the shortest and the longest run."""
    reached: int
    """How many of the runs reached the tolerance."""
    runs: int
    extrapolated: int | None = None
    planned: Planned | None = None

    @property
    def trace(self) -> tuple[Point, ...]:
        return self.record.trace


@dataclass(frozen=True)
class Result:
    """Rows problem by problem, in the order of the families."""

    rows: tuple[Row, ...]
    settings: tuple[Setting, ...]
    entries: tuple[Entry, ...]

    def of(self, setting: Setting) -> list[Row]:
        return [row for row in self.rows if row.setting.name == setting.name]


def run(
    problems: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    *,
    budget: int | None = None,
    seeds: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """The problems and methods named, or all.

    budget  most rounds of a method that does not end by itself, instead of each problem's own
    seeds   how many of the small problem's ten
    """
    cases, chosen = settings(problems, budget, seeds), entries(methods)
    total = sum(len(case.seeds) * case.weight for case in cases) * len(chosen)
    done, rows = 0, []
    for setting in cases:
        for entry in chosen:
            if progress is not None:
                progress(done, total)
            rows.append(_row(entry, setting))
            done += len(setting.seeds) * setting.weight
    if progress is not None:
        progress(total, total)
    return Result(tuple(rows), tuple(cases), tuple(chosen))


def _row(entry: Entry, setting: Setting) -> Row:
    runs = [_run(entry, setting, seed) for seed in setting.seeds]
    runs.sort(key=lambda run: _order(run[1]))
    case, record, plan = runs[len(runs) // 2]
    rounds = [run[1].rounds for run in runs]
    return Row(
        entry,
        setting,
        setting.version_for(entry.method, setting.seeds[0])[1],
        record,
        bytes_sent(entry, case, record) if plan is None else plan.bytes,
        min(rounds),
        max(rounds),
        sum(run[1].status == "reached" for run in runs),
        len(runs),
        extrapolated_rounds(record) if _falls_linearly(entry) else None,
        plan,
    )


def _order(record: Record) -> tuple[bool, float, float]:
    """Those that reached the tolerance by rounds, then the others by error."""
    reached = record.status == "reached"
    error = float("inf") if record.error is None else record.error
    return not reached, float(record.rounds) if reached else 0.0, error


def _falls_linearly(entry: Entry) -> bool:
    return entry.method.about.accuracy.startswith("linear")


def _run(entry: Entry, setting: Setting, seed: int) -> tuple[Case, Record, Planned | None]:
    problem, _ = setting.version_for(entry.method, seed)
    network = setting.network(problem.parties)
    needs = entry.method.about.requires
    case = Case(problem, both_ways(network) if needs.undirected else network)
    plan = None
    if needs.refusal(case) is None:
        plan = planned(entry, case, setting.budget, setting.most_ciphertexts)
    budget = _END if entry.method.about.finite else setting.budget
    if plan is not None:
        budget = 1  # too few for it: the bench says so, and runs nothing
    bench = Bench(entry.method, Case(problem, network), TOLERANCE, budget, seed, {}, None)
    return case, bench.record(make_undirected=True, tune=True, step=None), plan
