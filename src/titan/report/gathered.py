"""What a report is made of: results, and whatever else is known of the run that gave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from titan.release.evidence import Evidence
from titan.results import Results
from titan.study import Report, Study, preflight
from titan.study.cross_check import CrossCheck, cross_check
from titan.study.identity import on_loopback
from titan.study.verified import Facts


@dataclass(frozen=True)
class PartyRun:
    """What one party kept of a run; None where it is not there."""

    folder: str
    """Its name, without the way to it, which is this machine's."""
    facts: Facts | None = None
    evidence: Evidence | None = None
    begun: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True)
class Gathered:
    """All that is known. Of a file of results, that is the results alone."""

    results: Results
    name: str
    """Of the file or folder that was given."""
    study: Study | None = None
    runs: tuple[PartyRun, ...] = ()

    @cached_property
    def report(self) -> Report | None:
        """What the study's preflight says. After the run its certificates' dates do not count."""
        if self.study is None:
            return None
        later = max(card.not_after for card in self.study.parties) + timedelta(days=1)
        return preflight.check(self.study, later)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {} if self.report is None else self.report.facts

    @property
    def title(self) -> str:
        return self.name if self.study is None else self.study.title

    @property
    def on_one_machine(self) -> bool:
        """A rehearsal: every party was on the machine itself."""
        cards = () if self.study is None else self.study.parties
        return bool(cards) and all(card.dials_only or on_loopback(card.address) for card in cards)

    @property
    def signed(self) -> tuple[Facts, ...]:
        """The transcripts that are there, their signatures checked."""
        return tuple(run.facts for run in self.runs if run.facts is not None)

    @cached_property
    def crossed(self) -> CrossCheck | None:
        """Several parties' transcripts, held against each other."""
        return cross_check(self.signed) if len(self.signed) > 1 else None

    @property
    def sums(self) -> int | None:
        """How many sums were made; None where nobody signed that."""
        return len(self.signed[0].transcript.sums) if self.signed else None

    @property
    def parties(self) -> tuple[str, ...]:
        if self.study is not None:
            return self.study.network.parties
        return self.results.parties or ()
