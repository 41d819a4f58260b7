"""From pooled moments to a certified answer, presented as a statistician expects."""

from titan.leastsquares.balls import Ball
from titan.leastsquares.certified import Solution, solve_pooled
from titan.leastsquares.named import Named, NamedTable
from titan.leastsquares.penalised import LassoPath, Ridge, RidgePath
from titan.leastsquares.penalised import ridge as ridge_pooled
from titan.leastsquares.pooled import PooledMoments, column_scales
from titan.leastsquares.regression import Regression, fit_pooled

__all__ = [
    "Ball",
    "LassoPath",
    "Named",
    "NamedTable",
    "PooledMoments",
    "Regression",
    "Ridge",
    "RidgePath",
    "Solution",
    "column_scales",
    "fit_pooled",
    "ridge_pooled",
    "solve_pooled",
]
