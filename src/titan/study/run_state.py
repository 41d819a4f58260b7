"""What a journal knows of its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from titan.errors import InputError


@dataclass(frozen=True)
class RunState:
    """What is known of the run; its keys are gone (an empty tuple) once secrets are erased."""

    study: str
    run: int
    party: str
    parties: tuple[str, ...]
    nonce: bytes
    keys: tuple[bytes, ...] = field(repr=False)
    nonces: Mapping[str, bytes]
    agreed: str | None
    result: bytes | None = field(repr=False)
    transcript: bytes | None = field(repr=False)
    erased: bool

    @property
    def finished(self) -> bool:
        return self.result is not None

    def refuse_another(
        self, study: str, run: int, party: str, parties: tuple[str, ...], sums: int
    ) -> None:
        """InputError unless it is this run that is meant."""
        if (self.study, self.party, self.parties) != (study, party, parties):
            raise InputError(
                f"the journal belongs to study {self.study[:12]} as {self.party!r}, "
                f"not to study {study[:12]} as {party!r}",
                hint="each study and party has a journal of its own; has the study been edited?",
            )
        if self.run != run:
            raise InputError(
                f"the journal belongs to run {self.run}, not to run {run}",
                hint="each run has a journal of its own",
            )
        if not self.erased and len(self.keys) != sums:
            raise InputError(
                f"the run was begun with {len(self.keys)} sums, not {sums}",
                hint="resume it with the version of titan that began it",
            )
