"""Every frame that a run received and sent, and what may be told about them afterwards.

A frame is one whole message along one link, numbered by its sender from 0. What audits and
transcripts show of it is a `Message`.
"""

# Rule 1: only recovery messages have a digest that may be shown. A neighbour of party i who knows
#         x̃_i and its own masks could test guesses of x_i against a digest of i's other masks.
# Rule 2: a number on a link stands for one frame, whoever asks and however often it comes.
# Rule 3: a kind that is not listed as public is treated like a mask: size alone, erased at the end.
# Rule 4: others wait for a message, and nobody for its digest until the run is over: that of a long
#         one comes later. Till then its row has a check under the run's key, as a mask's has.

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from titan.errors import DamagedError, MessageError, RecoveryError
from titan.protocol.messages import Payload
from titan.study.database import Database, as_written, explained
from titan.study.kinds import PUBLIC, RECOVERY, WORK, Message
from titan.study.run_key import RunKey
from titan.study.run_state import SaidBeforeError
from titan.study.shown_digests import shown_digest
from titan.study.vectors import Vectors

TABLES = """
CREATE TABLE incoming (
    place INTEGER PRIMARY KEY, peer TEXT NOT NULL, sequence INTEGER NOT NULL, sum INTEGER,
    round INTEGER NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, tag BLOB, body BLOB,
    UNIQUE (peer, sequence));
CREATE TABLE sent (
    place INTEGER PRIMARY KEY, peer TEXT NOT NULL, sequence INTEGER NOT NULL, sum INTEGER,
    round INTEGER NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT,
    local_check BLOB, body BLOB, UNIQUE (peer, sequence));
CREATE TABLE acknowledged (peer TEXT PRIMARY KEY, up_to INTEGER NOT NULL)
"""
_FRAME = "peer, sequence, kind, body, sum, round"
_LONG = 1 << 13  # bytes; what is longer is among the vectors, and its row says where
_SLOW = 1 << 16  # bytes; of what is longer, a digest takes a while
_MOST_UNDIGESTED = 1 << 25  # bytes of messages that are kept until their digests are made
_TAG = {"incoming": "tag", "sent": "NULL"}
Where = str | int | None


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
    of_vectors: bytes = field(default=b"", repr=False, compare=False)
    """The digests of the vectors in it, where whoever made it knows them."""

    @property
    def secret(self) -> bool:
        return self.kind not in PUBLIC


def digest(frame: Frame) -> str | None:
    """The digest that may be shown: that of a recovery message; None for every other frame."""
    if frame.kind not in RECOVERY:
        return None
    return shown_digest(frame.kind, frame.body, frame.of_vectors)


