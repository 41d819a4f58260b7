"""Least squares with a penalty, as a joint computation: the same sums, another answer."""

from __future__ import annotations

from dataclasses import dataclass

from titan.joint.pooled_model import Known, PooledModel
from titan.leastsquares import RidgePath, ridge_pooled


@dataclass(frozen=True)
class RidgeRegression(PooledModel):
    """‖b − Ax‖² + alpha‖x‖² for every penalty asked for, the intercept unpenalised."""

    alphas: tuple[float, ...] = ()
    needs_full_rank = False

    def answer(self, known: Known) -> RidgePath | None:
        if known.opened.pooled is None:
            return None
        intercept = None if self.model is None else self.model.constant_column
        return RidgePath([ridge_pooled(known.opened.pooled, a, intercept) for a in self.alphas])
