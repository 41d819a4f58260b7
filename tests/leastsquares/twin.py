"""The dumb twin: every statistic of a regression from its rows, in fractions and mpmath.

Run as a module for the campaign:

    python -m tests.leastsquares.twin --problems 1000
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import flint
import numpy as np

from titan.errors import RankError
from titan.joint.scores import CollectLeveragedScores
from titan.leastsquares import Ball, Regression, fit_pooled
from titan.leastsquares.centred import centred
from titan.leastsquares.pooled import symmetric
from titan.leastsquares.robust import Agreed, CovType, Robust
from titan.moments import Model, open_source
from titan.moments.collecting import CollectScores
from titan.moments.columns import Column
from titan.moments.log_weights import ERROR, FRACTION, log_sum
from titan.moments.reading import read
from titan.moments.rows import ModelRows

from .systems import Problem

mpmath: Any = import_module("mpmath")  # not typed
mpmath.mp.dps = 60
Real = Any  # mpmath is not typed


def real(number: Fraction | int) -> Real:
    exact = Fraction(number)
    return mpmath.mpf(exact.numerator) / exact.denominator


def matrix(rows: Sequence[Sequence[Fraction]]) -> flint.fmpq_mat:
    return flint.fmpq_mat(
        [[flint.fmpq(Fraction(v).numerator, Fraction(v).denominator) for v in r] for r in rows]
    )


def fractions(found: flint.fmpq_mat) -> list[list[Fraction]]:
    return [[Fraction(int(v.p), int(v.q)) for v in row] for row in found.tolist()]


def times_number(one: flint.fmpq_mat, number: Fraction) -> flint.fmpq_mat:
    found: flint.fmpq_mat = one * flint.fmpq(number.numerator, number.denominator)
    return found


@dataclass
class Twin:
    """Rows and all that follows from them, exactly; square roots and tails by mpmath."""

    A: list[list[Fraction]]
    b: list[Fraction]
    X: Any = field(init=False)

    def __post_init__(self) -> None:
        self.X = matrix(self.A)
        self.y = matrix([[v] for v in self.b])
        self.n, self.k = len(self.A), len(self.A[0])
        self.gram = self.X.transpose() * self.X
        self.inverse = self.gram.inv()
        self.x = self.inverse * self.X.transpose() * self.y
        self.residuals = [v for (v,) in fractions(self.y - self.X * self.x)]
        self.rss = sum((v * v for v in self.residuals), Fraction(0))
        self.df = self.n - self.k
        self.scale = self.rss / self.df

    def covariance(self, kind: CovType) -> Any:
        if kind == "nonrobust":
            return times_number(self.inverse, self.scale)
        hat = fractions(self.X * self.inverse * self.X.transpose())
        power = {"HC2": 1, "HC3": 2}.get(kind, 0)
        weights = [e * e / (1 - hat[r][r]) ** power for r, e in enumerate(self.residuals)]
        scaled = matrix([[w * v for v in row] for w, row in zip(weights, self.A, strict=True)])
        meat = self.X.transpose() * scaled
        times = Fraction(self.n, self.df) if kind == "HC1" else Fraction(1)
        return times_number(self.inverse * meat * self.inverse, times)

    def wald(
        self, rows: Sequence[Sequence[Fraction]], q: Sequence[Fraction], kind: CovType
    ) -> Fraction:
        R = matrix(rows)
        d = R * self.x - matrix([[v] for v in q])
        S = R * self.covariance(kind) * R.transpose()
        return fractions(d.transpose() * S.inv() * d)[0][0]

    def without(self, columns: Sequence[int]) -> Fraction:
        """The residual sum of squares without these columns."""
        kept = [j for j in range(self.k) if j not in columns]
        if not kept:
            return sum((v * v for v in self.b), Fraction(0))
        return Twin([[row[j] for j in kept] for row in self.A], self.b).rss


def t_tail(t: Real, df: int) -> Real:
    return f_tail(t * t, 1, df)


def f_tail(f: Real, first: int, second: int) -> Real:
    at = mpmath.mpf(second) / (second + first * f)
    return mpmath.betainc(mpmath.mpf(second) / 2, mpmath.mpf(first) / 2, 0, at, regularized=True)


def chi2_tail(x: Real, df: int) -> Real:
    return mpmath.gammainc(mpmath.mpf(df) / 2, x / 2, mpmath.inf, regularized=True)


def normal_tail(z: Real) -> Real:
    return mpmath.erfc(abs(z) / mpmath.sqrt(2))


# -- random problems ----------------------------------------------------------------------------


def random_problem(rng: random.Random) -> Problem:
    """A constant and up to four columns of very different sizes, some all but dependent."""
    k, rows = rng.randint(1, 4), rng.randint(8, 14)
    columns = [[Fraction(1)] * rows]
    for j in range(k):
        size, near = Fraction(10) ** rng.randint(-4, 4), rng.random() < 0.2 and j > 0
        column = [Fraction(rng.randint(-999, 999), 8) * size for _ in range(rows)]
        if near:
            column = [u + v / 10**6 for u, v in zip(columns[-1], column, strict=True)]
        columns.append(column)
    A = [list(row) for row in zip(*columns, strict=True)]
    slopes = [Fraction(rng.randint(-9, 9)) for _ in range(k + 1)]
    noise = Fraction(10) ** rng.randint(-2, 2)
    b = [
        sum((u * v for u, v in zip(row, slopes, strict=True)), Fraction(0))
        + noise * Fraction(rng.randint(-999, 999), 64)
        for row in A
    ]
    return Problem(("Intercept", *(f"x{j}" for j in range(k))), A, b)


def robust(fit: Regression, problem: Problem, kind: CovType, bits: int, parties: int) -> Regression:
    """The fit with errors from what each party would send."""
    agreed = Agreed.of(fit.moments, bits, kind)
    names = problem.names[1:]
    model = Model.from_columns("y", names)
    total = None
    for party in range(parties):
        part = problem.part(party, parties)
        table = {name: [row[j + 1] for row in part.A] for j, name in enumerate(names)}
        source = open_source(table | {"y": part.b})
        reading: Any = CollectScores(ModelRows(model), agreed.x)
        if kind == "HC2" or kind == "HC3":
            reading = CollectLeveragedScores(ModelRows(model), agreed.x, agreed.whitening, kind)
        codes = np.array(agreed.whitening.of_moments(read(source, reading), agreed.unit), object)
        total = codes if total is None else total + codes
    assert total is not None
    meat = symmetric(len(fit.names), total.tolist())
    errors = Robust(fit.certificate, agreed, meat, bits, parties, None, kind)
    return replace(fit, cov_type=kind, robust=errors)


def random_rows(rng: random.Random, count: int, k: int) -> list[list[Fraction]]:
    while True:
        rows = [
            [Fraction(rng.randint(-3, 3), rng.choice([1, 2])) for _ in range(k)]
            for _ in range(count)
        ]
        if matrix(rows).rank() == count:
            return rows


Compared = Iterator[tuple[str, Any, Real]]
"""What was compared, what the program says of it, and the truth."""


def compare(rng: random.Random, problem: Problem) -> Compared:
    """Every statistic of one problem, in one way of pooling; RankError where it is refused."""
    moments = rng.choice([problem.exact(), problem.pooled(parties=2), problem.pooled(bits=96)])
    fit = fit_pooled(moments, constant="Intercept")
    if fit.exact_fit:
        return
    fit = replace(fit, formula=Model.from_columns("y", problem.names[1:]).formula)
    twin = Twin(problem.A, problem.b)
    for other, truth in ((fit, twin), _centred(rng, fit, problem)):
        yield from _table(other, truth)
        yield from _tests(rng, other, truth, "nonrobust")
        yield from _variance(other, truth)
        yield from _columns(other, truth)
        yield from _ridge(rng, other, truth)
    yield from _weighted(rng, problem)
    kind: CovType = rng.choice(["HC0", "HC1", "HC2", "HC3"])
    leverages = fractions(twin.X * twin.inverse * twin.X.transpose())
    if all(1 - row[r] > Fraction(1, 1000) for r, row in enumerate(leverages)):
        errors = robust(fit, problem, kind, rng.choice([24, 64, 128]), rng.choice([1, 3]))
        yield from _tests(rng, errors, twin, kind)
        yield from _tests(rng, *_centred(rng, errors, problem), kind)


def _centred(rng: random.Random, fit: Regression, problem: Problem) -> tuple[Regression, Twin]:
    """The fit with some columns centred, and the same from rows that are."""
    names = [name for name in problem.names[1:] if rng.random() < 0.6] or [problem.names[1]]
    sides = [f"center({n})" if n in names else n for n in problem.names[1:]]
    centring = Model.pooled(f"y ~ {' + '.join(sides)}").centring
    assert centring is not None
    at = {problem.names.index(name): name for name in names}
    rows = len(problem.A)
    means = {name: sum((row[j] for row in problem.A), Fraction(0)) / rows for j, name in at.items()}
    A = [[v - means[at[j]] if j in at else v for j, v in enumerate(row)] for row in problem.A]
    return centred(fit, centring, means), Twin(A, problem.b)


def _table(fit: Regression, twin: Twin, weights: Sequence[int] = ()) -> Compared:
    """What a summary shows; a constant is among the columns."""
    n, V = twin.n, fractions(twin.covariance("nonrobust"))
    for j, (x,) in enumerate(fractions(twin.x)):
        sd = mpmath.sqrt(real(V[j][j]))
        yield "coefficient", fit.params.enclosures[j], real(x)
        yield "standard error", fit.bse.enclosures[j], sd
        yield "t", fit.tvalues.enclosures[j], real(x) / sd
        yield "p", fit.pvalues.enclosures[j], t_tail(real(x) / sd, twin.df)
        away = quantile(False, twin.df) * sd
        yield "lower limit", fit.intervals()[j][0], real(x) - away
    total, k = twin.without(range(1, twin.k)), twin.k
    f = real((total - twin.rss) / (k - 1) / twin.scale)
    logs = sum((mpmath.log(w) for w in weights), mpmath.mpf(0))
    llf = (logs - n * (mpmath.log(2 * mpmath.pi * real(twin.rss / n)) + 1)) / 2
    for name, truth in {
        "rsquared": real(1 - twin.rss / total),
        "rsquared_adj": real(1 - twin.scale / (total / (n - 1))),
        "fvalue": f,
        "f_pvalue": f_tail(f, k - 1, twin.df),
        "llf": llf,
        "aic": 2 * k - 2 * llf,
        "bic": k * mpmath.log(n) - 2 * llf,
    }.items():
        yield name, fit.statistics[name], truth
    squares, whole = fit.sums_of_squares, sum((v * v for v in twin.b), Fraction(0))
    yield "ess", squares["ess"], real(total - twin.rss)
    yield "centered_tss", squares["centered_tss"], real(total)
    yield "uncentered_tss", squares["uncentered_tss"], real(whole)
    yield "mse_model", squares["mse_model"], real((total - twin.rss) / (k - 1))
    yield "mse_total", squares["mse_total"], real(total / (n - 1))


def _weighted(rng: random.Random, problem: Problem) -> Compared:
    """Rows times the roots of their weights, which are whole numbers."""
    roots = [rng.randint(1, 9) for _ in problem.A]
    A = [[root * v for v in row] for root, row in zip(roots, problem.A, strict=True)]
    b = [root * v for root, v in zip(roots, problem.b, strict=True)]
    weights = Column(np.array([root**2 for root in roots]))
    logs = Ball(Fraction(log_sum(weights) or 0, 1 << FRACTION), ERROR)
    moments = Problem(problem.names, A, b).exact()
    fit = fit_pooled(moments, constant="Intercept", weighted=True)
    if not fit.exact_fit:
        yield from _table(replace(fit, log_weights=logs), Twin(A, b), weights.numbers.tolist())


def _tests(rng: random.Random, fit: Regression, twin: Twin, kind: CovType) -> Compared:
    m = rng.randint(1, twin.k)
    rows, q = random_rows(rng, m, twin.k), [Fraction(rng.randint(-2, 2)) for _ in range(m)]
    V, normal = twin.covariance(kind), kind != "nonrobust"
    found = fit.t_test((rows, q))
    for at in range(m):
        R = matrix([rows[at]])
        effect = fractions(R * twin.x)[0][0]
        variance = fractions(R * V * R.transpose())[0][0]
        sd = mpmath.sqrt(real(variance))
        yield f"{kind} effect", found.effect.enclosures[at], real(effect)
        yield f"{kind} sd", found.sd.enclosures[at], sd
        if variance:
            t = real(effect - q[at]) / sd
            yield f"{kind} t", found.tvalue.enclosures[at], t
            p = normal_tail(t) if normal else t_tail(t, twin.df)
            yield f"{kind} p", found.pvalue.enclosures[at], p
    if (matrix(rows) * V * matrix(rows).transpose()).rank() == m:
        form = real(twin.wald(rows, q, kind))
        f, chi2 = fit.f_test((rows, q)), fit.wald_test((rows, q), use_f=False)
        yield f"{kind} F", f.statistic_enclosure, form / m
        yield f"{kind} F's p", f.pvalue_enclosure, f_tail(form / m, m, twin.df)
        yield f"{kind} chi2", chi2.statistic_enclosure, form
        yield f"{kind} chi2's p", chi2.pvalue_enclosure, chi2_tail(form, m)
    new = random_rows(rng, 1, twin.k)
    predicted = fit.get_prediction(np.array(new, float))
    variance = fractions(matrix(new) * V * matrix(new).transpose())[0][0]
    yield f"{kind} mean", predicted.mean[0], real(fractions(matrix(new) * twin.x)[0][0])
    yield f"{kind} mean_se", predicted.mean_se[0], mpmath.sqrt(real(variance))
    yield f"{kind} obs_se", predicted.obs_se[0], mpmath.sqrt(real(variance + twin.scale))
    lower, upper = predicted.intervals(obs=True)[0]
    centre = real(fractions(matrix(new) * twin.x)[0][0])
    away = mpmath.sqrt(real(variance + twin.scale)) * quantile(normal, twin.df)
    yield f"{kind} obs_ci_lower", lower, centre - away
    yield f"{kind} obs_ci_upper", upper, centre + away


def quantile(normal: bool, df: int, alpha: float = 0.05) -> Real:
    """By secants from SciPy's."""
    stats = import_module("scipy.stats")
    near = stats.norm.isf(alpha / 2) if normal else stats.t.isf(alpha / 2, df)

    def away(t: Real) -> Real:
        return (normal_tail(t) if normal else t_tail(t, df)) - mpmath.mpf(alpha)

    return mpmath.findroot(away, (near, near * (1 + 1e-9)), tol=1e-100)


