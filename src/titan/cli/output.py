"""How commands speak: answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from titan.errors import FileError

if TYPE_CHECKING:
    from titan.errors import TitanError


# What the library calls k=3 is typed -k 3 or --k 3 here.
_CHOICE = re.compile(r"\b(bits|bound|engine|k|masks|recovery|rounds|tau)=([^\s,;)]+)")


def speak_plainly() -> None:
    """Names may hold any character; a terminal that cannot show one gets its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_error(error: TitanError) -> None:
    print(f"titan: error: {_typed(error.message)}", file=sys.stderr)
    if error.hint:
        print(f"titan: hint: {_typed(error.hint)}", file=sys.stderr)


def fail(error: TitanError) -> NoReturn:
    show_error(error)
    sys.exit(1)


def _typed(text: str) -> str:
    return _CHOICE.sub(lambda found: f"--{found[1]} {found[2]}", text)


def show_json(answer: dict[str, Any]) -> None:
    print(json.dumps(answer, indent=2))


def refuse_overwriting(file: Path, force: bool) -> None:
    if file.exists() and not force:
        raise FileError(f"{file} is there already", hint="--force writes over it")


def show_rows(rows: Sequence[tuple[str, ...]], indent: str = "  ") -> None:
    """Columns aligned by their widest cell: the first to the left, the others to the right."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print((indent + "  ".join(cells)).rstrip())


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
