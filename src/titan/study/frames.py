"""Every frame that a run received and sent, and what may be told about them afterwards.

A frame is one whole message along one link, numbered by its sender from 0. A `Message` is what
audits and transcripts show of it: link, sum, round, kind, size, and for recovery messages the
SHA-256 of the frame.
"""

# Rule 1: only recovery messages have a digest that may be shown. A neighbour of party i who knows
#         x̃_i and its own masks could test guesses of x_i against a digest of i's other masks.
# Rule 2: a number on a link stands for one frame, whoever asks and however often it comes.
# Rule 3: a kind that is not listed as public is treated like a mask: size alone, erased at the end.

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from titan.errors import InputError, MessageError, RecoveryError
from titan.protocol.messages import Kind, Payload
from titan.study.database import Database, explained

MASK = Kind.MASK.name
RECOVERY = frozenset(kind.name for kind in Kind) - {MASK}
# Who runs, the digest of the sum all parties know, the answer one party found for all, the end.
CONTROL = frozenset({"NONCE", "AGREED", "ANSWER", "END"})
PUBLIC = RECOVERY | CONTROL
UNBOUND = "NONCE"
"""All that may have left while a party's rows can still be replaced: nothing is made of them."""

_KIND = re.compile(r"[A-Z][A-Z_]{0,15}")
TABLES = """
CREATE TABLE incoming (
    place INTEGER PRIMARY KEY, peer TEXT NOT NULL, sequence INTEGER NOT NULL, sum INTEGER,
    round INTEGER NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, body BLOB,
    UNIQUE (peer, sequence));
CREATE TABLE sent (
    place INTEGER PRIMARY KEY, peer TEXT NOT NULL, sequence INTEGER NOT NULL, sum INTEGER,
    round INTEGER NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT,
    local_check BLOB, body BLOB, UNIQUE (peer, sequence));
CREATE TABLE acknowledged (peer TEXT PRIMARY KEY, up_to INTEGER NOT NULL)
"""
_FRAME = "peer, sequence, kind, body, sum, round"
_LONG = 1 << 20  # bytes
_INSERT = """
INSERT INTO incoming (peer, sequence, sum, round, kind, size, body)
VALUES (?, ?, ?, ?, ?, ?, {}) ON CONFLICT (peer, sequence) DO NOTHING
"""
_INSERT_SHORT, _INSERT_LONG = _INSERT.format("?"), _INSERT.format("zeroblob(?)")


@dataclass(frozen=True)
class Frame:
    """One message from or to `peer`; its bytes are never printed.

    `sum` counts the private sums of a run from 0, and is None outside them.
    """

    peer: str
    sequence: int
    kind: str
    body: Payload = field(repr=False)
    sum: int | None = None
    round: int = 0

    @property
    def secret(self) -> bool:
        return self.kind not in PUBLIC


@dataclass(frozen=True, order=True)
class Message:
    """What may be told about a frame that was sent or received."""

    sender: str
    receiver: str
    sum: int | None
    round: int
    kind: str
    size: int
    sha256: str | None = None

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.kind):
            raise ValueError("a kind is one word in capital letters")
        if (self.sha256 is not None) != (self.kind in RECOVERY):
            raise ValueError("recovery messages have a digest, and no other message has")


def digest(frame: Frame) -> str | None:
    """The digest that may be shown: that of a recovery message; None for every other frame."""
    return hashlib.sha256(frame.body).hexdigest() if frame.kind in RECOVERY else None


