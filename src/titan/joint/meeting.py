"""Several computations in one run: sums of one stage travel together.

    stage 0   counts alone
    stage 1   the regressors' Gram matrices
    stage 2   everything with an outcome in it
    stage 3   robust errors, and whatever else needs a fit

Sum n of the meeting is that of every computation which has one at the nth stage, side by side, in
the widest of their rings. A residue modulo 2^b enters the ring of 2^B as its multiple by 2^(B-b):
addition there is addition modulo 2^b, and no more than the total modulo 2^b is opened.

A computation that has its answer early, or has failed (its columns depend on each other), puts
zeros into the sums that are left. What a rule of release refuses stops the whole meeting. Where it
is a party's own rows that forbid, the party says so without a name: every sum has one more entry,
0. Whoever refuses enters uniform residues everywhere, there one that is not 0. The total is noise,
and all learn that somebody refuses, not who nor why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from titan.errors import RecoveryError, ReleaseError, TitanError, VetoError
from titan.joint.checking import check_budget, check_several
from titan.joint.computation import Computation, Sum, Words
from titan.joint.pooled_model import PooledModel
from titan.joint.rows_apart import RowsApart
from titan.moments import Source
from titan.moments.reading import Reading, read_all
from titan.moments.same_rows import SameRows
from titan.protocol.masking import fresh_key
from titan.release.budget import SHARE, Budget
from titan.release.evidence import Check
from titan.ring import Residues, Ring

Parts = Mapping[str, Any]
"""A party's part in each computation, by name."""
Beside = Callable[[Source, Sequence[str]], Sequence[Reading[Any, Any]]]
"""From a source, and the computations that read it: what else is read, one for each or none."""
APART = ""
"""Where a party's rows apart stand among its parts: no question has this name."""
VETO = "a party refuses to go on, for a reason in its rows"


@dataclass(frozen=True)
class State:
    """How far one computation of a meeting is."""

    known: Any
    sums: int = 0
    """How many of its sums are known."""
    answer: Any = None
    error: TitanError | None = None

    @property
    def over(self) -> bool:
        return self.answer is not None or self.error is not None


Known = tuple[State, ...]


@dataclass(frozen=True)
class Refused:
    """The part of a party whose rows a rule of release forbids to use: it can only veto."""

    error: ReleaseError


