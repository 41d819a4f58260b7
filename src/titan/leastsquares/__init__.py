"""From pooled moments to a certified answer, presented as a statistician expects."""

from titan.leastsquares.anova import Anova, FComparison
from titan.leastsquares.balls import Ball
from titan.leastsquares.certified import Solution, solve_pooled
from titan.leastsquares.lasso import LassoPath, LassoPoint
from titan.leastsquares.named import Named, NamedTable
from titan.leastsquares.penalised import Ridge, RidgePath
from titan.leastsquares.penalised import ridge as ridge_pooled
from titan.leastsquares.pooled import PooledMoments, column_scales
from titan.leastsquares.prediction import Prediction
from titan.leastsquares.regression import Regression, fit_pooled
from titan.leastsquares.tested import TTest, WaldTest

__all__ = [
    "Anova",
    "Ball",
    "FComparison",
    "LassoPath",
    "LassoPoint",
    "Named",
    "NamedTable",
    "PooledMoments",
    "Prediction",
    "Regression",
    "Ridge",
    "RidgePath",
    "Solution",
    "TTest",
    "WaldTest",
    "column_scales",
    "fit_pooled",
    "ridge_pooled",
    "solve_pooled",
]
