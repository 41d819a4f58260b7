"""What runs left: the results in a run's folder, held against the transcript that was signed."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

from titan.errors import FileError
from titan.results import Results, decode
from titan.results.result_file import NAME, checked_path, read_file
from titan.study.audit import TRANSCRIPT
from titan.study.transcript import verify


def load(path: str | PathLike[str]) -> Results:
    """The results of a run (its folder), of a rehearsal (its --out), or of a file saved before.

    In a run's folder the signed transcript has the file's digest, and they must agree.
    """
    place = checked_path(path)
    if not place.is_dir():
        return decode(read_file(place), str(place))
    if (place / NAME).exists():
        return _of_run(place)
    found = sorted(place.glob(f"runs/*/*/{NAME}"))
    if not found:
        raise FileError(
            f'"{place}" holds no results',
            hint="give the folder of a run that is over, a rehearsal's --out, or a saved file",
        )
    results = [_of_run(file.parent) for file in found]
    if len({file.read_bytes() for file in found}) > 1:
        raise FileError(f'the parties of "{place}" hold different results', hint="rehearse again")
    return results[0]


def _of_run(folder: Path) -> Results:
    data = read_file(folder / NAME)
    signed = folder / TRANSCRIPT
    digest = hashlib.sha256(data).hexdigest()
    if signed.exists() and verify(signed).transcript.result_sha256 != digest:
        raise FileError(
            f'"{folder / NAME}" is not the file that "{signed}" was signed for',
            hint="one of them was altered; the same titan join writes both again",
        )
    return decode(data, str(folder / NAME))