@dataclass(frozen=True)
class Meeting:
    """Computations by name, in order; itself a computation, whose answer is everybody's."""

    computations: tuple[tuple[str, Computation[Any, Any, Any]], ...]
    budget: Callable[[], Budget] | None = field(default=None, compare=False, repr=False)
    """What made columns of all questions together may tell, where that is limited."""
    apart: RowsApart | None = None
    """Rows that some questions use and others do not, where parties of these are counted."""
    least_bits: int = 48
    """Of a sum's ring: two vetoes cancel each other with a chance of one in 2^48."""

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """Those at which there is a sum."""
        return tuple(sorted({stage for _, c in self.computations for stage in stages_of(c)}))

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        return tuple(self._sum(n) for n in range(len(self.stages)))

    def _sum(self, n: int) -> Sum:
        """The sums of this stage, and the veto's entry."""
        sums = {self.computations[at][0]: sum_ for at, _, sum_, _ in self._places(n)}
        ring = Ring(max(self.least_bits, *(sum_.ring.bits for sum_ in sums.values())))
        units = {sum_.unit / (1 << (ring.bits - sum_.ring.bits)) for sum_ in sums.values()}
        alone, apart = len(self.computations) == 1, self._apart(n)
        opens = [s.opens if alone else f"{name}: {s.opens}" for name, s in sums.items()]
        return Sum(
            " and ".join(dict.fromkeys(sum_.name for sum_ in sums.values())),
            sum(sum_.entries for sum_ in sums.values()) + (apart.entries if apart else 0) + 1,
            ring,
            units.pop() if len(units) == 1 else Fraction(1),  # each question has its own
            "; ".join([*opens, apart.opens] if apart else opens),
        )

    def _apart(self, n: int) -> RowsApart | None:
        """Whose entries stand in the first sum, before that of the veto."""
        return self.apart if n == 0 else None

    def _places(self, n: int) -> Iterator[tuple[int, int, Sum, slice]]:
        """Which computation has which of its sums in which entries of sum n."""
        start = 0
        for at, (_, computation) in enumerate(self.computations):
            stages = stages_of(computation)
            if self.stages[n] in stages:
                number = stages.index(self.stages[n])
                sum_ = computation.sums[number]
                yield at, number, sum_, slice(start, start + sum_.entries)
                start += sum_.entries

    def computation(self, name: str) -> Computation[Any, Any, Any]:
        return dict(self.computations)[name]

    def prepare(self, rows: Source | Mapping[str, Source]) -> Parts:
        """From one source of rows for all, or from one for each by name; each is read once."""
        return self.prepare_beside(rows, lambda source, names: ())[0]

    def prepare_beside(
        self, rows: Source | Mapping[str, Source], others: Beside
    ) -> tuple[Parts, dict[str, Any]]:
        """The same; and what others read in the same pass, by the computation it is read for."""
        parts: dict[str, Any] = {}
        beside: dict[str, Any] = {}
        for given, names in self._by_source(rows).items():
            named: dict[str, Any] = {name: self.computation(name) for name in names}
            source = _checked(given, list(named.values()))
            shared = {name: c for name, c in named.items() if hasattr(c, "reading")}
            own = [computation.reading for computation in shared.values()]
            if self.apart is not None and {name for name, _ in self.apart.questions} <= set(names):
                own.append(self.apart)
            found = read_all(source, [*own, *others(source, names)])
            if self.apart in own:
                parts[APART] = found[len(shared)]
            for (name, computation), each in zip(shared.items(), found, strict=False):
                parts[name] = computation.part(each, source)
            parts |= {name: c.prepare(source) for name, c in named.items() if name not in shared}
            beside.update(zip(names, found[len(own) :], strict=False))
        if self.apart is not None:  # rows in different files are not compared
            parts.setdefault(APART, (0,) * len(self.apart.pairs))
        every = [name for name, _ in self.computations]
        return {name: parts[name] for name in [*every, *([APART] if self.apart else [])]}, beside

    def _by_source(self, rows: Source | Mapping[str, Source]) -> dict[Source, list[str]]:
        found: dict[Source, list[str]] = {}
        for name, _ in self.computations:
            source = rows[name] if isinstance(rows, Mapping) else rows
            found.setdefault(source, []).append(name)
        return found

    def begin(self) -> Known:
        return tuple(State(computation.begin()) for _, computation in self.computations)

    def secret(self, n: int, known: Known, parts: Parts | Refused) -> Residues:
        if isinstance(parts, Refused):
            raise parts.error
        if self.stages[n] == 1:
            self._check_several(known, parts)
        ring = self.sums[n].ring
        whole = ring.zeros(self.sums[n].entries)
        for at, number, sum_, place in self._places(n):
            name, computation = self.computations[at]
            if not known[at].over:
                try:
                    own = computation.secret(number, known[at].known, parts[name])
                except ReleaseError as refusal:
                    refusal.question = name
                    raise
                whole[:, place] = embedded(own, sum_.ring, ring)
        if (apart := self._apart(n)) is not None:
            whole[:, -1 - apart.entries : -1] = ring.from_ints(apart.numbers(parts[APART]))
        return whole

    def _check_several(self, known: Known, parts: Parts) -> None:
        """What several models of the same rows tell together, before the first of them leaves."""
        by_source: dict[Any, list[Any]] = {}
        for name, model, state in self._models(known):
            part = parts[name]
            by_source.setdefault(part.source, []).append((model, state.known.opened, part))
        for source, asked in by_source.items():
            beside = [
                rows
                for name, computation in self.computations
                if hasattr(computation, "beside") and parts[name].source is source
                for rows in computation.beside
            ]
            check_several(asked, beside)

    def _models(self, known: Sequence[State]) -> Iterator[tuple[str, PooledModel, State]]:
        """The models among the computations, as far as they are not over."""
        for (name, computation), state in zip(self.computations, known, strict=True):
            if isinstance(computation, PooledModel) and not state.over:
                yield name, computation, state

    def veto(self, n: int, words: Words) -> Residues:
        """Uniform residues, of which the last, that of the veto, is not 0."""
        ring, entries = self.sums[n].ring, self.sums[n].entries
        noise = ring.uniform(entries, words)
        while not noise[:, -1].any():
            noise[:, -1:] = ring.uniform(1, words)
        return noise

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        if total[:, -1].any():
            raise VetoError(
                VETO,
                hint="nobody else learns which party, nor why: let everybody look at home, mend "
                "rows or agree on coarser categories, steps or columns, and ask again as the next "
                "run; after three vetoes the same columns are not asked again on the same rows, at "
                "any party: rows that are mended at one do not count anew at the others",
                rule="veto",
            )
        states = list(known)
        for at, number, sum_, place in self._places(n):
            if not states[at].over:
                name, computation = self.computations[at]
                own = extracted(total[:, place], sum_.ring, self.sums[n].ring)
                step = partial(_learned, number, computation, states[at], own)
                states[at] = _or_failed(step, states[at], name)
        if (apart := self._apart(n)) is not None:
            apart.check(self.sums[n].ring.to_signed(total[:, -1 - apart.entries : -1]))
        if self.stages[n] == 0 and self.budget is not None:
            models = [(model, state.known.opened) for _, model, state in self._models(states)]
            check_budget(self.budget(), models)
        return tuple(states)

    def evidence(self, known: Known) -> list[Check]:
        """What all have checked so far, question by question, where a computation can tell."""
        found = [
            replace(check, question=name)
            for (name, computation), state in zip(self.computations, known, strict=True)
            if hasattr(computation, "evidence")
            for check in computation.evidence(state.known, state.sums)
        ]
        counted = any(state.sums for state in known) or None
        if self.apart is not None:
            least = self.apart.policy.parties_needed(self.apart.tau)
            found.append(Check("rows_apart", least, None, counted))
        bits = [Check("bits", float(SHARE), None, counted)] if self.budget is not None else []
        return [Check("range", None, None, counted), *found, *bits]

    def answer(self, known: Known) -> tuple[State, ...] | None:
        """Every computation's answer, or why it has none; None as long as one needs a sum."""
        pairs = list(zip((c for _, c in self.computations), known, strict=True))
        if any(not state.over and state.sums < len(c.sums) for c, state in pairs):
            return None
        names = (name for name, _ in self.computations)
        return tuple(
            _or_failed(partial(_answered, c, state), state, name)
            for name, (c, state) in zip(names, pairs, strict=True)
        )


