"""The answer of a run that its folder keeps, whatever has become of the journal beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from titan.errors import FileError
from titan.results.result_file import NAME as RESULT
from titan.results.result_file import decode, read_file
from titan.study import Study
from titan.study.audit import TRANSCRIPT
from titan.study.verified import verify


def kept_answer(folder: Path, study: Study, run: int, party: str) -> bytes | None:
    """Its bytes, if this party has signed for them in this run; else None."""
    try:
        kept, signed = read_file(folder / RESULT), verify(folder / TRANSCRIPT)
        decode(kept)
    except FileError:
        return None
    told, digest = signed.transcript, hashlib.sha256(kept).hexdigest()
    of_this_run = (told.study, told.run, told.party, told.result_sha256, told.stopped)
    right = of_this_run == (study.digest, run, party, digest, None)
    return kept if right and signed.fingerprint == study.card(party).fingerprint else None
