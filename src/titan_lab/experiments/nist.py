"""NIST's eleven linear regressions: how many certified digits TITAN and others get.

TITAN reads the decimal text, split over three parties row by row, and pools it by the full protocol
on a directed cycle. The others get the same numbers, all rows together, as float64. Some of the
sets are small (Longley: 16 rows for 7 parameters), so TITAN is told to allow that.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from titan_lab import datasets
from titan_lab.datasets import Certified
from titan_lab.experiments import rivals
from titan_lab.experiments.digits import certified_digits, correct_digits, worst_digits
from titan_lab.experiments.report import versions
from titan_lab.experiments.rivals import Estimate, Floats, Problem, Program

SETS = (
    "Norris", "Pontius", "NoInt1", "NoInt2", "Filip", "Longley",
    "Wampler1", "Wampler2", "Wampler3", "Wampler4", "Wampler5",
)  # fmt: skip
PARTIES = ("north", "east", "south")
PROGRAMS = ("TITAN", "numpy lstsq", "statsmodels pinv", "statsmodels QR", "scikit-learn")
DEFAULT, FAVOURABLE = "default", "most favourable"
_PACKAGES = ("statsmodels", "scikit-learn")


@dataclass(frozen=True)
class Score:
    """Correct digits of the worst coefficient, the worst standard deviation, and R²."""

    dataset: str
    program: str
    setting: str
    treatment: str
    coefficients: float
    deviations: float | None
    """None where the program gives none."""
    rsquared: float


@dataclass(frozen=True)
class Result:
    """All scores, which programs were not installed, and the versions of those that were."""

    scores: tuple[Score, ...]
    skipped: tuple[str, ...]
    versions: dict[str, str]
    exact_fits: tuple[str, ...]
    """Where TITAN proved the residuals to be zero within its bound."""

    def score(self, dataset: str, program: str, setting: str = DEFAULT) -> Score:
        return next(
            s
            for s in self.scores
            if (s.dataset, s.program, s.setting) == (dataset, program, setting)
        )

    @property
    def programs(self) -> tuple[str, ...]:
        return tuple(name for name in PROGRAMS if name not in self.skipped)

    @property
    def short(self) -> tuple[str, ...]:
        """Data sets of which TITAN misses a certified digit."""
        return tuple(name for name in SETS if not _is_whole(self.score(name, "TITAN"), name))


def run(progress: Callable[[int, int], None] | None = None) -> Result:
    """Every program on every data set."""
    others, skipped = _installed()
    scores: list[Score] = []
    exact_fits = []
    for at, name in enumerate(SETS):
        case = datasets.nist(name)
        ours, exact = _titan(case)
        scores.append(ours)
        exact_fits += [name] * exact
        problem = _problem(case)
        for program, ways in others.items():
            scores += _scores(case, problem, program, ways)
        if progress is not None:
            progress(at + 1, len(SETS))
    return Result(tuple(scores), skipped, _versions(skipped), tuple(exact_fits))


# -- TITAN ------------------------------------------------------------------------------------


def _titan(case: Certified) -> tuple[Score, bool]:
    from titan import fit
    from titan.network import Network

    cells = _cells(case)
    parts = {
        party: {column: texts[i :: len(PARTIES)] for column, texts in cells.items()}
        for i, party in enumerate(PARTIES)
    }
    out = fit(parts, Network.cycle(PARTIES), formula=formula(case), tau=1, allow_small=True)
    estimate = Estimate(np.asarray(out.params), None, out.rsquared)
    score = _scored(case, "TITAN", estimate, np.asarray(out.bse))
    return score, out.exact_fit


def formula(case: Certified) -> str:
    """The model as NIST states it."""
    model = case.facts["model"]
    degree = model["polynomial_degree"]
    if degree is None:
        return "y ~ " + " + ".join(model["columns"][1:])
    if not model["intercept"]:
        return "y ~ x - 1"
    return "y ~ x" if degree == 1 else f"y ~ poly(x, {degree}, raw=True)"


def _cells(case: Certified) -> dict[str, list[str]]:
    """Column → decimal text."""
    with case.path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


# -- the others -------------------------------------------------------------------------------


def _installed() -> tuple[dict[str, list[Program]], tuple[str, ...]]:
    """Program → its default and further settings; and those that are not installed."""
    makers: dict[str, Callable[[], list[Program]]] = {
        "numpy lstsq": lambda: [rivals.lstsq, rivals.lstsq_without_cut_off],
        "statsmodels pinv": lambda: [rivals.statsmodels("pinv")],
        "statsmodels QR": lambda: [rivals.statsmodels("qr")],
        "scikit-learn": lambda: [rivals.scikit_learn()],
    }
    programs, skipped = {}, []
    for name, make in makers.items():
        try:
            programs[name] = make()
        except ImportError:
            skipped.append(name)
    return programs, tuple(skipped)


def _problem(case: Certified) -> Problem:
    cells = {column: np.array(texts, np.float64) for column, texts in _cells(case).items()}
    y = cells.pop("y")
    X = np.column_stack(list(cells.values()))
    degree = case.facts["model"]["polynomial_degree"]
    if degree is not None:
        X = X ** np.arange(1, degree + 1)
    return Problem(X, y, bool(case.facts["model"]["intercept"]), degree is not None)


def _scores(
    case: Certified, problem: Problem, program: str, ways: Sequence[Program]
) -> tuple[Score, Score]:
    """The default, and every figure at its best over all treatments."""
    tried = [
        _scored(case, program, estimate, estimate.bse)
        for way in ways
        for estimate in rivals.treatments(problem, way)
    ]
    deviations = [score.deviations for score in tried if score.deviations is not None]
    best = replace(
        max(tried, key=lambda score: score.coefficients),
        setting=FAVOURABLE,
        deviations=max(deviations, default=None),
        rsquared=max(score.rsquared for score in tried),
    )
    return tried[0], best


def _scored(case: Certified, program: str, estimate: Estimate, bse: Floats | None) -> Score:
    certified = case.facts["certified"]
    parameters = certified["parameters"]
    return Score(
        case.name,
        program,
        DEFAULT,
        estimate.treatment,
        worst_digits(estimate.params.tolist(), [p["estimate"] for p in parameters]),
        None if bse is None else worst_digits(bse.tolist(), [p["sd"] for p in parameters]),
        correct_digits(estimate.rsquared, certified["r_squared"]),
    )


def _is_whole(score: Score, name: str) -> bool:
    certified = datasets.nist(name).facts["certified"]
    parameters = certified["parameters"]
    return (
        score.coefficients >= min(certified_digits(p["estimate"]) for p in parameters)
        and (score.deviations or 0) >= min(certified_digits(p["sd"]) for p in parameters)
        and score.rsquared >= certified_digits(certified["r_squared"])
    )


def _versions(skipped: Sequence[str]) -> dict[str, str]:
    installed = (p for p in _PACKAGES if not any(s.startswith(p) for s in skipped))
    return versions("scipy", *installed)
