"""Invariant: a method is one computation. One that is defined here alone has everything else.

Both engines, real parties over TLS, a kind of question, preflight, the predicted cost, the view of
a coalition, transcript and saved results: none of them may know which methods there are.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titan
from tests.party.loopback import NAMES, Gathering, run
from titan.engines import EngineName
from titan.joint import Computation, Sum, SumSettings, together
from titan.joint.kinds import KINDS, TEXT, TEXTS, Asked, Question, Setting, kind
from titan.moments import Source, open_source
from titan.results import Result, decode, encode
from titan.ring import Residues, Ring
from titan.study import check
from titan.study.audit import audit
from titan.study.verified import verify

# -- the method: under 50 lines, and no other file ------------------------------------------


@dataclass(frozen=True)
class Counts(Result, kind="histogram"):
    """How many values lie in each bin."""

    counts: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"counts": list(self.counts)}

    to_state = to_dict

    @classmethod
    def from_state(cls, state: Any, cost: Any = None) -> Counts:
        return cls(tuple(state["counts"]))


@dataclass(frozen=True)
class Histogram:
    """Bins between public edges."""

    column: str
    edges: tuple[float, ...]

    @property
    def sums(self) -> tuple[Sum]:
        bins = len(self.edges) - 1
        return (Sum("bins", bins, Ring(40), Fraction(1), f"how many {self.column} in each bin"),)

    def count(self, block: Any) -> Any:
        numbers, _ = block.cells[self.column].numbers()
        return np.histogram([float(x) for x in numbers.fractions()], self.edges)[0]

    def prepare(self, rows: Source) -> Any:
        return rows.map_blocks(self.count, np.add, columns=[self.column])

    def begin(self) -> None:
        return None

    def secret(self, n: int, known: Any, part: Any) -> Residues:
        return self.sums[0].ring.from_ints(part.tolist())

    def learn(self, n: int, known: Any, total: Residues) -> Counts:
        return Counts(tuple(self.sums[0].ring.to_ints(total)))

    def answer(self, known: Counts | None) -> Counts | None:
        return known


def histogram(asked: Asked, setting: Setting) -> Histogram:
    return Histogram(str(asked["column"]), tuple(map(float, asked["edges"])))


# -- everything else --------------------------------------------------------------------------

EDGES = ("0", "250", "500", "750", "1000")


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    kind("histogram", options={"column": TEXT, "edges": TEXTS}, first="column")(histogram)
    yield
    del KINDS["histogram"]


def asked(name: str = "") -> Question:
    return Question("histogram", name, (("column", "x"), ("edges", EDGES)))


def expected(folder: Path) -> list[int]:
    lines = [(folder / f"{name}.csv").read_text().splitlines()[1:] for name in NAMES]
    values = [float(line.split(",")[0]) for each in lines for line in each]
    return [int(n) for n in np.histogram(values, [float(edge) for edge in EDGES])[0]]


def test_it_is_short() -> None:
    lines = [inspect.getsource(each).splitlines() for each in (Counts, Histogram, histogram)]
    assert sum(map(len, lines)) < 50


@pytest.mark.parametrize("engine", ["local", "vectorised"])
@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_on_both_engines(tmp_path: Path, engine: EngineName, recovery: Any) -> None:
    g = Gathering(tmp_path)
    method: Computation[Any, Any, Counts] = histogram({"column": "x", "edges": EDGES}, None)  # type: ignore[arg-type]
    parts = [method.prepare(open_source(tmp_path / f"{name}.csv")) for name in NAMES]
    settings = SumSettings(g.study.network, engine=engine, recovery=recovery, tau=1)
    found = together(method, parts, settings)
    assert list(found.answer.counts) == expected(tmp_path)
    (plan,) = found.plans
    assert found.cost == plan.cost, "predicted to the byte"


def test_what_a_coalition_sees_of_it(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    method = Histogram("x", tuple(map(float, EDGES)))
    parts = [method.prepare(open_source(tmp_path / f"{name}.csv")) for name in NAMES]
    found = together(method, parts, SumSettings(g.study.network, record=True))
    assert found.record is not None
    view = found.record.view(["north"])
    assert [each.name for each in view.sums] == ["bins"]
    assert view.inputs["north"][0].tolist() == parts[0].tolist()


@pytest.mark.parametrize("recovery", ["topk", "flood", "tree"])
def test_as_a_question_of_a_study_among_real_parties(tmp_path: Path, recovery: str) -> None:
    """Beside a regression, in one meeting; saved and read again."""
    regression = Question("regression", "main", (("formula", "y ~ x"),))
    changes = {"questions": (asked(), regression), "recovery": recovery}
    g = Gathering(tmp_path, changes=changes)
    report = check(g.study, datetime.now(UTC)).as_dict()
    (of_bins, of_main) = report["questions"]
    assert of_bins["sums"] == [
        {"name": "bins", "entries": 4, "bits": 40, "opens": "how many x in each bin"}
    ]
    assert len(of_main["sums"]) == 3
    assert report["sums"][0]["name"] == "bins and counts", "they travel together"
    outcomes = run(g.all())
    for name in NAMES:
        results = outcomes[name].results
        assert results["q1"].counts == tuple(expected(tmp_path))
        assert results["main"].nobs == 36
        assert titan.load(g.run_folder(name))["q1"] == results["q1"]
        facts = verify(g.run_folder(name) / "transcript.json").transcript
        assert facts.result["questions"]["q1"] == {"counts": expected(tmp_path)}
        sent = audit(g.run_folder(name)).bytes_in_sums
        assert sent == sum(plan.cost.bytes_sent[name] for plan in g.study.plans)
    assert decode(encode(outcomes["east"].results))[0] == outcomes["north"].results[0]


def test_a_learn_that_raises_is_the_same_error_at_every_party(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn(self: Histogram, n: int, known: Any, total: Residues) -> Counts:
        raise titan.TitanError("these bins are of no use", hint="ask for others")

    monkeypatch.setattr(Histogram, "learn", learn)
    g = Gathering(tmp_path, changes={"questions": (asked(),)})
    outcomes = run(g.all())
    for name in NAMES:
        assert (
            str(outcomes[name].results.errors["q1"]) == "these bins are of no use (ask for others)"
        )
        with pytest.raises(titan.TitanError, match="of no use"):
            _ = outcomes[name].results[0]
    assert len({encode(outcomes[name].results) for name in NAMES}) == 1
