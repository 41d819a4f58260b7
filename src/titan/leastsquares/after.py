"""What people do after a regression, as methods of its result: each is a line, the work is elsewhere.

All of it follows from the pooled moments, so that it needs no further message; what would need a sum
of its own (other robust errors) says which question to ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from titan.leastsquares import tested
from titan.leastsquares.named import Named, NamedTable
from titan.leastsquares.tested import TTest, WaldTest

if TYPE_CHECKING:
    from titan.leastsquares.regression import Regression
    from titan.leastsquares.robust import CovType


class AfterFit:
    """Mixed into `Regression`."""

    @property
    def _fit(self) -> Regression:
        return cast("Regression", self)

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
