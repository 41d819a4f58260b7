"""What the documentation points to is there, and what the README shows runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import titan
from tests.cli.test_commands import titan as command
from tests.study.parties import save_cards

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Pages of the documentation point to files: a folder is not a page."""
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        if not link.startswith("http"):
            place = page.parent / link
            there = place.exists() if page.name == "README.md" else place.is_file()
            assert there, f"{page.name} points to {link}"


def test_every_file_the_readme_names_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:ring|protocol|engines)/[a-z_/]+\.py)`", text)
    assert len(named) == 5
    for name in named:
        assert (ROOT / "src" / "titan" / name).exists()


def test_the_study_of_the_pages_can_be_made(tmp_path: Path) -> None:
    """The command, on the page and in the help, says all that its questions need to know."""
    save_cards(tmp_path, "north", "east", "south")
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    for text in (page, command("study", "new", "--help").stdout):
        [words] = re.findall(r"(?m)^ +titan (study new (?:.*\\\n)*.*)$", text)
        done = command(*shlex.split(words.replace("\\\n", "")), "--force", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_told_in_one_place() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{titan.__version__}"' in pyproject
