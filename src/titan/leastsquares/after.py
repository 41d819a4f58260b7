"""What people do after a regression, as methods of its result: each is a line, work is elsewhere.

All of it follows from the pooled moments, so that it needs no further message; what would need a
sum of its own (other robust errors) says which question to ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from titan.leastsquares import anova as variance
from titan.leastsquares import prediction, tested
from titan.leastsquares.anova import Anova, FComparison
from titan.leastsquares.goodness import SQUARES, sums_of_squares
from titan.leastsquares.named import Named, NamedTable, Quantity
from titan.leastsquares.new_rows import new_rows
from titan.leastsquares.other_errors import standard_errors, with_errors
from titan.leastsquares.prediction import Prediction, labels_of
from titan.leastsquares.robust import OF_ROWS, CovType
from titan.leastsquares.screening import Screening
from titan.leastsquares.tested import TTest, WaldTest

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression


def _standard_errors(cov_type: CovType) -> Named:
    """A property; its type is what readers of the attribute get."""
    return property(lambda fit: standard_errors(fit, cov_type))  # type: ignore[return-value]


def _square(name: str) -> float:
    return property(lambda fit: float(fit.sums_of_squares[name]))  # type: ignore[return-value]


class AfterFit:
    """Mixed into `Regression`."""

    @property
    def _fit(self) -> Regression:
        return cast("Regression", self)

    # -- sums of squares ----------------------------------------------------------------------

    @property
    def sums_of_squares(self) -> dict[str, Quantity]:
        """As enclosures, by statsmodels' names; each is an attribute too."""
        return sums_of_squares(self._fit)

    ess, centered_tss, uncentered_tss, mse_model, mse_resid, mse_total = map(_square, SQUARES)

    @property
    def use_t(self) -> bool:
        """Whether tests are by Student's t and F, or by the normal distribution and χ²."""
        return self._fit.robust is None

    # -- hypotheses ---------------------------------------------------------------------------

    def t_test(self, hypotheses: Any) -> TTest:
        """Each hypothesis by itself: "age = 2*sex, bmi = 0", a matrix R, or a pair (R, q)."""
        return tested.t_test(self._fit, hypotheses)

    def f_test(self, hypotheses: Any) -> WaldTest:
        """All hypotheses together, by F."""
        return tested.wald_test(self._fit, hypotheses, use_f=True)

    def wald_test(self, hypotheses: Any, use_f: bool | None = None) -> WaldTest:
        """All hypotheses together: by F, with robust errors by χ², or as `use_f` says."""
        return tested.wald_test(self._fit, hypotheses, use_f)

    def compare_f_test(self, restricted: Regression) -> FComparison:
        """(F, p, columns left out) of a smaller model of the same rows, such as a `submodel`."""
        return variance.compare_f_test(self._fit, restricted)

    def anova(self, typ: int = 1) -> Anova:
        """The analysis of variance by the terms of the formula: type I, II or III."""
        return variance.anova(self._fit, typ)

    # -- other standard errors ----------------------------------------------------------------

    def get_robustcov_results(self, cov_type: CovType = "HC1") -> Regression:
        """The same fit with other standard errors, where these follow from what was opened."""
        return with_errors(self._fit, cov_type)

    HC0_se, HC1_se, HC2_se, HC3_se = map(_standard_errors, OF_ROWS)

    # -- new rows -----------------------------------------------------------------------------

    def get_prediction(self, rows: Any = None) -> Prediction:
        """The mean at rows, given as to `predict`, with intervals for it and for one more."""
        fit = self._fit
        matrix = new_rows(rows, fit)
        return prediction.predict(fit, matrix, labels_of(rows, matrix))

    # -- the columns --------------------------------------------------------------------------

    @property
    def vif(self) -> Named:
        """How much each coefficient's variance is inflated by the other columns."""
        return Screening(self._fit).vif()

    @property
    def means(self) -> Named:
        """Of the columns and the response, over all rows; weighted where the fit is."""
        return Screening(self._fit).means()

    @property
    def stds(self) -> Named:
        """Standard deviations, with N − 1."""
        return Screening(self._fit).stds()

    @property
    def correlations(self) -> NamedTable:
        """Of the columns and the response."""
        return Screening(self._fit).correlations()
