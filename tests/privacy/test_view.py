"""A view is exactly what its members sent, received and held; nothing else can be had from it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from titan import Network
from titan.errors import InputError, NetworkError, PlanError
from titan.privacy.view import MOST_BYTES_KEPT, Record, View, check_recordable
from titan.protocol import Kind, Plan
from titan.ring import Ring

NET = Network.cycle(["a", "b", "c", "d"])
VALUES = {"a": [1.5, -2.0], "b": [2.25, 1e6], "c": [-7.0, 0.125], "d": [0.5, 3.0]}
RECOVERIES = ["topk", "flood", "tree"]


def run(**choices: Any) -> titan.Average:
    return titan.average(VALUES, NET, record=True, **choices)


def record(out: titan.Average) -> Record:
    assert isinstance(out.record, Record)
    return out.record


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("masks", ["sent", "seeded"])
@pytest.mark.parametrize("coalition", [["a"], ["a", "c"], ["b", "c", "d"]])
def test_every_message_to_or_by_a_member_and_no_other(
    recovery: Any, masks: Any, coalition: list[str]
) -> None:
    out = run(recovery=recovery, masks=masks)
    view = out.view(coalition)
    (kept,) = record(out).sums
    numbers = {NET.index(name) for name in coalition}
    expected = sorted(
        (e.kind, NET.parties[e.sender], NET.parties[e.receiver], e.round, bytes(e.payload))
        for e in kept.envelopes
        if {e.sender, e.receiver} & numbers
    )
    found = [(m.kind, m.sender, m.receiver, m.round, m.payload) for m in view]
    assert sorted(found) == expected
    assert [m.round for m in view] == sorted(m.round for m in view)
    assert out.cost.messages == len(kept.envelopes) >= len(view)
    assert len(kept.envelopes) > len(view) or len(coalition) > 1, "the links of b, c are hidden"
    for name in coalition:
        assert set(view.received_by(name)) == {m for m in view if m.receiver == name}
        assert set(view.sent_by(name)) == {m for m in view if m.sender == name}


def reachable(thing: object, found: dict[int, object]) -> dict[int, object]:
    """Everything that can be reached from an object through attributes and containers."""
    if id(thing) in found or isinstance(thing, type | Network):
        return found
    found[id(thing)] = thing
    if isinstance(thing, dict):
        children: list[Any] = [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        children = list(thing)
    elif hasattr(thing, "keys") and hasattr(thing, "__getitem__"):
        children = [thing[key] for key in thing.keys()]  # noqa: SIM118
    else:
        children = list(getattr(thing, "__dict__", {}).values())
        if isinstance(thing, np.ndarray) and thing.base is not None:
            children.append(thing.base)
    for child in children:
        reachable(child, found)
    return found


def test_what_others_held_cannot_be_reached_from_a_view() -> None:
    out = run(recovery="tree", bits=64)
    (kept,) = record(out).sums
    view = out.view(["a"])
    everything = reachable(view, {}).values()
    payloads = {bytes(x) for x in everything if isinstance(x, bytes)}
    others = {bytes(e.payload) for e in kept.envelopes if 0 not in (e.sender, e.receiver)}
    assert others - {bytes(m.payload) for m in view}, "something is hidden at all"
    public = {b"", kept.sum.binding.chain}
    assert payloads - public == {m.payload for m in view}, "in one process nothing is signed"
    arrays = [x for x in everything if isinstance(x, np.ndarray)]
    assert not any(x.dtype == np.uint64 for x in arrays), "residues: nothing was decoded yet"
    numbers = {n for x in arrays if x.dtype == object for n in x.flat} - {None}
    assert numbers == set(view.inputs["a"][0])
    assert not any(isinstance(x, Record) or x is kept.secrets for x in everything)
    assert set(view.inputs) == {"a"}
    with pytest.raises(TypeError):
        view.inputs["b"] = ()


def test_inputs_are_the_members_own_as_encoded() -> None:
    view = run().view(["d", "b"])
    assert view.coalition == ("b", "d")
    (only,) = view.sums
    unit = Fraction(2) ** -only.fraction
    for party in ("b", "d"):
        (encoded,) = view.inputs[party]
        assert [x * unit for x in encoded] == [Fraction(v) for v in VALUES[party]]


@pytest.mark.parametrize("masks", ["sent", "seeded"])
def test_numbers_are_what_the_payloads_say(masks: Any) -> None:
    """All parties but one: the masks they know undo what `flood` shows of the last one."""
    view = run(recovery="flood", masks=masks).view(["b", "c", "d"])
    ring = view.sums[0].ring
    (own,) = (m for m in view.received_by("b") if m.kind is Kind.MASKED and "a" in m.origins)
    assert own.round == 1
    assert own.entries == range(3)
    (vector,) = own.numbers
    sent = next(m for m in view if m.kind is Kind.MASK and m.sender == "a").numbers
    received = next(m for m in view if m.kind is Kind.MASK and m.receiver == "a").numbers
    secret = (vector - received + sent) % ring.modulus
    scale = 2 ** view.sums[0].fraction
    assert secret.tolist() == [v * scale % ring.modulus for v in (Fraction(3, 2), -2)] + [1]


def test_lists_name_their_origins_and_chunks_their_entries() -> None:
    view = run(recovery="topk", k=4, rounds=3).view(["a"])
    last = view.received_by("a")[-1]
    assert last.numbers.shape == last.origins.shape == (4, 3)
    first = next(m for m in view.received_by("a") if m.kind is Kind.LIST)
    assert first.origins[:, 0].tolist() == ["d", None, None, None]
    tree = run(recovery="tree").view(["a"])
    parts = [m for m in tree if m.kind in (Kind.PARTIAL, Kind.TOTAL)]
    assert parts
    assert all(len(m.entries) == m.numbers.size == 3 for m in parts)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_least_squares_shows_every_sum_and_what_the_solver_told(recovery: Any) -> None:
    rng = np.random.default_rng(3)
    parts = [(rng.integers(-9, 9, (10, 2)), rng.integers(-9, 9, 10)) for _ in range(4)]
    out = titan.solve(parts, NET, record=True, recovery=recovery, solver="c")
    view = out.view(["a"])
    assert [m.sum for m in view] == sorted(m.sum for m in view if m.sum is not None) + [None] * 2
    assert {m.sum for m in view} == {0, 1, None}
    diagonal = parts[0][0].T @ parts[0][0]
    assert [x / 2**256 for x in view.inputs["a"][0]][:2] == np.diagonal(diagonal).tolist()
    told = [m for m in view.received_by("a") if m.kind is Kind.RESULT]
    assert told[0].numbers[:2].tolist() == out.x.tolist()
    with pytest.raises(InputError, match="floats"):
        _ = told[0].residues
    assert len([m for m in view if m.sum == 0 and m.kind is Kind.MASK]) == 2


def test_a_fit_shows_the_sum_for_robust_errors_too() -> None:
    tables = [{"y": [1.0, 2.0, 4.0], "x": [0.5 + i, 1.0, 3.0 + i]} for i in range(4)]
    out = titan.fit(tables, NET, formula="y ~ x", cov_type="HC0", allow_small=True, record=True)
    assert [s.name for s in out.view(["b"]).sums] == [
        "diagonal, Aᵀb, rows", "off the diagonal", "robust errors",
    ]  # fmt: skip
    plain = titan.fit(tables, NET, formula="y ~ x", allow_small=True, record=True)
    assert len(plain.view(["b"]).sums) == 2


def test_no_secret_is_printed() -> None:
    out = run(bits=64, recovery="flood")
    view = out.view(["a", "b"])
    texts = [repr(view), repr(out), repr(record(out)), *map(repr, view)]
    (own,) = view.inputs["a"]
    numbers = {str(n) for m in view for n in m.numbers.flat if int(n) > 9999} | {str(own[0])}
    assert numbers
    assert not any(n in text for n in numbers for text in texts)
    assert repr(view) == f"<View of {{a, b}}: {len(view)} messages in 1 sums>"


@pytest.mark.parametrize("name", ["average", "solve", "fit"])
def test_without_a_record_there_is_no_view(name: str) -> None:
    parts = [(np.eye(2) + i, np.ones(2)) for i in range(4)]
    tables = [{"y": [1.0, 2.0, 4.0], "x": [0.5 + i, 1.0, 3.0]} for i in range(4)]
    runs: dict[str, Callable[[], Any]] = {
        "average": lambda: titan.average(VALUES, NET),
        "solve": lambda: titan.solve(parts, NET, allow_small=True),
        "fit": lambda: titan.fit(tables, NET, formula="y ~ x", allow_small=True),
    }
    out = runs[name]()
    with pytest.raises(InputError, match="record=True"):
        out.view(["a"])


def test_what_cannot_be_recorded_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(PlanError, match='engine="local"'):
        run(engine="vectorised")
    parts = [(np.eye(2) + i, np.ones(2)) for i in range(4)]
    with pytest.raises(PlanError, match='engine="local"'):
        titan.solve(parts, NET, allow_small=True, record=True, engine="vectorised")
    plan = Plan.make(Network.cycle(100), Ring(64), 5150, recovery="topk", k=10, rounds=100)
    assert plan.cost.bytes_sent.total > MOST_BYTES_KEPT
    with pytest.raises(PlanError, match="at most"):
        check_recordable(plan)
    small = Plan.make(NET, Ring(64), 3, recovery="topk")
    monkeypatch.setattr("titan.privacy.view.MOST_BYTES_KEPT", small.cost.bytes_sent.total)
    check_recordable(small)
    monkeypatch.setattr("titan.privacy.view.MOST_BYTES_KEPT", small.cost.bytes_sent.total - 1)
    with pytest.raises(PlanError, match="at most"):
        check_recordable(small)
    tables = {"y": [1.0, 2.0, 4.0], "x": [0.5, 1.0, 3.0]}
    with pytest.raises(PlanError, match="record without a network"):
        titan.fit(tables, formula="y ~ x", record=True)


@pytest.mark.parametrize(
    ("coalition", "error", "words"),
    [
        ([], InputError, "nobody"),
        (["a", "e"], NetworkError, "'e'|\"e\""),
        (["a", "b", "c", "d"], NetworkError, "everybody"),
        ("a", NetworkError, "the text"),
    ],
)
def test_what_is_no_coalition_is_refused(
    coalition: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        run().view(coalition)


def test_others_messages_are_not_to_be_had() -> None:
    view: View = run().view(["a"])
    with pytest.raises(InputError, match="not the view of 'b'"):
        view.received_by("b")
