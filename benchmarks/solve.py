"""From pooled integers to a certified solution, and the whole private solve of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

import titan
from benchmarks.measure import Row, ratio, seconds, side_by_side
from titan.joint import SumSettings, together
from titan.joint.equations import Found
from titan.joint.pooled_model import PooledModel, RowsPart
from titan.leastsquares import PooledMoments, solve_pooled
from titan.moments import Column
from titan.moments.gram import gram
from titan.release.policy import DEFAULT

BITS = 128
PARTIES = 3


def rows() -> Iterator[Row]:
    for n, condition in ((100, 1e2), (100, 1e10), (1000, 1e2), (1000, 1e6), (1000, 1e10)):
        yield certified(n, condition)
    yield from paper()


def certified(n: int, condition: float) -> Row:
    """The certified solve beside SciPy's Cholesky factorisation of the same matrix."""
    matrix, moments = system(n, condition)
    rhs = np.ones(n)
    times = side_by_side(
        lambda: solve_pooled(moments), lambda: cho_solve(cho_factor(matrix), rhs), repeats=5
    )
    solution = solve_pooled(moments)
    what = (
        f"certified solve, n={n}, condition {solution.condition:.0e}, "
        f"{min(solution.digits)} digits proven, {solution.method}: against cho_factor, cho_solve"
    )
    return ratio(what, *times, at_most=100 if n >= 1000 else None)


def system(n: int, condition: float) -> tuple[npt.NDArray[np.float64], PooledMoments]:
    """A Gram matrix with a unit diagonal and roughly this condition, and its pooled integers."""
    rng = np.random.default_rng(n)
    basis, _ = np.linalg.qr(rng.standard_normal((n, n)))
    matrix = (basis * np.geomspace(1, 1 / condition, n)) @ basis.T
    norms = np.sqrt(np.diagonal(matrix))
    matrix = matrix / norms[:, None] / norms
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    rhs = matrix @ rng.standard_normal(n)
    upper = (matrix[np.triu_indices(n, 1)] * 2.0**62).astype(np.int64).tolist()
    low = rng.integers(0, 2**62, len(upper)).tolist()  # no entry is short of bits
    moments = PooledMoments.of_sums(
        [f"x{j}" for j in range(n)],
        rows=10 * n,
        diagonal=[1] * n,
        rhs=[Fraction(v) for v in rhs.tolist()],
        off_diagonal=[(a << (BITS - 64)) + b for a, b in zip(upper, low, strict=True)],
        parties=PARTIES,
        bits=BITS,
    )
    return matrix, moments


def paper() -> Iterator[Row]:
    """The second experiment: 100 parties with 100 equations each in 100 unknowns, by `tree`."""
    m, n = 100, 100
    rng = np.random.default_rng(2)
    A, b = rng.standard_normal((m * n, n)), rng.standard_normal(m * n)
    parts = [(A[i * n : (i + 1) * n], b[i * n : (i + 1) * n]) for i in range(m)]
    network = titan.Network.cycle(m)

    def ours() -> None:
        titan.solve(parts, network, recovery="tree", engine="vectorised", tau=1)

    times = side_by_side(ours, lambda: np.linalg.lstsq(A, b, rcond=None), repeats=5)
    yield ratio("whole private solve, m=100, p=10000, n=100: against lstsq", *times, at_most=25)
    names = [*(f"x{j}" for j in range(n)), "b"]
    secrets = [
        gram(names, [Column(c) for c in (*np.ascontiguousarray(Ai.T), bi)]) for Ai, bi in parts
    ]
    settings = SumSettings(network, recovery="tree", engine="vectorised", tau=1)
    model = PooledModel(Found(secrets[0].names, m, settings.bits, "solution"), m, DEFAULT)
    rows = [RowsPart(p, each) for p, each in zip(network.parties, secrets, strict=True)]
    pooled = together(model, rows, settings).answer
    shares = {
        "moments": seconds(
            lambda: [gram(names, [Column(c) for c in (*Ai.T.copy(), bi)]) for Ai, bi in parts]
        ),
        "two private sums": seconds(lambda: together(model, rows, settings)),
        "certified solve": seconds(lambda: solve_pooled(pooled)),
    }
    whole = sum(shares.values())
    told = ", ".join(f"{what} {100 * t / whole:.0f}%" for what, t in shares.items())
    yield Row("where its time goes", told, "", None)
