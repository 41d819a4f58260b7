"""Peak memory of `titan moments` on files of growing size, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.measure import Row

COLUMNS = [f"x{j}" for j in range(20)]
MB = 1_000_000
SIZES = {"csv": (200, 2000), "parquet": (200, 2000)}  # MB

# The kernel's own mark of this process: getrusage would tell that of the process it came from.
_CHILD = """
import sys
from titan.moments import Model, collect
model = Model.from_columns("x0", [f"x{j}" for j in range(1, 20)])
rows = collect(sys.argv[1], model).moments.rows
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(rows, 1024 * int(peak.split()[1]))
"""


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        for kind, sizes in SIZES.items():
            peaks = {}
            for size in sizes:
                file = Path(folder) / f"big.{kind}"
                written = write(file, kind, size * MB)
                read, peaks[size] = in_a_process(file)
                assert read == written
                actual = file.stat().st_size
                file.unlink()
            most = max(sizes)
            yield Row(
                f"moments of a {kind} file of {actual / 1e9:.1f} GB: peak resident memory",
                f"{peaks[most] / MB:.0f} MB",
                "below a quarter of a 2 GB file",
                peaks[most] < actual / 4,
            )
            yield Row(
                f"the same against a {kind} file of {min(sizes)} MB",
                f"{peaks[most] / peaks[min(sizes)]:.2f}x the memory",
                "flat",
                peaks[most] < 1.2 * peaks[min(sizes)],
            )


def write(file: Path, kind: str, size: int) -> int:
    """A file of about `size` bytes; returns the number of its rows."""
    rng, written = np.random.default_rng(3), 0
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    writer = (
        pyarrow.csv.CSVWriter(file, schema)
        if kind == "csv"
        else pyarrow.parquet.ParquetWriter(file, schema, compression="none")
    )
    with writer:
        while file.stat().st_size < size:
            values = np.round(rng.standard_normal((len(COLUMNS), 50_000)), 4)
            writer.write_table(pa.table(dict(zip(COLUMNS, values, strict=True))))
            written += values.shape[1]
    return written


def in_a_process(file: Path) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(file)], capture_output=True, text=True, check=True
    )
    read, peak = map(int, done.stdout.split())
    return read, peak
