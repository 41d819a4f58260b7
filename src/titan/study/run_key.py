"""The key of one run's secrets: a small file of its own beside the journal.

What a run must forget when it is over is never on the disk but under this key (AES-256-GCM). To
forget it all is to overwrite these few blocks in place. SQLite cannot do that for its own contents:
it moves them about, and the log that it cuts off leaves its blocks to whoever reads the bare disk.

The key is a hash of the whole file, so that who misses any part of it has nothing. The file is a
block long: what is smaller, some file systems keep among names and sizes, which they write twice.
"""

# Rule 1: a key is on the disk, with its name, before anything is sealed under it.
# Rule 2: a key is overwritten on the disk before its name is removed.
# Rule 3: every record is sealed with a nonce of its own, drawn and not counted: after a journal was
#         put back to an earlier state a count would come again, for other contents.
# Rule 4: a record opens only in its own place, in its own run.

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from titan.errors import FileError
from titan.files import attempt, sync_folder, write_all
from titan.protocol.masking import SEED_BYTES, fresh_key
from titan.protocol.messages import Payload

FILE_BYTES = 4096
_NONCE_BYTES, _TAG_BYTES = 12, 16


class RunKey:
    """Seals and opens; `check` is the key of digests that stay here. Never printed."""

    def __init__(self, content: bytes) -> None:
        secret = hashlib.sha256(content).digest()
        self._sealing = AESGCM(hmac.digest(secret, b"titan journal: seal", "sha256"))
        self._tagging = AESGCM(hmac.digest(secret, b"titan journal: tag", "sha256"))
        self.check = hmac.digest(secret, b"titan journal: check", "sha256")
        self.name = hmac.digest(secret, b"titan journal: name", "sha256")
        """By which a journal knows its key; it tells nothing of it."""

    def seal(self, content: Payload, place: bytes) -> memoryview:
        sealed = memoryview(bytearray(_NONCE_BYTES + len(content) + _TAG_BYTES))
        sealed[:_NONCE_BYTES] = nonce = fresh_key()[:_NONCE_BYTES]
        self._sealing.encrypt_into(nonce, content, place, sealed[_NONCE_BYTES:])
        return sealed.toreadonly()

    def tag(self, content: Payload, place: bytes) -> bytes:
        """By which `content`, which need not be hidden, is known again in its place (GMAC)."""
        return self._tag(fresh_key()[:_NONCE_BYTES], content, place)

    def has_tag(self, tag: bytes | None, content: Payload, place: bytes) -> bool:
        if tag is None or len(tag) <= _NONCE_BYTES:
            return False
        return hmac.compare_digest(tag, self._tag(tag[:_NONCE_BYTES], content, place))

    def _tag(self, nonce: bytes, content: Payload, place: bytes) -> bytes:
        """The place is encrypted only to stand apart from the content, and that is not kept."""
        return nonce + self._tagging.encrypt(nonce, place, content)[-_TAG_BYTES:]

    def open(self, sealed: bytes, place: bytes) -> bytes | None:
        """None for what was not sealed under this key, in this place."""
        try:
            return self._sealing.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place)
        except InvalidTag:
            return None


def create(path: Path) -> RunKey:
    """A new key; the file that is in its place, of a run that never began, is overwritten."""
    destroy(path)
    content = b"".join(fresh_key() for _ in range(FILE_BYTES // SEED_BYTES))
    with attempt("made", path):
        write_all(path, [content], 0o600)
        sync_folder(path.parent)
    return RunKey(content)


def read(path: Path) -> RunKey | None:
    """The key; None where there is none, or not the whole of it. FileError if it cannot be read."""
    with attempt("read", path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            if path.is_symlink():  # to a place that is not there just now
                raise
            return None
        with file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(FILE_BYTES + 1)
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise FileError(
            f'the key of the journal "{path}" can be read by people other than its owner',
            hint=f'run: chmod 600 "{path}"',
        )
    return RunKey(content) if len(content) == FILE_BYTES and any(content) else None


def destroy(path: Path) -> None:
    """Overwrite it in place, wait for the disk, then remove its name."""
    with attempt("erased", path):
        try:
            size = max(FILE_BYTES, path.stat().st_size)
        except FileNotFoundError:
            return
        write_all(path, [bytes(size)], 0o600, flags=0)  # neither cut nor replaced: the same blocks
        path.unlink()
        sync_folder(path.parent)
