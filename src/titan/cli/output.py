"""How commands speak: answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic, iglob
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from titan import files
from titan.canonical import finite
from titan.cli import log
from titan.cli.advice import typed, typed_hint
from titan.cli.terminal import open_closed_streams
from titan.engines.mpi import ranks
from titan.errors import FileError, ReleaseError, UsageError
from titan.listing import WIDE, aligned, ruled

if TYPE_CHECKING:
    from titan.errors import TitanError
    from titan.results import Results

_PICTURES = (
    *(".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".gif", ".tif", ".tiff"),
    *(".eps", ".ps", ".svgz"),
)
_ROWS = (".csv", ".parquet", ".pq", ".npz")


def speak_plainly() -> None:
    """Names may hold any character; a terminal that cannot show one gets its escape."""
    open_closed_streams()
    log.use("plain")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show_error(error: TitanError) -> None:
    log.tell_error(typed(error.message), typed_hint(error.hint))


def fail(error: TitanError) -> NoReturn:
    """With --json, what a rule of release refuses is said in JSON as well."""
    if isinstance(error, ReleaseError) and "--json" in sys.argv:
        print(as_json({"refused": error.refused()}), flush=True)
    if ranks.speaks(error):
        show_error(error)
    ranks.end_others(error, error.exit_status)
    sys.exit(error.exit_status)


def give(
    answer: Mapping[str, Any], as_text: Callable[[], None], *, json: bool, save: Path | None = None
) -> None:
    """An answer as was asked: JSON in a file first, then JSON or text, even if that failed."""
    try:
        if save is not None:
            files.write(save, f"{as_json(answer)}\n".encode(), force=True)
    finally:
        if json:
            print(as_json(answer))
        else:
            as_text()


def as_json(answer: Mapping[str, Any]) -> str:
    """JSON knows no infinity and nothing undefined: both are null."""
    return json.dumps(finite(answer), indent=2, allow_nan=False)


def check_save(save: Path | None, inputs: Sequence[Path], force: bool) -> None:
    """What would stop the answer from being saved is found before anything runs."""
    if save is not None:
        check_writable(save)
        refuse_inputs(save, inputs)
        ask_before_replacing([save], force)


def refuse_inputs(target: Path, inputs: Sequence[Path]) -> None:
    """What was read must not be written over."""
    place = Path(os.path.realpath(target))
    if any(_is_of(place, each) for each in inputs):
        raise UsageError(f"{target} is one of the inputs", hint="give the result another name")


def _is_of(place: Path, read: Path) -> bool:
    """Whether it is what is read: a file, rows in a folder, or one that a pattern matches."""
    if read.is_dir():
        rows = place.is_file() and place.suffix.lower() in _ROWS
        return rows and place.is_relative_to(read.resolve())
    if read.exists() or not has_magic(str(read)):
        return place == read.resolve()
    return place in {Path(each).resolve() for each in iglob(str(read), recursive=True)}  # noqa: PTH207 - absolute too


def ask_before_replacing(targets: Sequence[Path], force: bool) -> bool:
    """Whether what is there may be replaced: --force says so, or somebody at the terminal.

    Nobody can say so of a device, a private key or a ledger.
    """
    for file in targets:
        _check_replaceable(file)
    there = [file for file in targets if os.path.lexists(file)]
    if force or not there:
        return force
    if not at_terminal():
        raise FileError(f"{there[0]} exists already", hint="--force replaces it")
    import typer

    for file in there:
        if not typer.confirm(f"{file} exists already. Replace it?", err=True):
            raise FileError(f"{file} exists already, and stays as it is", hint="name another file")
    return True


def at_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def html_name(out: Path, what: str) -> None:
    """A page of HTML has a name that a browser knows it by."""
    if out.suffix.lower() not in (".html", ".htm"):
        page = out.parent / f"{out.stem or 'page'}.html"
        raise UsageError(
            f"--out {out} does not end in .html, and {what} is a page of HTML",
            hint=f"--out {page}; a browser prints it, also as PDF",
        )


def picture_name(option: str, file: Path) -> None:
    """The ending of a picture's file says what kind it is, and is known before anything runs."""
    if file.suffix.lower() not in _PICTURES:
        raise UsageError(
            f"{option} {file} is not the name of a picture", hint="end it in .png or .svg, or .pdf"
        )


