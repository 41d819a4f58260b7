"""Fits compared, and the analysis of variance: differences of residual sums of squares, in balls.

    F = (RSS_restricted − RSS_full) / q  ÷  RSS / df,   q the columns that are left out.

    type I    each term against those before it: as the formula has them, interactions last
    type II   each term against all that do not contain it
    type III  each term against all others, the intercept too

as R and statsmodels have them; the denominator is always that of the whole model. The columns of a
term are those the formula gave it, so that type III depends on how categories are coded, as there.
"""

# Rule 1: sums of squares assume equal variances: a fit with robust errors is refused, not mixed.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from titan import canonical
from titan.errors import InputError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.certified import certify
from titan.leastsquares.inference import compute, upper_tail
from titan.leastsquares.named import Named, Quantity, error_of
from titan.leastsquares.tested import data_frame
from titan.listing import aligned, ruled
from titan.moments.terms import Category, Factor, Term, blocks, name_of
from titan.ring.whole import as_whole

if TYPE_CHECKING:
    from pandas import DataFrame

    from titan.leastsquares.regression import Regression

RESIDUAL = "Residual"


class _Triple(NamedTuple):
    f_value: float
    p_value: float
    df_diff: int


class FComparison(_Triple):
    """(f_value, p_value, df_diff), as statsmodels has it, and the enclosures of the first two."""

    enclosures: tuple[Quantity, Quantity]

    @classmethod
    def of(cls, f: Quantity, p: Quantity, df: int) -> FComparison:
        found = cls(float(f), float(p), df)
        found.enclosures = f, p
        return found


def compare_f_test(full: Regression, restricted: Any) -> FComparison:
    """Whether the columns that `restricted` lacks explain anything."""
    if not isinstance(restricted, type(full)):
        hint = 'fit.compare_f_test(fit.submodel(["Intercept", "age"]))'
        raise InputError(f"{type(restricted).__name__} is not a regression", hint=hint)
    _refuse_robust(full, restricted)
    _check_nested(full, restricted)
    count = restricted.df_resid - full.df_resid
    return FComparison.of(*_f(full, _between(restricted.residual_sum, full), count), count)


def _check_nested(full: Regression, restricted: Regression) -> None:
    """As far as the moments tell: the same rows, and columns that are all in the larger model."""
    one, other = full.moments, restricted.moments
    extra = [name for name in restricted.names if name not in full.names]
    if extra or len(restricted.names) == len(full.names):
        raise InputError(
            f"the restricted model has {extra[0]!r}, which the full one lacks"
            if extra
            else "the two models have the same columns",
            hint="the restricted model has some of the columns of the full one",
        )
    same = one.response == other.response and one.rows == other.rows
    same = same and full.weighted == restricted.weighted and one.subset(other.names).agrees(other)
    if not same:
        hint = "compare fits of the same rows: fit.submodel gives one"
        raise InputError("the two models are not of the same response and rows", hint=hint)


def _refuse_robust(*fits: Regression) -> None:
    for fit in fits:
        if fit.cov_type != "nonrobust":
            raise InputError(
                f"sums of squares do not compare fits with robust errors ({fit.cov_type})",
                hint='f_test("a = 0, b = 0") is robust; '
                'get_robustcov_results("nonrobust") for sums of squares',
            )


def _between(larger: Ball, fit: Regression) -> Ball:
    return compute(lambda r, s: r - s, larger, fit.residual_sum)


def _f(fit: Regression, explained: Ball, count: int) -> tuple[Quantity, Quantity]:
    scale = fit.scale_ball
    if not isinstance(scale, Ball):
        f = math.inf if scale == 0 and explained.lower > fit.smallest_residual else math.nan
        return f, upper_tail(f, count, fit.df_resid)
    found = compute(lambda e, s: e / s / count, explained, scale)
    return found, upper_tail(found, count, fit.df_resid)


