"""TITAN's parties as processes: a study on loopback, mutual TLS, the journal on disk.

Several private sums follow each other in one run, as in a study they do. Between them all parties
meet, in a private sum of no entries, whose total nobody has before all have begun it, and rest: so
each sum that is timed begins with all connected, nobody ahead and nobody busy. It lasts until all
have its total; the clock is the machine's, common to all processes.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.party.given_sums import task

from benchmarks.measure import Row
from benchmarks.peers.inputs import Floats
from benchmarks.peers.processes import (
    collect,
    hand_out,
    leave,
    own_input,
    python_module,
    rest,
    run_all,
)
from titan import Network
from titan.errors import PeerError
from titan.joint.kinds import Question
from titan.party.durable_session import DurableSession
from titan.party.engine import Engine, Watch
from titan.party.loopback import free_addresses
from titan.party.run import Run
from titan.party.session import Session
from titan.party.signed_broadcast import Signatures
from titan.protocol import Plan, RelayMode
from titan.protocol.masking import fresh_key
from titan.release import Dictionary, Flag, Number
from titan.ring import Residues, Ring
from titan.study import Identity, Link, Study
from titan.study.certificates import SERVER_NAME
from titan.study.journal import Journal

RING, FRACTION = Ring(128), 64
WAIT = 300.0
UNKNOWNS = 1000
ENTRIES = UNKNOWNS * (UNKNOWNS + 1) // 2 + UNKNOWNS
MOST_VECTORS = 10
MOST_BYTES = 1.05
LEAST_SHARE = 0.33  # three times what it was when every party waited for whole vectors and disks
TURNS = 3
GRACE = 5.0


def rows() -> Iterator[Row]:
    yield from _large()
    yield _many(50, 5151)


def _large() -> Iterator[Row]:
    """Five parties with the moments of a thousand unknowns each."""
    small, large = run(_drawn(5, 1), 1, 1), run(_drawn(5, ENTRIES), 1, 1)
    what = f"private sum, 5 processes, d={ENTRIES}, mutual TLS, relays trusted"
    sent = max(r["written"] / r["planned"] for r in large)
    yield Row(
        f"{what}: bytes written to links against the plan",
        f"{sent:.4f}x",
        f"at most {MOST_BYTES:g}x",
        sent <= MOST_BYTES,
    )
    vector = RING.width * ENTRIES
    held = max(b["memory"] - a["memory"] for a, b in zip(small, large, strict=True)) / vector
    yield Row(
        f"{what}, {large[0]['scheme']}: peak memory beyond that of d=1",
        f"{held:.1f} vectors",
        f"below {MOST_VECTORS} vectors",
        held < MOST_VECTORS,
    )
    turns = [_Turn.of(large), *_turns("trusted", TURNS - 1)]
    typical = _typical(turns)
    yield Row(
        f"{what}: all parties together, the median of {TURNS}",
        str(typical),
        f"at least {LEAST_SHARE:.0%}",
        typical.share >= LEAST_SHARE,
    )
    work = sorted(turn.share_of_work for turn in turns)[TURNS // 2]
    yield Row(f"{what}: the same by processor time, all processors busy", f"{work:.0%}", "", None)
    yield Row(
        f"{what.replace('trusted', 'checked')}: all parties together, the median of {TURNS}",
        str(_typical(_turns("checked", TURNS))),
        "",
        None,
    )


def _turns(relays: RelayMode, count: int) -> list[_Turn]:
    return [_Turn.of(run(_drawn(5, ENTRIES), 1, 1, relays)) for _ in range(count)]


def _typical(turns: Sequence[_Turn]) -> _Turn:
    return sorted(turns, key=lambda turn: turn.share)[TURNS // 2]


@dataclass(frozen=True)
class _Turn:
    """How fast all parties together were, beside what one core can do right after it."""

    bytes: int
    seconds: float
    busy: float  # seconds of processors
    encrypted_a_second: float
    encrypted_a_processor_second: float

    @classmethod
    def of(cls, results: Sequence[dict[str, Any]]) -> _Turn:
        (took,) = durations([r["reached"] for r in results])
        planned, busy = (sum(r[what] for r in results) for what in ("planned", "busy"))
        return cls(planned, took, busy, *tls_bandwidth())

    @property
    def share(self) -> float:
        return self.bytes / self.seconds / self.encrypted_a_second

    def __str__(self) -> str:
        speed, processors = self.bytes / self.seconds / 1e6, len(os.sched_getaffinity(0))
        return (
            f"{self.share:.0%} of what one core can encrypt and decrypt, {speed:.0f} MB/s in "
            f"{self.seconds:.2f} s; {self.busy:.2f} s of processors, "
            f"{self.busy / self.seconds / processors:.0%} of their time; load "
            f"{os.getloadavg()[0]:.0f}"
        )

    @property
    def share_of_work(self) -> float:
        """The same by processor time, as if all processors were busy: others' load is not in it."""
        processors = len(os.sched_getaffinity(0))
        return self.bytes / self.busy * processors / self.encrypted_a_processor_second


