"""Who works on the pieces of a source: the cores of this machine, or the workers of an executor.

On one machine they are threads. What takes long (Arrow, NumPy, BLAS) lets other threads go on, a
thread starts at once, and blocks need not be copied to it: see docs/decisions/0021.
"""

# Rule 1: parts are merged in the order of the rows, whoever was first.
# Rule 2: an error is the one that would have been met in sequence: that of the first piece.
# Rule 3: few pieces are under way at a time: memory does not grow with the number of rows.

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, NoReturn, Protocol, TypeVar, runtime_checkable

from titan.errors import InputError, TitanError, WorkersError
from titan.moments.blas_threads import one_blas_thread
from titan.moments.blocks import Block, Piece
from titan.moments.freed_memory import SPARE_FOR_ROWS, keep_freed_memory

P = TypeVar("P")
RowsRead = Callable[[int], None]
"""Called with the number of rows that were read since the last call."""


@runtime_checkable
class DaskClient(Protocol):
    """What a client of Dask's can do that nothing else does."""

    def get_executor(self, **kwargs: Any) -> Executor: ...


GivenExecutor = Executor | DaskClient | str
"""Those of other processes or machines; a text is the address of a Dask scheduler."""

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds, and of how many


@dataclass(frozen=True)
class Workers:
    """Those of an executor; without one, as many threads as there are cores."""

    executor: Executor | None = None
    watch: RowsRead | None = None

    @classmethod
    def of(cls, given: GivenExecutor | None) -> Workers:
        """Without an executor, all cores."""
        if given is None or isinstance(given, Executor):
            return cls(given)
        if isinstance(given, str | DaskClient):
            from titan.moments.dask_cluster import connect

            return cls(connect(given))
        raise InputError(
            f"{type(given).__name__} cannot work on rows",
            hint="give a concurrent.futures.Executor, a Dask client or a scheduler's address",
        )

    @property
    def apart(self) -> bool:
        """Whether they are in other processes, so that what they are given is copied."""
        return not isinstance(self.executor, ThreadPoolExecutor | None)

    def reduce(
        self, pieces: Iterable[Piece], f: Callable[[Block], P], merge: Callable[[P, P], P]
    ) -> P | None:
        """`f` of every block, merged; None where there are none."""
        whole: list[P] = []
        if not self.apart:
            keep_freed_memory(SPARE_FOR_ROWS)
        for rows, parts in self._parts(_guarded(pieces), Work(f, merge)):
            whole = [reduce(merge, [*whole, *parts])] if parts else whole
            if self.watch is not None:
                self.watch(rows)
        return whole[0] if whole else None

    def _parts(self, pieces: Iterator[Piece], work: Work[P]) -> Iterator[tuple[int, list[P]]]:
        if self.executor is not None:
            most = 2 * getattr(self.executor, "_max_workers", cores())
            return _in_order(pieces, _submitter(self.executor, work), most)
        first = list(islice(pieces, 2))
        pieces = chain(first, pieces)
        if len(first) < 2:
            return map(replace(work, alone=True), pieces)
        return map(work, pieces) if cores() < 2 else _by_threads(pieces, work)


@dataclass(frozen=True)
class Work(Generic[P]):
    """What is done to a piece where its rows are: how many there were, and what was made of them.

    A list, which is empty where there are no rows. (Executors may log what they are given.)
    """

    f: Callable[[Block], P] = field(repr=False)
    merge: Callable[[P, P], P] = field(repr=False)
    alone: bool = False
    """There is no other piece, so that BLAS may have all cores."""

    def __call__(self, piece: Piece) -> tuple[int, list[P]]:
        whole: list[P] = []
        rows = 0
        with nullcontext() if self.alone else one_blas_thread():
            for block in piece.blocks():
                part = self.f(block)
                whole = [self.merge(whole[0], part)] if whole else [part]
                rows += block.rows
        return rows, whole


def _by_threads(pieces: Iterator[Piece], work: Work[P]) -> Iterator[tuple[int, list[P]]]:
    count = cores()
    with ThreadPoolExecutor(count, "titan-rows") as pool:
        yield from _in_order(pieces, _submitter(pool, work), 2 * count)


def _submitter(executor: Executor, work: Work[P]) -> Callable[[Piece], Any]:
    return lambda piece: executor.submit(work, piece)


def _in_order(
    pieces: Iterator[Piece], submit: Callable[[Piece], Any], most: int
) -> Iterator[tuple[int, list[P]]]:
    waiting: deque[Any] = deque()
    try:
        for piece in pieces:
            waiting.append(submit(piece))
            del piece  # which may hold rows
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenExecutor:
        raise WorkersError(
            "a process that was reading rows has ended, perhaps for lack of memory",
            hint="run the same again, with fewer workers",
        ) from None
    finally:
        for future in waiting:
            future.cancel()


# -- what cannot be read ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Unreadable:
    """In the place of a piece that a source could not hand out: its error has its turn."""

    error: TitanError

    def blocks(self) -> NoReturn:
        raise self.error


def _guarded(pieces: Iterable[Piece]) -> Iterator[Piece]:
    try:
        yield from pieces
    except TitanError as error:
        yield _Unreadable(error)


# -- how many -----------------------------------------------------------------------------------


def cores() -> int:
    """Those that this process may use: of the machine, of a container, or as TITAN_CORES says."""
    told = os.environ.get("TITAN_CORES")
    if told is not None:
        if not told.isdecimal() or not 1 <= int(told[:6]) <= 4096:
            raise InputError(
                f"TITAN_CORES={told} is not a number of cores", hint="a whole number from 1 on"
            )
        return int(told)
    affinity = getattr(os, "sched_getaffinity", None)
    there = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, _, period = _QUOTA.read_text("ascii").partition(" ")
        there = min(there, -(-int(quota) // int(period)))  # "max" is not a number
    return max(there, 1)
