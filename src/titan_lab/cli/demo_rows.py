"""titan demo --rows: real rows of four hospitals, a CSV file each, to try commands on."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from titan import files
from titan.cli.output import ask_before_replacing, show_rows
from titan_lab import datasets
from titan_lab.cli.output import show_json

FILES = {
    "Cleveland Clinic": "cleveland.csv",
    "Budapest": "budapest.csv",
    "Zurich-Basel": "zurich.csv",
    "VA Long Beach": "longbeach.csv",
}

_COLUMNS = """columns: thalach (highest heart rate), age, sex (1: male), trestbps (blood
pressure), exang (1: angina when exercising), oldpeak (ST depression), cp2 to
cp4 (kind of chest pain)"""


def tell_rows(folder: Path, force: bool, json: bool) -> None:
    """Write the files, and say what can be done with them."""
    written = write_rows(folder, force)
    if json:
        show_json({"files": {str(file): count for file, count in written.items()}})
        return
    show_rows([("file", "rows"), *((str(file), str(count)) for file, count in written.items())])
    print(f"\n{_COLUMNS}")
    print(f'\nnext: titan fit {folder}/*.csv --formula "thalach ~ age + sex" --tau 1')


def write_rows(folder: Path, force: bool) -> dict[Path, int]:
    """One file per hospital; the column that names it is left out, as in a hospital's own file."""
    places = {hospital: folder / name for hospital, name in FILES.items()}
    force = ask_before_replacing(list(places.values()), force)
    with files.attempt("made", folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for hospital, place in places.items():
        text, written[place] = _rows_of(hospital)
        files.write(place, text.encode(), force=force)
    return written


def _rows_of(hospital: str) -> tuple[str, int]:
    out = io.StringIO()
    with datasets.path("heart_disease").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    of_party = head.index(datasets.facts("heart_disease")["party_column"])
    own = [row for row in rows if row[of_party] == hospital]
    for row in (head, *own):
        out.write(",".join(row[:of_party] + row[of_party + 1 :]) + "\n")
    return out.getvalue(), len(own)
