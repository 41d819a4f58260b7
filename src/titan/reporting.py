"""From the folder of a run, a rehearsal or a file of results to its report."""

# Rule 1: what is there is read and checked; what is not there is left out, and said on the report.
# Rule 2: to report changes nothing: no journal is opened.

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from titan.errors import FileError, TitanError
from titan.joining import load, run_folders
from titan.release import evidence
from titan.report.document import report, unknown
from titan.report.gathered import Gathered, PartyRun
from titan.results import Results
from titan.results.result_file import NAME, checked_path
from titan.study import Study
from titan.study.audit import STATUS, STUDY, TRANSCRIPT
from titan.study.verified import verify

__all__ = ["gather", "report", "unknown"]

_MOST_FILES = 50  # that may be the study's


def gather(path: str | PathLike[str], study: str | PathLike[str] | None = None) -> Gathered:
    """What is known of the run in a folder, of a rehearsal, or of a file that was saved.

    The study's file is looked for in and beside them, unless it is given.
    """
    place = checked_path(path)
    if place.name == NAME and (place.parent / TRANSCRIPT).exists():
        place = place.parent
    results = load(place)
    folders = run_folders(place) if place.is_dir() else []
    runs = tuple(_run(folder, results) for folder in folders)
    found = _given(study, results) if study is not None else _found(place, folders, results)
    if found is not None:  # in the study's order
        order = {name: at for at, name in enumerate(found.network.parties)}
        runs = tuple(sorted(runs, key=lambda run: order.get(_party(run), len(order))))
    return Gathered(results, place.resolve().name, found, runs)


def _party(run: PartyRun) -> str:
    if run.facts is not None:
        return run.facts.transcript.party
    return "" if run.evidence is None else run.evidence.party


def _run(folder: Path, results: Results) -> PartyRun:
    signed = folder / TRANSCRIPT
    kept = evidence.read(folder)
    if kept is not None and (kept.study, kept.run) != (results.study, results.run):
        raise FileError(
            f'"{folder / evidence.NAME}" is of another run than "{folder / NAME}"',
            hint="one of them was put there by mistake",
        )
    facts = verify(signed) if signed.exists() else None
    return PartyRun(folder.resolve().name, facts, kept, *_times(folder))


def _times(folder: Path) -> tuple[datetime | None, datetime | None]:
    """When it was begun and over, as its status says; that is a note and may be missing."""
    try:
        told = json.loads((folder / STATUS).read_bytes())
        began, over = (datetime.fromisoformat(told[key]) for key in ("started", "since"))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None, None
    # without a zone one cannot be taken from the other
    return (None, None) if None in (began.tzinfo, over.tzinfo) else (began, over)


# -- the study --------------------------------------------------------------------------------


def _given(file: str | PathLike[str], results: Results) -> Study:
    study = Study.load(checked_path(file))
    if results.study is None:
        raise FileError(
            "these results do not say of which study they are",
            hint="leave the study out; those of a run do",
        )
    if study.digest != results.study:
        raise FileError(
            f"{file} is study {study.digest[:12]}, and the run is of {results.study[:12]}",
            hint="a study that was edited is another study",
        )
    return study


def _found(place: Path, folders: Iterable[Path], results: Results) -> Study | None:
    """The study of these results: kept in the run's folder, else beside it or beside runs/."""
    if results.study is None or not place.is_dir():
        return None
    first = next(iter(folders))
    kept = [first / STUDY, place / STUDY]
    beside = [file for up in first.resolve().parents[:2] for file in sorted(up.glob("*.toml"))]
    for file in [*kept, *beside[:_MOST_FILES]]:
        if file.is_file():
            try:
                study = Study.load(file)
            except TitanError:  # some other file
                continue
            if study.digest == results.study:
                return study
    return None


def now() -> datetime:
    return datetime.now(UTC)
