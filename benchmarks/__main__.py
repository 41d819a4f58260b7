"""Run every benchmark, or those named, and write docs/benchmarks.md.

python -m benchmarks [average|moments|solve|memory ...]
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from benchmarks import average, memory, moments, solve
from benchmarks.measure import Row, line, table

ALL: dict[str, Callable[[], Iterable[Row]]] = {
    "average": average.rows,
    "moments": moments.rows,
    "solve": solve.rows,
    "memory": memory.rows,
}
REPORT = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main(names: list[str]) -> None:
    text = [
        "# Measurements",
        "",
        "Written by `make bench`: both sides of every ratio were measured in turns, in one run.",
        f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores.",
    ]
    for name in names or ALL:
        rows = []
        for row in ALL[name]():
            rows.append(row)
            print(line(row), flush=True)
        text += ["", f"## {name.capitalize()}", "", table(rows)]
    if not names:
        REPORT.write_text("\n".join(text) + "\n", encoding="utf-8")


main(sys.argv[1:])
