"""A joint computation: what parties compute together, as a fold over private sums.

    part ──► secret ──► (one private sum) ──► total ──► learn ──► known ──► answer
    rows     of sum n    of all parties                           public    or the next sum

A method says which sums there can be and what each opens; what a party puts into sum n, given what
is known so far; what everybody learns from its total; and when there is an answer. It is written
once. Arrays in one process, agents in one process and parties on a real network all drive the same
object, and a party that was killed goes through the same fold again.
"""

# Rule 1: only `prepare` and `secret` see rows. All else is public, and the same at every party.
# Rule 2: `learn` and `answer` depend on totals alone, not on the machine: what floats estimate is
#         rounded to a public grid.
# Rule 3: an error raised by `learn` or `answer` is everybody's: it stops all parties alike.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from titan.errors import ReleaseError, TitanError
from titan.ring import Residues, Ring

Part = TypeVar("Part")
Known = TypeVar("Known")
Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)
Words = Callable[[int], Residues]
"""So many uniform 64-bit words."""


@dataclass(frozen=True)
class Sum:
    """One private sum, as everybody knows it beforehand."""

    name: str
    entries: int
    """How many numbers each party puts in, the carried 1 not counted."""
    ring: Ring
    unit: Fraction
    """What 1 stands for; where entries have units of their own, or scales found on the way, the
    part of those that 1 stands for."""
    opens: str
    """What its total tells everybody, in words."""


def bits_of(sums: Sequence[Sum]) -> int:
    """The most that totals can tell: the bits of their rings."""
    return sum(each.entries * each.ring.bits for each in sums)


class Computation(Protocol[Part, Known, Answer_co]):
    """A method; see this module's docstring."""

    @property
    def sums(self) -> Sequence[Sum]:
        """The sums there can be at most, in order. An answer may come before the last."""
        ...

    def prepare(self, rows: Any) -> Part:
        """All that a party's rows contribute: one pass over a `titan.moments.Source`."""
        ...

    def begin(self) -> Known:
        """What is known before the first sum."""
        ...

    def secret(self, n: int, known: Known, part: Part) -> Residues:
        """What a party puts into sum `n`, (limbs, entries). Refusing by raising concerns it alone.

        A mistake in its own rows it must find in sum 0, before anything leaves its machine. What a
        rule of release forbids (ReleaseError) it may find in any: see `Vetoable`. What else goes
        wrong after the first sum (rows that changed meanwhile) is a veto too.
        """
        ...

    def learn(self, n: int, known: Known, total: Residues) -> Known:
        """What is known after sum `n`; an error stops everybody alike."""
        ...

    def answer(self, known: Known) -> Answer_co | None:
        """The answer; None as long as it needs another sum."""
        ...


@runtime_checkable
class Vetoable(Protocol):
    """A computation whose parties can refuse between the sums without telling who refuses."""

    def veto(self, n: int, words: Words) -> Residues:
        """What a party that refuses puts into sum `n`: noise, which `learn` knows as a veto."""
        ...


class Fold(Generic[Part, Known, Answer]):
    """A computation as far as its totals have come in."""

    def __init__(self, computation: Computation[Part, Known, Answer]) -> None:
        self.computation = computation
        self.number = 0
        """Of the sum that comes next."""
        self.known = computation.begin()
        self.refusal: ReleaseError | None = None
        """Why this party entered a veto, for its own eyes."""
        self._refused_in: int | None = None
        self._sums = len(computation.sums)
        self._early: Answer | None = None

    def secret(self, part: Part, noise: Words | None = None) -> Residues:
        """What a party puts into the next sum; with a source of noise, that may be a veto.

        A veto stands in the sums after it: if they come, whoever told the total took it out.
        """
        if self._refused_in is not None and self._refused_in < self.number and noise is not None:
            assert isinstance(self.computation, Vetoable)  # noqa: S101 - it was
            return self.computation.veto(self.number, noise)
        try:
            return self.computation.secret(self.number, self.known, part)
        except Exception as error:
            if noise is None or not isinstance(self.computation, Vetoable):
                raise
            if not isinstance(error, ReleaseError) and self.number == 0:
                raise  # nothing has left: the same run can be joined with rows that were mended
            if isinstance(error, TitanError) and error.of_totals:
                raise  # by everybody, and all may know it
            self.refusal, self._refused_in = _as_refusal(error), self.number
            return self.computation.veto(self.number, noise)

    def learn(self, total: Residues) -> None:
        """Take the next total; an answer is looked for, unless it needs no further sum anyway."""
        self.known = self.computation.learn(self.number, self.known, total)
        self.number += 1
        if not self.exhausted:
            self._early = self.computation.answer(self.known)

    @property
    def exhausted(self) -> bool:
        """No sum is left."""
        return self.number == self._sums

    @property
    def over(self) -> bool:
        """No further sum is needed."""
        return self.exhausted or self._early is not None

    def answer(self) -> Answer:
        """The answer, once the fold is over; it may take a while."""
        found = self._early if self._early is not None else self.computation.answer(self.known)
        if found is None:
            raise RuntimeError("the computation has no answer after its last sum")
        return found


def _as_refusal(error: Exception) -> ReleaseError:
    """Whatever keeps one party from going on: the others must not wait for it, nor learn which."""
    if isinstance(error, ReleaseError):
        return error
    if isinstance(error, TitanError):
        refusal = ReleaseError(error.message, hint=error.hint, rule="data")
    else:
        refusal = ReleaseError(
            f"a look at the own rows failed with {type(error).__name__}",
            hint="this is a mistake in the program, or of the machine: report it",
            rule="program",
        )
    refusal.__cause__ = error
    return refusal
