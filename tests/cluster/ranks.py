"""Start programs on several ranks, and hear from every rank what it found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
DEADLINE_SECONDS = 300


@cache
def launcher() -> str:
    """The mpiexec beside this Python, or on the path; skips the test where MPI does not work."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("mpiexec", path=beside) or shutil.which("mpiexec")
    if found is None:
        pytest.skip("there is no mpiexec: pip install mpich")
    tried = [sys.executable, "-c", "from mpi4py import MPI"]
    if subprocess.run(tried, capture_output=True).returncode:
        pytest.skip("mpi4py cannot be loaded: pip install mpi4py mpich")
    return found


def mpiexec(count: int, *command: str) -> subprocess.CompletedProcess[str]:
    """One program on so many ranks."""
    return subprocess.run(
        [launcher(), "-n", str(count), sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )


def cases(folder: Path, count: int, *names: str) -> list[dict[str, Any]]:
    """What every rank found, case by case."""
    done = mpiexec(count, "-m", "tests.cluster.mpi_cases", str(folder), *names)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text("utf-8")) for rank in range(count)]
