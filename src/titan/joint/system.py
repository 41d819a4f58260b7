"""The paper's own question, A x = b with rows at every party, as a joint computation."""

from __future__ import annotations

from dataclasses import dataclass

from titan.joint.pooled_model import Known, PooledModel
from titan.leastsquares import Solution, solve_pooled


@dataclass(frozen=True)
class LinearSystem(PooledModel):
    """The least squares solution."""

    def answer(self, known: Known) -> Solution | None:
        pooled = known.opened.pooled
        return None if pooled is None else solve_pooled(self.in_columns_asked(pooled))
