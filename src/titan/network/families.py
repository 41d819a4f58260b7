"""Well known graphs, as links between the numbers 0..m-1.

Generalised de Bruijn and Kautz graphs (Imase and Itoh) exist for every m; self-loops and double
links that the formulas give are dropped. With out-degree δ their diameter is at most ⌈log_δ m⌉.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from titan.errors import NetworkError
from titan.network.links import Indices, Links
from titan.ring.whole import whole_number

_REPAIRS = 100


def circulant(m: int, offsets: Iterable[int]) -> Links:
    """i -> i + o for every offset o."""
    ahead = [whole_number("offset", o, NetworkError) % m for o in offsets]
    if 0 in ahead:
        raise NetworkError(
            f"an offset that is a multiple of {m} would link every party with itself",
            hint=f"offsets are taken modulo the number of parties, {m}",
        )
    if len(set(ahead)) < len(ahead):
        raise NetworkError(
            f"two of the offsets are the same modulo {m}", hint="give each offset once"
        )
    return _rows(m, np.arange(m)[:, None] + np.array(ahead, np.int64))


def de_bruijn(m: int, degree: int) -> Links:
    """i -> degree·i + a for a = 0..degree-1."""
    return _rows(m, np.arange(m)[:, None] * _degree(m, degree) + np.arange(degree))


def kautz(m: int, degree: int) -> Links:
    """i -> -(degree·i + a) for a = 1..degree."""
    return _rows(m, -(np.arange(m)[:, None] * _degree(m, degree) + np.arange(1, degree + 1)))


def backbone(m: int, reach: int, factor: int, spread: int) -> Links:
    """i -> i + 1, …, i + reach, and i -> factor·i + a for a = 0..spread-1.

    The first part alone has weak connectivity 2·reach if m > 2·reach; the second makes ways short:
    with factor 2, every target is reached by doubling and adding one along its binary digits, in
    at most 2⌈log₂ m⌉ steps.
    """
    i = np.arange(m)[:, None]
    return _rows(m, np.hstack([i + np.arange(1, reach + 1), i * factor + np.arange(spread)]))


def cycles(m: int, count: int, seed: int) -> Links:
    """The cycle in party order and count - 1 others, shuffled, no two sharing a pair if possible.

    Drawn from raw bits: the same on every machine and for every version of NumPy.
    """
    bits, around = np.random.PCG64(seed), [np.arange(m)]
    for _ in range(count - 1):
        taken = np.concatenate([_pairs(order) for order in around])
        around.append(_shuffled(m, taken, bits))
    ahead = [np.roll(order, -1) for order in around]
    return Links.tidy(m, np.concatenate(around), np.concatenate(ahead))


def _shuffled(m: int, taken: Indices, bits: np.random.PCG64) -> Indices:
    """A random order in which no `taken` pair follows one another, if a few repairs give one."""
    order = np.argsort(bits.random_raw(m), kind="stable")
    for _ in range(_REPAIRS):
        shared = np.flatnonzero(np.isin(_pairs(order), taken))
        if not shared.size:
            break
        for at, draw in zip(shared, bits.random_raw(shared.size), strict=True):
            other = int(draw) % m
            order[at], order[other] = order[other], order[at]
    return order


def _pairs(order: Indices) -> Indices:
    """Each two that follow one another around the cycle, as one number without direction."""
    ahead = np.roll(order, -1)
    return np.minimum(order, ahead) * order.size + np.maximum(order, ahead)


def random(m: int, out_degree: int, seed: int | None) -> Links:
    """A shuffled cycle through everybody, and further links chosen evenly up to the out-degree."""
    _degree(m, out_degree)
    rng = np.random.default_rng(seed)
    around = rng.permutation(m)
    ahead = np.hstack([np.ones((m, 1), np.intp), _distinct(m, m - 2, out_degree - 1, rng) + 2])
    receivers = around[(np.arange(m)[:, None] + ahead).ravel() % m]
    return Links.tidy(m, np.repeat(around, out_degree), receivers)


def _distinct(rows: int, among: int, count: int, rng: np.random.Generator) -> Indices:
    """In each row `count` different numbers below `among`, every choice alike likely."""
    if 2 * count > among:  # what is left out is the shorter list
        keep = np.ones((rows, among), np.bool_)
        keep[np.arange(rows)[:, None], _distinct(rows, among, among - count, rng)] = False
        return np.nonzero(keep)[1].reshape(rows, count)
    chosen = rng.integers(among, size=(rows, count)) if count else np.zeros((rows, 0), np.intp)
    # Floyd's idea in rounds: draw again whatever repeats an earlier number of its row.
    while True:
        order = np.argsort(chosen, axis=1, kind="stable")
        ranked = np.take_along_axis(chosen, order, axis=1)
        row, place = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
        if not row.size:
            return chosen
        chosen[row, order[row, place + 1]] = rng.integers(among, size=row.size)


def _rows(m: int, receivers: Indices) -> Links:
    """Row i lists i's receivers, modulo m."""
    return Links.tidy(m, np.repeat(np.arange(m), receivers.shape[1]), receivers.ravel() % m)


def _degree(m: int, degree: int) -> int:
    if not 1 <= whole_number("degree", degree, NetworkError) <= m - 1:
        raise NetworkError(
            f"an out-degree of {degree} among {m} parties", hint=f"choose one from 1 to {m - 1}"
        )
    return degree
