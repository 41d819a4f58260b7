"""What left this machine in a run, from the journal or the transcript that was kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from textwrap import fill
from typing import Any

from titan.errors import DamagedError, FileError
from titan.files import attempt
from titan.listing import WIDE
from titan.protocol.messages import HEADER_BYTES, Kind
from titan.release.policy import counted
from titan.replacing import SQLITE
from titan.results.result_file import NAME as RESULT
from titan.study.certificates import SIGNATURE_BYTES
from titan.study.database import damaged
from titan.study.journal import Journal
from titan.study.kinds import MASK, Message
from titan.study.verified import verify

_HEAD_BYTES = 2  # kind and sum, before the envelope
_FIXED = _HEAD_BYTES + HEADER_BYTES + 4  # and how many vectors there are
# In a run's folder.
JOURNAL, TRANSCRIPT, STATUS = "journal.db", "transcript.json", "status.json"
STUDY = "study.toml"
NOTHING_ELSE = (
    "nothing else left this machine in this run: every message is written down before it leaves. "
    "Until it is acknowledged a message may leave again, byte for byte. Not counted: the "
    "connections' own bytes (TLS with this party's certificate; greetings with the study, run, "
    "names, nonce and plan; reasons for refusing; acknowledgements by number)."
)


@dataclass(frozen=True)
class Audit:
    """Every message of a run that left this machine, in the order of the protocol's steps."""

    study: str
    run: int
    party: str
    sent: tuple[Message, ...]
    finished: bool

    @property
    def bytes_sent(self) -> int:
        return sum(m.size for m in self.sent)

    @property
    def bytes_in_sums(self) -> int:
        """Those of the sums' encoded envelopes: what `titan study check` foretells."""
        inside = [m for m in self.sent if m.sum is not None]
        return sum(m.size - _HEAD_BYTES for m in inside) - _signatures(inside)

    @property
    def bytes_around(self) -> int:
        """All others: nonces, agreement, answer and end, and the sums' heads and signatures."""
        return self.bytes_sent - self.bytes_in_sums

    def as_dict(self) -> dict[str, Any]:
        return {
            **{key: getattr(self, key) for key in ("study", "run", "party", "finished")},
            "sent": [
                {"to": m.receiver, "sum": m.sum, "round": m.round, "kind": m.kind, "size": m.size}
                for m in self.sent
            ],
            "messages": len(self.sent),
            "bytes": self.bytes_sent,
            "bytes_in_sums": self.bytes_in_sums,
            "bytes_around": self.bytes_around,
            "nothing_else": NOTHING_ELSE,
        }

    def rows(self) -> list[tuple[str, ...]]:
        """A table with a heading: link, sum, round, what, bytes."""
        table: list[tuple[str, ...]] = [("link", "sum", "round", "what", "bytes")]
        for m in self.sent:
            number = "-" if m.sum is None else str(m.sum + 1)
            link = f"{m.sender} -> {m.receiver}"
            table.append((link, number, str(m.round), m.kind.lower(), str(m.size)))
        return table

    def _messages(self) -> str:
        masks = sum(m.kind == MASK for m in self.sent)
        of = f" ({masks} of them masks)" if masks else ", none of them a mask"
        return counted(len(self.sent), "message") + (of if self.sent else "")

    def summary(self) -> str:
        state = "finished" if self.finished else "not finished: some of these may not have left yet"
        return "\n".join(
            [
                f"study {self.study[:12]}, run {self.run}, {self.party} ({state})",
                f"{self._messages()}, {self.bytes_sent} bytes:",
                f"  {self.bytes_in_sums} inside the sums, as titan study check counts them",
                f"  {self.bytes_around} around them: nonces, agreement, end, heads and signatures",
                fill(NOTHING_ELSE, WIDE),
            ]
        )


def _signatures(inside: list[Message]) -> int:
    """Bytes of the signatures behind the vectors that `flood` passes on, one for each vector.

    A message of c vectors is as long as its fixed part and c equal pieces, and a party's shortest
    one has a single vector, its own.
    """
    count = 0
    for number in {m.sum for m in inside}:
        sizes = [m.size - _FIXED for m in inside if m.sum == number and m.kind == Kind.MASKED.name]
        one = min((size for size in sizes if size > 0), default=1)
        count += sum(size // one for size in sizes)
    return SIGNATURE_BYTES * count


def _step(message: Message) -> tuple[object, ...]:
    """Nonces, the sums round by round, then what closes a run."""
    control = {"NONCE": 0, "AGREED": 2, "ANSWER": 3, "END": 4}
    at = 1 if message.sum is not None else control.get(message.kind, 4)
    return at, message.sum or 0, message.round, message.kind, message.receiver, message.size


def audit(path: str | PathLike[str]) -> Audit:
    """Read a journal (also of a run that is not finished), or a transcript after verifying it.

    Of a run's folder the journal is read, or the transcript where there is no journal.
    """
    place = _in_folder(path, (JOURNAL, TRANSCRIPT), "runs are kept beside the study, in runs/")
    with attempt("read", place), place.open("rb") as file:
        beginning = file.read(len(SQLITE))
    if beginning != SQLITE and place.name != JOURNAL:
        it = verify(place).transcript
        return Audit(it.study, it.run, it.party, tuple(sorted(it.sent, key=_step)), finished=True)
    try:
        if beginning != SQLITE:  # an empty file would become a journal
            damaged(place, Journal.what)
        with Journal.open(place) as journal:
            return of_journal(journal)
    except DamagedError as error:
        raise DamagedError(error.message, hint=_beside(place) or error.hint) from None


def _beside(journal: Path) -> str:
    """Where else it says what left, if the run has ended."""
    transcript = journal.with_name(TRANSCRIPT)
    found = transcript.is_file()
    return f"titan audit {transcript} reads the run's transcript, which says it, too" * found


def of_journal(journal: Journal) -> Audit:
    state = journal.state
    if state is None:
        raise FileError(f'the journal "{journal.path}" holds no run yet; nothing has left')
    sent = tuple(sorted((m for m in journal.messages() if m.sender == state.party), key=_step))
    return Audit(state.study, state.run, state.party, sent, state.finished)


def transcript_in(path: str | PathLike[str]) -> Path:
    """The transcript in a run's folder; a file is what it is."""
    place = Path(path)
    folder = place.parent if place.name == TRANSCRIPT else place
    if (folder / RESULT).is_file() and not (folder / TRANSCRIPT).is_file():
        raise FileError(
            f'the run in "{folder}" ended without an answer: it has no {TRANSCRIPT}, since there '
            "is nothing to sign",
            hint=f"titan show {folder} says why it ended, titan audit what left this machine",
        )
    return _in_folder(path, (TRANSCRIPT,), "a run that is not over has no transcript yet")


def _in_folder(path: str | PathLike[str], names: tuple[str, ...], hint: str) -> Path:
    """The first of these files in a folder; the path itself where it is none."""
    place = Path(path)
    found = [place / name for name in names if (place / name).is_file()]
    if place.is_dir() and not found:
        missing = " and no ".join(names)
        raise FileError(f'"{path}" is not the folder of a run: it has no {missing}', hint=hint)
    return found[0] if found else place
