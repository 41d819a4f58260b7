"""Invariant: in a meeting every computation ends as it would alone, and no more is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titan.errors import DataError, RecoveryError, ReleaseError, VetoError
from titan.joint import Computation, Sum, SumSettings, together
from titan.joint.kinds import Question, Setting
from titan.joint.meeting import Meeting, Refused, embedded, extracted, stages_of
from titan.moments import open_source
from titan.network import Network
from titan.release import Category, Dictionary
from titan.release.policy import DEFAULT, NONE
from titan.ring import Residues, Ring

from ..strategies import bits, networks
from .plain import number

ENGINES: tuple[Any, ...] = ("local", "vectorised")
KNOWN = Dictionary.of({"age": number("0", "120", "1"), "sex": Category(("f", "m"))})


@st.composite
def two_rings(draw: st.DrawFn) -> tuple[Ring, Ring]:
    one, other = draw(bits), draw(bits)
    return Ring(min(one, other)), Ring(max(one, other))


@settings(max_examples=200)
@given(two_rings(), st.lists(st.tuples(st.integers(0), st.integers(0)), max_size=5))
def test_the_embedding_is_a_homomorphism_with_an_inverse(
    rings: tuple[Ring, Ring], pairs: list[tuple[int, int]]
) -> None:
    small, large = rings
    x, y = (small.from_ints([pair[at] for pair in pairs]) for at in (0, 1))
    inside = embedded(x, small, large)
    factor = 1 << (large.bits - small.bits)
    assert large.to_ints(inside) == [n * factor for n in small.to_ints(x)]
    assert np.array_equal(extracted(inside, small, large), x)
    total = large.add(inside, embedded(y, small, large))
    assert np.array_equal(total, embedded(small.add(x, y), small, large))
    assert np.array_equal(extracted(total, small, large), small.add(x, y))


@dataclass(frozen=True)
class Adding:
    """Sums of the rings asked for, in which a part puts its numbers; the answer are the totals."""

    rings: tuple[Ring, ...]
    entries: int
    fails_after: int | None = None
    enough: int | None = None

    @property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(
            Sum(f"sum {n}", self.entries, ring, Fraction(1), "totals")
            for n, ring in enumerate(self.rings)
        )

    def prepare(self, rows: Any) -> Any:
        return rows

    def begin(self) -> tuple[list[int], ...]:
        return ()

    def secret(self, n: int, known: Any, part: Sequence[Sequence[int]]) -> Residues:
        return self.rings[n].from_ints(part[n])

    def learn(self, n: int, known: tuple[list[int], ...], total: Residues) -> Any:
        if n == self.fails_after:
            raise DataError("this computation has failed")
        return (*known, self.rings[n].to_ints(total))

    def answer(self, known: tuple[list[int], ...]) -> tuple[list[int], ...] | None:
        done = len(known) in (len(self.rings), self.enough)
        return known if done else None


@st.composite
def meetings(draw: st.DrawFn) -> tuple[Network, list[tuple[Adding, list[Any]]]]:
    network = draw(networks(most=4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        rings = tuple(
            Ring(b) for b in draw(st.lists(bits.filter(lambda b: b > 2), min_size=1, max_size=3))
        )
        computation = Adding(
            rings, draw(st.integers(1, 3)), enough=draw(st.sampled_from([None, 1]))
        )
        numbers = st.lists(
            st.integers(), min_size=computation.entries, max_size=computation.entries
        )
        sums = st.lists(numbers, min_size=len(rings), max_size=len(rings))
        found.append((computation, [draw(sums) for _ in network.parties]))
    return network, found


@settings(max_examples=50)
@given(meetings(), st.sampled_from(ENGINES))
def test_each_ends_as_it_would_alone(
    drawn: tuple[Network, list[tuple[Adding, list[Any]]]], engine: Any
) -> None:
    network, asked = drawn
    options = SumSettings(network, engine=engine)
    alone = [together(computation, parts, options).answer for computation, parts in asked]
    meeting = Watched(tuple((f"q{at}", computation) for at, (computation, _) in enumerate(asked)))
    parts = [
        {f"q{at}": parts[party] for at, (_, parts) in enumerate(asked)}
        for party in range(len(network))
    ]
    states = together(meeting, parts, options).answer
    assert [state.answer for state in states] == alone
    meeting.check_that_no_more_is_opened()


@dataclass(frozen=True)
class Watched(Meeting):
    """Keeps the totals that the meeting's sums opened."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "totals", [])

    def learn(self, n: int, known: Any, total: Residues) -> Any:
        self.totals.append(total)  # type: ignore[attr-defined]
        return super().learn(n, known, total)

    def check_that_no_more_is_opened(self) -> None:
        """Each entry of a total is its computation's own, modulo 2^b: below that there is zero."""
        for n, total in enumerate(self.totals):  # type: ignore[attr-defined]
            large, start = self.sums[n].ring, 0
            for _, computation in self.computations:
                if self.stages[n] in stages_of(computation):
                    own = computation.sums[stages_of(computation).index(self.stages[n])]
                    place = slice(start, start := start + own.entries)
                    multiple = 1 << (large.bits - own.ring.bits)
                    assert all(x % multiple == 0 for x in large.to_ints(total[:, place]))


