"""The journal of one run: what a party must know to go on after `kill -9` with the same bits.

A run is the study's digest, a run number and a random nonce of every party. An agent is
deterministic given its input, its masks and the frames it receives, so the journal keeps events:

    begun      own nonce, the keys of the masks, a keyed digest of the data: one transaction
    nonces     of the others; who comes back with another one has new masks, and is refused
    incoming   every frame accepted, in order, before it is acknowledged
    sent       of every frame that may leave: its number, size and a check that a replay makes the
               same bytes, before it leaves
    progress   acknowledgements, the agreed digest, the result, the transcript

After a restart the engine makes the agents again and replays `incoming()`.

Keys and masks are sealed under a key in a file of its own (`titan.study.run_key`), and what is a
digest of them or of the data is made under it. `erase_secrets` overwrites that file, so that no
block which ever held any of this tells anything, and then rebuilds the journal without it. Nothing
is promised about what an SSD, a copying file system, a swap partition or a backup has kept of it.
"""

# Rule 1: what a call that returns has written, no `kill -9` undoes; a call that raises has changed
#         nothing. A power cut undoes what no `sync` has followed; the session says when one is due.
#         The one exception is `acknowledged`: losing it costs a frame sent twice, which is refused
#         as such.
# Rule 2: one file holds one run, and one process holds the file.
# Rule 3: no error, repr or log shows a key, a mask, a frame or a digest of data.

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path

import titan
from titan.errors import FileError, InputError, MessageError, PeerError, RecoveryError
from titan.protocol.masking import SEED_BYTES
from titan.study import run_key
from titan.study.database import Database, as_written, damaged, explained
from titan.study.frames import TABLES, Frame, FrameLog
from titan.study.kinds import UNBOUND
from titan.study.run_state import RunState, data_changed, lost_journal, without_key, written

__all__ = ["Journal", "RunState"]

_SCHEMA = f"""
CREATE TABLE journal (
    one INTEGER PRIMARY KEY CHECK (one = 1), software TEXT, key_name BLOB NOT NULL,
    erased INTEGER NOT NULL,
    study TEXT, run INTEGER, party TEXT, nonce BLOB, data BLOB,
    agreed TEXT, result BLOB, transcript BLOB, written TEXT, put_back TEXT);
CREATE TABLE parties (place INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, nonce BLOB);
CREATE TABLE sums (place INTEGER PRIMARY KEY, key BLOB NOT NULL);
{TABLES.strip()}
"""


