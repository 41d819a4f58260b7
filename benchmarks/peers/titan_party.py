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
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

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
    with TemporaryDirectory() as name:
        folder = Path(name)
        hand_out(folder, values)
        _make_study(folder, len(values), tau)
        module = "benchmarks.peers.titan_party"
        commands = [python_module(module, name, str(repeats), str(i)) for i in range(len(values))]
        run_all(commands, folder / "log")
        results = collect(folder, len(values))
    if any(r["found"] != results[0]["found"] for r in results):
        raise AssertionError("the parties do not agree on the sum")
    return durations([r["reached"] for r in results])


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
    scaled = [round(x * 2**FRACTION) for x in own_input(folder, place).tolist()]
    encoded = RING.from_ints(scaled)
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
    found = [str(x) for x in RING.to_signed(session.totals[-1])]
    leave(folder, place, reached=job.reached, found=found, scheme=plan.scheme.name)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        from benchmarks.peers.inputs import vectors

        took = sums_over_tls(vectors(10, 5151), 2, int(sys.argv[1]))
        print([round(t, 3) for t in took], median(took))
    else:
        asyncio.run(be_a_party(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