def _variance(fit: Regression, twin: Twin) -> Compared:
    for typ in (1, 2, 3):
        table = fit.anova(typ)
        first = 0 if typ == 3 else 1
        for at, j in enumerate(range(first, twin.k)):
            later = range(j + 1, twin.k) if typ == 1 else ()
            explained = real(twin.without([j, *later]) - twin.without(list(later)))
            f = explained / real(twin.scale)
            yield f"anova {typ} sum_sq", table.sum_sq.enclosures[at], explained
            yield f"anova {typ} F", table.F.enclosures[at], f
            yield f"anova {typ} p", table.pvalue.enclosures[at], f_tail(f, 1, twin.df)
    compared = fit.compare_f_test(fit.submodel(fit.names[:1]))
    count = twin.k - 1
    f = real(twin.without(range(1, twin.k)) - twin.rss) / count / real(twin.scale)
    yield "compared F", compared.enclosures[0], f
    yield "compared p", compared.enclosures[1], f_tail(f, count, twin.df)


def _columns(fit: Regression, twin: Twin) -> Compared:
    n = twin.n
    columns = [[row[j] for row in twin.A] for j in range(1, twin.k)] + [twin.b]
    means = [sum(column, Fraction(0)) / n for column in columns]
    about = [[v - mean for v in column] for column, mean in zip(columns, means, strict=True)]
    S = [
        [sum((u * v for u, v in zip(x, y, strict=True)), Fraction(0)) for y in about] for x in about
    ]
    inverse = fractions(twin.inverse)
    correlations = list(fit.correlations.values())
    for j, mean in enumerate(means):
        yield "mean of a column", fit.means.enclosures[j], real(mean)
        yield "std", fit.stds.enclosures[j], mpmath.sqrt(real(S[j][j] / (n - 1)))
        if j < twin.k - 1:
            yield "vif", fit.vif.enclosures[j], real(S[j][j] * inverse[j + 1][j + 1])
        for i in range(j):
            truth = real(S[i][j]) / mpmath.sqrt(real(S[i][i] * S[j][j]))
            yield "correlation", correlations[i].enclosures[j], truth


