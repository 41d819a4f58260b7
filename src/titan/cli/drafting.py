"""`titan study new --like FILE`: what columns are, as far as one's own rows say it.

Kinds, decimals and levels are taken from the rows, and shown. A range says what may be, not what
occurs: the least and the largest value are two people's. So it is asked for, and never taken over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from titan.cli.study_options import Asked
from titan.decimals import decimal_text
from titan.errors import InputError, UsageError
from titan.listing import listing, one_of
from titan.release.policy import counted

_MOST_LEVELS = 50

if TYPE_CHECKING:
    from titan.joint.kinds import Question
    from titan.moments import Source
    from titan.release import Column, Number


def columns_like(
    file: Path, asked: Asked, questions: Sequence[Question]
) -> tuple[list[str], dict[str, Column]]:
    """The rows' columns in their order, and what those are that questions read."""
    from titan.moments import open_source
    from titan.release import Number
    from titan.study.asking import columns_in_formula, drafted, read_columns

    source = open_source(file)
    plain = read_columns(levels=asked.levels or [], flags=asked.flag or [])
    described = {*plain, *_names(asked.range or [])}
    for question in questions:
        source.check([c for c in columns_in_formula(question, plain) if c not in described])
    found = drafted(source, questions, plain)
    _refuse_many_levels(file, found)
    numbers = {name: column for name, column in found.items() if isinstance(column, Number)}
    ranges, steps = list(asked.range or []), list(asked.step or [])
    given = _names(steps)
    for name, column in numbers.items():
        if name not in given and column.step is not None:
            steps.append(f"{name}={decimal_text(column.step)}")
    open_ = {name: column for name, column in numbers.items() if name not in _names(ranges)}
    flags = list(asked.flag or [])
    by = {name.strip(): step for name, _, step in (text.rpartition("=") for text in steps)}
    for name, answer in _asked_for(open_, by, file).items():
        if answer == _FLAG:
            flags.append(name)
            steps = [text for text in steps if text.rpartition("=")[0] != name]
        else:
            ranges.append(f"{name}={answer}")
    said = read_columns(
        ranges=ranges, steps=steps, levels=asked.levels or [], flags=flags, units=asked.unit or []
    )
    taken = {name: column for name, column in found.items() if name not in numbers}
    _tell(file, {**said, **taken}, [*taken, *(name for name in numbers if name not in given)])
    _tell_outside(source, said, numbers)
    return list(source.column_names), {**taken, **said}


def _refuse_many_levels(file: Path, found: Mapping[str, Column]) -> None:
    """Names, dates and numbers of patients are not categories, and must not become public."""
    from titan.release import Category

    for name, column in found.items():
        if isinstance(column, Category) and len(column.levels) > _MOST_LEVELS:
            raise InputError(
                f"{file.name} has {len(column.levels)} different texts in {name!r}, and at most "
                f"{_MOST_LEVELS} are taken from a file as levels",
                hint=f"ask about columns by name, without this one, or say --levels {name}=a,b",
            )


def _names(texts: Iterable[str]) -> set[str]:
    return {text.rpartition("=")[0].strip() for text in texts}


# -- asking -----------------------------------------------------------------------------------

_FLAG = "flag"


def _asked_for(open_: Mapping[str, Number], steps: Mapping[str, str], file: Path) -> dict[str, str]:
    """The range of each column as LOW:HIGH, or "flag"."""
    if not open_:
        return {}
    if not sys.stdin.isatty():
        words = [
            f"--flag {n}" if _is_flag(c) else f"--range {n}=LOW:HIGH" for n, c in open_.items()
        ]
        raise UsageError(
            f"{_missing(open_)}: {file.name} says which values occur, not which may occur",
            hint=f"add {' '.join(words)}",
        )
    return {name: _prompt(name, column, steps[name]) for name, column in open_.items()}


def _missing(open_: Mapping[str, Number]) -> str:
    ranges = [name for name, column in open_.items() if not _is_flag(column)]
    flags = listing((name for name, column in open_.items() if _is_flag(column)), most=20)
    if not ranges:
        return f"what {flags} is, is missing"
    said = f"the range of {listing(ranges, most=20)} is missing"
    return f"{said}, and what {flags} is" if flags else said


