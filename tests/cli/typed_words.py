"""Command lines that are right, and words for every option that are wrong in any of them."""

from __future__ import annotations

import random
from pathlib import Path

from tests.cli.test_commands import titan

NAMES = ("north", "east", "south")
_FILES = tuple(f"{name}.csv" for name in NAMES)
_CARDS = tuple(word for name in NAMES for word in ("--card", f"{name}.card"))
_COLUMNS = ("--range", "y=0:100", "--step", "y=1", "--range", "x=0:50", "--step", "x=1")

LINES: dict[str, tuple[str, ...]] = {
    "audit": ("nowhere",),
    "average": tuple(f"{name}.txt" for name in NAMES),
    "compare": ("--methods", "titan-tree"),
    "cox": (*_FILES, "--formula", "x", "--time", "t", "--event", "d"),
    "demo": (),
    "fit": (*_FILES, "--formula", "y ~ x"),
    "join": ("study.toml", "--as", "north", "--key", "north.key", "--data", "north.csv"),
    "keys new": ("--name", "west", "--address", "127.0.0.1:7444"),
    "keys passphrase": ("north.key",),
    "keys show": ("north.card",),
    "ledger show": (),
    "ledger withdraw": ("nowhere",),
    "moments": ("north.csv", "--formula", "y ~ x", "--out", "new.moments"),
    "network check": ("cycle:4",),
    "network design": ("5", "--tau", "1"),
    "network show": ("cycle:4",),
    "prepare": ("study.toml", "--out", "north.part", "--data", "north.csv"),
    "privacy": ("cycle:4",),
    "rehearse": ("all.csv", "--party", "site", "--formula", "y ~ x"),
    "report": ("nowhere", "--out", "r.html"),
    "reproduce comparison": ("--problems", "small", "--methods", "titan-tree"),
    "reproduce figure2": (),
    "reproduce large": (),
    "reproduce nist": (),
    "reproduce scaling": (),
    "reproduce tradeoff": (),
    "runs clean": (),
    "runs list": (),
    "show": ("nowhere",),
    "solve": tuple(f"{name}.numbers.csv" for name in NAMES),
    "status": (),
    "study check": ("study.toml", "--data", "north.csv", "--as", "north"),
    "study new": (
        *(*_CARDS, "--ask", "regression: y ~ x; name=main", *_COLUMNS),
        *("--tau", "1", "--out", "new.toml"),
    ),
    "study sheet": ("study.toml", "--out", "s.html"),
    "survival": (*_FILES, "--time", "t", "--event", "d"),
    "verify": ("nowhere.json",),
    "web": (".",),
}
"""What stands behind each command; nothing here is wrong usage."""

_QUESTIONS = (
    "", "mars: y", "regression", "regression: y ~ (", "regression: y ~ __import__('os')",
    "regression: y ~ x; mars=1", "regression: y ~ x; cov_type=mars", "regression: y ~ x; name=a\nb",
    "ridge: y ~ x; alpha=mars", "ridge: y ~ x; alpha=-1", "glm: y ~ x; family=mars", "describe: ,",
    "survival: t", "cox: x; time=t", "average: y; name=", "solve: y; response=",
)  # fmt: skip
_NUMBER = ("-1", "mars")
_COUNT = ("0", "-1", "mars")

