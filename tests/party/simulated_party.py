"""One simulated party while it lives: what `titan join` holds in memory, without the sockets."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

import titan
from tests.party.given_sums import send, task
from titan import Network
from titan.errors import DataError
from titan.party.connecting import Handshake
from titan.party.durable_session import Arrival, DurableSession
from titan.party.finished_run import FinishedRun
from titan.party.run import Run
from titan.party.session import Session
from titan.protocol import Plan
from titan.ring import Residues
from titan.study.database import Database
from titan.study.journal import Journal, RunState

STUDY = hashlib.sha256(b"a simulated study").digest()
ANSWER = b"what the solver found"
_PAGE = 4096


class KilledError(Exception):
    """The process ends here, whatever it was doing."""


@dataclass(frozen=True)
class Vectors:
    """A job: some residues for every sum."""

    plans: Sequence[Plan]
    secrets: Sequence[Residues] = field(repr=False)
    stops_at: int = -1
    """A sum before which all parties find that they must not go on."""

    def secret(self, number: int, totals: Sequence[Residues]) -> Residues:
        assert len(totals) == number
        if number == self.stops_at:
            raise DataError("too few rows in all")
        return self.secrets[number]


@dataclass(frozen=True)
class KeyedSigner:
    """In place of ECDSA, which would take most of the time: a code of 64 bytes."""

    party: int

    def sign(self, data: bytes) -> bytes:
        return _code(self.party, data)

    def signed_by(self, party: int, signature: bytes, data: bytes) -> bool:
        return signature == _code(party, data)


def _code(party: int, data: bytes) -> bytes:
    return hmac.digest(b"party %d" % party, data, "sha512")


def _with_some_pages(rng: Random, there: bytes, written: bytes) -> bytes:
    """Of a file whose beginning is on the disk: what may be left of it. Lost pages read as zeros,
    if the file's length is that of a time after them."""
    left = bytearray(written[: rng.choice([len(there), rng.randint(len(there), len(written))])])
    lost = rng.choice([0.0, 0.5, 1.0])
    for at in range(0, len(left), _PAGE):
        if at >= len(there) and rng.random() < lost:
            left[at : at + _PAGE] = bytes(len(left[at : at + _PAGE]))
    return bytes(left)


@dataclass(frozen=True)
class Place:
    """What a party is started with, each time."""

    party: int
    network: Network
    job: Vectors
    solver: int | None
    folder: Path
    deferred: bool = False

    @property
    def name(self) -> str:
        return self.network.parties[self.party]


class Process:
    """Made from its journal, as after every start; `open_journal` may have it killed at once."""

    def __init__(self, place: Place, rng: Random, arm: Callable[[Journal], None]) -> None:
        self.place = place
        self.name = place.name
        self.arrivals: list[Arrival] = []
        self.session: Session | None = None
        self.journal = Journal.open(place.folder / f"{self.name}.db")
        try:
            self.journal._do("PRAGMA synchronous = OFF")  # a killed process loses no page
            self.journal.sync = self._sync  # type: ignore[method-assign]
            self.journal.sync_rows = self._sync_rows  # type: ignore[method-assign]
            arm(self.journal)
            state = self._begin(rng)
            self.durable = self._durable(state)
        except BaseException:
            self.die()
            raise

    def _begin(self, rng: Random) -> RunState:
        sums = len(self.place.job.plans)
        return self.journal.begin(
            study=STUDY.hex(),
            run=1,
            party=self.name,
            parties=self.place.network.parties,
            nonce=rng.randbytes(32),
            keys=[rng.randbytes(32) for _ in range(sums)],
            data_digest=self.journal.keyed_digest([b"the same data"]),
            software=titan.__version__,
        )

    def _durable(self, state: RunState) -> DurableSession:
        place = self.place
        run = Run(STUDY, 1, place.network, place.party, state.nonce, place.solver)
        self.handshake = Handshake(run, "one plan")
        if state.erased:
            return DurableSession(FinishedRun(run, place.job.plans, self.journal), self.journal)
        self.session = Session(run, task(place.job), state.keys, KeyedSigner(place.party))
        return DurableSession(self.session, self.journal, deferred=place.deferred)

    def die(self) -> None:
        """What SIGKILL does: nothing is flushed, and the system lets the file go."""
        Database.close(self.journal)

    def _sync(self) -> None:
        """What the disk has from now on is a copy: the files themselves survive every kill."""
        with patch("os.fsync", self._fsync):
            self.journal._vectors.sync()
        self._sync_rows()

    def _fsync(self, _: int) -> None:
        self._sync_files(self._files()[2:])

    def _sync_rows(self) -> None:
        self._sync_files(self._files()[:2])

    def _sync_files(self, files: list[Path]) -> None:
        for file in files:
            disk = self._on_disk(file)
            disk.parent.mkdir(exist_ok=True)
            disk.write_bytes(file.read_bytes() if file.exists() else b"")

    def lose_power(self, *, rows_are_there: bool, rng: Random | None = None) -> None:
        """All that is left is what the disk has; rows may have reached it without their vectors,
        or with some pages of them."""
        self.die()
        *rows, vectors = self._files()
        for file in [] if rows_are_there else rows:
            file.write_bytes(self._on_disk(file).read_bytes())
        if vectors.exists():
            disk = self._on_disk(vectors)
            there = disk.read_bytes() if disk.exists() else b""
            written = vectors.read_bytes()
            vectors.write_bytes(there if rng is None else _with_some_pages(rng, there, written))

    def _files(self) -> list[Path]:
        return [Path(f"{self.journal.path}{end}") for end in ("", "-wal", "-vectors")]

    @staticmethod
    def _on_disk(file: Path) -> Path:
        return file.parent / "disk" / file.name

    @property
    def complete(self) -> bool:
        return self.session is not None and self.session.complete

    @property
    def stopped(self) -> bool:
        """And nobody needs a mask of it any more."""
        owed = any(frame.secret for frame in self.durable.unacknowledged())
        return self.session is not None and self.session.stopped is not None and not owed

    @property
    def concluded(self) -> bool:
        return self.session is None

    @property
    def needed(self) -> bool:
        """Somebody may still want something from here."""
        return not self.concluded or bool(self.durable.needed())

    def conclude(self, perhaps_killed: Callable[[], None]) -> None:
        """The end of a run step by step, as `titan join` takes the steps."""
        session = self.session
        assert session is not None
        assert session.agreed is not None
        perhaps_killed()
        self.journal.agree(session.agreed)
        self.journal.finish(session.agreed.encode(), b"a transcript")
        self.journal.sync()
        perhaps_killed()
        if self.place.solver == self.place.party:
            send(self.durable, session.tell_answer(ANSWER))
            perhaps_killed()
        self.durable.masks_arrived(everywhere=True)
        self._forget(perhaps_killed)

    def give_up(self, perhaps_killed: Callable[[], None]) -> None:
        """The end of a run that stopped, likewise."""
        session = self.session
        assert session is not None
        self.journal.finish(str(session.stopped).encode(), b"")
        perhaps_killed()
        self._forget(perhaps_killed)

    def _forget(self, perhaps_killed: Callable[[], None]) -> None:
        perhaps_killed()
        self.journal.erase_secrets(self.durable.unacknowledged())
        self.journal.sync()  # SQLite did, at its checkpoints
        perhaps_killed()
        self.session = None
