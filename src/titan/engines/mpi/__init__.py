"""Real agents of the plan on the ranks of an MPI program, every envelope between ranks real.

    mpiexec -n 4 python program.py      # in which: titan.average(values, net, engine="mpi")
    mpiexec -n 4 python -m titan.engines.mpi --parties 10000 --entries 8

All ranks run the same program on the same inputs. Each drives the agents of its own parties: it
makes their inputs and draws their masks. What goes to an agent of another rank travels as the bytes
of its envelope. In the end all ranks compare their totals.
"""

# Rule 1: it is for simulation, and for the machines of one organisation: MPI neither encrypts nor
#         knows who is at the other end, and every rank holds the rows of all parties.
# Rule 2: a party's input is made on its own rank alone: what is random in it, a veto, is one.
# Rule 3: whatever goes wrong on one rank ends the sum on all ranks, with the same error.

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from titan.engines.local import Outcome, Secrets, inputs_of
from titan.engines.mpi.own_agents import OwnAgents
from titan.engines.mpi.placement import homes
from titan.engines.mpi.ranks import Ranks, known_to_all, refuse_different, world
from titan.errors import PlanError, RecoveryError
from titan.protocol import IN_ONE_PROCESS, Agent, Binding, MaskSource, Plan, SystemMasks
from titan.protocol.recovery.interface import Progress
from titan.ring import Residues

__all__ = ["run", "world"]


def run(
    plan: Plan,
    secrets: Secrets,
    *,
    binding: Binding = IN_ONE_PROCESS,
    source: Callable[[], MaskSource] = SystemMasks,
    record: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Run the plan on secrets of shape (limbs, m, d), of which a rank needs its own parties' alone.

    All ranks call it, and all get the same outcome or raise the same error.
    """
    if record:
        raise PlanError(
            "the mpi engine keeps no messages: every rank sees a part of them only",
            hint='record=True needs engine="local"',
        )
    ranks = world()
    refuse_different(ranks.gather(_digest(plan, binding)))
    where = ranks.told(homes(plan.network, ranks.size).astype(np.int64))
    own = OwnAgents(plan, ranks, where.tolist(), progress if ranks.rank == 0 else None)
    parties = np.flatnonzero(where == ranks.rank).tolist()
    own.drive(lambda: _agents(plan, parties, secrets, binding, source))
    ranks.raise_together(own.error)
    total = _compared(own.total, ranks, [*{*where.tolist()}])
    return Outcome(total[:, :-1], plan.ring.to_ints(total[:, -1:])[0], own.cost())


def _digest(plan: Plan, binding: Binding) -> bytes:
    """Stands for all that the ranks must have in common."""
    network = plan.network
    found = hashlib.sha256(repr((plan, binding.context, network.parties)).encode())
    for ends in (network.senders, network.receivers):
        found.update(np.ascontiguousarray(ends, np.int64).data)
    return found.digest()


def _agents(
    plan: Plan,
    parties: Sequence[int],
    secrets: Secrets,
    binding: Binding,
    source: Callable[[], MaskSource],
) -> list[Agent]:
    """Those of this rank's parties; where there are fewer parties than ranks, some have none."""
    if not parties:
        return []
    found = inputs_of(plan, secrets, parties)
    pairs = enumerate(parties)
    return [Agent(plan, party, found[:, at], source(), binding) for at, party in pairs]


def _compared(total: Residues, ranks: Ranks, with_agents: Sequence[int]) -> Residues:
    """The same total on all ranks; those that have no agents are told it."""
    digests = ranks.gather(hashlib.sha256(total.data).digest())
    if len({digests[rank] for rank in with_agents}) > 1:
        raise known_to_all(RecoveryError("the ranks did not end with the same sum"))
    if len(with_agents) < ranks.size:
        ranks.comm.Bcast(total, root=with_agents[0])
    return total
