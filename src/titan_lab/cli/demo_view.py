"""titan demo --view: the private matrices of a run beside what one of its parties saw of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from titan.leastsquares import column_scales

if TYPE_CHECKING:
    from titan.moments import Moments
    from titan.privacy.view import View
    from titan_lab.pictures.heatmaps import Matrix, Sight

Vector = list[int]


def masked_vectors(view: View, sum_: int) -> dict[str, Vector]:
    """Every party's masked vector in one sum by `flood`, the curious one's own included."""
    return {
        origin: vector.tolist()
        for message in view
        if message.sum == sum_
        for origin, vector in zip(message.origins, message.numbers, strict=False)
    }


def sight(view: View, moments: Mapping[str, Moments], names: Sequence[str]) -> Sight:
    """What `view` shows of all parties' normal equations, and what it all adds up to."""
    from titan_lab.pictures.heatmaps import Seen, Sight

    (curious,) = view.coalition
    *columns, _ = names
    first, second = (masked_vectors(view, at) for at in (0, 1))
    wide, narrow = (each.ring.modulus for each in view.sums)
    parts = [
        Seen(
            party,
            _held(moments[party], names),
            _placed(
                [x / wide for x in first[party]], [x / narrow for x in second[party]], len(columns)
            ),
        )
        for party in sorted(moments, key=lambda party: party != curious)
    ]
    return Sight(curious, columns, parts, _added_up(view, first, second, len(columns)))


def _held(moments: Moments, names: Sequence[str]) -> Matrix:
    at = [moments.names.index(name) for name in names]
    return np.array([[float(moments.fraction(j, k)) for k in at] for j in at[:-1]])


def _placed(first: Sequence[float], off_diagonal: Sequence[float], n: int) -> Matrix:
    """(n, n+1) from the first sum (diagonal, Aᵀb, …) and the second, the triangle above."""
    matrix = np.zeros((n, n + 1))
    pairs = zip(*np.triu_indices(n, 1), strict=True)
    for (j, k), value in zip(pairs, off_diagonal, strict=False):  # the carried 1 is left over
        matrix[j, k] = matrix[k, j] = value
    matrix[np.diag_indices(n)] = first[:n]
    matrix[:, n] = first[n : 2 * n]
    return matrix


def _added_up(
    view: View, first: Mapping[str, Vector], second: Mapping[str, Vector], n: int
) -> Matrix:
    """The pooled sum, from nothing but what was seen: the masks cancel."""
    total, above = (
        each.ring.to_signed(each.ring.from_ints([sum(x) for x in zip(*seen.values(), strict=True)]))
        for each, seen in zip(view.sums, (first, second), strict=True)
    )
    pooled = [Fraction(x, 1 << view.sums[0].fraction) for x in total]
    scales = column_scales(pooled[:n])
    unit = Fraction(1, 1 << view.sums[1].fraction)
    pairs = zip(*np.triu_indices(n, 1), strict=True)
    off_diagonal = [
        float(x * unit * Fraction(2) ** (scales[j] + scales[k]))
        for x, (j, k) in zip(above, pairs, strict=False)
    ]
    return _placed([float(x) for x in pooled], off_diagonal, n)
