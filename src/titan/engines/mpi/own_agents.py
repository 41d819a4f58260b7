"""The agents of one rank in one sum: driven until nothing is on its way anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from titan.engines.counting import Count
from titan.engines.local import agreed
from titan.engines.mpi.exchange import Exchange
from titan.engines.mpi.ranks import Ranks
from titan.errors import MessageError
from titan.protocol import Agent, Cost, Envelope, Plan
from titan.protocol.recovery.interface import Progress


class OwnAgents:
    """What this rank does, and what it ended with."""

    def __init__(
        self, plan: Plan, ranks: Ranks, homes: Sequence[int], progress: Progress | None
    ) -> None:
        self.error: Exception | None = None
        """What went wrong here. It is kept, not raised: the other ranks must hear of it."""
        self.total = plan.ring.zeros(plan.entries)
        """With the carried 1; zeros where there are no agents."""
        self._plan = plan
        self._ranks = ranks
        self._progress = progress
        self._count = Count(plan.network)
        self._homes = homes
        self._agents: dict[int, Agent] = {}
        self._unstarted: deque[Agent] = deque()
        self._waiting: deque[Envelope] = deque()

    def drive(self, agents: Callable[[], list[Agent]]) -> None:
        """Make the agents and deliver, until nothing is on its way between any ranks.

        Once a rank has failed there will be no sum; what was sent is received all the same, so that
        the next sum starts with nothing left over.
        """
        exchange = Exchange(self._ranks.comm)
        self._attempt(lambda: self._take(agents()))
        while True:
            arrived = list(exchange.arrived())
            lost = self.error is not None or exchange.failed
            if not lost and self._attempt(lambda: self._go_on(arrived, exchange)):  # noqa: B023
                continue
            if exchange.over(self.error is not None):
                break
        exchange.close()
        if self._agents and not exchange.failed:
            self._attempt(self._settle)

    def _attempt(self, step: Callable[[], bool]) -> bool:
        """Whether it went well and there may be more to do."""
        try:
            return step()
        except Exception as error:
            self.error = error
            return False

    def _take(self, agents: list[Agent]) -> bool:
        self._agents = {agent.party: agent for agent in agents}
        self._unstarted.extend(agents)
        return True

    def _go_on(self, arrived: Iterable[memoryview], exchange: Exchange) -> bool:
        """Deliver one envelope or start one agent; False if there is nothing to do.

        Agents start when there is nothing to deliver, so that masks do not pile up.
        """
        self._waiting.extend(map(Envelope.decode, arrived))
        if self._waiting:
            out = self._deliver(self._waiting.popleft())
        elif self._unstarted:
            out = self._unstarted.popleft().start()
        else:
            return False
        for envelope in out:
            home = self._homes[envelope.receiver]
            if home == self._ranks.rank:
                self._waiting.append(envelope)
            else:
                exchange.send(home, envelope.encode())
        return True

    def _deliver(self, envelope: Envelope) -> list[Envelope]:
        if envelope.receiver not in self._agents:
            raise MessageError(f"{envelope!r} reached rank {self._ranks.rank}, not its receiver's")
        out = self._agents[envelope.receiver].receive(envelope)
        first = self._count.add(envelope, self._plan.numbers_in(envelope))
        if first and self._progress is not None:
            self._progress(envelope.round, self._plan.cost.recovery_rounds)
        return out

    def _settle(self) -> bool:
        agents = list(self._agents.values())
        self.total[:, :-1] = agreed(agents)
        self.total[:, -1:] = self._plan.ring.from_ints([agents[0].counted])
        return True

    def cost(self) -> Cost:
        """What all ranks counted, each what was delivered to its own agents."""
        count, ranks = self._count, self._ranks
        held = np.zeros(len(self._plan.network), np.int64)
        for party, agent in self._agents.items():
            held[party] = agent.numbers_held
        added = ranks.add(np.array([count.sent, count.received, count.numbers, held], np.int64))
        count.sent, count.received, count.numbers = map(list, added[:3])
        count.messages = int(ranks.add(np.array([count.messages], np.int64))[0])
        count.furthest = ranks.largest(count.furthest)
        return count.cost(added[3].tolist())