def show_rows(rows: Sequence[tuple[str, ...]]) -> None:
    """A table, of which the first row is the heading; first cells to the left, others right."""
    for line in ruled(aligned(rows)):
        print(line)


def show_pairs(pairs: Sequence[tuple[str, str]], indent: str = "  ") -> None:
    """Labels and what they stand for, both to the left."""
    width = max(len(label) for label, _ in pairs)
    for label, text in pairs:
        show_wrapped(f"{indent}{label.ljust(width)}  ", text)


def show_alarm(text: str) -> None:
    """What nobody may overlook: in red, where there is a terminal to show it."""
    import textwrap

    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for line in textwrap.wrap(text, WIDE, subsequent_indent="    "):
        print(f"\x1b[1;31m{line}\x1b[0m" if coloured else line)


def show_lowered(lowered: Sequence[Mapping[str, Any]]) -> None:
    """First of all what is below the default."""
    if lowered:
        show_alarm("BELOW THE DEFAULT, so that less is protected than people may expect:")
    for each in lowered:
        show_alarm(f"  - {each['said']}")


def cell(value: object) -> str:
    words = {True: "yes", False: "no", None: "-"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def show_wrapped(before: str, text: str) -> None:
    """A paragraph; lines after the first stand under the text."""
    import textwrap

    later = " " * len(before)
    lines = textwrap.wrap(
        text, WIDE, initial_indent=before, subsequent_indent=later, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    print("\n".join(lines) if lines else before.rstrip())


# -- results of a run -------------------------------------------------------------------------


def show_results(results: Results) -> None:
    """Every answer as the library prints it, under the question's name where there are several."""
    several = len(results) > 1
    for entry in results.entries:
        if entry.name in results.errors:
            continue
        if several:
            print(f"-- {entry.name} " + "-" * max(0, 75 - len(entry.name)))
        print(entry.summary, flush=True)
        if several:
            print()


def refuse_run(results: Results, at_home: ReleaseError | None = None) -> None:
    """What a rule refused for all questions is all there is to say, as it was told at home."""
    error = _error_of_all(results)
    if isinstance(error, ReleaseError):
        raise at_home or error


def _error_of_all(results: Results) -> TitanError | None:
    """What ended the whole run is the error of all its questions."""
    errors = list(results.errors.values())
    same = len(errors) == len(results) and len({str(error) for error in errors}) == 1
    return errors[0] if same else None


def refuse_failures(results: Results) -> None:
    """Say which questions have no answer; the last one's error is the command's."""
    errors = list(results.errors.items())
    if (error := _error_of_all(results)) is not None:
        raise error
    for name, error in errors:
        error.message = f"{name}: {error.message}"
    for _, error in errors[:-1]:
        show_error(error)
    if errors:
        raise errors[-1][1]


# -- files ------------------------------------------------------------------------------------


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written before hours are spent on what goes there."""
    _check_replaceable(path)
    folder = files.linked(path).parent
    if not folder.is_dir():
        raise FileError(
            f"{path} cannot be written: there is no directory {folder}",
            hint="make the directory first, or name another place",
        )
    if not os.access(folder, os.W_OK):
        raise FileError(f"{path} cannot be written: permission denied")


def _check_replaceable(path: Path) -> None:
    if path.is_dir():  # with status 1, as where its folder is missing
        raise FileError(f"{path} cannot be written: it is a directory", hint="name a file")
    files.check_replaceable(path, error=UsageError)


# -- progress ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Waiting:
    """What to call for somebody who waits; both None where nobody watches."""

    rows: Callable[[int], None] | None = None
    """With the number of rows read since the last call."""
    rounds: Callable[[int, int], None] | None = None


@contextmanager
def waiting(what: str = "") -> Iterator[Waiting]:
    """Rows are counted while they are read (how many there are nobody knows), rounds have a bar."""
    if not sys.stderr.isatty():
        yield Waiting()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        read = bar.add_task(what or "rows", total=None)
        rounds = bar.add_task(what or "rounds", total=None, visible=False)
        so_far = 0

        def more_rows(rows: int) -> None:
            nonlocal so_far
            so_far += rows
            bar.update(read, description=f"{so_far:,} rows read")

        def next_round(done: int, total: int) -> None:
            bar.update(read, visible=False)
            bar.update(rounds, completed=done, total=total, visible=True)

        yield Waiting(more_rows, next_round)
