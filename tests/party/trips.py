"""Whole runs on links of one delay: how many one-way trips lie between all connected and answered.

Sessions without sockets, journals or clocks. What a party sends at time t all have at t + 1, and
what it computes takes no time; so the time of an event is the number of trips that must follow one
another before it.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.party.simulated_party import KeyedSigner
from tests.study.studies import study
from titan import Network
from titan.joint import Task
from titan.moments import open_source
from titan.party import messages
from titan.party.ready import Ready
from titan.party.run import Run
from titan.party.session import Session
from titan.study import Study
from titan.study.frames import Frame

COEFFICIENTS = 10


def regression(among: int | Network, **changes: object) -> Study:
    """Of ten coefficients; so many parties are on a designed network."""
    network = Network.design(among, 1) if isinstance(among, int) else among
    names = tuple(f"p{at}" for at in range(len(network)))
    columns = [f"x{at}" for at in range(1, COEFFICIENTS)]
    formula = f"y ~ {' + '.join(columns)}"
    edges = [(names[network.index(a)], names[network.index(b)]) for a, b in network.edges]
    named = Network(edges, parties=names)
    return study(names, named, formula=formula, ranges={}, **changes)


def rows(name: str, count: int = 40) -> dict[str, list[int]]:
    rng = random.Random(name)
    columns = [*(f"x{at}" for at in range(1, COEFFICIENTS)), "y"]
    return {column: [rng.randrange(1000) for _ in range(count)] for column in columns}


@dataclass
class Trips:
    """All parties of a study; `reached` says when the last of them came how far."""

    sessions: Sequence[Session]
    reached: dict[str, int] = field(default_factory=dict)
    time: int = 0
    messages: int = 0

    @classmethod
    def of(cls, asked: Study, solver: int | None = None) -> Trips:
        rng = random.Random(asked.digest)
        found = []
        for party, name in enumerate(asked.network.parties):
            task = Task(asked.meeting, asked.plans, asked.meeting.prepare(open_source(rows(name))))
            nonce, keys = rng.randbytes(32), [rng.randbytes(32) for _ in asked.plans]
            run = Run(bytes.fromhex(asked.digest), 1, asked.network, party, nonce, solver)
            found.append(Session(run, task, keys, KeyedSigner(party)))
        return cls(found)

    def run(self) -> Trips:
        """Until nothing is under way."""
        due = [(each, each.start()) for each in self.sessions]
        while True:
            self._note()
            arriving = [
                (self._session(frame.peer), sender.run.name, frame)
                for sender, ready in due
                for frame in ready.frames
            ]
            if not arriving:
                return self
            self.time += 1
            self.messages += len(arriving)
            due = [
                (at, at.receive(messages.decode(sender, frame.sequence, memoryview(frame.body))))
                for at, sender, frame in arriving
            ]
            due += [(at, self._answer(at)) for at in self.sessions if at.run.solver is not None]

    def run_in_any_order(self, seed: int) -> Trips:
        """Until nothing is under way; every link keeps its order, and has a pace of its own."""
        rng = random.Random(seed)
        pace = {way: 10 ** rng.uniform(-3, 0) for way in self.sessions[0].run.network.edges}
        waiting: dict[tuple[str, str], deque[Frame]] = {}

        def put_out(sender: Session, ready: Ready) -> None:
            for frame in ready.frames:
                waiting.setdefault((sender.run.name, frame.peer), deque()).append(frame)

        for each in self.sessions:
            put_out(each, each.start())
        while ways := sorted(way for way, frames in waiting.items() if frames):
            ((sender, receiver),) = rng.choices(ways, [pace[way] for way in ways])
            frame, at = waiting[sender, receiver].popleft(), self._session(receiver)
            message = messages.decode(sender, frame.sequence, memoryview(frame.body))
            put_out(at, at.receive(message))
        return self

    def _session(self, name: str) -> Session:
        return self.sessions[self.sessions[0].run.network.index(name)]

    def _answer(self, at: Session) -> Ready:
        """Where one solves for all."""
        mine = at.run.solver == at.run.party and at.complete and at.answer is None
        return at.tell_answer(b"what it found") if mine else Ready()

    def _note(self) -> None:
        plans = self.sessions[0].plans
        self._reach("nonces", all(each.everybody_is_here for each in self.sessions))
        for number in range(1, len(plans) + 1):
            masked = all(_masked(each, number) for each in self.sessions)
            self._reach(f"masks of sum {number}", masked)
            found = all(len(each.totals) >= number for each in self.sessions)
            self._reach(f"recovery of sum {number}", found)
        self._reach("agreement", all(each.complete for each in self.sessions))
        over = all(each.complete and not each.progress.waiting for each in self.sessions)
        self._reach("end", over)

    def _reach(self, what: str, there: bool) -> None:
        if there:
            self.reached.setdefault(what, self.time)

    @property
    def phases(self) -> dict[str, int]:
        """How many trips each took, as far as it was not under way during the one before."""
        times = [0, *self.reached.values()]
        return {
            name: at - before
            for (name, at), before in zip(self.reached.items(), times, strict=False)
        }


def _masked(session: Session, number: int) -> bool:
    """Whether it has the masks of this sum."""
    agent, over = session.sums.agent, len(session.totals)
    return over >= number or (over == number - 1 and agent is not None and agent.round > 0)


def main() -> None:
    """`python -m tests.party.trips 20`: what each phase takes, by recovery."""
    parties = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for recovery in ("flood", "tree", "auto"):
        asked = regression(parties, recovery=recovery)
        found = Trips.of(asked).run()
        said = f"{parties} parties, diameter {asked.network.diameter}, recovery {recovery}"
        print(f"{said}: {found.reached['agreement']} trips, {found.messages} messages")
        for phase, trips in found.phases.items():
            print(f"  {phase:20} {trips:3}")


if __name__ == "__main__":
    main()
