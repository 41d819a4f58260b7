"""Run every benchmark, or those named, and write docs/benchmarks.md.

python -m benchmarks [NAME ...]: average, moments, rows, join, cluster, solve, glm, memory, parties,
distant, strangers, mpi, peers
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import (
    average,
    cluster,
    distant,
    glm,
    join,
    memory,
    moments,
    mpi,
    parties,
    solve,
    strangers,
)
from benchmarks import rows as reading
from benchmarks.measure import Line, line, tables
from benchmarks.peers import everyone

ALL: dict[str, Callable[[], Iterable[Line]]] = {
    "average": average.rows,
    "moments": moments.rows,
    "rows": reading.rows,
    "join": join.rows,
    "cluster": cluster.rows,
    "solve": solve.rows,
    "glm": glm.rows,
    "memory": memory.rows,
    "parties": parties.rows,
    "distant": distant.rows,
    "strangers": strangers.rows,
    "mpi": mpi.rows,
    "peers": everyone.rows,
}
REPORT = Path(__file__).parent.parent / "docs" / "benchmarks.md"


NOTES = {
    "peers": "What people would use instead: each peer's figure divided by TITAN's, on the same"
    " inputs. Times are medians; TITAN's is taken anew before each peer's. Errors are relative to"
    " the largest entry of the exact answer. `python -m benchmarks.peers NAME` runs one of "
    + ", ".join(everyone.PEERS)
    + "; the extra `peers` installs them.",
}


def report(measured: Mapping[str, Sequence[Line]]) -> str:
    """The whole page. What was not measured is said at the top, and again in its place."""
    text = [
        "# Measurements",
        "",
        "Written by `make bench`: both sides of every ratio were measured in turns, in one run.",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores.",
        "",
        *skips(row for rows in measured.values() for row in rows),
    ]
    for name, rows in measured.items():
        text += ["", f"## {name.capitalize()}", ""]
        if name in NOTES:
            text += [NOTES[name], ""]
        text.append(tables(rows))
    return "\n".join(text) + "\n"


def skips(rows: Iterable[Line]) -> list[str]:
    skipped = [next(filter(None, row.cells)) + ": " + row.skipped for row in rows if row.skipped]
    return (
        ["Skipped in this run:", "", *(f"- {x}" for x in skipped)]
        if skipped
        else ["Nothing was skipped."]
    )


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"titan: error: no benchmark is called {unknown[0]!r}", file=sys.stderr)
        print(f"titan: hint: one of {', '.join(ALL)}", file=sys.stderr)
        return 2
    measured: dict[str, list[Line]] = {}
    for name in names or ALL:
        rows = measured[name] = []
        for row in ALL[name]():
            rows.append(row)
            print(line(row), flush=True)
    if not names:
        REPORT.write_text(report(measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
