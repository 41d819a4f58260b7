"""The folder that the pages are about: one party's keys, cards, studies, tables and runs."""

# Rule: a name from a form is one of the names that are listed, or it is refused. No path is taken.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from titan.errors import FileError, InputError, TitanError
from titan.party.status_file import Status, look
from titan.results.result_file import NAME as RESULT
from titan.study import Card, Study
from titan.study.audit import JOURNAL

TABLES = (".csv", ".parquet", ".pq", ".npz")
_MOST = 200  # files of one kind
Loaded = TypeVar("Loaded")
_ENDINGS = {"card": ".card", "study": ".toml"}


@dataclass(frozen=True)
class Place:
    """What lies in it is looked at anew for every page."""

    folder: Path

    @property
    def runs_folder(self) -> Path:
        return self.folder / "runs"

    def keys(self) -> list[str]:
        return [path.name for path in self._with(".key")]

    def tables(self) -> list[str]:
        return [path.name for path in self._with(*TABLES)]

    def cards(self) -> dict[str, Card]:
        """By the file's name; what is not a card is left out."""
        return dict(_readable(self._with(".card"), Card.load))

    def studies(self) -> dict[str, tuple[str, Study]]:
        """By the first letters of the fingerprint: the file's name, and the study."""
        found = _readable(self._with(".toml"), Study.load)
        return {study.digest[:12]: (name, study) for name, study in found}

    def study(self, short: str) -> Study:
        try:
            return self.studies()[short][1]
        except KeyError:
            raise FileError(
                f"there is no study {short!r} in this folder",
                hint="it may have been edited: then it is another study, with another fingerprint",
            ) from None

    def file(self, name: str, among: Iterable[str]) -> Path:
        """One of the files that were offered."""
        if name not in among:
            raise InputError(f"there is no file {name!r} in this folder", hint="choose one of them")
        return self.folder / name

    # -- runs ---------------------------------------------------------------------------------

    def runs(self) -> list[str]:
        """Names of the folders of runs, the latest first."""
        if not self.runs_folder.is_dir():
            return []
        found = [p for p in self.runs_folder.iterdir() if (p / JOURNAL).exists() or _over(p)]
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        return [path.name for path in found[:_MOST]]

    def run(self, name: str) -> Path:
        if name not in self.runs():
            raise FileError(f"there is no run {name!r} in this folder", hint="see the list of runs")
        return self.runs_folder / name

    def status(self, name: str) -> Status | None:
        return look(self.runs_folder / name)

    def is_over(self, name: str) -> bool:
        return _over(self.runs_folder / name)

    # -- writing ------------------------------------------------------------------------------

    def take(self, kind: str, text: str, replace: bool = False) -> str:
        """Keep a card or a study that somebody sent, under its own name; that name."""
        if kind == "card":
            card = Card.parse(text, "the card")
            name = f"{card.name}{_ENDINGS[kind]}"
            card.save(self.folder / name, force=replace)
            return name
        study = Study.parse(text, "the study")
        name = f"study-{study.digest[:12]}{_ENDINGS[kind]}"
        path = self.folder / name
        if path.exists() and _digest(path) != study.digest:
            raise FileError(
                f"{name} is another study, whose fingerprint begins alike, or was edited",
                hint="ask who sent it to you; then move the older file out of the folder",
            )
        study.save(path, force=True)
        return name

    def _with(self, *endings: str) -> list[Path]:
        found = (p for p in self.folder.iterdir() if p.suffix.lower() in endings and p.is_file())
        return sorted(found, key=lambda path: path.name.lower())[:_MOST]


def _digest(path: Path) -> str | None:
    """Of the study in a file; None where there is none."""
    found = dict(_readable([path], Study.load))
    return found[path.name].digest if found else None


def _over(folder: Path) -> bool:
    return (folder / RESULT).exists()


def _readable(
    paths: Iterable[Path], load: Callable[[Path], Loaded]
) -> Iterator[tuple[str, Loaded]]:
    for path in paths:
        try:
            yield path.name, load(path)
        except TitanError:  # some other file
            continue
