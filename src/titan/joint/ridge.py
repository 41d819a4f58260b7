"""Least squares with a penalty, as a joint computation: the same sums, another answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from titan.errors import RankError
from titan.joint.pooled_model import Known, PooledModel
from titan.joint.resolution import refuse_noise
from titan.leastsquares import PooledMoments, RidgePath, ridge_pooled
from titan.leastsquares.penalised import penalised


@dataclass(frozen=True)
class RidgeRegression(PooledModel):
    """‖b − Ax‖² + alpha‖x‖² for every penalty asked for, the intercept unpenalised."""

    alphas: tuple[float, ...] = ()

    @property
    def needs_full_rank(self) -> bool:  # type: ignore[override]
        return not all(self.alphas)

    def refuse_noise(self, regressors: PooledMoments) -> None:
        """Columns may depend on each other where the penalty decides between them, not rounding."""
        for alpha in self.alphas:
            try:
                refuse_noise(self, penalised(regressors, alpha, self._intercept))
            except RankError as error:
                message = f"with a penalty of {alpha:g}, {error.message}"
                hint = "use a larger penalty, or leave one of them out"
                raise RankError(message, columns=error.columns, hint=hint) from None

    def answer(self, known: Known) -> RidgePath | None:
        pooled = known.opened.pooled
        if pooled is None:
            return None
        asked, made = self.in_columns_asked(pooled), self._origins(pooled)
        found = (ridge_pooled(asked, alpha, self._intercept) for alpha in self.alphas)
        return RidgePath([replace(each, **made) for each in found])

    def _origins(self, pooled: PooledMoments) -> dict[str, Any]:
        """For who wants to predict rows, or to ask again."""
        if self.model is None:
            return {}
        centres = self.centres_in(pooled)
        return {"formula": self.model.formula, "centres": centres, "weights": self.model.weights}

    @property
    def _intercept(self) -> str | None:
        return None if self.model is None else self.model.constant_column