WRONG: dict[str, tuple[str, ...]] = {
    "--address": ("nowhere", "a:b", ":1", "x:99999"),
    "--alpha": ("-1", "nan", "inf", "mars"),
    "--as": ("nobody",),
    "--ask": _QUESTIONS,
    "--bandwidth-mbit": _COUNT,
    "--bits": (*_COUNT, "100000000"),
    "--bound": _COUNT,
    "--browser": ("mars",),
    "--budget": _COUNT,
    "--cells": ("mars",),
    "--coalition": ("nobody", "1,,2", ""),
    "--columns": ("x",),
    "--cov-type": ("mars",),
    "--csv": ("mars",),
    "--days": (*_COUNT, "10000000"),
    "--delimiter": (";;", "", "\n"),
    "--dials-only": ("nobody",),
    "--encoding": ("klingon", "", "base64"),
    "--engine": ("mars", ""),
    "--entries": _COUNT,
    "--exposure": ("x",),
    "--family": ("mars",),
    "--flag": ("",),
    "--formula": ("y ~ (", "y ~ x ~ t", "y ~ __import__('os')", "", "y ~ mars(x)"),
    "--from": ("mars:x", "mars"),
    "--grid": _COUNT,
    "--k": (*_COUNT, "99"),
    "--largest": _COUNT,
    "--latency-ms": _NUMBER,
    "--levels": ("sex", "sex=", "=f", "sex=f,f"),
    "--limit": _NUMBER,
    "--listen": ("nowhere", "h:99999"),
    "--log-format": ("mars",),
    "--masks": ("mars",),
    "--methods": ("mars", ",", ""),
    "--min-cell": _NUMBER,
    "--min-cell-parties": _COUNT,
    "--min-residual-df": _NUMBER,
    "--min-rows": _COUNT,
    "--min-rows-total": _COUNT,
    "--missing": ("mars",),
    "--name": ("", "a/b", "../x", "x" * 200),
    "--network": ("mars", "cycle:9", "cycle:x"),
    "--offset": ("log(",),
    "--older-than": _NUMBER,
    "--pin": ("mars", "00"),
    "--plot": ("x.mars", "x"),
    "--policy": ("mars",),
    "--port": ("-1", "70000", "mars"),
    "--precision": ("mars", "0", "1000"),
    "--problem": ("mars", ""),
    "--problems": ("mars", ","),
    "--proxy": ("mars://x", "nowhere"),
    "--pull": ("nobody,north", "north"),
    "--range": ("y", "z=1", "z=2:1", "z=a:b"),
    "--recovery": ("mars",),
    "--relays": ("mars",),
    "--release": ("mars",),
    "--ridge": ("-1", "nan", "inf", "mars"),
    "--rounds": (*_COUNT, "1"),
    "--rows-per-parameter": _COUNT,
    "--run": _COUNT,
    "--scheduler": ("mars",),
    "--seed": _NUMBER,
    "--seeds": _COUNT,
    "--solver": ("nobody",),
    "--sql": ("select 1",),
    "--step": ("x", "z=1"),
    "--tau": _NUMBER,
    "--ties": ("mars",),
    "--title": ("a\nb",),
    "--tolerance": ("-1", "nan", "mars"),
    "--unit": ("x", "z=years"),
    "--until": _COUNT,
    "--wait": _COUNT,
}  # fmt: skip
"""For every option words that can never be right; all are refused whatever the files hold."""

NAMES_OF_FILES = {
    "--card", "--data", "--key", "--keys", "--ledger", "--like", "--new-passphrase-file", "--out",
    "--part", "--passphrase-file", "--rows", "--runs", "--save", "--study",
}  # fmt: skip
NAMES_OF_COLUMNS = {"--by", "--event", "--party", "--response", "--time", "--weights"}
"""Any text may be one. What is not there is told of the files or the rows: status 1."""

MORE: dict[tuple[str, str], tuple[str, ...]] = {
    ("fit", "--alpha"): ("--family", "poisson"),
    ("fit", "--precision"): ("--family", "poisson"),
    ("fit", "--offset"): ("--family", "poisson"),
    ("study new", "--release"): ("--formula", "y ~ x"),
}
"""Options that others go with, so that it is the value which is wrong."""

OTHERWISE = {("compare", "--csv"): "the name of a file"}
"""Options of another meaning than their name has in other commands."""


def with_query(line: tuple[str, ...]) -> tuple[str, ...]:
    """The same line with rows from a query instead of files."""
    without = tuple(word for word in line if not word.endswith(".csv") and word != "--data")
    return (*without, "--sql", "select 1")


def make(place: Path) -> None:
    """The files that the command lines name."""
    chance = random.Random(1)
    head = "y,x,sex,t,d"
    for at, name in enumerate(NAMES):
        rows = [
            f"{chance.randrange(90)},{chance.randrange(20)},{i % 2},{i + 1},{i // 2 % 2}"
            for i in range(14)
        ]
        (place / f"{name}.csv").write_text("\n".join([head, *rows, ""]))
        (place / f"{name}.txt").write_text("1.5\n")
        numbers = [row.rpartition(",")[0] for row in rows]
        (place / f"{name}.numbers.csv").write_text("\n".join([*numbers, ""]))
        with (place / "all.csv").open("a") as every:
            every.write("" if at else f"{head},site\n")
            every.writelines(f"{row},{name}\n" for row in rows)
        address = f"127.0.0.1:{7441 + at}"
        assert titan("keys", "new", "--name", name, "--address", address, cwd=place).returncode == 0
    done = titan("study", "new", *LINES["study new"], "--out", "study.toml", cwd=place)
    assert done.returncode == 0, done.stderr
