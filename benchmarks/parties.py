"""TITAN's parties as processes: a study on loopback, mutual TLS, the journal on disk.

Several private sums follow each other in one run, as in a study they do. A sum lasts from the
moment that all parties have the total before (for the first: that all are connected and know each
other's nonces) until all have this one; the clock is the machine's, common to all processes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.inputs import Floats
from benchmarks.peers.mpyc_parties import free_ports
from benchmarks.peers.processes import collect, hand_out, leave, own_input, python_module, run_all
from titan import Network
from titan.party.desk import Desk
from titan.party.engine import Engine, Watch
from titan.party.greeting import Greeting
from titan.party.job import described
from titan.party.links import Incoming, Outgoing
from titan.party.session import Run, Session
from titan.party.taking_part import Signatures
from titan.protocol import Plan
from titan.protocol.masking import fresh_key
from titan.ring import Residues, Ring
from titan.study import Identity, Link, Study
from titan.study.journal import Journal

RING, FRACTION = Ring(128), 64
WAIT = 300.0


def sums_over_tls(values: Floats, tau: int, repeats: int) -> list[float]:
    """Seconds of each of some sums of the same vectors, until the slowest party has it."""
    scaled = [[round(x * 2**FRACTION) for x in vector] for vector in values.tolist()]
    results = run(np.stack([RING.from_ints(vector) for vector in scaled]), tau, repeats)
    return durations([r["reached"] for r in results])


def run(secrets: npt.NDArray[np.uint64], tau: int, repeats: int) -> list[dict[str, Any]]:
    """What every party measured; `secrets` are residues of shape (parties, limbs, d)."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        hand_out(folder, secrets)
        _make_study(folder, len(secrets), tau)
        commands = [
            python_module("benchmarks.parties", name, str(repeats), str(i))
            for i in range(len(secrets))
        ]
        run_all(commands, folder / "log")
        results = collect(folder, len(secrets))
    if any(r["found"] != results[0]["found"] for r in results):
        raise AssertionError("the parties do not agree on the sum")
    return results


def durations(reached: Sequence[Sequence[float]]) -> list[float]:
    """From every party's moments to how long each sum took all of them."""
    last = [max(times) for times in zip(*reached, strict=True)]
    return [after - before for before, after in pairwise(last)]


def _make_study(folder: Path, parties: int, tau: int) -> None:
    now = datetime.now(UTC)
    identities = [
        Identity.create(f"p{i}", f"127.0.0.1:{port}", now=now)
        for i, port in enumerate(free_ports(parties))
    ]
    for it in identities:
        it.save(folder)
    network = Network.design([it.name for it in identities], tau)
    links = tuple(Link(a, b) for a, b in network.edges)
    cards = tuple(it.card for it in identities)
    Study("a benchmark", "y ~ x", tau, cards, links).save(folder / "study.toml")


class Sums:
    """The same private sum again and again; notes when each began."""

    def __init__(self, plan: Plan, secret: Residues, repeats: int) -> None:
        self.plans: Sequence[Plan] = [plan] * repeats
        self.reached: list[float] = []
        self._secret = secret

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues:
        self.reached.append(time.monotonic())
        return self._secret


async def be_a_party(folder: Path, repeats: int, place: int) -> None:
    study = Study.load(folder / "study.toml")
    card = study.parties[place]
    identity = Identity.load(folder / f"{card.name}.key", card)
    before = resident_bytes("VmRSS")
    encoded = own_input(folder, place)
    plan = Plan.make(study.network, RING, encoded.shape[1], tau=study.tau)
    job = Sums(plan, encoded, repeats)
    run = Run(bytes.fromhex(study.digest), 1, study.network, place, fresh_key())
    keys = [fresh_key() for _ in range(repeats)]
    session = Session(run, job, keys, Signatures(study, identity))
    names, network = study.network.parties, study.network
    with Journal.open(folder / f"{card.name}.db") as journal:
        journal.begin(
            study=study.digest,
            run=1,
            party=card.name,
            parties=names,
            nonce=run.nonce,
            keys=keys,
            data_digest=journal.keyed_digest([b""]),
        )
        outgoing = {names[p]: Outgoing() for p in network.out_neighbours(place)}
        most = session.largest_message
        incoming = {names[p]: Incoming(most) for p in network.in_neighbours(place)}
        desk = Desk(session, journal, outgoing, incoming)
        greeting = Greeting(run.study, 1, card.name, run.nonce, described(job.plans))
        async with Engine(
            study,
            identity,
            desk,
            greeting,
            listen=card.address,
            watch=Watch(),
            standing=lambda: session.standing,
        ) as engine:
            await engine.until(lambda: session.pooled, WAIT)
            job.reached.append(time.monotonic())
            await engine.until(lambda: session.ended and not desk.unacknowledged(), WAIT)
    leave(
        folder,
        place,
        reached=job.reached,
        found=sha256(session.totals[-1].tobytes()).hexdigest(),
        scheme=plan.scheme.name,
        written=engine.bytes_written,
        planned=repeats * plan.cost.bytes_sent[card.name],
        memory=resident_bytes("VmHWM") - before,
        processor=time.process_time(),
    )


def resident_bytes(which: str) -> int:
    """The kernel's own mark of this process: VmRSS now, VmHWM at most so far."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    (found,) = (line for line in lines if line.startswith(which))
    return 1024 * int(found.split()[1])


if __name__ == "__main__":
    asyncio.run(be_a_party(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
