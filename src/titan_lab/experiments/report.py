"""What a reproduction leaves behind: tables, a page, pictures; each says what it was made with.

`titan reproduce NAME` makes a `Report` and writes it into a folder: every table as a CSV, the page
as Markdown, every picture as SVG and PNG. The seed and the versions are in all of them: as the last
columns of a CSV, at the foot of the page, in the pictures' descriptions.
"""

# Rule 1: a table has its seed and versions in columns, not comments: any reader of CSV keeps them.
# Rule 2: without matplotlib the tables are written all the same, and what is missing is said.

from __future__ import annotations

import contextlib
import csv
import io
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titan.errors import FileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | None
Draw = Callable[[], "Figure"]
"""Makes a picture; called in the common style, and only if matplotlib is there."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Those of Okabe and Ito that are seen on white, told apart by colour-blind eyes."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
NO_MATPLOTLIB = "matplotlib is not installed, so there are no pictures"
NO_MATPLOTLIB_HINT = "python -m pip install 'titan-consensus[plot]'"

_STYLE: Any = {
    "font.size": 15,  # in pictures of 8 to 12 inches: still legible at half size
    "axes.titlesize": 16,
    "axes.labelsize": 15,
    "legend.fontsize": 13,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "axes.axisbelow": True,
    "lines.linewidth": 2.2,
    "lines.markersize": 7,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "titan",  # the same picture is the same file
}
_DOTS_PER_INCH = 110


@dataclass(frozen=True)
class Table:
    """Column names, and one tuple for each row; None is an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Report:
    """Everything that one reproduction writes; `tables` and `pictures` by file name."""

    name: str
    page: str
    tables: Mapping[str, Table]
    pictures: Mapping[str, Draw] = field(default_factory=dict)
    seed: int | None = None
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    @property
    def origin(self) -> str:
        """One line: what made this."""
        seed = "" if self.seed is None else f"Seed {self.seed}. "
        return f"Made by `titan reproduce {self.name}`. {seed}Versions: {self._listed}."

    @property
    def _listed(self) -> str:
        return ", ".join(f"{name} {version}" for name, version in self.versions.items())

    def texts(self) -> dict[str, str]:
        """File name → the text of every table and of the page."""
        further: dict[str, Cell] = {} if self.seed is None else {"seed": self.seed}
        further["versions"] = self._listed
        files = {f"{at}.csv": as_csv(table, further) for at, table in self.tables.items()}
        return files | {f"{self.name}.md": f"{self.page.rstrip()}\n\n{self.origin}\n"}


@dataclass(frozen=True)
class Written:
    """The files, and what could not be made (None: nothing)."""

    files: tuple[Path, ...]
    missing: str | None = None


def versions(*packages: str) -> dict[str, str]:
    """Of TITAN, Python, NumPy, python-flint, matplotlib and further packages, if installed."""
    from titan import __version__

    found = {"titan": __version__, "python": platform.python_version()}
    for package in ("numpy", "python-flint", "matplotlib", *packages):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


# -- text -------------------------------------------------------------------------------------


def as_csv(table: Table, further: Mapping[str, Cell] | None = None) -> str:
    """Floats in full; `further` are columns that are the same in every row."""
    more = further or {}
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*table.columns, *more])
    lines.writerows([*row, *more.values()] for row in table.rows)
    return text.getvalue()


def as_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, the first column to the left and the others to the right."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# -- files ------------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Before anything is computed: a folder that cannot be made is an error at once."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, "made", error, hint="name a folder") from None
    if not os.access(folder, os.W_OK):
        raise FileError(f"{folder} cannot be written: permission denied")


def write(report: Report, folder: Path) -> Written:
    """All files of a report; pictures only where matplotlib is installed."""
    make_folder(folder)
    files: dict[str, bytes] = {name: text.encode() for name, text in report.texts().items()}
    missing = None
    try:
        for name, draw in report.pictures.items():
            files |= render(name, draw, report.origin)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "matplotlib":
            raise
        missing = NO_MATPLOTLIB
    for name, content in files.items():
        _write(folder / name, content)
    return Written(tuple(folder / name for name in files), missing)


def render(name: str, draw: Draw, origin: str) -> dict[str, bytes]:
    """A picture as SVG and as PNG, in the common style, with where it came from inside."""
    import matplotlib
    from cycler import cycler

    style: Any = {**_STYLE, "axes.prop_cycle": cycler(color=COLOURS) + cycler(marker=MARKERS)}
    with matplotlib.rc_context(style):
        figure = draw()
        drawn = {}
        for kind, further in {"svg": {"Date": None}, "png": {}}.items():
            file = io.BytesIO()
            about = {"Title": name, "Description": origin, **further}
            figure.savefig(file, format=kind, dpi=_DOTS_PER_INCH, metadata=about)
            drawn[f"{name}.{kind}"] = file.getvalue()
    return drawn


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: beside its place, then moved there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        raise _unwritable(path, "written", error) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()  # there only where something went wrong


def _unwritable(path: Path, what: str, error: OSError, hint: str = "") -> FileError:
    reason = (error.strerror or type(error).__name__).lower()
    return FileError(f"{path} cannot be {what}: {reason}", hint=hint)
