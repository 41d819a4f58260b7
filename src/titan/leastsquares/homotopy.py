"""The lasso's path: min ½ zᵀGz − rᵀz + α Σ λ_j |z_j| for falling α.

The minimiser is piecewise linear in α (Osborne, Presnell and Turlach; Efron and others' LARS). On
the active set S with signs s it is z_S = G_SS⁻¹ (r_S − α λ_S s_S); going down in α, a column joins
when its correlation reaches its threshold, and leaves when its coefficient reaches zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from titan.leastsquares.bounds import Floats

_CLOSE = 1e-9


def minimise(gram: Floats, rhs: Floats, weights: Floats, alphas: Floats) -> Floats:
    """The minimisers at `alphas` (falling), one row each; the diagonal of `gram` is 1."""
    points = np.zeros((len(alphas), len(rhs)))
    if not len(rhs):
        return points
    signs = np.zeros(len(rhs))
    alpha, done = np.inf, 0
    for _ in range(50 * len(rhs) + 50):
        below = _next(gram, rhs, weights, signs, alpha)
        while done < len(alphas) and alphas[done] >= below[0]:
            points[done] = _polish(gram, rhs, weights, alphas[done], signs)
            done += 1
        if done == len(alphas):
            break
        alpha, column, sign = below
        signs[column] = sign
    return points


def violation(gram: Floats, rhs: Floats, weights: Floats, alpha: float, z: Floats) -> float:
    """The largest violation of the optimality (KKT) conditions, in units of α."""
    slope = (rhs - gram @ z) / weights
    away = np.where(z != 0, np.abs(slope - alpha * np.sign(z)), np.abs(slope) - alpha)
    return float(max(away.max(initial=0.0), 0.0))


def _line(
    gram: Floats, rhs: Floats, weights: Floats, signs: Floats
) -> tuple[npt.NDArray[np.intp], Floats, Floats]:
    """The active columns, and z = at_zero − α·slope on them."""
    active = np.flatnonzero(signs)
    sides = np.stack([rhs[active], weights[active] * signs[active]], axis=1)
    both: Floats = np.linalg.solve(gram[np.ix_(active, active)], sides).astype(np.float64)
    return active, both[:, 0], both[:, 1]


def _next(
    gram: Floats, rhs: Floats, weights: Floats, signs: Floats, alpha: float
) -> tuple[float, int, float]:
    """The next breakpoint below `alpha`: where it is, which column, its new sign (0: it leaves)."""
    active, at_zero, slope = _line(gram, rhs, weights, signs)
    best = (0.0, 0, float(signs[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        leaves = at_zero / slope
        rest = (rhs - gram[:, active] @ at_zero) / weights
        grows = (gram[:, active] @ slope) / weights
        joins = {1.0: rest / (1 - grows), -1.0: -rest / (1 + grows)}
    for j, zero in zip(active.tolist(), leaves.tolist(), strict=True):
        # a column that has just joined has its zero at `alpha` itself
        if best[0] < zero < alpha * (1 - _CLOSE):
            best = (zero, j, 0.0)
    for sign, where in joins.items():
        for j in np.flatnonzero(signs == 0).tolist():
            near = where[j] > alpha * (1 - _CLOSE)
            if near and sign * (rest[j] + 0.5 * alpha * grows[j]) <= 0.5 * alpha:
                continue  # it is at its threshold because it left there, moving inside
            if best[0] < where[j] <= alpha:
                best = (float(where[j]), j, sign)
    return best


def _polish(gram: Floats, rhs: Floats, weights: Floats, alpha: float, signs: Floats) -> Floats:
    """The minimiser for this active set, with one step of refinement."""
    z = np.zeros(len(rhs))
    active = np.flatnonzero(signs)
    if len(active):
        inner = gram[np.ix_(active, active)]
        goal = rhs[active] - alpha * weights[active] * signs[active]
        first = np.linalg.solve(inner, goal)
        z[active] = first + np.linalg.solve(inner, goal - inner @ first)
    return z
