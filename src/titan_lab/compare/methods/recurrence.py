"""The shortest linear recurrence of a sequence of rationals: its length, and its coefficients.

Σ_{j=0..L} β_j s(k+j) = 0 for all k means that β is in the kernel of the Hankel matrix of s. The
length is found modulo a prime by the algorithm of Berlekamp and Massey (at most as long as over the
rationals, and equally long unless the prime divides one of the determinants concerned); the
coefficients are found over the rationals, so what is returned is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from titan.errors import NumberError

PRIME = 2**61 - 1


def length(terms: Sequence[Any], prime: int = PRIME) -> int:
    """L for the terms so far; it cannot change any more once a recurrence holds 2L terms long."""
    s = [int(x.p) % prime * pow(int(x.q) % prime, -1, prime) % prime for x in terms]
    C, B, L, since, last = [1], [1], 0, 1, 1
    for at in range(len(s)):
        gap = sum(c * s[at - j] for j, c in enumerate(C[: L + 1])) % prime
        if gap == 0:
            since += 1
            continue
        factor = gap * pow(last, -1, prime) % prime
        longer = C + [0] * (len(B) + since - len(C))
        for j, b in enumerate(B):
            longer[j + since] = (longer[j + since] - factor * b) % prime
        if at >= 2 * L:
            L, B, last, since = at + 1 - L, C, gap, 1
        else:
            since += 1
        C = longer
    return L


def kernel(terms: Sequence[Any], L: int) -> list[Any]:
    """β_0 … β_L with β_L = 1, from the first 2L terms; checked on those that follow."""
    from flint import fmpq, fmpq_mat

    H = fmpq_mat(L, L, [terms[k + j] for k in range(L) for j in range(L)])
    right = fmpq_mat(L, 1, [-terms[k + L] for k in range(L)])
    beta = [*H.solve(right).entries(), fmpq(1)] if L else [fmpq(1)]
    if not annihilates(beta, terms):
        raise NumberError(
            f"no recurrence of length {L} fits the states", hint="try another step size"
        )
    return beta


def annihilates(beta: Sequence[Any], terms: Sequence[Any]) -> bool:
    """Whether the recurrence holds wherever it can be looked at."""
    L = len(beta) - 1
    return all(
        sum(b * terms[k + j] for j, b in enumerate(beta)) == 0 for k in range(len(terms) - L)
    )
