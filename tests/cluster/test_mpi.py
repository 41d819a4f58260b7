"""Invariant: agents spread over ranks end with the bits and the costs of agents in one process.

What goes wrong on one rank ends all of them with the same error, and leaves nothing behind.

Everything that takes more ranks, or longer, is in longer_mpi.py: `make cluster`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.ranks import cases
from titan import Network
from titan.engines import engine_named
from titan.engines.mpi import ranks
from titan.engines.mpi.placement import homes
from titan.engines.mpi.shared_errors import as_bytes, from_bytes
from titan.errors import InputError, NotPrivateError, RankError

ADDED = [66, 66]  # 0 + 1 + … + 11, twice
SAME = {"same": True, "as planned": True}


def test_two_ranks(tmp_path: Path) -> None:
    """Sums, costs, and every error: all in one program, so that each case follows another's end."""
    names = "recoveries", "veto", "data_error", "other_error", "other_plans", "recorded"
    more = "other_totals", "altered_bytes", "no_pickles", "few_parties", "progress"
    first, second = cases(tmp_path, 2, *names, *more)
    for rank in (first, second):
        assert rank["recoveries"] == {"found": [SAME] * 4}
        assert rank["few_parties"] == {"value": 2.5, "messages": 4, "counted": 2}
        assert rank["progress"] == {"called": rank is first, "right": True}
        assert SAME.items() <= rank["no_pickles"].items()
        assert rank["no_pickles"]["error"] == rank["data_error"]
    _check_errors(first, second)


def _check_errors(first: dict[str, Any], second: dict[str, Any]) -> None:
    kinds = {
        "veto": "VetoError",
        "data_error": "DataError",
        "other_plans": "PlanError",
        "recorded": "PlanError",
        "other_totals": "RecoveryError",
        "altered_bytes": "MessageError",
    }
    for name, kind in kinds.items():
        one, other = first[name], second[name]
        assert one["kind"] == other["kind"] == kind, name
        assert one["text"] == other["text"], name
        assert one["fields"] == other["fields"], name
        assert one["next"] == other["next"] == ADDED, f"a sum after {name}"
    assert first["veto"]["own"] != second["veto"]["own"], "made where that party is, and only there"
    failed, told = sorted((first["other_error"], second["other_error"]), key=lambda e: not e["own"])
    assert failed["kind"] == "ZeroDivisionError"
    assert told["kind"] == "TitanError"
    assert "failed with ZeroDivisionError" in told["text"]
    assert "of a value" not in told["text"], "whose words nobody has checked"
    assert failed["next"] == told["next"] == ADDED


def test_without_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said when the engine is named, before any row is read."""
    ranks._world.cache_clear()
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(InputError, match="needs mpi4py") as missing:
        engine_named("mpi")
    assert "pip install mpi4py mpich" in missing.value.hint


@pytest.mark.parametrize("ranks_", [1, 2, 3, 7])
@pytest.mark.parametrize("network", [Network.kautz(60, 2), Network.cycle(5), Network.cycle(61)])
def test_every_rank_has_its_part(network: Network, ranks_: int) -> None:
    """As many agents on each as on any other, within one."""
    found = np.bincount(homes(network, ranks_), minlength=ranks_)
    assert len(found) == ranks_
    assert found.sum() == len(network)
    assert found.max() - found.min() <= 1


def test_neighbours_are_put_together() -> None:
    """In the parties' own order, half of this network's links would be between two ranks."""
    network = Network.kautz(1000, 2)

    def between(where: Any) -> int:
        return int(np.count_nonzero(where[network.senders] != where[network.receivers]))

    assert between(np.arange(1000) // 500) > 950
    assert between(homes(network, 2)) < 600


@pytest.mark.parametrize(
    "error",
    [
        RankError("a and b", columns=("a", "b"), bits=256, hint="more bits"),
        NotPrivateError("a cut", cut={"x", "y"}),
    ],
)
def test_an_error_keeps_its_fields(error: Any) -> None:
    found: Any = from_bytes(as_bytes(error, 3))
    assert type(found) is type(error)
    assert (str(found), found.args) == (str(error), error.args)
    assert {
        k: sorted(v) if isinstance(v, frozenset | tuple) else v for k, v in vars(found).items()
    } == {k: sorted(v) if isinstance(v, frozenset | tuple) else v for k, v in vars(error).items()}
