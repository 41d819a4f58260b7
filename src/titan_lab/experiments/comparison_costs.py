"""What the bench does not count by itself: bytes, and what was not run to its end.

A number is 8 bytes in a method of floats. TITAN's are counted by its plan as encoded envelopes,
headers included. Rationals and ciphertexts are taken to be as long as the longest of them, so that
theirs are upper bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from titan.network import Network
from titan_lab.compare import Case, Problem, Record
from titan_lab.compare.methods.faim import Faim
from titan_lab.compare.methods.paillier import PaillierSums
from titan_lab.compare.methods.titan_sums import Titan
from titan_lab.compare.summands import summands
from titan_lab.experiments.comparison_methods import Entry

_SHORT_KEY = 256  # bits: for counting messages, never for hiding anything


@dataclass(frozen=True)
class Bytes:
    """Of the busiest party; `at_most` where no more is known."""

    number: int
    at_most: bool = False


def bytes_sent(entry: Entry, case: Case, record: Record) -> Bytes:
    """By the busiest party, for what the record counts."""
    if issubclass(entry.method, Titan):
        return Bytes(sum(plan.cost.bytes_sent.largest for plan in entry.method(case).plans()))
    return Bytes(math.ceil(record.sent_most * record.bits / 8), at_most=record.bits > 64)


# -- methods that were not run to the end --------------------------------------------------------


def extrapolated_rounds(record: Record) -> int | None:
    """Rounds to the tolerance if the error went on falling as it did over the last half.

    None where it did not fall, fell so little that nothing can be said, or is not yet below the
    size of x*, where averages of moments do not yet fall as they will.
    """
    half = [point for point in record.trace if point.rounds >= record.rounds / 2]
    if record.status != "budget" or len(half) < 2 or record.tolerance <= 0:
        return None
    first, last = half[0], half[-1]
    if not 0 < last.error < min(1.0, 0.9 * first.error):
        return None
    rate = math.log(first.error / last.error) / (last.rounds - first.rounds)
    return last.rounds + math.ceil(math.log(last.error / record.tolerance) / rate)


@dataclass(frozen=True)
class Planned:
    """What a method that ends would cost, counted and not run."""

    rounds: int
    sent: int
    bytes: Bytes
    why: str


def planned(entry: Entry, case: Case, budget: int, most_ciphertexts: int) -> Planned | None:
    """For the two whose end is too far away; None where it is to be run."""
    d = summands(case).shape[1]
    if entry.method is Faim and Faim(case).rounds_needed > budget:
        rounds = Faim(case).rounds_needed
        sent = rounds * 2 * d * int(case.network.out_degree.max())
        why = f"{rounds:,} rounds of {2 * d:,} numbers: counted, not run"
        return Planned(rounds, sent, Bytes(8 * sent), why)
    if entry.method is PaillierSums and case.m * d > most_ciphertexts:
        rounds, sent = _paillier(case, d)
        long = Bytes(sent * 2 * PaillierSums.choices["key_bits"] // 8, at_most=True)
        return Planned(rounds, sent, long, f"{case.m * d:,} encryptions: counted, not run")
    return None


def _paillier(case: Case, d: int) -> tuple[int, int]:
    """Messages of the same code for 1 and 2 entries, with short keys: linear in the entries."""
    counted = []
    for entries in (1, 2):
        problem = Problem.averaging(np.ones((case.m, entries)))
        links = case.network.senders, case.network.receivers
        alike = Case(problem, Network.from_arrays(problem.parties, *links))
        state = PaillierSums(alike, key_bits=_SHORT_KEY)
        state.step()
        counted.append((state.cost.rounds, state.cost.sent))
    (rounds, one), (_, two) = counted
    return rounds, int((one + (d - 1) * (two - one)).max())
