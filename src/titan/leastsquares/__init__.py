"""From pooled moments to a certified answer, presented as a statistician expects."""

from titan.leastsquares.balls import Ball
from titan.leastsquares.certified import Solution, solve_pooled
from titan.leastsquares.named import Named
from titan.leastsquares.penalised import LassoPath, Ridge
from titan.leastsquares.penalised import ridge as ridge_pooled
from titan.leastsquares.pooled import PooledMoments, column_scales
from titan.leastsquares.regression import Regression, fit_pooled

__all__ = [
    "Ball",
    "LassoPath",
    "Named",
    "PooledMoments",
    "Regression",
    "Ridge",
    "Solution",
    "column_scales",
    "fit_pooled",
    "ridge_pooled",
    "solve_pooled",
]
