"""Tests of hypotheses about the coefficients: Student's t, F and χ², under statsmodels' names.

With robust errors the normal distribution takes Student's place, and χ² that of F in `wald_test`;
`f_test` keeps F, with one less than the number of clusters in its denominator where there are any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from titan import canonical
from titan.errors import InputError
from titan.leastsquares import inference
from titan.leastsquares.balls import Ball
from titan.leastsquares.contrasts import Contrasts, check_independent, per_hypothesis
from titan.leastsquares.goodness import limits
from titan.leastsquares.hypotheses import Hypotheses, read_hypotheses
from titan.leastsquares.named import Limits, Named, NamedTable, Quantity, error_of
from titan.leastsquares.tails import chi2_tail, normal_two_sided
from titan.listing import aligned, ruled

if TYPE_CHECKING:
    from pandas import DataFrame

    from titan.leastsquares.regression import Regression


@dataclass(frozen=True, eq=False)
class TTest:
    """One t test (z with robust errors) for every hypothesis, called c0, c1, …"""

    hypotheses: tuple[str, ...]
    """In words."""
    effect: Named
    """The estimates R x̂."""
    sd: Named
    tvalue: Named
    pvalue: Named
    df_denom: int | None
    """Of Student's t; None where the distribution is normal."""
    fit: Any = field(repr=False)

    def conf_int(self, alpha: float = 0.05) -> NamedTable:
        """Name → (lower, upper) of the estimate at level 1 − alpha."""
        pairs = zip(self.effect, self.intervals(alpha), strict=True)
        rows = {name: Limits(float(low), float(high)) for name, (low, high) in pairs}
        return NamedTable(rows, Limits._fields)

    def intervals(self, alpha: float = 0.05) -> list[tuple[Quantity, Quantity]]:
        """The confidence limits as enclosures."""
        return limits(self.fit, alpha, self.effect.enclosures, self.sd.enclosures)

    @property
    def statistic(self) -> Named:
        return self.tvalue

    def to_dict(self) -> dict[str, Any]:
        """For JSON, every number with how far it may be off."""
        numbers = {"effect": self.effect, "sd": self.sd, "tvalue": self.tvalue}
        rows = dict(zip(self.effect, self.hypotheses, strict=True))
        whole: dict[str, Any] = {"hypotheses": rows, "df_denom": self.df_denom}
        for name, named in (numbers | {"pvalue": self.pvalue}).items():
            errors = [error_of(each) for each in named.enclosures]
            whole |= {name: dict(named), f"{name}_error": dict(zip(named, errors, strict=True))}
        return dict(canonical.finite(whole))

    def summary(self, alpha: float = 0.05) -> str:
        """A line for each hypothesis, with the digits that are proven."""
        from titan.leastsquares.summary import shown

        test = "z" if self.df_denom is None else "t"
        ends = f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"
        cells = [("hypothesis", "estimate", "std err", test, f"P>|{test}|", *ends)]
        columns = (n.enclosures for n in (self.effect, self.sd, self.tvalue, self.pvalue))
        for text, *numbers, both in zip(
            self.hypotheses, *columns, self.intervals(alpha), strict=True
        ):
            cells.append((text, *(shown(each, 4) for each in (*numbers, *both))))
        return "\n".join(ruled(aligned(cells)))

    def __str__(self) -> str:
        return self.summary()

    def summary_frame(self, alpha: float = 0.05) -> DataFrame:
        """A pandas DataFrame with statsmodels' columns."""
        both, test = list(self.conf_int(alpha).values()), "z" if self.df_denom is None else "t"
        rows = {
            "coef": self.effect.values(),
            "std err": self.sd.values(),
            test: self.tvalue.values(),
            f"P>|{test}|": self.pvalue.values(),
            "Conf. Int. Low": [pair.lower for pair in both],
            "Conf. Int. Upp.": [pair.upper for pair in both],
        }
        return data_frame(rows, list(self.effect))


