"""The workers of a Dask cluster, as an executor.

Dask gives a block to another worker when the one that had it is lost; blocks are read again there,
and the sums are the same. What goes wrong with rows comes back as a value, so that it does not
stand in the logs of workers.
"""

# Rule 1: no answer is kept for the next time: only rows that are read again prove to be the same.
# Rule 2: workers with another version of titan are refused, those that come later too.

from __future__ import annotations

import atexit
import logging
import socket
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from titan import __version__
from titan.errors import InputError, TitanError, WorkersError
from titan.moments.blocks import Piece
from titan.moments.extras import needs

_CONNECT_SECONDS = 5
_LOOK_SECONDS = 20
"""After so long without an answer: are there any workers left?"""
_LOST = "the Dask scheduler does not answer any more"
_AGAIN = "start it again, and give the same command"


def connect(given: Any) -> DaskExecutor:
    """The cluster of a client, or of the scheduler at an address."""
    return DaskExecutor(_client(given) if isinstance(given, str) else given)


@cache
def _client(address: str) -> Any:
    """One for each address, until this process ends."""
    with needs("dask", "Dask"):
        from distributed import Client
    _check_reachable(address)
    for name in ("distributed", "distributed.client"):  # what matters we say in our own words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except OSError:
        raise _no_scheduler(address) from None
    atexit.register(client.close, timeout=1)
    return client


def place_of(address: str) -> tuple[str, int]:
    """The host and port of a scheduler, or InputError where it is not an address of one."""
    try:
        found = urlsplit(address if "://" in address else f"tcp://{address}")
        place = found.hostname, found.port
    except ValueError:
        place = None, None
    if None in place or found.scheme not in ("tcp", "tls"):
        raise InputError(
            f"{address!r} is not the address of a Dask scheduler",
            hint="such as tcp://10.0.0.1:8786",
            choice="scheduler",
        )
    return str(place[0]), place[1] or 0


def _check_reachable(address: str) -> None:
    """Before there is a client: one that cannot connect may stay in the way of the next."""
    try:
        socket.create_connection(place_of(address), _CONNECT_SECONDS).close()
    except OSError:
        raise _no_scheduler(address) from None


def _no_scheduler(address: str) -> WorkersError:
    return WorkersError(
        f"there is no Dask scheduler at {address}", hint="start one: dask scheduler"
    )


class DaskExecutor(Executor):
    """Gives work to the workers of a client."""

    def __init__(self, client: Any) -> None:
        if getattr(client, "asynchronous", False):
            raise InputError("the Dask client is asynchronous", hint="make one without that")
        self.client = client
        found = client.run(_version, on_error="return")
        for address, version in found.items():
            _same_version(version, address)

    @property
    def _max_workers(self) -> int:
        from distributed.comm import CommClosedError

        try:
            return sum(self.client.nthreads().values()) or 1
        except CommClosedError:
            raise WorkersError(_LOST, hint=_AGAIN) from None

    def submit(self, work: Any, /, piece: Any) -> Any:  # type: ignore[override]
        """What `work` makes of a piece; of a partition where Dask has it."""
        key, quietly = f"titan-rows-{uuid4()}", Quietly(work)
        if hasattr(piece, "delayed"):
            from dask import delayed

            loaded = delayed(quietly.loaded)(piece.delayed, piece.loader, dask_key_name=key)
            return Answer(self.client, self.client.compute(loaded), piece.unreadable)
        future = self.client.submit(quietly, piece, key=key, pure=False)
        return Answer(self.client, future)


@dataclass(frozen=True)
class Quietly:
    """Some work, whose errors come back as values; with the version that did it."""

    work: Callable[[Piece], Any] = field(repr=False)

    def __call__(self, piece: Piece) -> tuple[str, TitanError | None, Any]:
        try:
            return __version__, None, self.work(piece)
        except TitanError as error:
            return __version__, error, None

    def loaded(self, data: Any, loader: Callable[[Any], Piece]) -> Any:
        return self(loader(data))


@dataclass(frozen=True)
class Answer:
    """What comes back of one piece."""

    client: Any
    future: Any
    unreadable: Callable[[Exception], TitanError] | None = None
    """What went wrong before the work began, where the piece knows."""

    def result(self) -> Any:
        version, error, made = self._waited()
        _same_version(version, "a worker")
        if error is not None:
            raise error
        return made

    def cancel(self) -> None:
        self.future.cancel()

    def _waited(self) -> Any:
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            while True:
                try:
                    return self.future.result(timeout=_LOOK_SECONDS)
                except TimeoutError:
                    if not self.client.nthreads():
                        raise WorkersError(
                            "the Dask cluster has no workers", hint="dask worker starts one"
                        ) from None
        except KilledWorker:
            raise WorkersError(
                "one Dask worker after the other ended while it read the same rows",
                hint="give them more memory, or look at their logs",
            ) from None
        except (CommClosedError, CancelledError):
            raise WorkersError(_LOST, hint=_AGAIN) from None
        except (TitanError, MemoryError):
            raise
        except Exception as error:
            if self.unreadable is not None:
                raise self.unreadable(error) from None
            raise WorkersError(
                f"a Dask worker could not do its work: {type(error).__name__}",
                hint=f"every worker needs the packages that are here, and titan {__version__}",
            ) from None


def _version() -> str:
    return __version__


def _same_version(found: Any, who: str) -> None:
    if found != __version__:
        has = f"titan {found}" if isinstance(found, str) else "no titan that can be loaded"
        raise WorkersError(
            f"the Dask worker {who} has {has}, where {__version__} was expected",
            hint="install the same version on all workers",
        )