def stages_of(computation: Computation[Any, Any, Any]) -> tuple[int, ...]:
    """At which stage each of its sums is made: one after the other, unless it says otherwise."""
    own: tuple[int, ...] | None = getattr(computation, "stages", None)
    return tuple(range(len(computation.sums))) if own is None else own


def _checked(source: Source, computations: Sequence[Any]) -> Source:
    """Where rows will be read again, every pass proves that they are the same."""
    again = [c.rows for c in computations if getattr(c, "reads_again", False)]
    if not again or isinstance(source, SameRows):
        return source
    return SameRows(source, fresh_key(), [rows.model.columns_needed for rows in again])


def _learned(
    n: int, computation: Computation[Any, Any, Any], state: State, total: Residues
) -> State:
    known = computation.learn(n, state.known, total)
    early = computation.answer(known) if n + 1 < len(computation.sums) else None
    return State(known, n + 1, early)


def _answered(computation: Computation[Any, Any, Any], state: State) -> State:
    return state if state.over else replace(state, answer=computation.answer(state.known))


def _or_failed(step: Callable[[], State], before: State, name: str) -> State:
    """A failure is its computation's own, unless a rule of release refuses."""
    try:
        return step()
    except ReleaseError as refusal:
        refusal.question = name
        raise
    except TitanError as error:
        return replace(before, error=error)
    except Exception as error:  # a mistake in a method is that question's, and looks like one
        failed = TitanError(
            f"its method failed with {type(error).__name__}",
            hint="this is a mistake in the program, the same at every party: report it",
        )
        failed.__cause__ = error
        return replace(before, error=failed)


def embedded(x: Residues, small: Ring, large: Ring) -> Residues:
    """x · 2^(B-b): the homomorphism from the integers modulo 2^b into those modulo 2^B."""
    words, bits = divmod(large.bits - small.bits, 64)
    out = large.zeros(x.shape[1])
    room = min(len(x), large.limbs - words)
    out[words : words + room] = x[:room]
    if bits:
        high = out << np.uint64(bits)
        high[1:] |= out[:-1] >> np.uint64(64 - bits)
        out = high
    return large.reduce(out)


def extracted(x: Residues, small: Ring, large: Ring) -> Residues:
    """Back again; RecoveryError for what no sum of embedded residues can be."""
    words, bits = divmod(large.bits - small.bits, 64)
    out = x[words:]
    if bits:
        low = out >> np.uint64(bits)
        low[:-1] |= out[1:] << np.uint64(64 - bits)
        out = low
    found = np.ascontiguousarray(out[: small.limbs])
    if not np.array_equal(embedded(found, small, large), x):
        raise RecoveryError("a total is not one of these questions", hint="start a new run")
    return found