class FrameLog(Database):
    """The part of a journal that keeps frames."""

    _check_key: bytes | None
    """Of the checks that a replay sends the same bytes; None once it is erased."""
    _acknowledged: dict[str, int]
    """Not yet on disk."""

    def close(self) -> None:
        with self._lock:
            try:
                if self._acknowledged:
                    with self.batch():
                        pass  # takes them along
            finally:
                super().close()

    def _commit(self) -> None:
        for item in self._acknowledged.items():
            self._do("INSERT OR REPLACE INTO acknowledged VALUES (?, ?)", *item)
        super()._commit()
        self._acknowledged.clear()

    # -- received -----------------------------------------------------------------------------

    def record_incoming(self, frame: Frame) -> bool:
        """Write a frame down; acknowledged it may be after the next `sync`. False for a repeat.

        MessageError if its number was used before for other bytes. Of an erased mask only the
        size is known, and a repeat is told by that.
        """
        with self.batch():
            if self._insert_incoming(frame):
                return True
            known = self._one(
                "SELECT kind, sum, round, size, body IS NULL OR body = ? FROM incoming "
                "WHERE peer = ? AND sequence = ?",
                frame.body, frame.peer, frame.sequence,
            )  # fmt: skip
        if known != (frame.kind, frame.sum, frame.round, len(frame.body), 1):
            raise MessageError(
                f"{frame.peer} sent message {frame.sequence} twice, with different contents"
            )
        return False

    def _insert_incoming(self, frame: Frame) -> bool:
        """False if its number is taken.

        A long body is written into its place: bound as a value it would be copied twice.
        """
        size = len(frame.body)
        long = size > _LONG
        done = self._connection.execute(
            _INSERT_LONG if long else _INSERT_SHORT,
            (
                frame.peer, frame.sequence, frame.sum, frame.round, frame.kind, size,
                size if long else frame.body,
            ),
        )  # fmt: skip
        if not done.rowcount:
            return False
        if long:
            assert done.lastrowid is not None  # noqa: S101 - inserted just now
            with self._connection.blobopen("incoming", "body", done.lastrowid) as blob:
                blob.write(frame.body)
        return True

    def incoming(self) -> Iterator[Frame]:
        """Every frame recorded, in order, one at a time in memory; erased masks are left out."""
        return self._frames("incoming")

    def received_from(self, peer: str) -> int:
        """The number after the last frame recorded from `peer`, erased ones included; 0 if none."""
        (last,) = self._one("SELECT MAX(sequence) FROM incoming WHERE peer = ?", peer)
        return 0 if last is None else int(last) + 1

    def _frames(self, table: str) -> Iterator[Frame]:
        place = -1
        query = (
            f"SELECT place, {_FRAME} FROM {table} "  # noqa: S608 - two constants of this file
            "WHERE place > ? AND body IS NOT NULL ORDER BY place LIMIT 1"
        )
        while row := self._one(query, place):
            place = row[0]
            yield Frame(*row[1:])

    # -- sent ---------------------------------------------------------------------------------

    def sending(self, frame: Frame) -> None:
        """Note a frame before it leaves. After a restart it must be the same bytes again.

        RecoveryError if it is not: whoever has seen masks must not be shown others. Call it in one
        batch with the incoming frames it follows from.
        """
        with self.batch():
            key = self._check_key
            if key is None and frame.secret:
                raise RecoveryError("the run is over and its masks are erased; none can be sent")
            shown = digest(frame)
            check = None if shown or key is None else hmac.digest(key, frame.body, "sha256")
            now = (frame.kind, frame.sum, frame.round, len(frame.body), shown, check)
            done = self._connection.execute(
                "INSERT INTO sent (kind, sum, round, size, sha256, local_check, peer, sequence)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (peer, sequence) DO NOTHING",
                (*now, frame.peer, frame.sequence),
            )
            if done.rowcount:
                return
            known = self._one(
                "SELECT kind, sum, round, size, sha256, local_check FROM sent "
                "WHERE peer = ? AND sequence = ?",
                frame.peer, frame.sequence,
            )  # fmt: skip
            if known[:5] != now[:5] or (key is not None and known[5] != check):
                raise RecoveryError(
                    f"message {frame.sequence} for {frame.peer} is not what it was before the "
                    "restart; nothing is sent",
                    hint="resume with the version of titan that began the run",
                )

    def acknowledged(self, peer: str, sequence: int) -> None:
        """`peer` has written down all frames up to this number. Stored with the next batch."""
        with self._lock:
            self._acknowledged[peer] = max(sequence, self.acknowledged_by(peer))

    def acknowledged_by(self, peer: str) -> int:
        """The last frame that `peer` has acknowledged, with all before it; -1 if none."""
        with self._lock:
            if peer in self._acknowledged:
                return self._acknowledged[peer]
            row = self._one("SELECT up_to FROM acknowledged WHERE peer = ?", peer)
            return -1 if row is None else int(row[0])

    def messages(self) -> list[Message]:
        """What may be told about everything sent and received so far, in a fixed order."""
        (own,) = self._one("SELECT party FROM journal")
        told = [
            Message(own, *facts)
            for facts in self._all("SELECT peer, sum, round, kind, size, sha256 FROM sent")
        ]
        with self._lock, explained(self.path, self.what):
            told += [  # one by one: together the frames may not fit into memory
                Message(peer, own, sum_, round_, kind, size, digest(Frame(peer, 0, kind, body)))
                for peer, sum_, round_, kind, size, body in self._connection.execute(
                    "SELECT peer, sum, round, kind, size, body FROM incoming"
                )
            ]
        return sorted(told, key=_order)

    def _keep(self, frame: Frame) -> None:
        if frame.secret:
            raise InputError(
                f"{frame.peer} has not acknowledged a mask yet", hint="wait for it, then erase"
            )
        self.sending(frame)
        self._do(
            "UPDATE sent SET body = ? WHERE peer = ? AND sequence = ?",
            frame.body, frame.peer, frame.sequence,
        )  # fmt: skip

    def served(self) -> Iterator[Frame]:
        """The own frames kept by `erase_secrets` that are still not acknowledged, in order."""
        for frame in self._frames("sent"):
            if frame.sequence > self.acknowledged_by(frame.peer):
                yield frame


def _order(message: Message) -> tuple[object, ...]:
    sum_ = -1 if message.sum is None else message.sum
    return sum_, message.sender, message.receiver, message.round, message.kind, message.size
