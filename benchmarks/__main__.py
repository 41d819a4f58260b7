"""Run every benchmark and print one table."""

from __future__ import annotations

import platform

import numpy as np

from benchmarks import average
from benchmarks.measure import table


def main() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}\n")
    print(table(average.rows()), flush=True)


main()
