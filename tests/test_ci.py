"""Invariant: `.ci/run` runs every part, fails if any part does, and says in words what it skips.

It is run here with a `make`, an `apt-get` and an `id` of our own, and finds no other programs but
the few that it needs.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("bash", "dirname", "env", "grep", "mkdir", "sleep", "tail", "timeout", "touch", "chmod")
PARTS = ["test", "docs", "browser", "cluster"]
MAKE = 'echo "$1" >> made; echo "7 passed in 1.00s"; [ "$1" != "$BREAKS" ]'
INSTALLS = 'touch bin/chromium bin/chromedriver; chmod 755 bin/chromium bin/chromedriver; echo "$*"'
NO_NETWORK = 'echo "E: Unable to locate package chromium"; exit 100'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (tmp_path / "bin" / name).symlink_to(found)
    return tmp_path


def ci(folder: Path, breaks: str = "", **programs: str) -> tuple[int, str, list[str]]:
    """Its exit status, what it says, and which parts it made."""
    for name, text in {"make": MAKE, "id": "echo 0", **programs}.items():
        file = folder / "bin" / name.replace("_", "-")
        file.write_text(f"#!/usr/bin/env bash\n{text}\n")
        file.chmod(0o755)
    done = subprocess.run(
        [folder / ".ci" / "run"],
        env={"PATH": str(folder / "bin"), "BREAKS": breaks},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, (folder / "made").read_text().split()


def test_every_part_is_run_and_its_last_words_are_shown_at_the_end(folder: Path) -> None:
    status, said, made = ci(folder, chromium="", chromedriver="")
    assert (status, made) == (0, PARTS)
    _, ends = said.split("== all parts\n")
    assert ends == "".join(f"make {part}: passed\n7 passed in 1.00s\n" for part in PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_fails_fails_all_and_the_others_are_run(folder: Path, part: str) -> None:
    status, said, made = ci(folder, breaks=part, chromium="", chromedriver="")
    assert (status, made) == (1, PARTS)
    assert f"make {part}: FAILED (exit status 1)\n" in said
    assert said.count(": passed\n") == len(PARTS) - 1


def test_a_browser_is_installed_where_it_may_be(folder: Path) -> None:
    status, _, made = ci(folder, apt_get=INSTALLS)
    assert (status, made) == (0, PARTS)
    log = (folder / "build" / "ci" / "apt.log").read_text()
    assert "--no-install-recommends chromium chromium-driver poppler-utils\n" in log
    assert "--no-install-recommends r-base-core r-cran-jsonlite\n" in log


def test_a_browser_that_is_there_is_enough(folder: Path) -> None:
    status, _, made = ci(folder, chromium="", chromedriver="", apt_get=NO_NETWORK)
    assert (status, made) == (0, PARTS)


@pytest.mark.parametrize(
    ("programs", "why"),
    [
        ({"id": "echo 1000", "apt_get": INSTALLS}, "this user may not install packages"),
        ({}, "there is no apt-get here"),
        ({"apt_get": NO_NETWORK}, "apt-get cannot install it: E: Unable to locate package"),
        ({"apt_get": "true"}, "apt-get installed packages without the programs"),
    ],
)
def test_without_a_browser_it_says_why_and_goes_on(
    folder: Path, programs: dict[str, str], why: str
) -> None:
    status, said, made = ci(folder, **programs)
    assert (status, made) == (0, ["test", "docs", "cluster"])
    told = f"make browser: skipped, there is no browser: {why}"
    assert said.count(told) == 2, "where it would have been run, and at the end"
