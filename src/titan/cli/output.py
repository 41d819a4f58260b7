"""How commands speak: answers on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from titan.errors import FileError, InputError

if TYPE_CHECKING:
    from titan.errors import TitanError


# What the library calls k=3 is typed -k 3 or --k 3 here, and what it calls allow_…=True a word.
_CHOICE = re.compile(
    r"\b(allow_differencing|allow_small|bits|bound|cov_type|engine|k|masks|missing|recovery"
    r"|rounds|tau)=([^\s,;)]+)"
)
_DESIGN = re.compile(r"Network\.design\(([0-9]+), tau=([0-9]+)\)")


def speak_plainly() -> None:
    """Names may hold any character; a terminal that cannot show one gets its escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_error(error: TitanError) -> None:
    print(f"titan: error: {typed(error.message)}", file=sys.stderr)
    if error.hint:
        print(f"titan: hint: {typed(error.hint)}", file=sys.stderr)


def fail(error: TitanError) -> NoReturn:
    show_error(error)
    sys.exit(1)


def typed(text: str) -> str:
    """Advice of the library in the words of the command line."""
    text = _DESIGN.sub(r"the one of: titan network design \1 tau=\2", text)
    return _CHOICE.sub(_option, text)


def _option(choice: re.Match[str]) -> str:
    option = "--" + choice[1].replace("_", "-")
    return option if choice[2] == "True" else f"{option} {choice[2]}"


def as_json(answer: Mapping[str, Any]) -> str:
    """JSON knows no infinity and nothing undefined: both are null."""
    return json.dumps(_finite(answer), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show_json(answer: Mapping[str, Any]) -> None:
    print(as_json(answer))


def refuse_inputs(target: Path, files: Sequence[Path]) -> None:
    """What was read must not be written over."""
    if target.resolve() in {file.resolve() for file in files}:
        raise InputError(f"{target} is one of the inputs", hint="give the result another name")


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


def show_pairs(pairs: Sequence[tuple[str, str]], indent: str = "  ") -> None:
    """Labels and what they stand for, both to the left."""
    width = max(len(label) for label, _ in pairs)
    for label, text in pairs:
        print(f"{indent}{label.ljust(width)}  {text}")


def show_wrapped(before: str, text: str) -> None:
    """A paragraph; lines after the first stand under the text."""
    import textwrap

    print(textwrap.fill(before + text, 98, subsequent_indent=" " * len(before)))


# -- files ------------------------------------------------------------------------------------


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written before hours are spent on what goes there."""
    from titan.errors import FileError

    if path.is_dir():
        raise FileError(f"{path} cannot be written: it is a directory", hint="name a file")
    if not path.parent.is_dir():
        raise FileError(
            f"{path} cannot be written: there is no directory {path.parent}",
            hint="make the directory first, or name another place",
        )
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"{path} cannot be written: permission denied")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: beside its place, then moved there."""
    from titan.errors import FileError

    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileError(f"{path} cannot be written: {reason}") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()  # there only where something went wrong


# -- progress ---------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Waiting:
    """What to call for somebody who waits; both None where nobody watches."""

    rows: Callable[[int], None] | None = None
    """With the number of rows read since the last call."""
    rounds: Callable[[int, int], None] | None = None


@contextmanager
def waiting() -> Iterator[Waiting]:
    """Rows are counted while they are read (how many there are nobody knows), rounds have a bar."""
    if not sys.stderr.isatty():
        yield Waiting()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        read = bar.add_task("rows", total=None)
        rounds = bar.add_task("rounds", total=None, visible=False)
        so_far = 0

        def more_rows(rows: int) -> None:
            nonlocal so_far
            so_far += rows
            bar.update(read, description=f"{so_far:,} rows read")

        def next_round(done: int, total: int) -> None:
            bar.update(read, visible=False)
            bar.update(rounds, completed=done, total=total, visible=True)

        yield Waiting(more_rows, next_round)