@dataclass(frozen=True, eq=False)
class WaldTest:
    """All hypotheses together: F, or χ²."""

    hypotheses: tuple[str, ...]
    distribution: Literal["F", "chi2"]
    statistic_enclosure: Quantity
    pvalue_enclosure: Quantity
    df_num: int
    df_denom: int | None

    @property
    def statistic(self) -> float:
        return float(self.statistic_enclosure)

    @property
    def pvalue(self) -> float:
        return float(self.pvalue_enclosure)

    @property
    def fvalue(self) -> float:
        if self.distribution != "F":
            raise InputError("the statistic is χ²", hint="`statistic`, or f_test")
        return self.statistic

    def to_dict(self) -> dict[str, Any]:
        """For JSON, every number with how far it may be off."""
        whole = {
            "hypotheses": list(self.hypotheses),
            "distribution": self.distribution,
            "statistic": self.statistic,
            "statistic_error": error_of(self.statistic_enclosure),
            "pvalue": self.pvalue,
            "pvalue_error": error_of(self.pvalue_enclosure),
            "df_num": self.df_num,
            "df_denom": self.df_denom,
        }
        return dict(canonical.finite(whole))

    def summary(self) -> str:
        """The hypotheses and one line, with the digits that are proven."""
        from titan.leastsquares.summary import significant

        freedom = ", ".join(str(df) for df in (self.df_num, self.df_denom) if df is not None)
        found = significant(self.statistic_enclosure, 6), significant(self.pvalue_enclosure, 4)
        line = f"{self.distribution}({freedom}) = {found[0]}, p = {found[1]}"
        return "\n".join([*self.hypotheses, line])

    def __str__(self) -> str:
        return self.summary()


def t_test(fit: Regression, given: Any) -> TTest:
    """Each hypothesis by itself."""
    found = read_hypotheses(given, fit.names)
    contrasts = Contrasts(fit, found.rows)
    names = [f"c{at}" for at in range(len(found))]
    errors = contrasts.standard_errors()
    triples = zip(contrasts.values, found.targets, errors, strict=True)
    t = [inference.ratio(Ball(x.mid - q, x.rad), se) for x, q, se in triples]
    normal = fit.robust is not None
    p = [normal_two_sided(z) if normal else inference.two_sided(z, fit.df_resid) for z in t]
    return TTest(
        tuple(found.texts),
        effect=Named(names, contrasts.values),
        sd=Named(names, errors),
        tvalue=Named(names, t),
        pvalue=Named(names, p),
        df_denom=None if normal else fit.df_resid,
        fit=fit,
    )


def wald_test(fit: Regression, given: Any, use_f: bool | None = None) -> WaldTest:
    """All hypotheses together; F unless errors are robust, or as `use_f` says."""
    return together(fit, read_hypotheses(given, fit.names), use_f)


def together(fit: Regression, found: Hypotheses, use_f: bool | None) -> WaldTest:
    check_independent(found.rows)
    statistic, count = Contrasts(fit, found.rows).statistic(found.targets), len(found)
    words = tuple(found.texts)
    if not (fit.robust is None if use_f is None else use_f):
        return WaldTest(words, "chi2", statistic, chi2_tail(statistic, count), count, None)
    f, freedom = per_hypothesis(statistic, count), denominator(fit)
    p = inference.upper_tail(f, count, freedom) if freedom else math.nan
    return WaldTest(words, "F", f, p, count, freedom)


def denominator(fit: Regression) -> int:
    """The degrees of freedom of F's denominator."""
    clusters = None if fit.robust is None else fit.robust.clusters
    return fit.df_resid if clusters is None else clusters - 1


def all_zero(fit: Regression, columns: Sequence[int]) -> WaldTest | None:
    """Whether these coefficients are all zero; None where there are none."""
    if not columns:
        return None
    unit = [[int(j == at) for j in range(len(fit.names))] for at in columns]
    return together(fit, read_hypotheses(unit, fit.names), use_f=True)


def data_frame(columns: Mapping[str, Any], index: Sequence[Any]) -> DataFrame:
    try:
        from pandas import DataFrame
    except ImportError:
        hint = "pip install pandas, or use to_dict()"
        raise InputError("pandas is not installed", hint=hint) from None
    return DataFrame({name: list(column) for name, column in columns.items()}, index=list(index))