def _is_flag(column: Number) -> bool:
    """Only 0 and 1 occur."""
    return column.low == 0 and column.high == column.step == 1


def _prompt(name: str, column: Number, step: str) -> str:
    kind = f' (or "{_FLAG}": only 0 and 1 occur)' if _is_flag(column) else ""
    from titan.study.asking import NOT_A_RANGE

    while True:
        text = f"the range of {name}, in steps of {step}, as LOW:HIGH{kind}"
        said: str = typer.prompt(text, err=True).strip()
        if said == _FLAG:
            return said
        try:
            _check(name, said, step)
        except InputError as error:
            found = error.message.removeprefix(f"--range {name}={said}: ")
            hint = "write it as LOW:HIGH, such as 0:120" if found == NOT_A_RANGE else error.hint
            typer.echo(f"  {said}: {'; '.join(filter(None, [found, hint]))}", err=True)
        else:
            return said


def _check(name: str, said: str, step: str) -> None:
    from titan.study.asking import read_columns

    read_columns(ranges=[f"{name}={said}"], steps=[f"{name}={step}"])


# -- telling ----------------------------------------------------------------------------------


def _tell(file: Path, columns: Mapping[str, Column], taken: Sequence[str]) -> None:
    """All parties will see what the rows said: its owner sees it first."""
    from titan.release import Category, Flag

    shown = []
    for name in taken:
        column = columns[name]
        if isinstance(column, Category):
            shown.append(f"{name} one of {listing(column.levels, most=20)}")
        elif isinstance(column, Flag):
            shown.append(f"{name} 0 or 1")
        else:
            shown.append(f"{name} in steps of {decimal_text(column.step or column.high)}")
    if shown:
        text = f"all parties will see what {file.name} has: {'; '.join(shown)}"
        print(f"titan: note: {text}", file=sys.stderr)


def warn_of_rare_levels(
    file: Path, asked: Asked, columns: Mapping[str, Column], fewest: int
) -> None:
    """A level that few rows have is these people's, and its name alone may tell of them."""
    from titan.moments import open_source
    from titan.release import Category
    from titan.release.draft import rows_by_level

    taken = {
        name: column.levels
        for name, column in columns.items()
        if isinstance(column, Category) and name not in _names(asked.levels or [])
    }
    for name, counts in rows_by_level(open_source(file), list(taken)).items():
        rare = [level for level in taken[name] if counts[level] < fewest]
        if not rare:
            continue
        kept = [level for level in taken[name] if level not in rare]
        how = f"leave {name} out of the questions"
        if kept[1:]:  # of one level nothing is asked
            how = f"leave {'them' if rare[1:] else 'it'} out with --levels "
            how += quote(f"{name}={','.join(kept)}")
            how += ", and merge such rows with others, or remove them, before you join"
        text = f"{file.name} has fewer than {fewest} rows with {name} = {one_of(rare)}, and all "
        text += f"parties will see that {'these occur' if rare[1:] else 'it occurs'}"
        print(f"titan: warning: {text}; {how}", file=sys.stderr)


def _tell_outside(
    source: Source, said: Mapping[str, Column], numbers: Mapping[str, Number]
) -> None:
    """On its owner's machine: `join` would veto with these rows."""
    from titan.moments.reading import read
    from titan.party.wrong_cells import LookAtCells, Wanted
    from titan.release import Dictionary

    wanted = Wanted(tuple(numbers), (), None)
    look = LookAtCells(wanted, Dictionary.of(said), frozenset(source.column_names))
    outside = read(source, look).outside if numbers else {}
    if outside:
        found = listing([f"{name} ({counted(each.count)})" for name, each in outside.items()])
        text = f"{source.label} has values outside the range of {found}: with these rows you would "
        text += "veto; widen the range, correct them, or leave them out"
        print(f"titan: warning: {text}", file=sys.stderr)