def _ridge(rng: random.Random, fit: Regression, twin: Twin) -> Compared:
    alpha = Fraction(rng.randint(1, 9)) * Fraction(2) ** rng.randint(-8, 8)
    found = fit.ridge(alpha)
    penalty = matrix([[alpha * (i == j > 0) for j in range(twin.k)] for i in range(twin.k)])
    K = (twin.gram + penalty).inv()
    x = K * twin.X.transpose() * twin.y
    rss = sum((v * v for (v,) in fractions(twin.y - twin.X * x)), Fraction(0))
    hat = fractions(K * twin.gram)
    df = sum((hat[j][j] for j in range(twin.k)), Fraction(0))
    V = fractions(K * twin.gram * K)
    assert found.rss is not None
    yield "ridge df", found.df, real(df)
    yield "ridge rss", found.rss, real(rss)
    for j, error in enumerate(found.errors):
        yield "ridge se", error, mpmath.sqrt(real(rss / (twin.n - df) * V[j][j]))
    n = twin.n
    level = n * mpmath.log(2 * mpmath.pi * real(rss) / n) + n
    yield "ridge bic", found.criterion("bic"), level + mpmath.log(n) * real(df)
    yield "ridge aic", found.criterion("aic"), level + 2 * real(df)


def violated(found: Any, truth: Real) -> bool:
    """Whether the truth is outside; mpmath's own digits are allowed for."""
    if not isinstance(found, Ball):
        return False  # nothing is claimed
    slack = abs(truth) * mpmath.mpf(10) ** -50 + mpmath.mpf(10) ** -600
    return bool(abs(real(found.mid) - truth) > real(found.rad) + slack)


