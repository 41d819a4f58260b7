"""The ranks of an MPI program: who there is, whose agents live where, and how all end together."""

# Rule 1: nothing is pickled: only bytes and arrays of numbers travel (mpi4py's upper-case calls).
# Rule 2: mpi4py is loaded when somebody asks for this engine: loading it starts MPI.

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from titan.engines.mpi.shared_errors import as_bytes, from_bytes
from titan.errors import InputError, PlanError

if TYPE_CHECKING:
    from mpi4py import MPI

_INSTALL = "python -m pip install mpi4py mpich, or the mpi4py of your cluster"
_STARTED = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""Where launchers say how many processes they started."""
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class Ranks:
    """All ranks, as one of them sees them."""

    comm: MPI.Intracomm

    @property
    def rank(self) -> int:
        return self.comm.rank

    @property
    def size(self) -> int:
        return self.comm.size

    def told(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The first rank's numbers, on all ranks."""
        self.comm.Bcast(numbers)
        return numbers

    # -- what all must agree on -----------------------------------------------------------------

    def gather(self, digest: bytes) -> list[bytes]:
        """Every rank's 32 bytes."""
        found = np.zeros((self.size, _DIGEST_BYTES), np.uint8)
        self.comm.Allgather(np.frombuffer(digest, np.uint8), found)
        return [row.tobytes() for row in found]

    def add(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Every rank's counts, added up."""
        total = np.zeros_like(counts)
        self.comm.Allreduce(counts, total)
        return total

    def largest(self, number: int) -> int:
        found = np.zeros(1, np.int64)
        self.comm.Allreduce(np.array([number], np.int64), found, op=_mpi().MAX)
        return int(found[0])

    def raise_together(self, error: Exception | None) -> None:
        """If any rank failed, all raise: those that failed their own error, the others the first
        rank's."""
        failed = np.zeros(self.size, np.int64)
        told = b"" if error is None else as_bytes(error, self.rank)
        self.comm.Allgather(np.array([len(told)], np.int64), failed)
        if not failed.any():
            return
        first = int(np.flatnonzero(failed)[0])
        buffer = bytearray(told if self.rank == first else int(failed[first]))
        self.comm.Bcast(buffer, root=first)
        found = error if error is not None else from_bytes(bytes(buffer))
        raise known_to_all(found)


_KNOWN_TO_ALL: deque[Exception] = deque(maxlen=1)
"""The last error that every rank raised: nobody waits for a rank that ends with it."""


def known_to_all(error: Exception) -> Exception:
    """An error that all ranks raise, each by itself."""
    _KNOWN_TO_ALL.append(error)
    return error


def world() -> Ranks:
    """All ranks of this program; says what is missing if there can be none."""
    return _world()


def launched() -> bool:
    """Whether a launcher started this process, as one of several or alone."""
    return any(name in os.environ for name in _STARTED)


@cache
def _world() -> Ranks:
    everybody = _mpi().COMM_WORLD
    started = max(int(os.environ.get(name, "1")) for name in _STARTED)
    if started > 1 and everybody.size == 1:
        raise InputError(
            f"{started} processes were started, and each of them is alone",
            hint="mpiexec and mpi4py belong to different MPI libraries; "
            f"use the mpiexec of the one mpi4py was made for ({_library()})",
        )
    _end_all_if_one_fails()
    return Ranks(everybody.Dup())  # our messages never meet those of the program around us


def _mpi() -> Any:
    """mpi4py's module, typed where it is used."""
    try:
        from mpi4py import MPI
    except ModuleNotFoundError:
        raise InputError('engine="mpi" needs mpi4py', hint=f"install it: {_INSTALL}") from None
    except (ImportError, RuntimeError):  # what it says when there is no library to load
        raise InputError(
            "mpi4py is installed, but no MPI library can be loaded",
            hint=f"install one: {_INSTALL}",
        ) from None
    return MPI


def _library() -> str:
    return str(_mpi().Get_library_version()).splitlines()[0].strip()


# -- ends -----------------------------------------------------------------------------------------


def _end_all_if_one_fails() -> None:
    """An error that one rank alone meets, while reading its files say, ends the others as well.

    Without this they would wait for it for ever. The error is printed as ever before that.
    """
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        end_others(error)

    sys.excepthook = hook


def end_others(error: BaseException, status: int = 1) -> None:
    """When this process is over all others end too, unless they have raised the same."""
    if loaded() and _world().size > 1 and error not in _KNOWN_TO_ALL:
        from mpi4py.run import set_abort_status

        set_abort_status(status)


def speaks(error: BaseException) -> bool:
    """Whether this rank is the one to tell it: of what all raise, the first rank does."""
    return not loaded() or error not in _KNOWN_TO_ALL or _world().rank == 0


def loaded() -> bool:
    """Whether this is an MPI program that has asked for this engine."""
    return _world.cache_info().currsize > 0


def first_rank_speaks() -> None:
    """What a command prints is printed once."""
    if world().rank > 0:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the end


def refuse_different(found: Sequence[bytes]) -> None:
    """All ranks must have planned the same sum."""
    others = [rank for rank, digest in enumerate(found) if digest != found[0]]
    if others:
        error = PlanError(
            f"rank {others[0]} planned another sum than rank 0",
            hint="all ranks must run the same program on the same inputs; a network that is drawn "
            "at random needs a seed",
        )
        raise known_to_all(error)
