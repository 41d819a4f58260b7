"""From pooled moments to a certified answer, presented as a statistician expects."""

from titan.leastsquares.balls import Ball
from titan.leastsquares.certified import Solution, solve_pooled
from titan.leastsquares.pooled import PooledMoments, column_scales

__all__ = ["Ball", "PooledMoments", "Solution", "column_scales", "solve_pooled"]
