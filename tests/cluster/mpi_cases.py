"""What ranks do in tests: every rank runs each case and leaves what it found, or its error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import titan
from tests.joint.trial import COLUMNS, PARTIES, asking, by_party, trial
from titan.engines import local
from titan.engines.mpi import exchange, own_agents, world
from titan.errors import DataError, InputError, ReleaseError, TitanError, VetoError
from titan.joint import Sum, SumSettings, together
from titan.joint.computation import Words
from titan.joint.counts import Counting
from titan.joint.kinds import Question, Setting
from titan.joint.meeting import Meeting
from titan.moments import open_source
from titan.protocol import Plan
from titan.release.policy import DEFAULT
from titan.ring import Residues, Ring

NET = titan.Network.random(12, 3, seed=4)
FOUR = titan.Network.complete(PARTIES)
RING = Ring(70)
Found = dict[str, Any]


def answer(**options: Any) -> Found:
    """An average here and, by the same parties in one process, by real agents."""
    values = np.random.default_rng(3).standard_normal((len(NET), 5))
    found = titan.average(values, NET, engine="mpi", **options)
    alone = titan.average(values, NET, engine="local", **options)
    return {"same": found.sums == alone.sums, "as planned": found.cost == alone.cost}


def recoveries() -> Found:
    """All of them, checked and not, masks sent and seeded."""
    found = [
        answer(recovery=recovery, masks=masks, relays=relays)
        for recovery, masks, relays in (
            ("topk", "sent", "trusted"),
            ("flood", "seeded", "trusted"),
            ("tree", "sent", "checked"),
            ("tree", "seeded", "trusted"),
        )
    ]
    return {"found": found}


def no_pickles() -> Found:
    """With pickling out of order, sums and errors come out all the same."""
    from mpi4py import MPI

    def refuse(*_: Any) -> Any:
        raise AssertionError("something was pickled")

    MPI.pickle.__init__(refuse, refuse)  # type: ignore[misc]
    return answer(recovery="flood") | {"error": told(data_error)}


# -- every computation --------------------------------------------------------------------------


def everything() -> Found:
    """Of each computation, whether its answer and its cost are those of agents in one process."""
    here, alone = (_answers(engine) for engine in ("mpi", "local"))
    return {name: here[name] == alone[name] for name in alone} | {
        "differ": here["fit"] == here["HC0"]
    }


def _answers(engine: Any) -> Found:
    rows = {party: _rows(number) for number, party in enumerate(PARTIES)}
    systems = {party: _equations(number) for number, party in enumerate(PARTIES)}
    exits = by_party(trial())
    sums: dict[str, Any] = {"engine": engine, "tau": 1}
    fit = partial(titan.fit, rows, FOUR, formula="y ~ a + b", **sums)
    found: dict[str, Any] = {
        "average": titan.average([3, 1, 4, 1], FOUR, **sums),
        "solve": titan.solve(systems, FOUR, **sums),
        "solver": titan.solve(systems, FOUR, solver="south", **sums),
        "fit": fit(),
        "HC0": fit(cov_type="HC0"),
        "HC3": fit(cov_type="HC3"),
        "cluster": titan.fit(
            rows, FOUR, formula="y ~ 1", cov_type="cluster", allow_small=True, engine=engine
        ),
        "ridge": titan.ridge(rows, FOUR, formula="y ~ a + b", alpha=0.5, **sums),
        "logistic": titan.glm(rows, FOUR, formula="c ~ a", **sums),
        "poisson": titan.glm(rows, FOUR, formula="n ~ a", family="poisson", **sums),
        "describe": titan.describe(rows, FOUR, columns=["b", "c"], **sums),
        "cox": titan.cox(
            exits,
            FOUR,
            time="months",
            event="died",
            formula="arm",
            dictionary=COLUMNS,
            grid=6,
            **sums,
        ),
        "survival": titan.survival(
            exits,
            FOUR,
            time="months",
            event="died",
            by=["arm"],
            grid=6,
            until=36,
            dictionary=COLUMNS,
            **sums,
        ),
    }
    answers = {name: [result.to_state(), result.cost.as_dict()] for name, result in found.items()}
    return answers | {"meeting": _meeting(SumSettings(FOUR, engine=engine))}


def _meeting(settings: SumSettings) -> Any:
    """A table and an average, whose sums travel together."""
    setting = Setting(PARTIES, COLUMNS, DEFAULT)
    asked = {
        "table": Question.of("describe", "table", {"columns": ("months", "arm")}, COLUMNS),
        "curve": asking(by=["arm"], grid="6", until="36"),
    }
    computations = ((name, question.computation(setting)) for name, question in asked.items())
    meeting = Meeting(tuple(computations))
    tables = map(open_source, by_party(trial()).values())
    parts = [meeting.prepare(dict.fromkeys(asked, table)) for table in tables]
    found = together(meeting, parts, settings)
    return [[state.answer.to_state() for state in found.answer], found.cost.as_dict()]


def _rows(number: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(number)
    a, b = rng.integers(0, 9, 60), rng.integers(0, 5, 60)
    y, c, n = 2 * a - b + rng.integers(-3, 4, 60), rng.integers(0, 2, 60), rng.poisson(1 + a / 4)
    return {key: list(map(int, x)) for key, x in zip("abycn", (a, b, y, c, n), strict=True)}


def _equations(number: int) -> Any:
    rng = np.random.default_rng(number)
    return rng.standard_normal((30, 3)), rng.standard_normal(30)


# -- what goes wrong ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Adding:
    """Two sums of one number each; party number `refuses` cannot go on in the second."""

    refuses: int = -1
    error: Exception = ReleaseError("a cell is small", rule="cells")  # noqa: RUF009
    in_sum: int = 1

    @property
    def sums(self) -> tuple[Sum, Sum]:
        one, two = (Sum(name, 2, RING, Fraction(1), "numbers") for name in ("first", "second"))
        return one, two

    def prepare(self, rows: Any) -> Any:
        return rows

    def begin(self) -> tuple[int, ...]:
        return ()

    def secret(self, n: int, known: tuple[int, ...], part: int) -> Residues:
        if (n, part) == (self.in_sum, self.refuses):
            raise self.error
        return RING.from_ints([part, 0])

    def learn(self, n: int, known: tuple[int, ...], total: Residues) -> tuple[int, ...]:
        number, kept = RING.to_ints(total)
        if kept:
            raise VetoError("a party refuses", rule="veto")
        return (*known, number)

    def answer(self, known: tuple[int, ...]) -> tuple[int, ...] | None:
        return known if len(known) == 2 else None


class Vetoing(Adding):
    """The same; who refuses enters noise."""

    def veto(self, n: int, words: Words) -> Residues:
        return RING.uniform(2, words)


def add_up(computation: Adding) -> tuple[int, ...]:
    settings = SumSettings(NET, engine="mpi")
    return together(computation, range(len(NET)), settings).answer


def told(case: Callable[[], Any]) -> Found:
    """The error of a case, as this rank sees it; then, whether the next sum comes out."""
    try:
        case()
    except Exception as error:
        fields = {key: str(value) for key, value in sorted(vars(error).items())}
        found: Found = {"kind": type(error).__name__, "text": str(error), "fields": fields}
        found["own"] = isinstance(error.__cause__, TitanError) or not isinstance(error, TitanError)
        return found | {"next": list(add_up(Adding()))}
    return {"kind": None}


def veto() -> Any:
    """By party number 10, of its rows alone: noise, drawn on its own rank."""
    return add_up(Vetoing(refuses=10))


def data_error() -> Any:
    """One party's mistake, in a computation that knows no vetoes."""
    return add_up(Adding(refuses=10, error=DataError("no column y", hint="name one"), in_sum=0))


