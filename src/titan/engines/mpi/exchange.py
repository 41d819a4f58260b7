"""Envelopes between ranks: non-blocking sends of raw bytes, until nothing is on its way anywhere.

When is a sum over? A rank that has nothing to do cannot know whether another is about to send it
something. So idle ranks add up, again and again and without waiting, how many messages all have
sent and received. If as many had been received in one count as have been sent in the next, nothing
was on its way in between and nobody had anything to do: it is over (Mattern's four counters). The
same counts tell all ranks that one of them has failed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mpi4py import MPI

Bytes = npt.NDArray[np.uint8]
_KEPT = 64  # sends that may be under way before we ask which are over
_PATIENCE = 200  # looks in vain before a rank leaves its core to others
_REST_SECONDS = 1e-4


class Exchange:
    """What this rank sends to others and hears from them in one sum."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.failed = False
        """Whether some rank has failed, as far as was heard."""
        self._comm = comm
        self._sent = self._received = self._in_vain = 0
        self._received_before = -1
        self._sending: list[tuple[MPI.Request, bytes]] = []
        self._receiving: list[tuple[MPI.Request, Bytes]] = []
        self._counting: MPI.Request | None = None
        self._own_counts, self._counts = np.zeros((2, 3), np.int64)

    def send(self, rank: int, data: bytes) -> None:
        self._sent += 1
        self._sending.append((self._comm.Isend(data, rank), data))
        if len(self._sending) > _KEPT:
            self._sending = [each for each in self._sending if not each[0].Test()]

    def arrived(self) -> Iterator[memoryview]:
        """What has come in since the last look."""
        if self._comm.size == 1:
            return
        from mpi4py import MPI

        status = MPI.Status()
        while (message := self._comm.Improbe(status=status)) is not None:
            data = np.empty(status.Get_count(MPI.BYTE), np.uint8)
            self._receiving.append((message.Irecv(data), data))
        waiting, self._receiving = self._receiving, []
        for request, data in waiting:
            if request.Test():
                self._received += 1
                self._in_vain = 0
                yield data.data
            else:
                self._receiving.append((request, data))

    def over(self, failed: bool) -> bool:
        """Asked by a rank that has nothing to do: whether that is so everywhere, for good.

        Until it is, ask again, after another look at what has arrived.
        """
        if self._counting is None:
            self._own_counts[:] = self._sent, self._received, failed
            self._counting = self._comm.Iallreduce(self._own_counts, self._counts)
        if not self._counting.Test():
            self._rest()
            return False
        self._counting = None
        sent, received, failures = self._counts.tolist()
        self.failed = failures > 0
        before, self._received_before = self._received_before, int(received)
        return before == int(sent)

    def _rest(self) -> None:
        """Where there are more ranks than cores, those who wait must not keep others from work."""
        self._in_vain += 1
        time.sleep(0 if self._in_vain < _PATIENCE else _REST_SECONDS)

    def close(self) -> None:
        """All that was sent has arrived: requests are done with."""
        for request, _ in self._sending:
            request.Wait()