@dataclass
class Tally:
    problems: int = 0
    refused: int = 0
    """Not provably of full rank, as far as the bits that were pooled tell."""
    claims: Counter[str] = field(default_factory=Counter)
    unclaimed: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    digits: Counter[int] = field(default_factory=Counter)


def campaign(problems: int, seed: int) -> Tally:
    """So many problems that are answered; `refused` are those beside them that were not."""
    rng, tally = random.Random(seed), Tally()
    while tally.problems < problems:
        try:
            compared = list(compare(rng, random_problem(rng)))
        except RankError:
            tally.refused += 1
            continue
        for what, found, truth in compared:
            if not isinstance(found, Ball):
                tally.unclaimed[what] += 1
                continue
            tally.claims[what] += 1
            tally.digits[min(found.digits, 20)] += 1
            if violated(found, truth):
                tally.violations.append(f"problem {tally.problems}: {what}")
        tally.problems += 1
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    tally = campaign(chosen.problems, chosen.seed)
    print(f"{tally.problems} problems, {sum(tally.claims.values())} balls compared, ", end="")
    print(
        f"{len(tally.violations)} violations, {sum(tally.unclaimed.values())} not claimed, ", end=""
    )
    print(f"{tally.refused} further problems refused")
    print("proven digits:", dict(sorted(tally.digits.items())))
    for what, count in sorted(tally.claims.items()):
        print(f"  {what:24} {count:7}  {tally.unclaimed[what] or ''}")
    for line in tally.violations[:20]:
        print(line)
    raise SystemExit(bool(tally.violations))


if __name__ == "__main__":
    main()
