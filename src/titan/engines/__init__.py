"""Engines run private sums: `local` with real envelopes, `vectorised` with whole-network arrays,
`mpi` with real envelopes on the ranks of a cluster.

To add one, write a file with its function beside these and name it here.
"""

from collections.abc import Callable
from typing import Literal, Protocol

from titan.engines import local, mpi, vectorised
from titan.engines.local import Outcome, Progress, Secrets
from titan.errors import PlanError
from titan.protocol import IN_ONE_PROCESS, Binding, MaskSource, Plan, SystemMasks


class Engine(Protocol):
    """Runs a plan on secrets of shape (limbs, m, d).

    With `record` it keeps all envelopes, in order of delivery, or refuses if it makes none.
    """

    def __call__(
        self,
        plan: Plan,
        secrets: Secrets,
        *,
        binding: Binding = IN_ONE_PROCESS,
        source: Callable[[], MaskSource] = SystemMasks,
        record: bool = False,
        progress: Progress | None = None,
    ) -> Outcome: ...


EngineName = Literal["local", "vectorised", "mpi"]
ENGINES: dict[str, Engine] = {"local": local.run, "vectorised": vectorised.run, "mpi": mpi.run}


def engine_named(name: str) -> Engine:
    if not isinstance(name, str) or name not in ENGINES:
        raise PlanError(
            f"engine={name!r} is unknown", hint=f"one of {', '.join(ENGINES)}", choice="engine"
        )
    if name == "mpi":
        mpi.world()  # what is missing is said before anything is read
    return ENGINES[name]


__all__ = ["ENGINES", "Engine", "EngineName", "Outcome", "Progress", "Secrets", "engine_named"]