def _many(parties: int, entries: int) -> Row:
    results = run(_drawn(parties, entries), 1, 1)
    (took,) = durations([r["reached"] for r in results])
    return Row(
        f"private sum, {parties} processes, d={entries}, mutual TLS, relays trusted",
        f"{took:.2f} s",
        "",
        None,
    )


def _drawn(parties: int, entries: int) -> npt.NDArray[np.uint64]:
    rng = np.random.default_rng(20260104)
    return rng.integers(0, 2**64, (parties, RING.limbs, entries), dtype=np.uint64)


def tls_bandwidth(size: int = 1 << 28) -> tuple[float, float]:
    """Bytes a second through TLS from end to end, both ends in this one thread; by the clock and by
    processor time."""
    client, server = _tls_pair()
    piece, into = bytes(1 << 20), bytearray(1 << 20)  # memory fetched anew for every piece would
    # take three times as long as the encryption, in some runs
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(size // len(piece)):
        client.write(piece)
        got = 0
        while got < len(piece):
            got += server.read(len(into), into)
    return size / (time.perf_counter() - start), size / (time.process_time() - busy)


def _tls_pair() -> tuple[ssl.SSLObject, Any]:  # the stubs do not know of reading into a buffer
    """Two ends that have shaken hands, connected through memory."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    identity = Identity.create("both", "127.0.0.1:1", now=datetime.now(UTC))
    with TemporaryDirectory() as name:
        key, _ = identity.save(name)
        (Path(name) / "cert").write_text(identity.card.certificate, encoding="ascii")
        ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ours.load_cert_chain(Path(name) / "cert", key)
    theirs = ssl.create_default_context(cadata=identity.card.certificate)
    client = theirs.wrap_bio(back, there, server_hostname=SERVER_NAME)
    server = ours.wrap_bio(there, back, server_side=True)
    for end in (client, server, client, server):
        with suppress(ssl.SSLWantReadError):
            end.do_handshake()
    return client, server


def encoded(values: Floats) -> npt.NDArray[np.uint64]:
    """Everybody's vector in fixed point, as residues of shape (parties, limbs, d)."""
    scaled = [[round(x * 2**FRACTION) for x in vector] for vector in values.tolist()]
    return np.stack([RING.from_ints(vector) for vector in scaled])


def run(
    secrets: npt.NDArray[np.uint64], tau: int, repeats: int, relays: RelayMode = "trusted"
) -> list[dict[str, Any]]:
    """What every party measured; `secrets` are residues of shape (parties, limbs, d)."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        hand_out(folder, secrets)
        _make_study(folder, len(secrets), tau)
        commands = [
            python_module("benchmarks.parties", name, str(repeats), str(i), relays)
            for i in range(len(secrets))
        ]
        run_all(commands, folder / "log")
        results = collect(folder, len(secrets))
    if any(r["found"] != results[0]["found"] for r in results):
        raise AssertionError("the parties do not agree on the sum")
    return results


def durations(reached: Sequence[Sequence[float]]) -> list[float]:
    """From every party's moments to how long each sum took all of them.

    Moments are the beginnings of meeting, sum, meeting, sum, …, meeting. A sum lasts from the first
    party's beginning until the last one has the total and begins the meeting after it.
    """
    moments = list(zip(*reached, strict=True))
    pairs = zip(moments[1::2], moments[2::2], strict=True)
    return [max(ends) - min(starts) for starts, ends in pairs]


def _make_study(folder: Path, parties: int, tau: int) -> None:
    now = datetime.now(UTC)
    identities = [
        Identity.create(f"p{i}", address, now=now)
        for i, address in enumerate(free_addresses(parties))
    ]
    for it in identities:
        it.save(folder)
    network = Network.design([it.name for it in identities], tau)
    links = tuple(Link(a, b) for a, b in network.edges)
    cards = tuple(it.card for it in identities)
    asked = Question("regression", "", (("formula", "y ~ x"),))
    columns = Dictionary.of({"x": Number.read("0", "1", "0.001"), "y": Flag()})
    study = Study("a benchmark", tau, cards, links, columns, (asked,))
    study.save(folder / "study.toml")


class Sums:
    """The same private sum again and again, meetings around it; notes when each began."""

    def __init__(
        self, plan: Plan, meeting: Plan, secret: Residues, repeats: int, folder: Path
    ) -> None:
        self.plans: Sequence[Plan] = [meeting, *[plan, meeting] * repeats]
        self.reached: list[float] = []
        self.busy: list[float] = []
        self._secret = secret
        self._folder = folder

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues:
        if number % 2:
            time.sleep(rest(self._folder, number))
        self.reached.append(time.monotonic())
        self.busy.append(time.process_time())
        return self._secret if number % 2 else RING.zeros(0)


async def be_a_party(folder: Path, repeats: int, place: int, relays: RelayMode) -> None:
    study = Study.load(folder / "study.toml")
    card = study.parties[place]
    identity = Identity.load(folder / f"{card.name}.key", card)
    before = resident_bytes("VmRSS")
    secret = own_input(folder, place)
    plan = Plan.make(study.network, RING, secret.shape[1], tau=study.tau, relays=relays)
    meeting = Plan.make(study.network, RING, 0, tau=study.tau, recovery="tree")
    job = Sums(plan, meeting, secret, repeats, folder)
    run = Run(bytes.fromhex(study.digest), 1, study.network, place, fresh_key())
    keys = [fresh_key() for _ in job.plans]
    session = Session(run, task(job), keys, Signatures(study, identity))
    with Journal.open(folder / f"{card.name}.db") as journal:
        journal.begin(
            study=study.digest,
            run=1,
            party=card.name,
            parties=study.network.parties,
            nonce=run.nonce,
            keys=keys,
            data_digest=journal.keyed_digest([b""]),
        )
        durable = DurableSession(session, journal, deferred=True)  # as `titan join` does
        async with Engine(study, identity, durable, card.address, Watch()) as engine:
            await engine.until(lambda: session.pooled, WAIT)
            await engine.until(lambda: session.complete, WAIT)
            with suppress(PeerError):  # a last acknowledgement that nobody is left to give
                await engine.until(lambda: engine.closed, GRACE)
    leave(
        folder,
        place,
        reached=job.reached,
        found=sha256(session.totals[-2].tobytes()).hexdigest(),
        scheme=plan.scheme.name,
        written=engine.bytes_written,
        planned=sum(each.cost.bytes_sent[card.name] for each in job.plans),
        memory=resident_bytes("VmHWM") - before,
        busy=job.busy[2] - job.busy[1],  # the first sum of all
    )


def resident_bytes(which: str) -> int:
    """The kernel's own mark of this process: VmRSS now, VmHWM at most so far."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    (found,) = (line for line in lines if line.startswith(which))
    return 1024 * int(found.split()[1])


if __name__ == "__main__":
    told, times, own, mode = sys.argv[1:]
    chosen: RelayMode = "checked" if mode == "checked" else "trusted"
    asyncio.run(be_a_party(Path(told), int(times), int(own), chosen))
