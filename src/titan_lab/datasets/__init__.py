"""Data that come with TITAN; `SOURCES.md` beside this file says from where, and on what terms.

titan_lab.datasets.names()                 what there is
titan_lab.datasets.path("heart_disease")   its CSV file
titan_lab.datasets.facts("heart_disease")  what is known about it: origin, licence, reference fit
titan_lab.datasets.by_party("heart_disease")   its rows, one table per hospital
titan_lab.datasets.nist("Filip")           CSV and certified values
titan_lab.datasets.power("ieee14", "meters")   one table of a power network
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titan.errors import InputError

if TYPE_CHECKING:
    from titan.moments import Source


@dataclass(frozen=True)
class Certified:
    """A reference regression: the data as a CSV file and what NIST certifies about it."""

    name: str
    path: Path
    facts: dict[str, Any]
    """The JSON beside the data: `model`, `certified` (numbers as text), `exact`, …"""


def names() -> list[str]:
    """All data sets, in alphabetical order."""
    return sorted(_places())


def path(name: str) -> Path:
    """The CSV file of a data set (for a power network, the folder of its tables)."""
    return _on_disk(_place(name))


def facts(name: str) -> dict[str, Any]:
    """What is known about a data set: origin, licence, and reference results."""
    place = _place(name)
    if place.is_dir():
        return _json(place / "reference.json")
    return _json(_root() / _places()[name][0] / f"{name}.json")


def by_party(name: str) -> dict[str, Source]:
    """The rows of each party of a data set that has several, as `titan.fit` takes them."""
    from titan.moments import open_source, split_by

    column = facts(name).get("party_column")
    if column is None:
        raise InputError(
            f'the rows of "{name}" are not of several parties', hint="heart_disease, or grunfeld"
        )
    return split_by(open_source(path(name)), column)


def nist(name: str) -> Certified:
    """One of NIST's linear regressions by its name, such as "Filip"."""
    known = nist_names()
    if name not in known:
        raise InputError(
            f'there is no NIST data set "{name}"', hint=f"there are {', '.join(known)}"
        )
    return Certified(name, path(name), facts(name))


def nist_names() -> list[str]:
    """The NIST sets, in alphabetical order."""
    return sorted(name for name, (folder, _) in _places().items() if folder == "nist")


def power(name: str, table: str) -> Path:
    """One table (buses, branches, meters or H) of a power network: ieee14 or ieee30."""
    file = _place(name) / f"{table}.csv"
    if _places()[name][0] != "power" or not file.is_file():
        raise InputError(
            f'there is no table "{table}" of "{name}"',
            hint="ieee14 and ieee30 have buses, branches, meters and H",
        )
    return _on_disk(file)


def sources() -> str:
    """The text of SOURCES.md: origins, licences and attributions."""
    return (files(__name__) / "SOURCES.md").read_text(encoding="utf-8")


def _root() -> Traversable:
    return files(__name__) / "data"


def _places() -> dict[str, tuple[str, str]]:
    """Name → (folder, entry in it): every CSV file, and every folder of a power network."""
    found = {}
    for folder in _root().iterdir():
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.is_dir() or entry.name.endswith(".csv"):
                found[entry.name.removesuffix(".csv")] = (folder.name, entry.name)
    return found


def _place(name: str) -> Traversable:
    places = _places()
    if name not in places:
        raise InputError(f'there is no data set "{name}"', hint=f"there are {', '.join(names())}")
    folder, entry = places[name]
    return _root() / folder / entry


def _on_disk(place: Traversable) -> Path:
    """The package is installed as files, not zipped, so that a path outlives this call."""
    with as_file(place) as found:
        return found


def _json(place: Traversable) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return facts
