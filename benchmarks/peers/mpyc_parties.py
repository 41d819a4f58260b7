"""MPyC's parties as processes: addresses on loopback, a barrier and a rest before each repetition.

MPyC reads its options from the command line when it is imported; hence a party imports it late, and
the process that measures not at all. Its links are plain TCP here, TITAN's are mutual TLS: the
difference is in MPyC's favour.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy.typing as npt

from benchmarks.peers.processes import (
    collect,
    hand_out,
    leave,
    own_input,
    python_module,
    rest,
    run_all,
)
from titan.party.loopback import free_addresses

Work = Callable[[], Awaitable[list[int]]]
Prepare = Callable[[Any, npt.NDArray[Any]], Work]  # from the runtime and this party's input


def run_parties(
    module: str, inputs: npt.NDArray[Any], tau: int | None, repeats: int
) -> list[dict[str, Any]]:
    """What every party measured and found; `tau` None is MPyC's own choice, ⌊(m - 1)/2⌋."""
    links = [f"-P{address}" for address in free_addresses(len(inputs))]
    options = [*links, "--no-log", *([] if tau is None else [f"-T{tau}"])]
    with TemporaryDirectory() as name:
        folder = Path(name)
        hand_out(folder, inputs)
        commands = [
            python_module(module, name, str(repeats), *options, f"-I{i}")
            for i in range(len(inputs))
        ]
        run_all(commands, folder / "log")
        return collect(folder, len(inputs))


def be_a_party(prepare: Prepare) -> None:
    """One party's whole life: the work as often as asked, each time after all have met."""
    mpc = import_module("mpyc.runtime").mpc
    folder, repeats = Path(sys.argv[1]), int(sys.argv[2])
    mpc.run(_repeat(mpc, prepare, folder, repeats))


async def _repeat(mpc: Any, prepare: Prepare, folder: Path, repeats: int) -> None:
    work = prepare(mpc, own_input(folder, mpc.pid))
    await mpc.start()
    began: list[float] = []
    knew: list[float] = []
    for repetition in range(repeats):
        await mpc.transfer(mpc.pid)  # nobody goes on before all are here
        await asyncio.sleep(rest(folder, repetition))
        before = _sent(mpc)
        began.append(time.monotonic())
        found = await work()
        knew.append(time.monotonic())
        sent = _sent(mpc) - before
    told = [str(x) for x in found]
    leave(folder, mpc.pid, began=began, knew=knew, sent=sent, found=told)
    await mpc.shutdown()


def _sent(mpc: Any) -> int:
    """MPyC's own count of bytes handed to its links, headers included."""
    return sum(p.protocol.nbytes_sent for p in mpc.parties if p.pid != mpc.pid)
