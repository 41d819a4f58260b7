"""Which run it is, and how far it is: the study, its number, a random number of every party."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from titan.listing import listing
from titan.network import Network
from titan.party.messages import most_bytes
from titan.protocol import Plan
from titan.protocol.messages import HEADER_BYTES
from titan.study.certificates import SIGNATURE_BYTES

CONNECTING = "connecting"
MAIN_TASK = "titan join"
"""The task that takes part; to cancel it ends the run here in good order."""
DOES_NOT_TAKE_PART = "does not take part"
ANOTHER_STUDY = "another study, or another version of this study"
OTHERS_WAIT = "; the others wait for you"
"""At the end of a hint: what is wrong was told to nobody, and can be mended."""
OTHERS_MAY_HAVE_ANSWER = (
    "others may have the answer of this run: ask them for result.json; if nobody has it, agree on "
    "run {next}"
)
"""In a hint: what ends the run here came when it may have been over for others."""
MOST_ANSWER = 1 << 26  # bytes
_OVERHEAD = 256  # heads
_NAMED = 4  # parties that are named; of more the number is told


@dataclass(frozen=True)
class Run:
    """Which run of which study this is, and as whom."""

    study: bytes  # its digest
    number: int
    network: Network
    party: int
    nonce: bytes = field(repr=False)
    solver: int | None = None

    @property
    def context(self) -> bytes:
        return self.study + self.number.to_bytes(4, "little")

    @property
    def name(self) -> str:
        return self.network.parties[self.party]

    @property
    def senders(self) -> list[str]:
        return [self.network.parties[p] for p in self.network.in_neighbours(self.party)]

    @property
    def receivers(self) -> list[str]:
        return [self.network.parties[p] for p in self.network.out_neighbours(self.party)]

    def most_messages(self, plans: Sequence[Plan]) -> dict[str, int]:
        """Sender → the most messages that it has for this party in a whole run.

        Those of the sums as planned; of every party a nonce and a digest; an answer and an end.
        """
        planned = Counter(
            self.network.parties[sender]
            for plan in plans
            for round_ in range(plan.last_round + 1)
            for sender, _ in plan.senders(self.party, round_)
        )
        told = 2 * len(self.network) + 2
        return {name: planned[name] + told for name in self.senders}

    def largest_messages(self, plans: Sequence[Plan]) -> dict[int, int]:
        """How long a message of this run can be, in bytes, by its first byte."""
        sizes = [max(p.mask_bytes, p.scheme.largest_payload) + HEADER_BYTES for p in plans]
        in_sums = max(sizes) + len(self.network) * SIGNATURE_BYTES + _OVERHEAD
        answer = MOST_ANSWER if self.solver is not None else 0
        return most_bytes(len(self.network), in_sums=in_sums, answer=answer)


def run_identity(context: bytes, nonces: Iterable[bytes]) -> bytes:
    """Which run this is: that of these nonces, in the order of the parties, and of no others."""
    return hashlib.sha256(b"titan run\n" + context + b"".join(nonces)).digest()


@dataclass(frozen=True)
class RunProgress:
    """How far it is, in words: "recovery, round 7 of 12, waiting for east"."""

    phase: str
    waiting: Sequence[str] = ()
    sum: int = 0
    """Which of `sums` it is, from 1; none of them, if these are 0."""
    sums: int = 0
    here: Sequence[str] = ()
    """Who has come, this party among them, and has not gone since, as far as is known here."""
    bytes_written: int = 0
    """To all links so far."""

    @classmethod
    def in_sum(cls, number: int, sums: int, step: str, waiting: Sequence[str]) -> RunProgress:
        which = f"sum {number + 1} of {sums}: " if sums > 1 else ""
        return cls(which + step, waiting, number + 1, sums)

    def __str__(self) -> str:
        waiting = f", waiting for {listing(self.waiting, _NAMED)}" if self.waiting else ""
        return self.phase + waiting
