"""All peers by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from benchmarks.peers import ckks, mpi, mpyc_solve, mpyc_sum, paillier, pooled
from benchmarks.peers.report import AnyRow, guarded

PEERS: dict[str, Callable[[], Iterable[AnyRow]]] = {
    "mpyc-sum": mpyc_sum.rows,
    "mpyc-solve": mpyc_solve.rows,
    "paillier": paillier.rows,
    "ckks": ckks.rows,
    "mpi": mpi.rows,
    "pooled": pooled.rows,
    "mpyc-processes": mpyc_sum.process_rows,
}


def rows(names: Iterable[str] = tuple(PEERS)) -> Iterator[AnyRow]:
    for name in names:
        yield from guarded(name, PEERS[name])
