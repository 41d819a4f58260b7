"""Files that are there whole or not at all, and never replaced by accident."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from titan.errors import FileError


def write(path: Path, data: bytes, *, mode: int, force: bool = False) -> None:
    """Write a file that has its mode from its first moment on.

    With `force` an older one is replaced in one step, without it a place that is taken is refused.
    """
    target = path.with_name(f".{path.name}.{os.getpid()}") if force else path
    try:
        _write_new(target, data, mode)
        if force:
            target.replace(path)
    except FileExistsError:
        raise FileError(
            f"{target}: there is such a file already",
            hint="choose another place, or use --force to replace it",
        ) from None
    except OSError as error:
        reason = (error.strerror or "input or output failed").lower()
        hint = "name a place that can be written to"
        if not path.parent.is_dir():
            hint = f"make the folder first: mkdir -p {path.parent}"
        raise FileError(f"{path}: cannot be written: {reason}", hint=hint) from None


def _write_new(path: Path, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()  # half a file is worse than none
        raise
