"""What `titan` says without a command: what to do next, by what lies in this folder."""

# Rule: only names of files are looked at; nothing is opened.

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

_BEGIN = """\
TITAN: organisations that will not pool their data compute one answer together.

See it work, with the patients of four hospitals:
  titan demo

Fit your own rows, one file per party, here in one process:
  titan fit north.csv east.csv south.csv --formula "y ~ age + sex" --tau 1

Or divide one file by a column, and run every party as its own process:
  titan rehearse rows.csv --party site --formula "y ~ age + sex" --out kept

For real, every organisation on its own machine:
  titan keys new --name north --address north.example.org:7443    # each
  titan study new --card north.card --card … --out study.toml     # one for all
  titan study check study.toml                                    # each
  titan join study.toml --as north --data north.csv --key north.key
"""
_HELP = """\
All commands: titan --help. One command: titan fit --help.
Completion in your shell: titan --install-completion"""
_MOST = 3  # files of a kind that are named


def what_next(folder: Path) -> str:
    """For people who do not know yet, or not any more."""
    here = list(_here(folder))
    said = "In this folder:\n" + "\n".join(f"  {line}" for line in here) + "\n\n" if here else ""
    return f"{_BEGIN}\n{said}{_HELP}"


def _here(folder: Path) -> Iterator[str]:
    keys, cards, studies = (_named(folder, f"*{end}") for end in (".key", ".card", ".toml"))
    for study in studies:
        yield f"titan study check {study}"
        for key in keys:
            name = Path(key).stem
            yield f"titan join {study} --as {name} --data {name}.csv --key {key}"
    if cards and not studies:
        yield f"titan keys show {cards[0]}"
    if any(folder.glob("runs/*/journal.db")):
        yield "titan status"
    over = [path.parent for path in sorted(folder.glob("runs/*/result.json"))[:_MOST]]
    over += [path.parents[3] for path in sorted(folder.glob("*/runs/*/*/result.json"))]
    for run in list(dict.fromkeys(over))[:_MOST]:
        yield f"titan show {quote(str(run.relative_to(folder)))}"
        yield f"titan report {quote(str(run.relative_to(folder)))} --out report.html"


def _named(folder: Path, pattern: str) -> list[str]:
    """The first few; a key of TITAN's, a card or a study, if its name is right."""
    found = sorted(path.name for path in folder.glob(pattern) if path.name != "pyproject.toml")
    return [quote(name) for name in found[:_MOST]]
