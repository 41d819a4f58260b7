"""What a journal knows of its run, and what is said of one that cannot go on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from titan.errors import DamagedError, DataError, InputError, PeerError, RecoveryError


def lost_journal(peer: str, run: int) -> PeerError:
    return PeerError(
        f"{peer} lost its journal; agree on run {run + 1}",
        named=[peer],
        hint=f"going on would pair old masks with new ones and expose {peer}",
    )


def cannot_go_on(party: str, run: int) -> PeerError:
    return PeerError(
        f"{party} cannot go on with this run: its journal is lost, damaged, or was put back to an "
        "earlier state",
        named=[party],
        hint=f"there is no answer here: agree on run {run + 1}",
    )


def journal_put_back(party: str, run: int) -> PeerError:
    return PeerError(
        f"the journal of {party} was put back to an earlier state: restored from a backup?",
        named=[party],
        hint=f"{party} cannot go on with this run, and there is no answer here: agree on run "
        f"{run + 1}",
    )


def without_key(journal: Path, key: Path, run: int) -> DamagedError:
    return DamagedError(
        f'the journal "{journal}" cannot go on with its run: the key of its secrets, "{key}", is '
        "missing, damaged or that of another journal",
        hint="titan join tells the others, titan runs clean gives the run up; then agree with them "
        f"on run {run + 1}",
    )


def data_changed(run: int) -> DataError:
    return DataError(
        "the data changed since the run began",
        hint=f"give the same data as before, or agree with the others on run {run + 1}",
    )


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
    software: str = ""
    """The version of titan that began the run."""
    put_back: str | None = None
    """Where this journal was put back to an earlier state: how that was found out."""

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def written(self) -> str:
        return written(self.result or b"", self.transcript or b"")

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
                hint=f"resume it with the version of titan that began it, {self.software}",
            )


def written(result: bytes, transcript: bytes) -> str:
    """A digest that tells whether both are still what was written down."""
    parts = (len(part).to_bytes(8, "little") + part for part in (result, transcript))
    return hashlib.sha256(b"".join(parts)).hexdigest()


class SaidBeforeError(RecoveryError):
    """A number stands for another message already, which this party has said or may have."""

    def __init__(self, number: int, peer: str, software: str) -> None:
        self.software = software
        """The version that said it."""
        super().__init__(
            f"message {number} for {peer} is not what it was before the restart; nothing is sent",
            hint=f"resume with the version of titan that began the run, {software}",
        )