class Journal(FrameLog):
    """One party's journal of one run; `Journal.open` opens or creates the file."""

    what = "journal"
    identity = 0x54_4A_00_03  # "TJ", version 3
    schema = _SCHEMA

    def __init__(self, path: str | PathLike[str]) -> None:
        self._acknowledged: dict[str, int] = {}  # not yet on disk
        self._undigested, self._undigested_bytes = deque(), 0
        super().__init__(path, exclusive=True)
        try:
            self._finish_erasing()
            self._drop_torn()
        except BaseException:
            super().close()
            raise

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Journal:
        """Open for this process alone; FileError if another one has it, or it is no journal.

        DamagedError where it is no longer what was written down, as far as that can be seen.
        """
        with as_written(Path(path), cls.what), explained(Path(path), cls.what):
            journal = cls(path)
        try:
            with as_written(journal.path, cls.what):
                journal._check()
        except BaseException:
            Database.close(journal)
            raise
        return journal

    def _check(self) -> None:
        """Whether it hangs together, and tells of a run what can be told of one."""
        whole = self._all("PRAGMA integrity_check(1)") == [("ok",)]
        state, (known,) = self.state, self._one("SELECT written FROM journal")
        if not whole or (state is not None and state.finished and known != state.written):
            damaged(self.path, self.what)

    def _lay_out(self) -> None:
        self._refuse_other_version()
        super()._lay_out()
        known = self._one("SELECT key_name FROM journal")
        if known is None:
            self._key = run_key.create(self.key_path)
            self._do("INSERT INTO journal (one, key_name, erased) VALUES (1, ?, 0)", self._key.name)
        else:
            self._key = run_key.read(self.key_path)
            if self._key is not None and self._key.name != known[0]:
                self._key = None

    def _refuse_other_version(self) -> None:
        (found,) = self._one("PRAGMA application_id")
        if found >> 16 != self.identity >> 16 or found == self.identity:
            return  # another file, or this version's
        try:
            (software,) = self._connection.execute("SELECT software FROM journal").fetchone()
            ours = self._has_its_tables
        except (sqlite3.Error, TypeError):
            software, ours = None, False
        same_version = software == titan.__version__
        if same_version and ours:  # so a disk has changed the number
            damaged(self.path, self.what)
        build = "another build of titan" if same_version else "titan"
        raise FileError(
            f'the journal "{self.path}" was begun by {build} {software or "of another version"}: '
            f"its format is {found & 0xFFFF}, where {self.identity & 0xFFFF} was expected",
            hint="go on with the version that began the run, or agree with the others on the next "
            "one",
        )

    @property
    def key_path(self) -> Path:
        """Where the key of its secrets is, until they are erased."""
        return self.path.with_name(f"{self.path.name}.secret")

    # -- beginning ----------------------------------------------------------------------------

    def keyed_digest(self, chunks: Iterable[bytes]) -> bytes:
        """A digest of the data under a key that this journal alone has: for `begin`.

        Each part counts with its length: what moves from one to the next changes the digest.
        """
        if self._key is None and self.state is None:  # it was cleaned before its run began
            with self.batch():
                self._key = run_key.create(self.key_path)
                self._do("UPDATE journal SET key_name = ?", self._key.name)
        if self._key is None:
            return b""  # erased: a finished run has no use for the data
        code = hmac.new(self._key.check, digestmod=hashlib.sha256)
        for chunk in chunks:
            code.update(len(chunk).to_bytes(8, "little") + chunk)
        return code.digest()

    def begin(
        self,
        *,
        study: str,
        run: int,
        party: str,
        parties: Sequence[str],
        nonce: bytes,
        keys: Sequence[bytes],
        data_digest: bytes,
        software: str = "",
    ) -> RunState:
        """Store the run's beginning in one transaction, or find it again; the stored one counts.

        `nonce` and `keys` (one for each sum) are fresh bytes that a run already begun ignores.
        Refused: another study, run or party than the journal's, and data that have changed.
        """
        with self.batch():
            state = self.state
            if state is not None:
                self.refuse_without_key()
                state.refuse_another(study, run, party, tuple(parties), len(keys))
                self._refuse_changed(state, data_digest)
                return state
            fresh = (nonce, *keys)
            if len(set(fresh)) != len(fresh) or {*map(len, fresh)} != {SEED_BYTES}:
                raise InputError(
                    f"a nonce and keys must be different, of {SEED_BYTES} fresh bytes each"
                )
            if party not in parties or len(set(parties)) != len(parties):
                raise InputError(f"{party!r} must be one of the parties, and they must differ")
            self._do(
                "UPDATE journal SET study=?, run=?, party=?, nonce=?, data=?, software=?",
                study, run, party, nonce, data_digest, software,
            )  # fmt: skip
            for place, name in enumerate(parties):
                own = nonce if name == party else None
                self._do("INSERT INTO parties VALUES (?, ?, ?)", place, name, own)
            for place, key in enumerate(keys):
                self._do("INSERT INTO sums VALUES (?, ?)", place, self._sealed(key, "sum", place))
            return self._begun

    @property
    def lacks_key(self) -> bool:
        """Whether the run needs its secrets, and their key is gone or is not what it was."""
        state = self.state
        return self._key is None and state is not None and not state.erased

    def refuse_without_key(self) -> None:
        """A journal without its key is damaged like one that lacks its masks."""
        if self.lacks_key:
            raise without_key(self.path, self.key_path, self._begun.run)

    def nothing_left(self) -> bool:
        """Whether the run has begun and nothing made of rows or of keys can have left."""
        return self.state is not None and not self._all(
            "SELECT 1 FROM sent WHERE kind != ? LIMIT 1", UNBOUND
        )

    def replace_data(self, data_digest: bytes) -> bool:
        """Other data for a run of which nothing has left; whether they are others.

        Nonce and keys stay: the nonce may be known, and nobody knows what is made of the keys.
        """
        with self.batch():
            if not self.nothing_left():
                raise InputError("what was made of the data may have left: they stay")
            self.refuse_without_key()  # then nobody knows whether they are others
            (stored,) = self._one("SELECT data FROM journal")
            self._do("UPDATE journal SET data = ?", data_digest)
            return not hmac.compare_digest(stored, data_digest)

    def _refuse_changed(self, state: RunState, data_digest: bytes) -> None:
        (stored,) = self._one("SELECT data FROM journal")
        if not state.erased and not hmac.compare_digest(stored, data_digest):
            raise data_changed(state.run)

    @property
    def state(self) -> RunState | None:
        """The run as stored; None before `begin`."""
        with self._lock, as_written(self.path, self.what):
            row = self._one(
                "SELECT study, run, party, nonce, agreed, result, transcript, erased, software, "
                "put_back FROM journal"
            )
            study, run, party, nonce, agreed, result, transcript, erased, *more = row
            if study is None:
                return None
            parties = self._all("SELECT name, nonce FROM parties ORDER BY place")
            sums = self._all("SELECT place, key FROM sums ORDER BY place")
            keys = [self._opened(key, "sum", place) for place, key in sums if self._key]
        return RunState(
            study,
            run,
            party,
            tuple(name for name, _ in parties),
            nonce,
            tuple(keys),
            {name: known for name, known in parties if known is not None},
            agreed,
            result,
            transcript,
            bool(erased),
            *more,
        )

    @property
    def _begun(self) -> RunState:
        state = self.state
        assert state is not None  # noqa: S101 - asked for after `begin`
        return state

    def mask_keys(self) -> tuple[bytes, ...]:
        """The keys of the masks, each bound to the data as well.

        So the same masks never hide other data, whatever a journal has forgotten that was put back
        to a time when nothing had left.
        """
        (data,) = self._one("SELECT data FROM journal")
        return tuple(
            hmac.digest(key, b"titan masks: data\n" + data, "sha256") for key in self._begun.keys
        )

    # -- the others ---------------------------------------------------------------------------

    def set_nonce(self, peer: str, nonce: bytes) -> None:
        """Keep a party's nonce; PeerError if it had another: new masks would expose its data."""
        if len(nonce) != SEED_BYTES:
            raise MessageError(f"a nonce of {len(nonce)} bytes where {SEED_BYTES} were expected")
        with self.batch():
            known = self._one("SELECT nonce FROM parties WHERE name = ?", peer)
            if known is None:
                raise PeerError(f"a nonce came from {peer!r}, who is not in the study")
            if known[0] is not None and known[0] != nonce:
                (run,) = self._one("SELECT run FROM journal")
                raise lost_journal(peer, run)
            self._do("UPDATE parties SET nonce = ? WHERE name = ?", nonce, peer)

    def note_put_back(self, how: str) -> None:
        """This journal is an earlier state of itself; its run cannot go on."""
        with self.batch():
            self._do("UPDATE journal SET put_back = ? WHERE put_back IS NULL", how)

    # -- the end ------------------------------------------------------------------------------

    def agree(self, digest_of_sum: str) -> None:
        """Keep the digest of the pooled sum; a run has one."""
        with self.batch():
            (known,) = self._one("SELECT agreed FROM journal")
            if known not in (None, digest_of_sum):
                raise RecoveryError("the pooled sum is not the one found before the restart")
            self._do("UPDATE journal SET agreed = ?", digest_of_sum)

    def finish(self, result: bytes, transcript: bytes) -> RunState:
        """Keep what was learned and the signed transcript; the first ones stay."""
        with self.batch():
            self._digest_all_but(0)  # nothing is made again to make them of
            self._do(
                "UPDATE journal SET result = ?, transcript = ?, written = ? WHERE result IS NULL",
                result, transcript, written(result, transcript),
            )  # fmt: skip
            return self._begun

    def erase_secrets(self, to_serve: Iterable[Frame] = ()) -> None:
        """Forget keys, masks and the data's digest; the run must be finished.

        `to_serve` are own frames that somebody has not acknowledged: they are kept, and
        `served()` has them for a later `join`. A mask among them is refused: its receiver still
        needs it, so nothing can be erased yet.

        That it is erased is on the disk before the key goes: a journal never needs a key that is
        not there.
        """
        with self.batch():
            state = self.state
            if state is None or not state.finished:
                raise InputError("only a finished run can forget its secrets")
            for frame in to_serve:
                self._keep(frame)
            self._delete_secrets()
        self.sync()
        self._key = None
        self._scrub()

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

    def give_up(self, how: str) -> None:
        """Forget the secrets of a run that will not go on; it never will, and says so."""
        with self.batch():
            state = self._begun
            if not state.finished:
                told = f"run {state.run} of this study was {how}: its secrets are erased"
                self.note_put_back(told)
            self._delete_secrets()
        self.sync()
        self._key = None
        self._scrub()

    def _delete_secrets(self) -> None:
        self._digest_all_but(0)  # the key of what stood for these digests goes
        self._do("UPDATE journal SET data = NULL, erased = 1")
        self._do("DELETE FROM sums")
        self._do("UPDATE sent SET local_check = NULL")
        for (kind,) in self._all("SELECT DISTINCT kind FROM incoming"):
            if Frame("", 0, kind, b"").secret:
                self._do("UPDATE incoming SET body = NULL WHERE kind = ?", kind)

    def _finish_erasing(self) -> None:
        """The last process died before all was gone; or the key of a finished run is gone."""
        result, erased = self._one("SELECT result, erased FROM journal")
        if result is not None and not erased and self._key is None:
            with self.batch():
                self._delete_secrets()
            erased = 1
        if erased == 1 or (erased and self.key_path.exists()):  # or a backup brought it back
            self._key = None
            self._scrub()

    def _scrub(self) -> None:
        """Leave no trace: overwrite the key, then rebuild the pages and empty the log."""
        run_key.destroy(self.key_path)
        with self._lock, explained(self.path, self.what):
            self._truncate_log()
            self._connection.execute("VACUUM")
            self._truncate_log()
            self._connection.execute("UPDATE journal SET erased = 2")