def questions(limits: Any = NONE) -> dict[str, Computation[Any, Any, Any]]:
    setting = Setting(("a", "b", "c"), KNOWN, limits)

    def made(kind: str, **text: Any) -> Computation[Any, Any, Any]:
        return Question.of(kind, "q", text, KNOWN).computation(setting)

    return {
        "table": made("describe", bins=("age=0:120:60",)),
        "mean": made("average"),
        "levels": made("describe", columns=("sex",)),
    }


def rows(party: int, count: int = 12) -> dict[str, list[Any]]:
    return {"age": [20 + 9 * party + n for n in range(count)], "sex": ["f", "m"] * (count // 2)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_and_an_average_in_one_meeting(engine: Any) -> None:
    settings = SumSettings(Network.cycle(3), engine=engine)
    computations = questions(DEFAULT)
    tables = [open_source(rows(party)) for party in range(3)]
    single = [open_source({"age": [40 + party]}) for party in range(3)]
    alone = {
        name: together(c, [c.prepare(s) for s in (single if name == "mean" else tables)], settings)
        for name, c in computations.items()
    }
    meeting = Watched(tuple(computations.items()))
    assert [sum_.entries for sum_ in meeting.sums] == [(1 + 3 + 3 + 6 + 1) + (1 + 3) + 1, 2 + 1 + 1]
    assert [sum_.ring.bits for sum_ in meeting.sums] == [
        max(48, computations["table"].sums[0].ring.bits), computations["table"].sums[1].ring.bits,
    ]  # fmt: skip
    parts = [
        meeting.prepare({"table": tables[p], "levels": tables[p], "mean": single[p]})
        for p in range(3)
    ]
    found = together(meeting, parts, settings).answer
    for (name, _), state in zip(meeting.computations, found, strict=True):
        assert state.answer.to_state() == alone[name].answer.to_state()
    meeting.check_that_no_more_is_opened()


def test_what_a_rule_of_release_refuses_stops_the_whole_meeting() -> None:
    meeting = Meeting(tuple(questions(DEFAULT).items()))
    tables = [open_source(rows(party)) for party in range(3)]
    tables[0] = open_source(rows(0) | {"age": [119, 118] + [1] * 10})
    single = open_source({"age": [40]})
    parts = [meeting.prepare({"table": t, "levels": t, "mean": single}) for t in tables]
    with pytest.raises(ReleaseError, match="age = 60 to 120 holds for 2 rows"):
        together(meeting, parts, SumSettings(Network.cycle(3)))


def test_a_failure_is_its_own_computations() -> None:
    ring = Ring(8)
    meeting = Meeting(
        (("bad", Adding((ring, ring), 1, fails_after=0)), ("good", Adding((ring, Ring(64)), 1)))
    )
    part = {"bad": [[1], [1]], "good": [[2], [3]]}
    bad, good = together(meeting, [part] * 3, SumSettings(Network.cycle(3))).answer
    assert (bad.answer, str(bad.error)) == (None, "this computation has failed")
    assert good.answer == ([6], [9])


def test_a_total_that_no_embedded_residues_add_up_to_is_refused() -> None:
    small, large = Ring(5), Ring(70)
    inside = embedded(small.from_ints([3]), small, large)
    inside[0, 0] |= 1
    with pytest.raises(RecoveryError, match="not one of these questions"):
        extracted(inside, small, large)


def test_a_mistake_in_a_method_is_that_questions_error_without_its_words() -> None:
    class Wrong(Adding):
        def learn(self, n: int, known: Any, total: Residues) -> Any:
            raise ValueError("with something private in it")

    meeting = Meeting((("right", Adding((Ring(8),), 1)), ("wrong", Wrong((Ring(8),), 1))))
    parts = [{"right": [[1]], "wrong": [[1]]}] * 3
    found = together(meeting, parts, SumSettings(Network.cycle(3)))
    right, wrong = found.answer
    assert right.answer is not None
    assert str(wrong.error).startswith("its method failed with ValueError")
    assert "private" not in str(wrong.error)


def test_who_has_its_answer_puts_nothing_into_the_sums_that_are_left() -> None:
    early, failed = Adding((Ring(8),) * 2, 1, enough=1), Adding((Ring(8),) * 2, 1, fails_after=0)
    meeting = Meeting((("early", early), ("failed", failed), ("late", Adding((Ring(8),) * 2, 1))))
    part = {name: [[1], [7]] for name, _ in meeting.computations}
    ring, one = meeting.sums[0].ring, 1 << 40  # 1 modulo 2^8 in the ring of 48 bits
    known = meeting.learn(0, meeting.begin(), ring.from_ints([3 * one, 3 * one, 3 * one, 0]))
    assert [state.over for state in known] == [True, True, False]
    assert ring.to_ints(meeting.secret(1, known, part)) == [0, 0, 7 * one, 0]


# -- vetoes -----------------------------------------------------------------------------------


class Refusing(Adding):
    """A party whose first number in a sum is negative refuses that sum."""

    def secret(self, n: int, known: Any, part: Sequence[Sequence[int]]) -> Residues:
        if part[n][0] < 0:
            raise ReleaseError("one row of mine", rule="cells", cell="here")
        return super().secret(n, known, part)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("who", [{0}, {2}, {0, 1, 2}])
@pytest.mark.parametrize("stage", [0, 1])
def test_a_veto_stops_all_questions_and_names_nobody(
    engine: Any, who: set[int], stage: int
) -> None:
    asked = (("one", Refusing((Ring(8),) * 2, 1)), ("other", Adding((Ring(70),) * 2, 2)))
    meeting = Watched(asked)
    numbers = [[[1], [1]] for _ in range(3)]
    for party in who:
        numbers[party][stage] = [-1]
    parts = [{"one": own, "other": [[5, 6], [7, 8]]} for own in numbers]
    with pytest.raises(VetoError, match="a party refuses to go on") as caught:
        together(meeting, parts, SumSettings(Network.cycle(3), engine=engine))
    assert caught.value.refused() == {"rule": "veto", "question": None, "cell": None}
    assert "mine" not in str(caught.value)
    own = caught.value.__cause__
    assert isinstance(own, ReleaseError)
    assert (own.question, own.cell) == ("one", "here")
    totals: Any = meeting.totals  # type: ignore[attr-defined]
    assert len(totals) == stage + 1
    assert totals[-1].any(axis=0).all(), "noise in every entry"


def test_who_cannot_use_its_rows_can_still_refuse() -> None:
    meeting = Meeting((("one", Adding((Ring(8),), 1)),))
    parts: list[Any] = [{"one": [[1]]}, {"one": [[1]]}, Refused(ReleaseError("out of range"))]
    with pytest.raises(VetoError):
        together(meeting, parts, SumSettings(Network.cycle(3)))


def test_a_veto_is_never_zero_and_uniform_elsewhere() -> None:
    """All words of the noise are used as they come; a 0 for the veto is drawn again."""
    meeting = Meeting((("one", Adding((Ring(48),), 3)),))
    words = iter([5, 6, 7, 0, 0, 9])
    noise = meeting.veto(0, lambda count: np.array([next(words) for _ in range(count)], np.uint64))
    assert meeting.sums[0].ring.to_ints(noise) == [5, 6, 7, 9]
