"""MPyC's secure linear solve: the pooled moments stay shared, only the solution is opened.

The method of MPyC's own regression demo (Blom, Bouman, Schoenmakers, de Vreede, Efficient Secure
Ridge Regression from Randomized Gaussian Elimination, 2019), here by its NumPy arrays. Each party
shares its G_i = A_iᵀA_i and g_i = A_iᵀb_i. With a shared random R = LU, L unit lower and U upper
triangular, R·G is uniform and may be opened; everybody inverts it and has shares of

    x = (R G)⁻¹ (R g)   and   det G = det(R G) / Π U_jj

in a prime field larger than Hadamard's bound. Opened are det G and x·det G, both integers, whose
quotients are the exact solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt, prod
from typing import Any

import numpy as np

from benchmarks.peers.inputs import Equations, Integers, error
from benchmarks.peers.mpyc_parties import Work, be_a_party, run_parties
from benchmarks.peers.processes import until_all_know
from benchmarks.peers.report import AnyRow, Measured, NotMeasuredError, PeerRow, need
from benchmarks.peers.titan_runs import titan_solve

PARTIES, ROWS, UNKNOWNS, TAU = 5, 200, 10, 2
REPEATS = 5
ENTRY_BITS = 32  # a public bound on the pooled moments' entries, in units of SCALE⁻²


def secure_solve(mpc: Any, moments: Integers) -> Work:
    """One party's part, from its [G_i | g_i]; the field is made beforehand."""
    n = len(moments)
    field = mpc.SecFld(min_order=2 * hadamard(n) + 1, signed=True)

    async def work() -> list[int]:
        shared = mpc.input(field.array(moments.astype(object)))
        pooled = mpc.np_sum(mpc.np_stack(shared), axis=0)
        L, U, diagonal = await _random_factors(mpc, field, n)
        hidden = L @ (U @ pooled)
        opened = await mpc.output(hidden[:, :n], raw=True)
        x = field.array(np.linalg.inv(opened)) @ hidden[:, n]
        determinant = field(np.linalg.det(opened)) / mpc.prod(diagonal)
        numerators = await mpc.output(x * determinant)
        whole = await mpc.output(determinant)
        return [*(int(v) for v in numerators.signed_()), int(whole)]

    return work


async def _random_factors(mpc: Any, field: Any, n: int) -> tuple[Any, Any, list[Any]]:
    """Shares of a random L and U, as the library's own `np_det` makes them, and U's diagonal."""
    drawn = mpc._np_randoms(field.field, n * n)
    shares = (await drawn if mpc.options.no_prss else drawn).value.reshape(n, n)
    lower = np.tril(shares, -1) + np.eye(n, dtype=object)
    upper = np.triu(shares)
    return field.array(lower), field.array(upper), [field(field.field(v)) for v in upper.diagonal()]


def hadamard(n: int) -> int:
    """A bound on the determinant of G and on those of Cramer's rule."""
    entry = 2**ENTRY_BITS
    return prod([isqrt(n * entry * entry) + 1] * n)


def measured(equations: Equations, tau: int, repeats: int = REPEATS) -> Measured:
    """All parties' processes, once; an error if they do not agree."""
    moments = equations.moments()
    if int(abs(moments).sum(axis=0).max()) >= 2**ENTRY_BITS:
        raise NotMeasuredError(f"did not run here: moments beyond {ENTRY_BITS} bits")
    results = run_parties("benchmarks.peers.mpyc_solve", moments, tau, repeats)
    if any(r["found"] != results[0]["found"] for r in results):
        raise NotMeasuredError("did not run here: the parties do not agree on the solution")
    *numerators, determinant = (int(v) for v in results[0]["found"])
    x = [float(Fraction(v, determinant)) for v in numerators]
    return Measured(
        until_all_know(results), max(r["sent"] for r in results), error(x, equations.exact())
    )


def rows() -> Iterator[AnyRow]:
    need("mpyc")
    equations = Equations.draw(PARTIES, ROWS, UNKNOWNS)
    ours, theirs = titan_solve(equations, TAU), measured(equations, TAU)
    yield PeerRow(
        f"solve, m={PARTIES}, p={PARTIES * ROWS}, n={UNKNOWNS}",
        "MPyC, secure linear solve",
        theirs,
        ours,
        f"τ={TAU}; opens x and det AᵀA only, from moments made beforehand; "
        f"{PARTIES} processes, plain TCP; TITAN from rows, in one process",
    )


if __name__ == "__main__":
    be_a_party(secure_solve)