class FrameLog(Database):
    """The part of a journal that keeps frames."""

    _key: RunKey | None
    """Of what is secret, and of checks that a replay sends the same bytes; None once erased."""
    _acknowledged: dict[str, int]  # not yet on disk
    _undigested: deque[Frame]  # long ones that were sent, without their digests yet
    _undigested_bytes: int
    _whose: tuple[str, int, str] | None = None
    """Which run of whom this is, once it has begun."""

    @cached_property
    def _vectors(self) -> Vectors:
        return Vectors(self.path.with_name(f"{self.path.name}-vectors"))

    def close(self) -> None:
        with self._lock:
            try:
                self._keep_acknowledged()
                with suppress(OSError):  # what is not written comes again
                    self._vectors.write()
            finally:
                super().close()

    def _sync_beside(self) -> None:
        self._vectors.sync()

    def _close_log(self, why: str) -> None:
        super()._close_log(why)
        self._vectors.close(why)

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
            *known, body = self._one(
                "SELECT kind, sum, round, size, body FROM incoming "
                "WHERE peer = ? AND sequence = ?",
                frame.peer, frame.sequence,
            )  # fmt: skip
            old = Frame(frame.peer, frame.sequence, known[0], b"", known[1], known[2])
            body = self._content(body, old)
        same = body is None or body == frame.body
        if known != [frame.kind, frame.sum, frame.round, len(frame.body)] or not same:
            raise MessageError(
                f"{frame.peer} sent message {frame.sequence} twice, with different contents"
            )
        return False

    def _insert_incoming(self, frame: Frame) -> bool:
        """False if its number is taken."""
        place, tag = _place_of(frame), None
        body = self._sealed(frame.body, *place) if frame.secret else frame.body
        if self._key is not None and not frame.secret:
            tag = self._key.tag(frame.body, self._place(place))
        long = body if body is not None and len(body) > _LONG else b""
        done = self._connection.execute(
            "INSERT INTO incoming (peer, sequence, sum, round, kind, size, tag, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (peer, sequence) DO NOTHING",
            (
                frame.peer, frame.sequence, frame.sum, frame.round, frame.kind, len(frame.body),
                tag, self._vectors.end if long else body,
            ),
        )  # fmt: skip
        if long and done.rowcount:
            self._vectors.append(long)
        return bool(done.rowcount)

    # -- sealed -------------------------------------------------------------------------------

    def _sealed(self, content: Payload, *place: Where) -> Payload | None:
        """None once secrets are erased: no further one is kept."""
        return None if self._key is None else self._key.seal(content, self._place(place))

    def _opened(self, sealed: bytes, *place: Where) -> bytes:
        key = self._key if isinstance(sealed, bytes) else None
        content = None if key is None else key.open(sealed, self._place(place))
        if content is None:
            raise self._damaged(place)
        return content

    def _damaged(self, place: tuple[Where, ...]) -> DamagedError:
        what = " ".join(str(word) for word in place[:3])
        return DamagedError(
            f'the journal "{self.path}" is damaged: {what} is not what was written down',
            hint="this run cannot go on: agree with the others on the next one",
        )

    def check_whole(self) -> None:
        """DamagedError if something is missing among what was received."""
        count, last = self._one("SELECT COUNT(*), MAX(place) FROM incoming")
        if count != (last or 0):
            raise self._damaged(("incoming",))

    def _content(self, body: bytes | int | None, frame: Frame) -> bytes | None:
        """What a row stands for: its body may be among the vectors, or sealed, or erased."""
        if isinstance(body, int):
            body = self._vectors.read(body) or b""
            if not body:
                raise self._damaged(_place_of(frame))
        if body is None or not frame.secret:
            return body
        return self._opened(body, *_place_of(frame))

    def _drop_torn(self) -> None:
        """Remove rows that the disk has without their vectors, and all that came after them."""
        rows = self._all(
            "SELECT place, body FROM incoming WHERE typeof(body) = 'integer' ORDER BY place"
        )
        for place, at in rows:
            if self._vectors.read(at) is None:
                with self.batch():
                    self._do("DELETE FROM incoming WHERE place >= ?", place)
                return

    def _place(self, place: tuple[Where, ...]) -> bytes:
        """Where a record belongs: the run, what it is, and which of those."""
        whose = self._whose or self._one("SELECT study, run, party FROM journal")
        self._whose = whose if all(whose) else None
        return repr((*whose, *place)).encode()

    # -- received, read again -----------------------------------------------------------------

    def incoming(self, kind: str = "") -> Iterator[Frame]:
        """Every frame recorded (of a kind), in order, one at a time in memory.

        Erased masks are left out.
        """
        return self._frames("incoming", kind)

    def received_from(self, peer: str) -> int:
        """The number after the last frame recorded from `peer`, erased ones included; 0 if none."""
        (last,) = self._one("SELECT MAX(sequence) FROM incoming WHERE peer = ?", peer)
        return 0 if last is None else max(0, int(last) + 1)

    def beside(self, peer: str, kind: str, body: bytes) -> Frame:
        """What came from `peer` beside the numbered frames, as one to be recorded."""
        (count,) = self._one("SELECT COUNT(*) FROM incoming WHERE sequence < 0")
        return Frame(peer, -1 - count, kind, body)

    def _frames(self, table: str, kind: str = "") -> Iterator[Frame]:
        place = -1
        query = (
            f"SELECT place, {_TAG[table]}, {_FRAME} FROM {table} "  # noqa: S608 - constants
            "WHERE place > ? AND body IS NOT NULL AND kind = coalesce(nullif(?, ''), kind) "
            "ORDER BY place LIMIT 1"
        )
        while row := self._one(query, place, kind):
            if row[0] <= place:  # an index that is damaged leads nowhere
                raise self._damaged((table,))
            place = row[0]
            with as_written(self.path, self.what):
                frame = self._frame_in(table, *row[1:])
            yield frame

    def _frame_in(self, table: str, tag: bytes | None, *row: Any) -> Frame:
        peer, sequence, kind, body, *sum_and_round = row
        frame = Frame(peer, sequence, kind, b"", *sum_and_round)
        frame = replace(frame, body=self._content(body, frame) or b"")
        if not frame.secret and table == "incoming" and self._key is not None:
            where = _place_of(frame)
            if not self._key.has_tag(tag, frame.body, self._place(where)):
                raise self._damaged(where)
        return frame

    # -- sent ---------------------------------------------------------------------------------

    def sending(self, frame: Frame) -> None:
        """Note a frame before it leaves. After a restart it must be the same bytes again.

        SaidBeforeError if it is not: whoever has seen masks must not be shown others. Call it in
        one batch with the incoming frames it follows from.
        """
        with self.batch():
            key, later = self._key, self._digest_comes_later(frame)
            if key is None and frame.secret:
                raise RecoveryError("the run is over and its masks are erased; none can be sent")
            shown = None if later else digest(frame)
            check = None if shown or key is None else key.tag(frame.body, self._sent_place(frame))
            facts = (frame.kind, frame.sum, frame.round, len(frame.body))
            done = self._connection.execute(
                "INSERT INTO sent (kind, sum, round, size, sha256, local_check, peer, sequence)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (peer, sequence) DO NOTHING",
                (*facts, shown, check, frame.peer, frame.sequence),
            )
            if not done.rowcount and not self._was_sent(frame, facts):
                (software,) = self._one("SELECT software FROM journal")
                raise SaidBeforeError(frame.sequence, frame.peer, software)
            if later:
                self._undigested.append(frame)
                self._undigested_bytes += len(frame.body)
                self._digest_all_but(_MOST_UNDIGESTED)

    def _was_sent(self, frame: Frame, facts: tuple[Where, ...]) -> bool:
        """Whether what its number stands for is this frame."""
        *known, sha256, tag = self._one(
            "SELECT kind, sum, round, size, sha256, local_check FROM sent "
            "WHERE peer = ? AND sequence = ?",
            frame.peer, frame.sequence,
        )  # fmt: skip
        if tuple(known) != facts:
            return False
        if self._key is not None and tag is not None:
            return self._key.has_tag(tag, frame.body, self._sent_place(frame))
        return bool(sha256 == digest(frame)) and not (frame.secret and self._key)

    def _sent_place(self, frame: Frame) -> bytes:
        return self._place(_place_of(frame, "sent"))

    def _digest_comes_later(self, frame: Frame) -> bool:
        """Where it takes a while, and a check of this journal can stand for it meanwhile."""
        slow = len(frame.body) > _SLOW and not frame.of_vectors
        return slow and frame.kind in RECOVERY and self._key is not None

    def _digest_all_but(self, most: int) -> None:
        """In a batch: make the digests of the oldest messages, until no more bytes wait for it."""
        while self._undigested_bytes > most:
            frame = self._undigested.popleft()
            self._undigested_bytes -= len(frame.body)
            self._do(
                "UPDATE sent SET sha256 = ? WHERE peer = ? AND sequence = ?",
                digest(frame), frame.peer, frame.sequence,
            )  # fmt: skip

    def acknowledged(self, peer: str, sequence: int) -> None:
        """`peer` has written down all frames up to this number. Stored with the next batch."""
        with self._lock:
            self._acknowledged[peer] = max(sequence, self.acknowledged_by(peer))

    def keep_acknowledged(self) -> None:
        """Have on the disk what was acknowledged so far."""
        self._keep_acknowledged()
        self.sync()

    def _keep_acknowledged(self) -> None:
        if self._acknowledged:
            with self.batch():
                pass  # takes them along

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
        if self._undigested:
            with self.batch():
                self._digest_all_but(0)
        with self._lock, explained(self.path, self.what), as_written(self.path, self.what):
            told = [
                Message(own, *facts)
                for facts in self._all("SELECT peer, sum, round, kind, size, sha256 FROM sent")
            ]
            told += [  # one by one: together the frames may not fit into memory
                Message(peer, own, sum_, round_, kind, size, self._digest(kind, body, peer, number))
                for peer, number, sum_, round_, kind, size, body in self._connection.execute(
                    "SELECT peer, sequence, sum, round, kind, size, body FROM incoming"
                    " WHERE kind != ?",
                    (WORK,),
                )
            ]
            return sorted(told, key=_order)

    def _digest(self, kind: str, body: bytes | int | None, peer: str, sequence: int) -> str | None:
        if kind not in RECOVERY:
            return None
        frame = Frame(peer, sequence, kind, b"")
        return digest(replace(frame, body=self._content(body, frame) or b""))


def _place_of(frame: Frame, table: str = "incoming") -> tuple[Where, ...]:
    """All that is kept of a frame but its body."""
    return table, frame.peer, frame.sequence, frame.kind, frame.sum, frame.round


def _order(message: Message) -> tuple[object, ...]:
    sum_ = -1 if message.sum is None else message.sum
    return sum_, message.sender, message.receiver, message.round, message.kind, message.size