# -- analysis of variance ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Anova:
    """One line for every term, the residuals last."""

    typ: Literal[1, 2, 3]
    df: dict[str, int]
    sum_sq: Named
    mean_sq: Named
    F: Named
    pvalue: Named

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(self.df)[:-1]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, every number with how far it may be off."""
        whole: dict[str, Any] = {"typ": self.typ, "df": dict(self.df)}
        for name in ("sum_sq", "mean_sq", "F", "pvalue"):
            named = getattr(self, name)
            errors = [error_of(each) for each in named.enclosures]
            whole |= {name: dict(named), f"{name}_error": dict(zip(named, errors, strict=True))}
        return dict(canonical.finite(whole))

    def to_frame(self) -> DataFrame:
        """A pandas DataFrame with the columns of statsmodels' `anova_lm`."""
        df, squares = list(map(float, self.df.values())), self.sum_sq.values()
        first = {"df": df, "sum_sq": squares, "mean_sq": self.mean_sq.values()}
        columns: dict[str, Any] = first if self.typ == 1 else {"sum_sq": squares, "df": df}
        columns |= {"F": self.F.values(), "PR(>F)": self.pvalue.values()}
        return data_frame(columns, list(self.df))

    def summary(self) -> str:
        """The table, with the digits that are proven."""
        from titan.leastsquares.summary import significant

        cells: list[tuple[str, ...]] = [("", "df", "sum_sq", "mean_sq", "F", "PR(>F)")]
        numbers = (self.sum_sq, self.mean_sq, self.F, self.pvalue)
        columns = zip(*(named.enclosures for named in numbers), strict=True)
        for (name, df), values in zip(self.df.items(), columns, strict=True):
            texts = ("" if str(v) == "nan" else significant(v, 6) for v in values)
            cells.append((name, str(df), *texts))
        title = f"Analysis of variance, type {'I' * self.typ}"
        return "\n".join([title, *ruled(aligned(cells))])

    def __str__(self) -> str:
        return self.summary()


def anova(fit: Regression, typ: int = 1) -> Anova:
    """Sums of squares by the terms of the formula."""
    if as_whole(typ) not in (1, 2, 3):
        raise InputError(f"typ={typ!r}", hint="1, 2 or 3")
    _refuse_robust(fit)
    terms, residual = _terms(fit), _residuals(fit)
    shown = [term for term in terms if term or typ == 3]
    found = [_explained(residual, terms, term, typ) for term in shown]
    counts = [len(terms[term]) for term in shown]
    tests = [_f(fit, ball, count) for ball, count in zip(found, counts, strict=True)]
    names = [*(":".join(map(_label, term)) or "Intercept" for term in shown), RESIDUAL]
    squares = [*found, fit.residual_sum]
    freedom = [*counts, fit.df_resid]
    pairs = zip(squares, freedom, strict=True)
    mean = [compute(lambda s, n=n: s / n, ball) if n else math.nan for ball, n in pairs]
    return Anova(
        typ,  # type: ignore[arg-type]
        dict(zip(names, freedom, strict=True)),
        Named(names, squares),
        Named(names, mean),
        Named(names, [*(f for f, _ in tests), math.nan]),
        Named(names, [*(p for _, p in tests), math.nan]),
    )


def _terms(fit: Regression) -> dict[Term, list[str]]:
    """Each term of the formula, and its columns."""
    if fit.model is None:
        raise InputError(
            "which columns belong to which term is not known: the fit has no formula",
            hint='fit rows by a formula, or test columns by f_test("a = 0, b = 0")',
        )
    terms = fit.model.terms
    found = dict(zip(terms, blocks(terms), strict=True))
    columns = [name_of(column) for each in found.values() for column in each]
    if tuple(columns) != fit.names:
        raise InputError("the fit's columns are not those of its formula", hint="fit it again")
    in_order = sorted(found, key=len)  # as in R
    return {term: [name_of(column) for column in found[term]] for term in in_order}


def _explained(
    residual: Callable[[Sequence[str]], Ball], terms: dict[Term, list[str]], term: Term, typ: int
) -> Ball:
    """RSS without the term less RSS with it, both without what the type leaves out."""
    order = list(terms)
    if typ == 1:
        kept = order[: order.index(term) + 1]
    elif typ == 2:
        kept = [each for each in order if not set(term) < set(each)]
    else:
        kept = order
    with_it = [name for each in kept for name in terms[each]]
    without = [name for each in kept if each != term for name in terms[each]]
    return compute(lambda r, s: r - s, residual(without), residual(with_it))


def _residuals(fit: Regression) -> Callable[[Sequence[str]], Ball]:
    """The residual sum of squares of any of the columns, each found once; of none it is bᵀb."""
    assert fit.moments.bb is not None  # noqa: S101 - every fit has it
    empty = Ball(fit.moments.bb, fit.moments.bb_error)
    known = {frozenset[str](): empty, frozenset(fit.names): fit.residual_sum}

    def residual(names: Sequence[str]) -> Ball:
        found = known.get(frozenset(names))
        if found is None:
            found = inference.residual_sum(certify(fit.moments.subset(names)))
            known[frozenset(names)] = found
        return found

    return residual


def _label(factor: Factor) -> str:
    if isinstance(factor, Category):
        return factor.labels(full=True)[0].removesuffix(f"[{factor.levels[0].text}]")
    return str(factor) if len(factor.labels()) > 1 else factor.labels()[0]
