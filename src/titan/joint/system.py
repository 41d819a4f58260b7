"""The paper's own question, A x = b with rows at every party, as a joint computation."""

from __future__ import annotations

from dataclasses import dataclass

from titan.joint.pooled_model import Known, PooledModel
from titan.leastsquares import Solution, solve_pooled


@dataclass(frozen=True)
class LinearSystem(PooledModel):
    """The least squares solution."""

    def answer(self, known: Known) -> Solution | None:
        return None if known.opened.pooled is None else solve_pooled(known.opened.pooled)