def other_error() -> Any:
    return add_up(Adding(refuses=10, error=ZeroDivisionError("of a value"), in_sum=1))


def other_plans() -> Any:
    """A network drawn at random, on every rank another one."""
    return titan.average([1] * 12, titan.Network.random(12, 3), engine="mpi")


def recorded() -> Any:
    return titan.average([1] * 12, NET, engine="mpi", record=True)


def other_totals() -> Any:
    """The second rank's agents all end with one bit more."""

    def agreed(agents: Any) -> Residues:
        return honest(agents) ^ np.uint64(world().rank == 1)

    honest = local.agreed
    with patch.object(own_agents, "agreed", agreed):
        return add_up(Adding())


def altered_bytes() -> Any:
    """What the second rank sends has another kind in its header."""

    def send(self: Any, rank: int, data: bytes) -> None:
        honest(self, rank, data[:3] + b"\x63" + data[4:] if world().rank == 1 else data)

    honest = exchange.Exchange.send
    with patch.object(exchange.Exchange, "send", send):
        return add_up(Adding())


# -- how many ranks and parties -----------------------------------------------------------------


def few_parties() -> Found:
    """Two parties; on three ranks or more, some have none."""
    found = titan.average({"a": 1, "b": 4}, "complete", engine="mpi")
    return {"value": found.value, "messages": found.cost.messages, "counted": count()}


def count() -> int:
    settings = SumSettings(titan.Network.complete(2), engine="mpi", at_most=7)
    return together(Counting(7), [None] * 2, settings).answer


def progress() -> Found:
    """Called on the first rank alone."""
    seen: list[tuple[int, int]] = []
    titan.average([1.0] * 12, NET, engine="mpi", progress=lambda *at: seen.append(at))
    planned = Plan.make(NET, Ring(128), 1).cost.recovery_rounds
    return {"called": bool(seen), "right": all(0 < at <= of == planned for at, of in seen)}


ERRORS = (veto, data_error, other_error, other_plans, recorded, other_totals, altered_bytes)
PLAIN = (recoveries, few_parties, progress, everything, no_pickles)
CASES: dict[str, Callable[[], Found]] = {case.__name__: case for case in PLAIN}
CASES |= {case.__name__: partial(told, case) for case in ERRORS}


def main(folder: str, *names: str) -> None:
    found = {name: CASES[name]() for name in names}
    Path(folder, f"{world().rank}.json").write_text(json.dumps(found), encoding="utf-8")


def fail_alone() -> None:
    """One rank cannot read its file; the other is in the sum already."""
    if world().rank == 1:
        raise InputError("rows.csv cannot be read")
    add_up(Adding())


if __name__ == "__main__":
    fail_alone() if sys.argv[1] == "fail_alone" else main(*sys.argv[1:])
